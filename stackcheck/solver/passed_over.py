"""What was passed over for the chosen version, and what excludes it.

Each version is judged in three steps. Is it impossible whatever else is chosen? Then a minimal set of facts says so. Is it
impossible given the choices that the resolver makes first? Then those facts and choices, and what the best stack with it would
change. Else it is merely less preferred.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from stackcheck.catalog.identify import parsed_version
from stackcheck.model.explanation import NotTaken, Reason, Verdict
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import IMAGE
from stackcheck.solver.explain import exclusion, minimal_conflict
from stackcheck.solver.narrate import allowed_masks, fact_text
from stackcheck.solver.origins import OriginKind
from stackcheck.solver.pin_context import SOFT, PinContext, short
from stackcheck.solver.preference import later_text
from stackcheck.solver.problem import Problem
from stackcheck.solver.request import Wish
from stackcheck.solver.resolve import question
from stackcheck.solver.search import Solution, solve

_MOST_CHANGES = 4
_CONFLICT_ORDER = (
    OriginKind.WISH,
    OriginKind.GPU_ROW,
    OriginKind.RULE,
    OriginKind.REQUIRES,
    OriginKind.BUNDLE,
    OriginKind.IMAGE,
)
"""Of several minimal sets of facts the one with the earlier kinds is told: it is the shortest, since a row bars many releases."""


@dataclass(frozen=True, slots=True)
class _Other:
    """A version that was not taken: its name, its candidates, whether it is newer, and the verdict."""

    label: str
    mask: int
    newer: bool
    verdict: Verdict = Verdict.LATER
    origins: tuple[int, ...] = ()
    given: tuple[int, ...] = ()


def passed_over(context: PinContext) -> tuple[tuple[NotTaken, ...], tuple[NotTaken, ...]]:
    """Return the newer versions, and what is preferred without being newer; newest first, same reasons together."""
    if context.number < 0:
        return _beside_the_image(context), ()
    judged = [_judged(context, other) for other in _others(context)]
    groups = [
        list(g)
        for _, g in groupby(
            judged, key=lambda o: (o.newer, o.verdict, o.origins, o.given, _words(context, o))
        )
    ]
    newer = tuple(_not_taken(context, g) for g in groups if g[0].newer)
    return newer, tuple(_not_taken(context, g) for g in groups if not g[0].newer)


def _beside_the_image(context: PinContext) -> tuple[NotTaken, ...]:
    """Return what is newer than the image's own copy of a component that nothing asks for."""
    component = context.universe.catalog.component(context.component)
    held = context.image.contents.get(context.component) if context.image else None
    version = parsed_version(component, held) if component is not None and held else None
    if component is None or version is None or context.image is None:
        return ()
    newer = tuple(r.version.text for r in reversed(component.releases) if r.version.public > version.public)
    if not newer:
        return ()
    return (
        NotTaken(
            versions=newer,
            verdict=Verdict.GIVEN,
            reasons=(_image_word(context, (context.encoding.number[IMAGE],)),),
            given=(f"image {short(context.image)}",),
            ask=f"--with '{context.component}=={newer[0]}'",
        ),
    )


def _others(context: PinContext) -> list[_Other]:
    chosen_bit = context.solution.values[context.number]
    if context.component == IMAGE:
        images = context.universe.images[:chosen_bit]
        return [
            _Other(short(c.image) if c.image else "no image", 1 << bit, newer=False)
            for bit, c in enumerate(images)
        ]
    chosen = context.candidate
    fixed = chosen is not None and chosen.origin in (Origin.IMAGE, Origin.UNSTATED)
    known = chosen.version.public if chosen is not None and chosen.version is not None else None
    found: list[_Other] = []
    for key, (first, mask, best_bit) in sorted(_by_version(context).items(), reverse=True):
        newer = known is not None and key > known
        if key != known and (newer or (best_bit < chosen_bit and not fixed)):
            found.append(_Other(first.version.text if first.version else "", mask, newer))
    return sorted(found, key=lambda o: not o.newer)


