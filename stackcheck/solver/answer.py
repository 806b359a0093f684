"""From a solution to a stack: pins with grades and reasons, what was held back, what could be swapped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from stackcheck.catalog.evaluate import Missing, fires, truth
from stackcheck.model.kinds import Grade
from stackcheck.model.release import Component, GpuRow, Image
from stackcheck.model.rule import Rule, head_of
from stackcheck.model.stack import HeldBack, Pin, Stack, StackImage, Target
from stackcheck.model.version import Version
from stackcheck.solver.candidates import Candidate, Origin, shipped
from stackcheck.solver.domains import IMAGE
from stackcheck.solver.encode import Encoding, refs
from stackcheck.solver.explain import exclusion
from stackcheck.solver.narrate import fill
from stackcheck.solver.origins import FactOrigin, OriginKind
from stackcheck.solver.request import request_to_json
from stackcheck.solver.search import Solution
from stackcheck.solver.shelf import ImageCandidate

_MOST_HELD_BACK = 3
_MOST_REASONS = 4
_CUDA_SUFFIX = re.compile(r"-cu\d+\Z")
_WORST = (Grade.BROKEN, Grade.DEGRADED, Grade.CAVEAT)


def build_stack(encoding: Encoding, solution: Solution, *, brief: bool = False) -> Stack:
    """Return the stack of a solution; a brief one leaves out reasons."""
    return _Answer(encoding, solution).stack(brief=brief)


def broken_image(encoding: Encoding, solution: Solution) -> str:
    """Return the name of the chosen image if it holds, beyond what was in play, something that is broken on this target; else nothing."""
    answer = _Answer(encoding, solution)
    if answer.image is None or not answer.extras:
        return ""
    broken = answer.broken_extras()
    return answer.image.name if broken else ""


class Exclusion(NamedTuple):
    """Candidates of one variable that a fact excludes, given all other choices."""

    mask: int
    origin: int
    latest: int
    """The highest variable number among the choices that the fact rests on."""


class _Answer:
    def __init__(self, encoding: Encoding, solution: Solution) -> None:
        self.encoding = encoding
        self.universe = encoding.universe
        self.solution = solution
        self.values = solution.values
        choice = self.universe.images[self.values[encoding.number[IMAGE]]]
        self.image: Image | None = choice.image if isinstance(choice, ImageCandidate) else None
        self.extras = self._image_extras()

    def stack(self, *, brief: bool) -> Stack:
        universe = self.universe
        broken = self._soft_rules
        pins: list[Pin] = []
        unstated: list[str] = []
        for name in self._by_layer():
            candidate = self.encoding.candidate(self.values, name)
            if candidate is None or candidate.origin is Origin.ABSENT:
                continue
            if candidate.origin is Origin.UNSTATED:
                unstated.append(name)
                continue
            pins.append(self._pin(name, candidate, broken, brief=brief))
        if not brief:
            pins += self._extra_pins()
        instance = universe.instance
        interfaces = instance.attributes.get("efa_interfaces") if instance else None
        return Stack(
            target=Target(
                gpu=universe.gpu.id,
                instance=instance.id if instance else None,
                arch=universe.arch,
                gpu_name=universe.gpu.name,
                gpu_count=instance.gpu_count if instance else None,
                efa_interfaces=int(interfaces) if isinstance(interfaces, int | float) else None,
            ),
            image=self._stack_image(pins) if self.image else None,
            pins=tuple(pins),
            notes=tuple(self._notes(unstated, brief=brief)),
            requirements=tuple(w.told for w in universe.request.all_wishes),
            policy=universe.request.policy,
            data_version=universe.catalog.edition,
            request=request_to_json(universe.request),
        )

    def _by_layer(self) -> list[str]:
        layers: Sequence[str] = self.universe.policy["lock_export_layers"]
        order = self.universe.order()

        def rank(name: str) -> tuple[int, int]:
            component = self.universe.catalog.component(name)
            layer = component.layer if component else ""
            return (layers.index(layer) if layer in layers else len(layers), order.index(name))

        return sorted((n for n in order if n != IMAGE), key=rank)

    # one pin

    def _pin(self, name: str, candidate: Candidate, broken: Mapping[str, list[Rule]], *, brief: bool) -> Pin:
        component = self._component(name)
        caveats = self._caveats(name, candidate, broken)
        exclusions = [] if brief else self.exclusions(name)
        release_sources = candidate.release.sources if candidate.release else ()
        build_sources = candidate.build.sources if candidate.build else ()
        keys = dict.fromkeys(component.source(k).ref for k in (*build_sources, *release_sources)[:3])
        facts = [self.encoding.origins[e.origin] for e in exclusions]
        told = dict.fromkeys(s for f in facts for s in f.sources)
        if candidate.origin is Origin.IMAGE and self.image:
            told.update(dict.fromkeys(refs(self.image.source_table, self.image.sources[:1])))
        return Pin(
            component=name,
            version=candidate.version.text
            if candidate.origin is Origin.IMAGE and candidate.version
            else candidate.text,
            scope=component.scope,
            layer=component.layer,
            name=component.name,
            build=candidate.build.label if candidate.build else "",
            index_build=candidate.index_build,
            builds_against=component.builds_against,
            accepts="" if brief else self._accepts(name, candidate, exclusions),
            grade=self._grade(name, candidate, broken),
            origin=_origin_word(component, candidate),
            purl=purl_of(component, candidate) if candidate.origin in (Origin.RELEASE, Origin.ASKED) else "",
            why=() if brief else self._why(name, candidate, exclusions),
            held_back=() if brief else self._held_back(name, exclusions),
            caveats=caveats,
            sources=tuple(list(keys)[:3] + [s for s in told if s not in keys][:5]),
        )

    def _caveats(self, name: str, candidate: Candidate, broken: Mapping[str, list[Rule]]) -> tuple[str, ...]:
        """Return what is to be said against a version: rules that fire, the GPU's own row, that nobody knows it."""
        found = [self._rule_text(r) for r in broken.get(name, ())]
        row = self.gpu_row(name, candidate)
        if row is not None and Grade(row.grade) in _WORST:
            found.append(f"{row.grade} on {self.universe.gpu.name}: {row.why}")
        landmarks = self.universe.catalog.policy.get("landmarks", ())
        if candidate.origin is Origin.ASKED and name not in landmarks:
            found.append(
                f"no matrix knows {name} {candidate.version} (unknown-release){self._beside(name, candidate)}"
            )
        return tuple(dict.fromkeys(found))

    def _beside(self, name: str, candidate: Candidate) -> str:
        """Return where a version that nobody knows lies among those that are known."""
        releases = self._component(name).releases
        if not releases or candidate.version is None:
            return ""
        older = [r.version for r in releases if r.version.public < candidate.version.public]
        newer = [r.version for r in releases if r.version.public > candidate.version.public]
        if not newer:
            return f"; it is newer than the newest known, {releases[-1].version}"
        if not older:
            return f"; it is older than the oldest known, {newer[0]}"
        return f"; the nearest known are {older[-1]} and {newer[0]}"

    def exclusions(self, name: str) -> list[Exclusion]:
        """Return what excludes candidates of a component, given every other choice, in the order of the facts."""
        number = self.encoding.number[name]
        rows = self.encoding.problem.rows
        found: list[Exclusion] = []
        for position in self.encoding.problem.occurrences(number):
            origin, terms = rows[position]
            mask, latest = 0, -1
            for variable, term in terms:
                latest = max(latest, variable)
                if variable == number:
                    mask = term
                elif not term >> self.values[variable] & 1:
                    break
            else:
                found.append(Exclusion(mask, origin, latest))
        return found

    def _why(self, name: str, candidate: Candidate, exclusions: Sequence[Exclusion]) -> tuple[str, ...]:
        lines: list[str] = []
        kinds = (OriginKind.WISH, OriginKind.REQUIRES, OriginKind.BUNDLE, OriginKind.RULE, OriginKind.GPU_ROW)
        if candidate.origin is Origin.IMAGE and self.image:
            lines.append("the image holds it")
        better = (1 << self.values[self.encoding.number[name]]) - 1
        excluded: dict[int, int] = {}
        for e in exclusions:
            if e.mask & better or self.encoding.origins[e.origin].kind is OriginKind.WISH:
                excluded[e.origin] = excluded.get(e.origin, 0) | e.mask & better
        asks = (OriginKind.REQUIRES, OriginKind.BUNDLE)
        for kind in kinds:
            for origin, mask in excluded.items():
                fact = self.encoding.origins[origin]
                about_it = kind not in asks or fact.subjects[-1] == name
                if fact.kind is kind and not fact.soft and about_it:
                    lines.append(self._reason(fact, name, mask))
        row = self.gpu_row(name, candidate)
        if row is not None and row.why and Grade(row.grade) not in _WORST:
            lines.append(f"{row.grade} on {self.universe.gpu.name} in {row.range}: {row.why}")
        if not lines or (candidate.origin is Origin.RELEASE and all("requires" not in t for t in lines)):
            lines.append(self._preference(name, candidate))
        return tuple(dict.fromkeys(t for t in lines if t))[:_MOST_REASONS]

    def _reason(self, fact: FactOrigin, name: str, excluded: int = 0) -> str:
        """Return a fact as the reason for a pin: what was asked or required, or what is wrong with the better ones that it excludes."""
        if fact.kind is OriginKind.WISH:
            return f"you ask for {fact.text}" if "host has" not in fact.text else fact.text
        if fact.kind in (OriginKind.RULE, OriginKind.GPU_ROW) and excluded:
            return f"others are ruled out: {self._fact_text(fact, name, excluded)}"
        return self._fact_text(fact, name)

    def _preference(self, name: str, candidate: Candidate) -> str:
        kept = self.universe.request.keep.get(name)
        if kept and kept in (candidate.text, candidate.version.text if candidate.version else ""):
            return "kept from the lock"
        if name in self.universe.policy["prefer"]:
            return "the first of the resolver's preferred ones that fits (matrices/policy.json)"
        if candidate.attributes.get("branch_type") == "LTSB":
            return "newest of a long-term branch that fits"
        word = {"newest": "newest", "stable": "newest settled", "tested": "newest that a vendor image ships"}
        return f"{word[self.universe.request.policy]} that fits"

    def _held_back(self, name: str, exclusions: Sequence[Exclusion]) -> tuple[HeldBack, ...]:
        """Return newer releases (and better builds of the same one) that were not taken, newest first, with what excludes each."""
        chosen = self.encoding.candidate(self.values, name)
        if name in self.universe.policy["prefer"] or chosen is None or chosen.version is None:
            return ()  # there the newest is not what is wanted
        if chosen.origin is Origin.IMAGE:
            return ()  # an image holds what it holds
        scheme = chosen.version.scheme
        chosen_bit = self.values[self.encoding.number[name]]
        newer: dict[str, int] = {}
        for bit, candidate in enumerate(self.encoding.literals.domains[name]):
            if candidate.origin is not Origin.RELEASE or candidate.version is None:
                continue
            same = candidate.version == chosen.version and bit < chosen_bit
            if same or candidate.version.public > chosen.version.public:
                text = candidate.text if same else candidate.version.text
                newer[text] = newer.get(text, 0) | 1 << bit
        ordered = sorted(newer.items(), key=lambda item: Version(item[0], scheme), reverse=True)
        return tuple(
            HeldBack(text, self._excluded_by(name, mask, exclusions))
            for text, mask in ordered[:_MOST_HELD_BACK]
        )

    def _excluded_by(self, name: str, mask: int, exclusions: Sequence[Exclusion]) -> tuple[str, ...]:
        """Return in words what excludes candidates: facts about earlier choices first, deep reasons for what was asked for."""
        reasons, left = self._direct(name, mask, exclusions)
        if not left and reasons:
            return reasons
        deep = self._deep(name, mask) if name in self.universe.told_in_depth else ()
        if deep:
            return deep
        release = self.encoding.literals.domains[name][(mask & -mask).bit_length() - 1].release
        if release is not None and release.yanked:
            return ("yanked by its publisher",)
        if self.encoding.literals.domains[name][(mask & -mask).bit_length() - 1].is_unread(
            self.universe.catalog
        ):
            return ("its requirements were not read: unknown",)
        return reasons or ("an earlier choice comes first (`stackcheck why` tells which)",)

    def _direct(self, name: str, mask: int, exclusions: Sequence[Exclusion]) -> tuple[tuple[str, ...], int]:
        """Return reasons that rest on earlier choices alone, and the candidates that they leave."""
        number = self.encoding.number[name]
        left = mask
        reasons: dict[str, None] = {}
        for reason in exclusions:
            if not reason.mask & left or reason.latest > number:
                continue
            fact = self.encoding.origins[reason.origin]
            if fact.kind is OriginKind.IMAGE:
                reasons["the image holds another version"] = None
            elif fact.kind is OriginKind.WISH:
                reasons[self._reason(fact, name)] = None
            else:
                reasons[self._fact_text(fact, name, reason.mask & left)] = None
            left &= ~reason.mask
        return tuple(reasons)[:2], left

    def _deep(self, name: str, mask: int) -> tuple[str, ...]:
        found = exclusion(
            self.encoding.problem,
            self.solution,
            self.encoding.number[name],
            mask,
            hard=self.encoding.background(),
        )
        if found is None:
            return ()
        facts = [
            self.encoding.origins[o]
            for o in found.origins
            if self.encoding.origins[o].kind is not OriginKind.WISH
        ]
        return tuple(dict.fromkeys(self._fact_text(f, name, mask) for f in facts))[:_MOST_REASONS]

    def _accepts(self, name: str, candidate: Candidate, exclusions: Sequence[Exclusion]) -> str:
        """Return the range of known versions that would do in this stack, all else equal."""
        if candidate.origin is Origin.IMAGE or candidate.version is None:
            return f"=={candidate.version.text}" if candidate.version else ""
        excluded = 0
        for reason in exclusions:
            excluded |= reason.mask
        domain = self.encoding.literals.domains[name]
        fits: dict[Any, bool] = {}
        texts: dict[Any, str] = {}
        for bit, other in enumerate(domain):
            if other.version is not None and other.origin is not Origin.IMAGE:
                key = other.version.key
                texts[key] = other.version.text
                fits[key] = fits.get(key, False) or not excluded >> bit & 1
        return describe_range([(texts[k], fits[k]) for k in sorted(fits)])

    def gpu_row(self, name: str, candidate: Candidate) -> GpuRow | None:
        """Return the first row of the GPU's matrix that holds this version."""
        from stackcheck.catalog.evaluate import parsed_range

        for row in self.universe.gpu.rows:
            if row.component == name and candidate.version is not None:
                bounds = parsed_range(row.range, candidate.version.scheme)
                if bounds is not None and candidate.version in bounds:
                    return row
        return None

    def _grade(self, name: str, candidate: Candidate, broken: Mapping[str, list[Rule]]) -> Grade:
        if candidate.origin is Origin.ASKED:
            return Grade.UNKNOWN
        grades = [r.grade for r in broken.get(name, ())]
        row = self.gpu_row(name, candidate)
        if row is not None:
            grades.append(Grade(row.grade))
        worst = next((g for g in _WORST if g in grades), None)
        if worst is not None:
            return worst
        if row is not None:
            return Grade(row.grade)
        if candidate.origin is Origin.IMAGE and self.image:
            return Grade(self.image.grade)
        if candidate.is_unread(self.universe.catalog):
            return Grade.UNKNOWN
        return Grade.SUPPORTED if self._vouched(name) else Grade.UNKNOWN

    def _vouched(self, name: str) -> bool:
        """Whether some fact that speaks of this component and another was held against it, and it passed."""
        if any(self.encoding.origins[e.origin].kind is not OriginKind.IMAGE for e in self.exclusions(name)):
            return True
        return name in self._held_against

    @cached_property
    def _rules(self) -> tuple[Rule, ...]:
        """The rules that can fire on what is in play or in the image."""
        return self.universe.catalog.stack_rules({*self.universe.domains, *self.extras})

    @cached_property
    def _held_against(self) -> frozenset[str]:
        """Components that a rule with a requirement was held against here."""
        found: set[str] = set()
        for rule in self._rules:
            heads = {head_of(s) for s in rule.subject_names()}
            if rule.require is not None and not heads <= found and truth(rule.when, self) is True:
                found |= heads
        return frozenset(found)

    # the whole stack as a view for rules

    def value(self, subject: str) -> Any:
        """Return what a subject means in this stack."""
        head, _, attribute = subject.partition(".")
        if subject in self.universe.constants:
            return self.universe.constants[subject]
        if head == IMAGE:
            return ImageCandidate(self.image).value(attribute)
        candidate = self.encoding.candidate(self.values, head) or self.extras.get(head)
        return candidate.value(attribute) if candidate is not None else Missing.UNKNOWN

    @cached_property
    def _soft_rules(self) -> dict[str, list[Rule]]:
        """Return the rules of grade caveat or degraded that fire here, by the component to blame first."""
        found: dict[str, list[Rule]] = {}
        for rule in self._rules:
            if rule.solver and rule.grade in _WORST and fires(rule, self):
                blamed = next((s for s in rule.subjects if self.value(s) is not Missing.UNKNOWN), None)
                if blamed is not None:
                    found.setdefault(head_of(blamed), []).append(rule)
        return found

    def _image_extras(self) -> dict[str, Candidate]:
        """Return what else the image holds, beyond the components that were in play."""
        extras: dict[str, Candidate] = {}
        for name in self.image.contents if self.image else ():
            component = self.universe.catalog.component(name)
            if component is not None and name not in self.universe.domains and self.image is not None:
                candidate = shipped(component, self.image.contents[name], self.image, self.universe.arch)
                if candidate is not None:
                    extras[name] = candidate
        return extras

    def broken_extras(self) -> tuple[str, ...]:
        """Return the image's other parts that a rule calls broken here."""
        rules = self._soft_rules
        return tuple(n for n in self.extras if any(r.grade is Grade.BROKEN for r in rules.get(n, ())))

    def _extra_pins(self) -> list[Pin]:
        broken = self._soft_rules
        return [self._extra_pin(n, c, broken) for n, c in sorted(self.extras.items())]

    def _extra_pin(self, name: str, candidate: Candidate, broken: Mapping[str, list[Rule]]) -> Pin:
        component = self._component(name)
        row = self.gpu_row(name, candidate)
        grade = Grade(row.grade) if row else Grade(self.image.grade if self.image else "unknown")
        return Pin(
            component=name,
            version=candidate.version.text if candidate.version else "",
            scope=component.scope,
            layer=component.layer,
            name=component.name,
            accepts=f"=={candidate.version.text}" if candidate.version else "",
            grade=next((r.grade for r in broken.get(name, ())), grade),
            origin="image",
            why=("the image holds it",),
            caveats=self._caveats(name, candidate, broken),
        )

    # image and words

    def _stack_image(self, pins: Sequence[Pin]) -> StackImage:
        image = self.image
        assert image is not None  # noqa: S101
        # a compatibility library is added to the image so that it runs at all: its caveat is the image's
        inside = [p.grade for p in pins if p.origin == "image" or p.component == "cuda-compat"]
        contents_grade = next((g for g in _WORST if g in (*inside, image.grade)), Grade(image.grade))
        why = []
        asked_for = [w.component for w in self.universe.request.frameworks]
        holds = [f"{c} {image.contents[c]}" for c in asked_for or ("torch", "cuda") if c in image.contents]
        if self.universe.request.image:
            why.append(f"the image you named{'; it holds ' + ', '.join(holds) if holds else ''}")
        elif holds:
            why.append(f"newest {image.family.upper()} image that fits and holds {', '.join(holds)}")
        as_of = self.universe.catalog.version.replace(".", "-")
        if image.eop:
            why.append(
                f"{'past its patch window since' if image.eop < as_of else 'patched until'} {image.eop}"
            )
        return StackImage(
            reference=(image.public_reference or image.reference) if image.verified else "",
            family=image.family,
            grade=contents_grade,
            tag=image.tag,
            repository=image.repository,
            digest=image.digest,
            verified=image.verified,
            why=tuple(why),
            notes=image.notes,
            environment=image.environment,
            os=image.os,
            date=image.date,
            sources=refs(image.source_table, image.sources),
        )

    def _notes(self, unstated: Sequence[str], *, brief: bool) -> list[str]:
        notes: list[str] = []
        if brief:
            return notes
        on_host = [n for n in unstated if self._component(n).scope == "host"]
        unstated = [n for n in unstated if n not in on_host]
        if on_host:
            asked_for = ", ".join(sorted(self.universe.unknown_wishes))
            notes.append(
                f"not known which version goes with the {asked_for} asked for: {', '.join(sorted(on_host))}"
            )
        if unstated:
            notes.append(
                f"no source says whether the image holds these, and in which version: {', '.join(sorted(unstated))}"
            )
        if self.image is None and self.universe.request.images != "none":
            family = {"any": ""}.get(self.universe.request.images, f"{self.universe.request.images} ")
            notes.append(f"no {family}image for {self.universe.arch} fits: install the parts")
        notes += self._newer_elsewhere()
        notes += self._machine_images()
        return notes

    def _machine_images(self) -> list[str]:
        """Return a note for each kind of machine image made for this instance type: it brings its own driver, seldom the newest."""
        request, instance = self.universe.request, self.universe.instance
        if instance is None or request.host or any(w.component == "driver" for w in request.wishes):
            return []
        family = instance.id.partition(".")[0].lower()
        notes = []
        for name in self.universe.policy.get("machine_images", ()):
            builds = [b for r in self._component(name).releases for b in r.builds]
            made_for = {str(i).lower() for b in builds for i in b.attributes.get("instances") or ()}
            if family in made_for and all(w.component != name for w in request.wishes):
                notes.append(
                    f"driver and EFA are the newest there are: --with {name} takes those of {self._component(name).name}"
                )
        return notes

    def _newer_elsewhere(self) -> list[str]:
        """Return a note for each thing asked for of which the image holds an older release than the newest one that can be installed."""
        notes = []
        names = [w.component for w in self.universe.request.frameworks] or [
            self.universe.policy["default_framework"]
        ]
        for name in dict.fromkeys(names):
            chosen = self.encoding.candidate(self.values, name)
            releases = [
                r
                for r in self._component(name).releases
                if not r.yanked and not r.prerelease and not r.version.is_prerelease
            ]
            held = chosen is not None and chosen.origin is Origin.IMAGE and chosen.version is not None
            wished = any(w.component == name and w.range for w in self.universe.request.all_wishes)
            if held and releases and not wished and chosen is not None and chosen.version is not None:
                newest = releases[-1].version
                if newest.public > chosen.version.public:
                    notes.append(
                        f"{name} {newest} is newer than what a fitting image holds: --images none installs the parts"
                    )
        return notes

    def _fact_text(self, fact: FactOrigin, name: str, mask: int = 0) -> str:
        masks = {
            n: 1 << self.values[self.encoding.number[n]]
            for n in self.universe.domains
            if n in self.encoding.number
        }
        if mask:
            masks[name] = mask
        return fill(self.encoding, fact, masks)

    def _rule_text(self, rule: Rule) -> str:
        return self._fact_text(FactOrigin(OriginKind.RULE, rule.title, rule.subjects), "")

    def _component(self, name: str) -> Component:
        component = self.universe.catalog.component(name)
        assert component is not None  # noqa: S101
        return component


