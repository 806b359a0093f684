"""One component of a solved question explained: the facts that force or prefer its version, and what excludes each newer one."""

from __future__ import annotations

from stackcheck.model.errors import InternalError
from stackcheck.model.explanation import Explanation
from stackcheck.solver.answer import build_stack
from stackcheck.solver.encode import Encoding
from stackcheck.solver.passed_over import passed_over
from stackcheck.solver.pin_context import PinContext
from stackcheck.solver.pin_reasons import reasons_for
from stackcheck.solver.search import SearchLimit, Solution


def explain_pin(
    encoding: Encoding, solution: Solution, component: str, *, notes: tuple[str, ...] = ()
) -> Explanation:
    """Return the explanation of a component id, or of `image`; `notes` are passed on.

    Raises:
        InternalError: the search gave up.
    """
    context = PinContext(encoding, solution, component)
    stack = build_stack(encoding, solution)
    known = context.universe.catalog.component(component)
    try:
        newer, preferred = passed_over(context)
        return Explanation(
            target=stack.target,
            component=component,
            name=known.name if known else component,
            pin=stack.pin(component),
            image=context.image.name if context.image else "",
            reasons=reasons_for(context, stack),
            newer=newer,
            preferred=preferred,
            requirements=stack.requirements,
            policy=stack.policy,
            data_version=stack.data_version,
            notes=notes,
        )
    except SearchLimit as fault:
        raise InternalError(
            f"the search gave up: {fault}", fix="pin more components, and report this request"
        ) from fault