def _by_version(context: PinContext) -> Mapping[tuple[object, ...], tuple[Candidate, int, int]]:
    """Return by version: a release of it, the mask of all its candidates, images' too, and the most preferred one's number."""
    domain = context.encoding.literals.domains[context.component]
    found: dict[tuple[object, ...], tuple[Candidate, int, int]] = {}
    for wanted in (Origin.RELEASE, Origin.IMAGE):
        for bit, candidate in enumerate(domain):
            if candidate.version is None or candidate.origin is not wanted:
                continue
            key = candidate.version.public
            if wanted is Origin.IMAGE and key not in found:
                continue  # a vendor's own build is a question about the image
            first, mask, best = found.get(key, (candidate, 0, bit))
            found[key] = (first, mask | 1 << bit, best)
    return found


def _judged(context: PinContext, other: _Other) -> _Other:
    problem = context.encoding.problem
    possible = solve(problem, assume=[(context.number, other.mask)])
    if not isinstance(possible, Solution):
        core = _outright(context, other.mask)
        return _Other(other.label, other.mask, other.newer, Verdict.EXCLUDED, core)
    found = exclusion(problem, context.solution, context.number, other.mask, hard=context.background)
    if found is None:
        return _Other(other.label, other.mask, other.newer, Verdict.LATER)
    return _Other(other.label, other.mask, other.newer, Verdict.GIVEN, found.origins, found.given)


def _outright(context: PinContext, mask: int) -> tuple[int, ...]:
    """Return a minimal set of facts that leaves none of the candidates in the mask, whatever else is chosen."""
    problem, origins = context.encoding.problem, context.encoding.origins
    full = problem.variables[context.number].full
    asked = len(origins)
    question = Problem(problem.variables, (*problem.rows, (asked, ((context.number, full & ~mask),))))
    told = [i for i in range(asked) if i not in context.background]
    told.sort(key=lambda i: (_CONFLICT_ORDER.index(origins[i].kind), i))
    return minimal_conflict(question, context.background | {asked}, told)


def _words(context: PinContext, other: _Other) -> str:
    """Return what tells versions of the same verdict apart that rest on no fact."""
    return _later(context, other.mask).text if other.verdict is Verdict.LATER else ""


def _not_taken(context: PinContext, group: list[_Other]) -> NotTaken:
    first = group[0]
    mask = 0
    for other in group:
        mask |= other.mask
    ask = (
        f"--image {first.label}"
        if context.component == IMAGE
        else f"--with '{context.component}=={first.label}'"
    )
    if first.verdict is Verdict.LATER:
        reasons: tuple[Reason, ...] = (_later(context, first.mask),)
    else:
        reasons = _told(context, first.origins, mask, first.given)
    costs = first.verdict is Verdict.GIVEN and context.component != IMAGE
    given = (context.choice(n, context.solution.values) for n in first.given)
    return NotTaken(
        versions=tuple(o.label for o in group),
        verdict=first.verdict,
        reasons=reasons,
        given=tuple(g for g in given if g),
        cost=tuple(_changes(context, first.label)) if costs else (),
        ask="" if first.verdict is Verdict.EXCLUDED else ask,
    )


def _later(context: PinContext, mask: int) -> Reason:
    if context.component == IMAGE or context.candidate is None:
        return Reason("preference", "it comes later in the order of preference")
    other = context.encoding.literals.domains[context.component][(mask & -mask).bit_length() - 1]
    return Reason("preference", later_text(context.universe, other, context.candidate))


def _told(
    context: PinContext, origins: Collection[int], mask: int, given: Collection[int]
) -> tuple[Reason, ...]:
    """Return facts in words, about the candidates in the mask and the choices given."""
    allowed = dict(allowed_masks(context.encoding, sorted(origins)))
    allowed.update({context.encoding.names[n]: 1 << context.solution.values[n] for n in given})
    allowed[context.component] = mask
    reasons = [*_demands(context, origins, allowed), *_others_told(context, origins, allowed)]
    held = any(context.fact(o).kind is OriginKind.IMAGE for o in origins)
    if held and (context.component != IMAGE or not reasons):
        reasons.append(_image_word(context, given))
    return tuple(dict.fromkeys(reasons)) or (Reason("preference", "the question leaves no room for it"),)


