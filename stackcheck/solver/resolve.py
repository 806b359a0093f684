"""The question and its answer: a stack with its reasons, or a minimal conflict with proved alternatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.names import component_named, gpu_named, instance_named, toolkit_of
from stackcheck.model.errors import InternalError, UsageError
from stackcheck.model.release import Component, Gpu, Instance
from stackcheck.model.stack import Alternative, Change, Stack, StackConflict, Target
from stackcheck.model.version import Version
from stackcheck.solver.answer import broken_image, build_stack
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import IMAGE, Universe
from stackcheck.solver.encode import Encoding, encode
from stackcheck.solver.explain import alternatives as find_alternatives
from stackcheck.solver.explain import minimal_conflict
from stackcheck.solver.narrate import told
from stackcheck.solver.origins import OriginKind
from stackcheck.solver.request import Request, Wish
from stackcheck.solver.search import Conflict, SearchLimit, Solution, solve

MOST_ALTERNATIVES = 4
_MINOR = re.compile(r"\d+(\.\d+){0,2}")
FEW_IMAGES = 12
"""Images that are tried before all of them: one of the first few nearly always fits."""


def resolve(catalog: Catalog, request: Request) -> Stack:
    """Return the best stack for a request, or a stack whose `conflict` says why there is none.

    Raises:
        UsageError: the request names a GPU, instance, image or component that nobody knows, or contradicts itself.
        InternalError: the search gave up.
    """
    gpu, instance, arch = target_of(catalog, request)
    request = _checked(catalog, request)
    try:
        encoding, answer = _answered(catalog, request, gpu, instance, arch)
        if isinstance(answer, Solution):
            return build_stack(encoding, answer)
        return _conflict(encoding, catalog, request)
    except SearchLimit as fault:
        raise InternalError(
            f"the search gave up: {fault}", fix="pin more components, and report this request"
        ) from fault


def _answered(
    catalog: Catalog, request: Request, gpu: Gpu, instance: Instance | None, arch: str
) -> tuple[Encoding, Solution | Conflict]:
    """Return the encoded request with its answer; the best few images are tried alone first.

    That is the optimum of all of them if everything decided before the image has its best value, which no other image could better,
    and one of the few was taken: the ones before it do not fit whatever else there is, and it brings all that it needs. An image in which
    something else than what was asked for turns out to be broken on this GPU is left out, and the question asked again.
    """
    without: frozenset[str] = frozenset()
    while True:
        encoding, answer = _best(catalog, request, gpu, instance, arch, without)
        broken = broken_image(encoding, answer) if isinstance(answer, Solution) and not request.image else ""
        if not broken:
            return encoding, answer
        without |= {broken}


def _best(
    catalog: Catalog,
    request: Request,
    gpu: Gpu,
    instance: Instance | None,
    arch: str,
    without: frozenset[str],
) -> tuple[Encoding, Solution | Conflict]:
    if request.images != "none" and not request.image:
        few = Universe(catalog, request, gpu, instance, arch, most_images=FEW_IMAGES, without_images=without)
        short = encode(few)
        answer = solve(short.problem)
        if not few.shelf.is_cut or (isinstance(answer, Solution) and _is_best(short, answer)):
            return short, answer
    whole = encode(Universe(catalog, request, gpu, instance, arch, without_images=without))
    return whole, solve(whole.problem)


def _is_best(encoding: Encoding, solution: Solution) -> bool:
    image = encoding.number[IMAGE]
    chosen = encoding.universe.images[solution.values[image]]
    return chosen.image is not None and not any(solution.values[:image])


def question(catalog: Catalog, request: Request) -> tuple[Encoding, Solution | None]:
    """Return the encoded request and its solution, if it has one; for `why` and other questions about an answer.

    All images take part, since what could be otherwise is asked too.
    """
    gpu, instance, arch = target_of(catalog, request)
    encoding = encode(Universe(catalog, _checked(catalog, request), gpu, instance, arch))
    answer = solve(encoding.problem)
    return encoding, answer if isinstance(answer, Solution) else None


def target_of(catalog: Catalog, request: Request) -> tuple[Gpu, Instance | None, str]:
    """Return GPU, instance type and CPU architecture of a request; an instance type implies the other two.

    Raises:
        UsageError: one of them is unknown or they contradict each other.
    """
    instance = None
    if request.instance is not None:
        instance = instance_named(catalog, request.instance)
    gpu = gpu_named(catalog, request.gpu or (instance.gpu if instance else ""))
    if instance is not None and instance.gpu != gpu.id:
        raise UsageError(f"{instance.id} has {instance.gpu}, not {gpu.id}", fix="leave --gpu out")
    known = sorted(str(a) for a in gpu.attributes.get("arch") or ("x86_64",))
    fixed = str(instance.attributes.get("arch") or "") if instance else ""
    if request.arch and fixed and request.arch != fixed:
        raise UsageError(
            f"{instance.id if instance else ''} is {fixed}, not {request.arch}", fix="leave --arch out"
        )
    arch = request.arch or (
        str(instance.attributes.get("arch")) if instance and instance.attributes.get("arch") else None
    )
    if arch is None:
        arch = "x86_64" if "x86_64" in known else known[0]
    if arch not in known:
        raise UsageError(
            f"{gpu.name} sits in {' or '.join(known)} machines, not {arch}", fix="leave --arch out"
        )
    return gpu, instance, arch


def _checked(catalog: Catalog, request: Request) -> Request:
    """Return the request with component names resolved through aliases and ranges checked.

    Raises:
        UsageError: a component or image is unknown, or a range is none.
    """
    if request.image and catalog.find_image(request.image) is None:
        raise UsageError(
            f"unknown image {request.image!r}", fix="see `stackcheck show image`, or use --images none"
        )
    if request.python and not _MINOR.fullmatch(request.python):
        raise UsageError(f"--python {request.python[:40]!r} is no version", fix="write for example 3.12")
    python = request.python and Wish(component="python", range=f"=={request.python}.*", flag="--python")
    extra = (python,) if python else ()
    gpu = catalog.find_gpu(request.gpu) if request.gpu else None
    return request._replace(
        gpu=gpu.id if gpu is not None else request.gpu,
        frameworks=tuple(_checked_wish(catalog, w) for w in request.frameworks),
        wishes=tuple(_checked_wish(catalog, w) for w in request.wishes + extra),
        host=tuple(_checked_wish(catalog, w) for w in request.host),
    )


def _checked_wish(catalog: Catalog, wish: Wish) -> Wish:
    from stackcheck.model.ranges import Range

    component = component_named(catalog, wish.component)

    try:
        Range(wish.range, component.scheme)
    except ValueError as fault:
        toolkit = toolkit_of(catalog, wish.range.lstrip("=~<>! "))
        usual = "write for example torch==2.11.0 or 'cuda>=13'"
        raise UsageError(
            f"{wish.flag} {wish.text!r}: {fault}",
            fix=f"did you mean cuda=={toolkit}?" if toolkit else usual,
        ) from fault
    return wish._replace(component=component.id, range=widened(wish.range, component))


def _conflict(encoding: Encoding, catalog: Catalog, request: Request) -> Stack:
    hard = encoding.background()
    core = minimal_conflict(encoding.problem, hard, _shortest_telling(encoding, hard))
    wishes = [i for i in core if encoding.origins[i].kind is OriginKind.WISH]
    facts = [i for i in core if encoding.origins[i].kind is not OriginKind.WISH]
    universe = encoding.universe
    chain, lines = told(encoding, core)
    sources = tuple(dict.fromkeys(s for i in facts for s in encoding.origins[i].sources))
    return Stack(
        target=_target(universe),
        conflict=StackConflict(
            requirements=(_target_text(universe), *(encoding.origins[i].text for i in wishes)),
            facts=tuple(lines),
            chain=tuple(chain),
            sources=sources,
        ),
        alternatives=_alternatives(encoding, catalog, request),
        requirements=tuple(w.told for w in universe.request.all_wishes),
        policy=universe.request.policy,
        data_version=universe.catalog.edition,
    )


def widened(text: str, component: Component) -> str:
    """Return `==550.*` for `==550` where no release is 550 itself but some begin with it: so a branch or minor may be named."""
    exact = text.removeprefix("==").strip()
    if not text.startswith("==") or not exact.replace(".", "").isdigit():
        return text
    version = Version(exact, component.scheme)
    known = [r.version for r in component.releases]
    begins = any(v.release[: len(version.release)] == version.release for v in known)
    return f"=={exact}.*" if begins and not any(v.public == version.public for v in known) else text


def _shortest_telling(encoding: Encoding, hard: frozenset[int]) -> list[int]:
    """Return the shortest beginning of the telling order that has no solution, so that the best known reasons come up."""
    ordered = _told_first(encoding, hard)
    low, high = 1, len(ordered)
    while low < high:
        middle = (low + high) // 2
        if isinstance(solve(encoding.problem, active=hard.union(ordered[:middle])), Solution):
            low = middle + 1
        else:
            high = middle
    return ordered[:low]


def _told_first(encoding: Encoding, hard: frozenset[int]) -> list[int]:
    """Return the origins in the order in which they make a good explanation: wishes, then what vendors say of the GPU and of
    pairs, then what releases ask for, those about the most decisive component first."""
    kinds = [
        OriginKind.WISH,
        OriginKind.GPU_ROW,
        OriginKind.RULE,
        OriginKind.REQUIRES,
        OriginKind.BUNDLE,
        OriginKind.IMAGE,
    ]
    decisive = encoding.universe.order()

    def rank(number: int) -> tuple[int, int, int]:
        origin = encoding.origins[number]
        target = origin.subjects[-1] if origin.subjects else ""
        place = decisive.index(target) if target in decisive else len(decisive)
        return (kinds.index(origin.kind), place if origin.kind is OriginKind.REQUIRES else 0, number)

    return sorted((i for i in range(len(encoding.origins)) if i not in hard), key=rank)


def _target(universe: Universe) -> Target:
    count = universe.instance.gpu_count if universe.instance else None
    interfaces = universe.instance.attributes.get("efa_interfaces") if universe.instance else None
    return Target(
        gpu=universe.gpu.id,
        instance=universe.instance.id if universe.instance else None,
        arch=universe.arch,
        gpu_name=universe.gpu.name,
        gpu_count=count,
        efa_interfaces=int(interfaces) if isinstance(interfaces, int | float) else None,
    )


def _target_text(universe: Universe) -> str:
    if universe.instance is not None:
        return f"instance {universe.instance.id}"
    return f"gpu {universe.gpu.id}"


def _alternatives(encoding: Encoding, catalog: Catalog, request: Request) -> tuple[Alternative, ...]:
    """Return proved ways out: each set of wishes to drop is minimal, and the request without them is resolved anew."""
    found: list[Alternative] = []
    for dropped, _ in find_alternatives(encoding.problem, encoding.wishes(), most=MOST_ALTERNATIVES):
        positions = {encoding.origins[i].wish for i in dropped}
        for relaxed in (_with_any_version(request, positions), _without(request, positions)):
            target = encoding.universe
            again, solution = _answered(catalog, relaxed, target.gpu, target.instance, target.arch)
            if isinstance(solution, Solution) and not _rests_on_unread(request, positions, again, solution):
                found.append(_alternative(request, sorted(positions), again, solution))
    unique = {tuple((c.requirement, c.to) for c in a.change): a for a in found}
    return tuple(unique.values())[:MOST_ALTERNATIVES]


def _rests_on_unread(request: Request, positions: set[int], encoding: Encoding, solution: Solution) -> bool:
    """Whether a way out puts a release in place whose requirements nobody has read: that proves nothing."""
    chosen = (encoding.candidate(solution.values, request.all_wishes[p].component) for p in positions)
    return any(c is not None and c.is_unread(encoding.universe.catalog) for c in chosen)


def _with_any_version(request: Request, positions: set[int]) -> Request:
    """Return the request with these wishes kept, in any version."""
    return _mapped(request, lambda i, w: w._replace(range="", absent=False) if i in positions else w)


def _without(request: Request, positions: set[int]) -> Request:
    """Return the request without these wishes."""
    return _mapped(request, lambda i, w: None if i in positions else w)


def _mapped(request: Request, change: Callable[[int, Wish], Wish | None]) -> Request:
    changed = [change(i, w) for i, w in enumerate(request.all_wishes)]
    frameworks, pins = len(request.frameworks), len(request.frameworks) + len(request.wishes)
    return request._replace(
        frameworks=tuple(w for w in changed[:frameworks] if w is not None),
        wishes=tuple(w for w in changed[frameworks:pins] if w is not None),
        host=tuple(w for w in changed[pins:] if w is not None),
    )


def _alternative(
    request: Request, positions: Sequence[int], encoding: Encoding, solution: Solution
) -> Alternative:
    changes = []
    for position in positions:
        wish = request.all_wishes[position]
        chosen = encoding.candidate(solution.values, wish.component)
        changes.append(Change(*_relaxed(wish, chosen)))
    stack = build_stack(encoding, solution, brief=True)
    result = {p.component: p.version for p in stack.pins}
    return Alternative(
        change=tuple(changes), result=result, image=stack.image.reference if stack.image else ""
    )


def _relaxed(wish: Wish, chosen: Candidate | None) -> tuple[str, str]:
    """Return a wish as it was typed, and what to type instead."""
    if wish.absent:
        return f"--without {wish.component}", f"leave --without {wish.component} out"
    asked_for = f"{wish.flag} {wish.text}"
    if chosen is None or chosen.version is None or chosen.origin is Origin.ABSENT:
        return asked_for, f"leave {wish.component} out"
    if wish.flag == "--python":
        version = wish.range.removeprefix("==").removesuffix(".*")
        return f"--python {version}", f"--python {'.'.join(map(str, chosen.version.minor))}"
    return asked_for, f"{wish.component}=={chosen.text}"


__all__ = ["question", "resolve", "target_of"]
