"""From catalog and request to a problem of the solver: every fact becomes incompatibilities with its origin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stackcheck.catalog.evaluate import lies_in, parsed_range
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Requirement, Source
from stackcheck.model.rule import Rule
from stackcheck.model.version import Version
from stackcheck.solver.candidates import Candidate, Origin
from stackcheck.solver.cases import Literals
from stackcheck.solver.domains import IMAGE, ImageCandidate, Universe
from stackcheck.solver.origins import FactOrigin, OriginKind
from stackcheck.solver.problem import Problem, ProblemBuilder
from stackcheck.solver.request import Wish

_NOTHING: Mapping[str, Any] = {}

_ANY = ("", "*", ">=0")  # ranges that say nothing
_SOFT_ORDER = (Grade.DEGRADED, Grade.CAVEAT)
_OK, _VIOLATED = 1, 2  # the two candidates of a soft rule's flag


class Encoding(NamedTuple):
    """A problem with the way back from its numbers to components, candidates and facts."""

    universe: Universe
    problem: Problem
    names: tuple[str, ...]
    """Variable number -> component id, `image`, or `soft:RULE-ID`."""
    origins: tuple[FactOrigin, ...]
    literals: Literals
    number: Mapping[str, int] = _NOTHING

    def candidate(self, values: Sequence[int], component: str) -> Candidate | None:
        """Return the chosen candidate of a component, or None if it is not in play."""
        number = self.number.get(component)
        if number is None:
            return None
        choice = self.universe.domains[component][values[number]]
        return choice if isinstance(choice, Candidate) else None

    def background(self) -> frozenset[int]:
        """Return the origins that are no fact or wish to tell: structure and preferences."""
        silent = (OriginKind.STRUCTURE, OriginKind.PREFERENCE)
        return frozenset(i for i, o in enumerate(self.origins) if o.kind in silent)

    def wishes(self) -> tuple[int, ...]:
        """Return the origins of the user's requirements, in the order given."""
        return tuple(i for i, o in enumerate(self.origins) if o.kind is OriginKind.WISH)


def encode(universe: Universe) -> Encoding:
    """Return the problem of a request."""
    return _Encoder(universe).run()


