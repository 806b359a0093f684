"""Facts in words: an origin's text with the versions that are in play, and a conflict as a chain a person can follow."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stackcheck.catalog.evaluate import Missing
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.domains import IMAGE
from stackcheck.solver.encode import Encoding
from stackcheck.solver.origins import FactOrigin, OriginKind

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_.:/-]*)\}")
_MOST_NAMED = 3


def told(encoding: Encoding, core: Sequence[int]) -> tuple[list[str], list[str]]:
    """Return a conflict's chain and its facts, each in words; `core` is a minimal set of origins."""
    allowed = allowed_masks(encoding, core)
    wishes = [i for i in core if encoding.origins[i].kind is OriginKind.WISH]
    facts = [i for i in core if encoding.origins[i].kind is not OriginKind.WISH]
    lines = [_of_the_image(encoding, i, core) or fact_text(encoding, i, allowed) for i in facts]
    chain = [_asked(encoding.origins[i].text) for i in wishes]
    chain += lines
    chain.append(_conclusion(encoding, core))
    return chain, lines


def _of_the_image(encoding: Encoding, origin: int, core: Sequence[int]) -> str:
    """Return what the one image that is asked for holds of the parts that the other facts speak of; empty for another kind of fact."""
    image = encoding.universe.images[0].image if len(encoding.universe.images) == 1 else None
    if image is None or encoding.origins[origin].kind is not OriginKind.IMAGE:
        return ""
    others = {i for i in core if encoding.origins[i].kind is not OriginKind.IMAGE}
    spoken_of = {s for i in others for s in encoding.origins[i].subjects}
    spoken_of |= {encoding.names[n] for o, terms in encoding.problem.rows if o in others for n, _ in terms}
    held = [f"{name} {version}" for name, version in sorted(image.contents.items()) if name in spoken_of]
    return f"{image.name.rpartition('/')[2]} holds {' and '.join(held)}" if held else ""


def _asked(text: str) -> str:
    return text if text.startswith("the host has") else f"you ask for {text}"


def allowed_masks(encoding: Encoding, origins: Sequence[int]) -> dict[str, int]:
    """Return which candidates of each component the facts and wishes among `origins` leave, as far as single steps tell."""
    wanted = set(origins)
    rows = [
        (o, {encoding.names[n]: m for n, m in terms}) for o, terms in encoding.problem.rows if o in wanted
    ]
    allowed: dict[str, int] = {}
    for origin, masks in rows:
        if encoding.origins[origin].kind is OriginKind.WISH and len(masks) == 1:
            for name, mask in masks.items():
                allowed[name] = allowed.get(name, _full(encoding, name)) & ~mask
    for origin, masks in rows:
        if encoding.origins[origin].kind is OriginKind.IMAGE:
            for name, mask in _whatever_the_image(encoding, masks).items():
                left = allowed.get(name, _full(encoding, name)) & ~mask
                allowed[name] = left or allowed.get(name, _full(encoding, name))
    for origin, masks in rows:
        fact = encoding.origins[origin]
        if fact.kind is OriginKind.REQUIRES and len(masks) == 2:
            source, target = fact.subjects
            within = allowed.get(source)
            if within is not None and source in masks and within & masks[source] == within:
                left = allowed.get(target, _full(encoding, target)) & ~masks[target]
                allowed[target] = left or allowed.get(target, _full(encoding, target))
    return allowed


def _whatever_the_image(encoding: Encoding, masks: Mapping[str, int]) -> Mapping[str, int]:
    """Return what a row about images excludes whichever of them is taken: much where there is one, seldom anything else."""
    every_image = (1 << len(encoding.universe.images)) - 1
    rest = {name: mask for name, mask in masks.items() if name != IMAGE}
    return rest if len(rest) == 1 and masks.get(IMAGE, -1) & every_image == every_image else {}


def _full(encoding: Encoding, name: str) -> int:
    return (1 << len(encoding.universe.domains[name])) - 1


