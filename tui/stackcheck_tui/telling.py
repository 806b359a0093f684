"""Library values as styled text for the screen. Every observed text is made visible first, so that none can drive the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from stackcheck.model.kinds import Grade, Severity
from stackcheck.report.style import GRADE_SIGNS, visible, visible_lines

if TYPE_CHECKING:  # the first paint needs signs and colours alone
    from stackcheck.model.explanation import Explanation, NotTaken
    from stackcheck.model.finding import Finding, Remedy
    from stackcheck.model.stack import Alternative, Pin, Stack
    from stackcheck.solver.pair_facts import PairFact, PairStory

TIMES = "\N{MULTIPLICATION SIGN}"
STEP = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"

GRADE_STYLES = {
    Grade.SUPPORTED: "$text-success",
    Grade.TESTED: "$text-primary",
    Grade.CAVEAT: "$text-warning",
    Grade.DEGRADED: "$text-accent",
    Grade.BROKEN: "$text-error",
    Grade.UNKNOWN: "$foreground-muted",
}
SEVERITY_STYLES = {
    Severity.ERROR: "$text-error",
    Severity.WARNING: "$text-warning",
    Severity.INFO: "$text-primary",
}
SEVERITY_SIGNS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "i"}
MUTED = "$foreground-muted"


def sign(grade: Grade) -> str:
    """Return the sign of a grade in a picture: what nobody has said anything about is a mere dot."""
    return "·" if grade is Grade.UNKNOWN else GRADE_SIGNS[grade]


def graded(grade: Grade, text: str = "") -> Content:
    """Return a grade's sign, and a word after it, in its colour."""
    return Content.styled(f"{sign(grade)} {text or grade}", GRADE_STYLES[grade])


def severe(severity: Severity) -> Content:
    """Return a severity's sign and word in its colour."""
    return Content.styled(f"{SEVERITY_SIGNS[severity]} {severity}", SEVERITY_STYLES[severity])


def lines(parts: Iterable[Content]) -> Content:
    """Return lines as one text."""
    return Content("\n").join(parts)


def heading(text: str) -> Content:
    """Return a heading inside a panel."""
    return Content.styled(text.upper(), "bold $text-primary")


def sources(refs: Sequence[str], limit: int = 4, *, width: int = 0) -> list[Content]:
    """Return the lines of sources, the first few of many, each cut to a width (0: whole)."""
    shown = [Content.styled(f"  ↗ {_shortened(visible(r, 300), width - 4)}", MUTED) for r in refs[:limit]]
    if len(refs) > limit:
        shown.append(Content.styled(f"    and {len(refs) - limit} more", MUTED))
    return shown


def _shortened(ref: str, room: int) -> str:
    """Return an address that fits on a line: its end tells more than its beginning."""
    if room <= 8 or len(ref) <= room:
        return ref
    ref = ref.removeprefix("https://")
    return ref if len(ref) <= room else f"{ref[: room // 3]}…{ref[-(room - room // 3 - 1) :]}"


def fact(one: PairFact, *, width: int = 0) -> Content:
    """Return one fact about a pair."""
    told = [Content.assemble((sign(one.grade), f"bold {GRADE_STYLES[one.grade]}"), " ", visible(one.text))]
    if one.variants:
        told.append(Content.styled(f"  for {', '.join(one.variants[:6])}", MUTED))
    if one.detail:
        told.append(Content(f"  {visible(one.detail)}"))
    told += [Content.assemble(("  → ", "$text-accent"), visible(r)) for r in one.remedies[:2]]
    return lines([*told, *sources(one.sources, 3, width=width)])


def story(one: PairStory, *, names: tuple[str, str], width: int = 0) -> Content:
    """Return a pair with its grade and facts."""
    head = Content.assemble(
        (f"{names[0]} {one.row.label}".strip(), "bold"),
        f" {TIMES} ",
        (f"{names[1]} {one.column.label}".strip(), "bold"),
    )
    told = [head, graded(one.grade), *_folded_in(one)]
    if len(one.variants) > 1 and len(set(one.variants.values())) > 1:
        told.append(Content())
        told += [
            Content.assemble(("  ", ""), (sign(g), GRADE_STYLES[g]), f" {label}")
            for label, g in one.variants.items()
        ][:8]
    for each in one.facts:
        told += [Content(), fact(each, width=width)]
    if not one.facts:
        told += [
            Content(),
            Content.styled(
                "No fact speaks of this pair: nobody whose word we have has said anything.", MUTED
            ),
        ]
    return lines(told)


def _folded_in(one: PairStory) -> list[Content]:
    """Say where a grade is that of something that comes along, since the release itself may be told as better elsewhere."""
    through, alone = one.through()
    if not through:
        return []
    said = Content.styled(f"  because of {'; '.join(through[:3])}", MUTED)
    if alone is Grade.UNKNOWN:
        return [said]
    return [said, Content.assemble(("  without that it would be ", MUTED), graded(alone))]


def pin(one: Pin, *, width: int = 0) -> Content:
    """Return one pin: why this version, why no newer one."""
    told = [
        Content.assemble((f"{one.name or one.component} {one.version}", "bold"), "  ", graded(one.grade)),
        Content.styled(f"{one.layer} · {one.origin} · accepts {one.accepts or 'this version'}", MUTED),
        Content(),
        heading("why"),
    ]
    told += [Content(f"  {visible(w)}") for w in one.why] or [
        Content.styled("  nothing else was in question", MUTED)
    ]
    told += [Content(), heading("why not newer")]
    for held in one.held_back:
        told.append(Content.assemble(("  ", ""), (held.version, "bold")))
        told += [Content(f"    {visible(b)}") for b in held.because]
    if not one.held_back:
        told.append(Content.styled("  …", MUTED))
    if one.caveats:
        told += [Content(), heading("caveats")]
        told += [Content.styled(f"  ! {visible(c)}", "$text-warning") for c in one.caveats]
    if one.purl:
        told += [Content(), Content.styled(f"  {one.purl}", MUTED)]
    return lines([*told, Content(), *sources(one.sources, width=width)])