class _Encoder:
    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.builder = ProblemBuilder()
        self.origins: list[FactOrigin] = []
        self.names: list[str] = []
        self.number: dict[str, int] = {}
        # The literals see candidates only; a component's domain holds nothing else, the image's choice answers alike.
        self.literals = Literals(universe.domains, universe.constants)  # type: ignore[arg-type]
        self.rows: list[tuple[dict[str, int], int]] = []
        self.holding: dict[str, list[int | None]] = {}
        self.holders: dict[str, tuple[tuple[int, int], ...]] = {}
        """By component: candidates that images hold, each with the mask of those images."""
        self.ranges: dict[tuple[str, str], int] = {}
        self.versions: dict[str, Collection[tuple[Version, int]]] = {}

    def run(self) -> Encoding:
        universe = self.universe
        self._wishes()
        self._image_contents()
        for name in universe.domains:
            if name != IMAGE:
                self._requirements(name)
                self._bundles(name)
        soft = self._rules()
        soft += self._gpu_rows()
        # What is degraded is avoided before anything else is chosen; a caveat is told, and never costs a newer version.
        soft.sort(key=lambda s: (_SOFT_ORDER.index(s[0]), s[1]))
        for _, flag, _ in (s for s in soft if s[0] is Grade.DEGRADED):
            self._variable(flag, 2)
        for name in universe.order():
            self._variable(name, len(universe.domains[name]))
        for _, flag, _ in (s for s in soft if s[0] is Grade.CAVEAT):
            self._variable(flag, 2)
        for masks, origin in self.rows:
            self.builder.forbid(((self.number[n], m) for n, m in masks.items()), origin)
        for _, flag, cases in soft:
            for masks, origin in cases:
                terms = [(self.number[n], m) for n, m in masks.items()]
                self.builder.forbid([*terms, (self.number[flag], _OK)], origin)
        return Encoding(
            universe, self.builder.build(), tuple(self.names), tuple(self.origins), self.literals, self.number
        )

    def _variable(self, name: str, size: int) -> None:
        self.number[name] = self.builder.add_variable(name, size)
        self.names.append(name)

    def _origin(self, origin: FactOrigin) -> int:
        self.origins.append(origin)
        return len(self.origins) - 1

    def _forbid(self, masks: Mapping[str, int], origin: int) -> None:
        self.rows.append((dict(masks), origin))

    def _full(self, name: str) -> int:
        return (1 << len(self.universe.domains[name])) - 1

    def _in_range(self, name: str, text: str, *, absent_fits: bool, unstated_fits: bool = True) -> int:
        """Return the mask of candidates that satisfy a range; what cannot be compared counts as satisfying it."""
        key = (name, text)
        if key not in self.ranges:
            self.ranges[key] = self._versions_in_range(name, text)
        mask = self.ranges[key]
        for bit, candidate in enumerate(self.literals.domains[name]):
            if candidate.version is None:
                fits = absent_fits if candidate.origin is Origin.ABSENT else unstated_fits
                mask |= 1 << bit if fits else 0
        return mask

    def _versions_in_range(self, name: str, text: str) -> int:
        mask = 0
        for version, bits in self._by_version(name):
            bounds = parsed_range(text, version.scheme)
            mask |= bits if bounds is None or version in bounds else 0
        if "+" in text:
            for bit, candidate in enumerate(self.literals.domains[name]):
                mask |= 1 << bit if candidate.version is not None and _with_build(candidate, text) else 0
        return mask

    def _by_version(self, name: str) -> Collection[tuple[Version, int]]:
        """Return each version among the candidates of a component with the mask of those that have it: builds and images share one."""
        if name not in self.versions:
            found: dict[tuple[Any, ...], tuple[Version, int]] = {}
            for bit, candidate in enumerate(self.literals.domains[name]):
                if (version := candidate.version) is not None:
                    _, bits = found.get(version.key, (version, 0))
                    found[version.key] = (version, bits | 1 << bit)
            self.versions[name] = tuple(found.values())
        return self.versions[name]

    # what the user asks

    def _wishes(self) -> None:
        for position, wish in enumerate(self.universe.request.all_wishes):
            if wish.component not in self.universe.domains:
                continue
            origin = self._origin(
                FactOrigin(OriginKind.WISH, _wish_text(wish), (wish.component,), key=wish.text, wish=position)
            )
            fits = self._in_range(wish.component, wish.range, absent_fits=False, unstated_fits=False)
            fits &= self._offering(wish)
            if wish.absent:
                fits = ~fits
            self._forbid({wish.component: self._full(wish.component) & ~fits}, origin)

    def _offering(self, wish: Wish) -> int:
        """Return the candidates that are known to offer the extras of a wish; all of them if nobody recorded extras."""
        offers = [c.attributes.get("extras") for c in self.literals.domains[wish.component]]
        if not wish.extras or all(o is None for o in offers):
            return self._full(wish.component)
        wanted = frozenset(wish.extras)
        return sum(
            1 << bit for bit, offered in enumerate(offers) if offered is not None and wanted <= offered
        )

    # images

    def _image_contents(self) -> None:
        universe = self.universe
        images = [c.image for c in universe.images]
        origin = self._origin(FactOrigin(OriginKind.IMAGE, "an image holds what it holds", (IMAGE,)))
        fixed = universe.policy.get("image_fixes", ())
        real = sum(1 << bit for bit, image in enumerate(images) if image is not None)
        rows = self.literals.domains  # candidates by component
        for name, domain in rows.items():
            component = universe.catalog.component(name) if name != IMAGE else None
            if component is None or not universe.is_contained(component):
                continue
            held: defaultdict[int, int] = defaultdict(int)  # candidate bit -> images that hold it
            stated = lacking = 0
            for bit, chosen in enumerate(self._images_holding(name)):
                image = images[bit]
                if chosen is not None:
                    held[chosen] |= 1 << bit
                    stated |= 1 << bit
                elif image is None or name in image.absent:
                    lacking |= 1 << bit
            self.holders[name] = tuple(held.items())
            others = 0
            for bit, candidate in enumerate(domain):
                if candidate.origin is Origin.IMAGE:
                    self._forbid({name: 1 << bit, IMAGE: ~held[bit]}, origin)
                elif candidate.origin is Origin.UNSTATED:
                    self._forbid({name: 1 << bit, IMAGE: stated | lacking}, origin)
                else:
                    others |= 1 << bit
            # nobody puts another C library or distribution on top of an image
            self._forbid({name: others, IMAGE: real if name in fixed else stated}, origin)

    def _shipped_together(self, one: str, one_mask: int, other: str, other_mask: int) -> int:
        """Return the images that hold a candidate of each mask: what a vendor ships together is not called broken."""
        return self._images_with(one, one_mask) & self._images_with(other, other_mask)

    def _images_with(self, name: str, mask: int) -> int:
        """Return the images that hold a candidate of a mask."""
        images = 0
        for bit, holders in self.holders.get(name, ()):
            if mask >> bit & 1:
                images |= holders
        return images

    def _images_holding(self, name: str) -> list[int | None]:
        """Return for each image candidate the bit of what it holds of a component."""
        if name not in self.holding:
            bits = {id(c): bit for bit, c in enumerate(self.literals.domains[name])}
            held = self.universe.held.get(name) or [None] * len(self.universe.images)
            self.holding[name] = [None if c is None else bits[id(c)] for c in held]
        return self.holding[name]

    # what releases ask for

    def _requirements(self, name: str) -> None:
        # What an image does not state satisfies the image's own parts, but nothing that is put on top of it.
        grouped: dict[tuple[str, str, str, bool, bool], tuple[int, Requirement]] = {}
        for bit, candidate in enumerate(self.literals.domains[name]):
            for row in candidate.requires or ():
                if row.arch and self.universe.arch not in row.arch:
                    continue
                if row.extra and row.extra not in self.universe.extras.get(name, ()):
                    continue
                key = (row.component, row.range, row.python, row.optional, candidate.origin is Origin.IMAGE)
                mask, _ = grouped.get(key, (0, row))
                grouped[key] = (mask | 1 << bit, row)
        for (target, _, _, _, in_image), (mask, row) in grouped.items():
            if target in self.universe.domains and target != name:
                self._require(name, mask, row, in_image=in_image)

    def _require(self, name: str, mask: int, row: Requirement, *, in_image: bool) -> None:
        target, text, python = row.component, row.range, row.python
        unstated_fits = in_image or row.optional or target == "python"
        bad = self._full(target) & ~self._in_range(
            target, text, absent_fits=row.optional, unstated_fits=unstated_fits
        )
        if not bad:
            return
        needs = target if text in _ANY else f"{target} {text}"
        when = f" on Python {python}" if python else ""
        if bad == self._full(target):
            when += ", which no release that can be had is"
        sources = self._component_refs(name, row.sources) or self._release_refs(name, mask)
        origin = self._origin(
            FactOrigin(
                OriginKind.REQUIRES, f"{name} {{{name}}} requires {needs}{when}", (name, target), sources
            )
        )
        masks = {name: mask, target: bad}
        if python and "python" in self.universe.domains and target != "python":
            masks["python"] = self._in_range("python", python, absent_fits=False, unstated_fits=False)
        together = self._shipped_together(name, mask, target, bad)
        if together:
            masks[IMAGE] = self._full(IMAGE) & ~together
        self._forbid(masks, origin)

    def _component_refs(self, name: str, keys: Iterable[str]) -> tuple[str, ...]:
        component = self.universe.catalog.component(name)
        return tuple(component.source(k).ref for k in keys) if component else ()

    def _release_refs(self, name: str, mask: int) -> tuple[str, ...]:
        """Return the sources of the first release in a mask."""
        release = self.literals.domains[name][(mask & -mask).bit_length() - 1].release
        return self._component_refs(name, release.sources[:2]) if release else ()

    def _bundles(self, name: str) -> None:
        grouped: dict[tuple[str, str], int] = {}
        for bit, candidate in enumerate(self.literals.domains[name]):
            if (
                candidate.release is not None
                and candidate.release.bundles
                and candidate.origin is Origin.RELEASE
            ):
                for part, version in candidate.release.bundles.items():
                    grouped[part, version] = grouped.get((part, version), 0) | 1 << bit
        no_image = sum(1 << bit for bit, c in enumerate(self.universe.images) if c.image is None)
        for (part, version), mask in grouped.items():
            component = self.universe.catalog.component(part)
            if part not in self.universe.domains or component is None:
                continue
            bad = self._full(part) & ~self._in_range(part, f"=={version}", absent_fits=True)
            origin = self._origin(
                FactOrigin(
                    OriginKind.BUNDLE,
                    f"{name} {{{name}}} brings {part} {version}",
                    (name, part),
                    self._release_refs(name, mask),
                )
            )
            masks = {name: mask, part: bad}
            if self.universe.is_contained(component):
                masks[IMAGE] = no_image
            self._forbid(masks, origin)

    # rules

    def _rules(self) -> list[tuple[Grade, str, list[tuple[dict[str, int], int]]]]:
        soft: list[tuple[Grade, str, list[tuple[dict[str, int], int]]]] = []
        for rule in self.universe.catalog.stack_rules(self.universe.domains):
            if not rule.solver or rule.grade not in (Grade.BROKEN, *_SOFT_ORDER):
                continue
            cases = self._rule_rows(rule)
            if not cases:
                continue
            origin = self._origin(
                FactOrigin(
                    OriginKind.RULE,
                    rule.title,
                    rule.subjects,
                    refs(rule.source_table, rule.sources),
                    key=rule.id,
                    detail=rule.why,
                    soft=rule.grade is not Grade.BROKEN,
                )
            )
            if rule.grade is Grade.BROKEN:
                for masks in cases:
                    self._forbid(masks, origin)
            else:
                soft.append(
                    (
                        Grade.DEGRADED if rule.avoid else rule.grade,
                        f"soft:{rule.id}",
                        [(masks, origin) for masks in cases],
                    )
                )
        return soft

    def _rule_rows(self, rule: Rule) -> list[dict[str, int]]:
        rows: list[dict[str, int]] = []
        for case in self.literals.firing(rule):
            rows += (dict(r) for r in self.literals.forbidden(case))
        return [r for r in rows if r]

    def _gpu_rows(self) -> list[tuple[Grade, str, list[tuple[dict[str, int], int]]]]:
        soft: list[tuple[Grade, str, list[tuple[dict[str, int], int]]]] = []
        for position, row in enumerate(self.universe.gpu.rows):
            if row.component not in self.universe.domains or row.grade not in (
                "broken",
                "degraded",
                "caveat",
            ):
                continue
            mask = self._row_mask(position)
            if not mask:
                continue
            text = (
                f"{row.component} {{{row.component}}} is {row.grade} on {self.universe.gpu.name}: {row.why}"
            )
            key = f"gpu:{self.universe.gpu.id}:{position}"
            origin = self._origin(
                FactOrigin(
                    OriginKind.GPU_ROW,
                    text,
                    (row.component, "gpu"),
                    refs(self.universe.gpu.sources, row.sources),
                    key,
                    soft=row.grade != "broken",
                )
            )
            if row.grade == "broken":
                self._forbid({row.component: mask}, origin)
            else:
                soft.append((Grade(row.grade), f"soft:{key}", [({row.component: mask}, origin)]))
        return soft

    def _row_mask(self, position: int) -> int:
        """Return the candidates whose first matching row this is."""
        rows = self.universe.gpu.rows
        row = rows[position]
        earlier = [r for r in rows[:position] if r.component == row.component]
        mask = 0
        for bit, candidate in enumerate(self.literals.domains[row.component]):
            if candidate.version is not None and lies_in(candidate.version, row.range):
                taken = any(lies_in(candidate.version, r.range) for r in earlier)
                mask |= 0 if taken else 1 << bit
        return mask


def refs(table: Mapping[str, Source], keys: Iterable[str]) -> tuple[str, ...]:
    """Return the URLs and purls behind source keys; a key that stands in no table is one itself."""
    return tuple(table[k].ref if k in table else k for k in keys)


def _with_build(candidate: Candidate, text: str) -> bool:
    """Whether a range that names a build (`==2.11.0+cu128`) means this candidate."""
    if candidate.build is None or candidate.version is None or "+" not in text:
        return False
    bounds = parsed_range(text, candidate.version.scheme)
    try:
        return bounds is not None and Version(candidate.text, candidate.version.scheme) in bounds
    except ValueError:
        return False


def _wish_text(wish: Wish) -> str:
    if wish.flag == "--host":
        return f"the host has {wish.component} {wish.range.removeprefix('==')}"
    if wish.absent:
        return f"no {wish.component}"
    return wish.text if wish.range or wish.extras else f"{wish.component} (any version)"


__all__ = ["Encoding", "ImageCandidate", "encode", "refs"]