def fact_text(encoding: Encoding, origin: int, allowed: Mapping[str, int]) -> str:
    """Return an origin in words, its placeholders filled with the versions it excludes among the allowed ones."""
    fact = encoding.origins[origin]
    lead = fact.subjects[0] if fact.subjects else ""
    rows = [{encoding.names[n]: m for n, m in terms} for o, terms in encoding.problem.rows if o == origin]
    asked = [
        r for r in rows if not (lead in r and not r[lead] & allowed.get(lead, -1))
    ]  # others nobody asks for
    met = [r for r in asked if all(m & allowed.get(name, m) for name, m in r.items())]
    masks: dict[str, int] = {}
    for row in met or asked:
        for name, mask in row.items():
            masks[name] = masks.get(name, 0) | (mask & allowed.get(name, mask) or mask)
    return fill(encoding, fact, masks)


def fill(encoding: Encoding, fact: FactOrigin, masks: Mapping[str, int]) -> str:
    """Return a fact's text with placeholders replaced: `{torch}` by versions, `{torch.cuda}` and `{gpu.name}` by values."""

    def replaced(match: re.Match[str]) -> str:
        subject = match[1]
        head, _, attribute = subject.partition(".")
        if head == "gpu" and not attribute:
            return encoding.universe.gpu.name
        constant = encoding.universe.constants.get(subject)
        if constant is not None:
            return _worded(constant)
        if head not in encoding.universe.domains or head == IMAGE:
            return attribute or head
        chosen = _members(encoding, head, masks.get(head, -1))
        if not attribute:
            return versions_text(chosen)
        values = dict.fromkeys(
            _worded(v) for v in (c.value(attribute) for c in chosen) if not isinstance(v, Missing)
        )
        return " or ".join(list(values)[:_MOST_NAMED]) or "?"

    return " ".join(_PLACEHOLDER.sub(replaced, fact.text).split())


def _worded(value: object) -> str:
    if isinstance(value, frozenset):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return ", ".join(map(str, value)) or "none"
    return str(value)


def _members(encoding: Encoding, name: str, mask: int) -> list[Candidate]:
    domain = encoding.literals.domains[name]
    return [c for bit, c in enumerate(domain) if mask >> bit & 1 and c.version is not None]


def versions_text(candidates: Sequence[Candidate]) -> str:
    """Return a short text for a set of candidates: their versions if few, else the oldest and the newest."""
    by_version: dict[str, list[str]] = {}
    for candidate in candidates:
        labels = by_version.setdefault(candidate.version.text if candidate.version else "", [])
        suffix = candidate.text.partition("+")[2]
        if suffix and candidate.origin is not Origin.IMAGE and suffix not in labels:
            labels.append(suffix)
    if not by_version:
        return ""
    if len(by_version) == 1:
        version, labels = next(iter(by_version.items()))
        if len(labels) == 1 and "+" not in version:
            return f"{version}+{labels[0]}"
        return version if not labels or "+" in version else f"{version} ({', '.join(labels)})"
    if len(by_version) <= _MOST_NAMED:
        return ", ".join(by_version)
    ordered = sorted((c for c in candidates if c.version), key=lambda c: c.version.key if c.version else ())
    return f"{ordered[0].version} to {ordered[-1].version}"


def _conclusion(encoding: Encoding, core: Sequence[int]) -> str:
    if len(core) == 1 and encoding.origins[core[0]].kind is OriginKind.WISH:
        wish = encoding.universe.request.all_wishes[encoding.origins[core[0]].wish]
        lacking = f" that is known to offer [{', '.join(wish.extras)}]" if wish.extras else " like that"
        return f"there is no {wish.component}{lacking}"
    counts: dict[str, int] = {}
    for origin in core:
        for subject in dict.fromkeys(encoding.origins[origin].subjects):
            counts[subject] = counts.get(subject, 0) + 1
    shared = [s for s in counts if counts[s] > 1 and s in encoding.universe.domains and s != IMAGE]
    if shared:
        best = max(shared, key=lambda s: (counts[s], s))
        return f"so no {best} is left that fits all of these"
    return "so nothing fits all of these"