_VERDICTS = {
    "excluded": "impossible",
    "given": "not with what is chosen before it",
    "later": "possible, less preferred",
}


def explanation(one: Explanation, *, width: int = 0) -> Content:
    """Return why a component has its version, and what became of every newer one."""
    pin_ = one.pin
    told = [Content.styled(f"{one.name} {pin_.version}" if pin_ else f"{one.name} is not in it", "bold")]
    if pin_ is not None:
        told[0] = Content.assemble(told[0], "  ", graded(pin_.grade))
        told.append(
            Content.styled(f"{pin_.layer} · {pin_.origin} · accepts {pin_.accepts or 'this version'}", MUTED)
        )
    told += [Content(), heading("why")]
    for reason in one.reasons:
        told.append(
            Content.assemble(("  ▸ " if reason.forces else "  · ", "$text-accent"), visible(reason.text))
        )
    told += [Content(), heading("why not newer")]
    for group in one.newer:
        told += _not_taken(group)
    if not one.newer:
        told.append(Content.styled("  no newer release is known", MUTED))
    if one.preferred:
        told += [Content(), heading("passed over though preferred")]
        for group in one.preferred:
            told += _not_taken(group)
    if pin_ is not None and pin_.caveats:
        told += [Content(), heading("caveats")]
        told += [Content.styled(f"  ! {visible(c)}", "$text-warning") for c in pin_.caveats]
    return lines([*told, Content(), *sources(all_sources(one), width=width)])


def all_sources(one: Explanation) -> tuple[str, ...]:
    """Return the sources of an explanation, those of the reasons against newer releases first."""
    reasons = [r for g in (*one.newer, *one.preferred) for r in g.reasons] + list(one.reasons)
    found = [s for r in reasons for s in r.sources]
    return tuple(dict.fromkeys((*found, *(one.pin.sources if one.pin else ()))))


def _not_taken(group: NotTaken) -> list[Content]:
    versions = ", ".join(group.versions[:4]) + (
        f" and {len(group.versions) - 4} more" if len(group.versions) > 4 else ""
    )
    told = [Content.assemble("  ", (versions, "bold"), (f"  {_VERDICTS[group.verdict]}", MUTED))]
    told += [Content(f"    {visible(r.text)}") for r in group.reasons]
    if group.given:
        told.append(Content.styled(f"    given {', '.join(group.given)}", MUTED))
    if group.cost:
        told.append(Content.styled(f"    taking it would change {', '.join(group.cost)}", MUTED))
    if group.ask:
        told.append(Content.styled(f"    to have it: {group.ask}", MUTED))
    return told


def conflict(stack: Stack, *, width: int = 0) -> Content:
    """Return why there is no stack, as a chain."""
    assert stack.conflict is not None  # noqa: S101
    told = [Content.styled("✗ No stack fits all of this", "bold $text-error"), Content()]
    told += [Content.assemble(("  │ ", MUTED), visible(s)) for s in stack.conflict.chain[:-1]]
    told += [Content.assemble(("  ╰ ", MUTED), (visible(s), "bold")) for s in stack.conflict.chain[-1:]]
    return lines([*told, Content(), *sources(stack.conflict.sources, width=width)])


def alternative(one: Alternative) -> Content:
    """Return one way out of a conflict and what it leads to."""
    changes = ", ".join(f"{c.requirement} → {c.to}" for c in one.change)
    shown = ("torch", "cuda", "driver", "nccl")
    result = " · ".join(f"{n} {one.result[n]}" for n in shown if n in one.result)
    return Content.assemble((visible(changes), "bold $text-success"), "\n", (f"  {result}", MUTED))


def remedy(one: Remedy, *, tried: bool) -> Content:
    """Return one remedy with its mark for what-if."""
    from stackcheck.report.wording import remedy_lines

    first, *rest = remedy_lines(one)
    mark = "●" if tried else ("○" if one.sets else " ")
    proved = Content.styled("  proved", "$text-success") if one.proved else Content()
    head = Content.assemble((f"{mark} ", "bold $text-accent"), first, proved)
    return lines([head, *(Content.styled(f"    {r.strip()}", MUTED) for r in rest)])


def finding(one: Finding, *, width: int = 0) -> Content:
    """Return everything about a finding but its remedies."""
    from stackcheck.report.wording import evidence_text

    told = [
        Content.assemble(severe(one.severity), "  ", (str(one.kind), MUTED), "  ", (visible(one.id), MUTED)),
        Content.styled(visible(one.title), "bold"),
        Content(),
        heading("seen"),
    ]
    told += [Content(f"  {evidence_text(e)}") for e in one.evidence] or [Content.styled("  nothing", MUTED)]
    if one.why:
        told += [Content(), heading("why"), Content(f"  {visible(one.why)}")]
    if one.impact:
        told += [Content(), heading("impact"), Content(f"  {visible(one.impact)}")]
    if one.consequences:
        told += [Content(), heading("causes")]
        told += [Content(f"  {visible(c.title)}") for c in one.consequences]
    return lines([*told, Content(), *sources(one.sources, width=width)])


def plain(text: str) -> Content:
    """Return a text of several lines with nothing in it that could drive a terminal."""
    return Content("\n".join(visible_lines(text)))