def _demands(context: PinContext, origins: Collection[int], allowed: Mapping[str, int]) -> Iterator[Reason]:
    """Yield what releases ask for; the demands of one component on another stand in one sentence."""
    by_pair: dict[tuple[str, ...], list[int]] = {}
    for origin in sorted(origins):
        if context.fact(origin).kind is OriginKind.REQUIRES:
            by_pair.setdefault(context.fact(origin).subjects, []).append(origin)
    for (_, target), members in sorted(by_pair.items(), key=lambda p: (context.component not in p[0], p[0])):
        texts = [fact_text(context.encoding, o, allowed) for o in members]
        ranges = dict.fromkeys(t.partition(f" requires {target} ")[2] for t in texts[1:])
        more = " or ".join(r for r in ranges if r)
        sources = dict.fromkeys(s for o in members for s in context.fact(o).sources)
        text = f"{texts[0]}, other releases {more}" if more else texts[0]
        yield Reason(str(OriginKind.REQUIRES), text, tuple(sources))


def _others_told(
    context: PinContext, origins: Collection[int], allowed: Mapping[str, int]
) -> Iterator[Reason]:
    """Yield the other facts, those about the component first."""
    skipped = (OriginKind.REQUIRES, OriginKind.IMAGE)
    facts = [o for o in origins if context.fact(o).kind not in skipped]
    for origin in sorted(
        facts, key=lambda o: (context.component not in context.fact(o).subjects, context.rank(o), o)
    ):
        fact = context.fact(origin)
        text = fact_text(context.encoding, origin, allowed)
        if fact.kind is OriginKind.WISH and not fact.text.startswith("the host has "):
            text = f"you ask for {fact.text}"
        rules = (fact.key,) if fact.kind is OriginKind.RULE else ()
        yield Reason(str(fact.kind), text, fact.sources, rules)


def _image_word(context: PinContext, given: Iterable[int]) -> Reason:
    if context.image is not None and context.encoding.number[IMAGE] in given:
        held = context.image.contents.get(context.component)
        told = f"holds {context.component} {held}" if held else "is not said to hold that"
        return context.image_reason(f"{short(context.image)} {told}")
    return Reason("image", "no image of the families asked for holds it together with the rest")


def _changes(context: PinContext, label: str) -> Iterator[str]:
    """Yield what the stack with a version changes among the choices that come first: the question is asked again with that wish."""
    request = context.universe.request
    wish = Wish(component=context.component, range=f"=={label}")
    encoding, solution = question(
        context.universe.catalog, request._replace(wishes=(*request.wishes, wish), python=None)
    )
    if solution is None:
        return
    again = PinContext(encoding, solution, context.component)
    told = 0
    for name in context.encoding.names[: context.number]:
        text = _change(context, again, name)
        if text and told < _MOST_CHANGES:
            told += 1
            yield text


def _change(context: PinContext, again: PinContext, name: str) -> str:
    """Return how one earlier choice comes out when asked again, or an empty text if it is the same or no worse."""
    number = again.encoding.number.get(name)
    if number is None:
        return ""
    if name.startswith(SOFT):
        kept = context.solution.values[context.encoding.number[name]] == 0
        return _soft_word(again, name) if kept and again.solution.values[number] != 0 else ""
    text = again.choice(number, again.solution.values)
    return "" if text == context.choice(context.encoding.number[name], context.solution.values) else text


def _soft_word(context: PinContext, flag: str) -> str:
    """Return what a soft rule that is not kept says of a stack."""
    key = flag.removeprefix(SOFT)
    fact = next((o for o in context.encoding.origins if o.soft and o.key == key), None)
    return f"degraded: {context.filled(fact, context.solution.values)}" if fact else ""