def _origin_word(component: Component, candidate: Candidate) -> str:
    if component.scope == "host":
        return "host"
    return "image" if candidate.origin is Origin.IMAGE else "install"


def purl_of(component: Component, candidate: Candidate) -> str:
    """Return the purl of what would be installed, or an empty text if the component is in no package index.

    Packages of one component differ by the CUDA major in their name; `wheel_version` is an attribute where a package counts
    differently from its product (nvidia-cuda-runtime 13.0.96 is CUDA 13.0.2).
    """
    packages = [p for p in component.packages if p.startswith("pkg:pypi/")]
    if not packages or candidate.version is None:
        return ""
    major = candidate.attributes.get("cuda_major")
    labels = [candidate.build.label] if candidate.build else []
    labels += [f"cu{major}"] if major else []
    fitting = [p for label in labels for p in packages if p.endswith(f"-{label}")]
    plain = [p for p in packages if not _CUDA_SUFFIX.search(p)] or packages
    version = candidate.attributes.get("wheel_version", candidate.version)
    return f"{(fitting or plain)[0]}@{version}"


def describe_range(known: Sequence[tuple[str, bool]]) -> str:
    """Return a range text for versions in rising order, each with whether it fits: `>=580.65.06`, `>=2.8,<=2.10,!=2.9`."""
    fitting = [i for i, (_, fits) in enumerate(known) if fits]
    if not fitting:
        return ""
    first, last = fitting[0], fitting[-1]
    if first == last:
        return f"=={known[first][0]}"
    parts = [f">={known[first][0]}"]
    if last < len(known) - 1:
        parts.append(f"<={known[last][0]}")
    gaps = [known[i][0] for i in range(first, last) if i not in fitting]
    if len(gaps) > 6:
        return " || ".join(f"=={known[i][0]}" for i in fitting[-6:])
    return ",".join(parts + [f"!={g}" for g in gaps])
