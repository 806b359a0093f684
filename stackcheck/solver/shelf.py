"""The images that can answer a request, best first, and what each holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.evaluate import Missing, lies_in, parsed_range
from stackcheck.catalog.identify import match_build, match_release, parsed_version
from stackcheck.model.release import Component, Gpu, Image, Instance
from stackcheck.model.version import Version
from stackcheck.solver.request import Request


class ImageCandidate(NamedTuple):
    """One image, or no image at all."""

    image: Image | None

    def value(self, attribute: str) -> Any:
        """Return the image's name, or an attribute of it."""
        if self.image is None:
            return Missing.ABSENT
        return self.image.attributes.get(attribute, Missing.UNKNOWN) if attribute else self.image.name


class Shelf:
    """The images of one request."""

    def __init__(
        self,
        catalog: Catalog,
        request: Request,
        instance: Instance | None,
        arch: str,
        is_contained: Callable[[Component], bool],
        *,
        gpu: Gpu,
        without: frozenset[str] = frozenset(),
    ) -> None:
        """Know where images come from and what is asked of them; `is_contained` tells which components live in images."""
        self.catalog = catalog
        self.request = request
        self.arch = arch
        self.gpu = gpu
        self.without = without
        self.policy: Mapping[str, Any] = catalog.policy
        self.fabric_wanted = bool(instance and instance.attributes.get("efa"))
        self._is_contained = is_contained
        self._exact: dict[tuple[str, str, str, str], str] = {}
        self._contents: dict[str, dict[str, str]] = {}
        self.asked = [w.component for w in request.frameworks] or [self.policy["default_framework"]]
        self.families: Sequence[str] = self.policy["image_families"][request.images]
        self.as_of = catalog.version.replace(".", "-")
        self.is_cut = False

    def candidates(self, most: int | None = None) -> tuple[ImageCandidate, ...]:
        """Return the image candidates: those made for the purpose, then no image, then the others.

        With `most`, only that many of the best are returned, and `is_cut` says whether any were left out.
        """
        if self.request.image:
            return (ImageCandidate(self.catalog.find_image(self.request.image)),)
        offered = [i for i in self.catalog.images if i.family in self.families and self._is_offered(i)]
        offered.sort(key=self._rank)
        if (
            most is not None
        ):  # whether an image can be used takes longer to tell than its rank: the first few are enough
            usable_ones = (i for i in offered if self._serves_purpose(i) and self._is_usable(i))
            first = list(islice(usable_ones, most + 1))
            if len(first) > most:
                self.is_cut = True
                return tuple(ImageCandidate(i) for i in first[:most])
        usable = [i for i in offered if self._is_usable(i)]
        fitting = [ImageCandidate(i) for i in usable if self._serves_purpose(i)]
        other = [ImageCandidate(i) for i in usable if not self._serves_purpose(i)]
        none = [ImageCandidate(None)] if self.request.images in ("any", "none") else []
        return (*fitting, *none, *other) or (ImageCandidate(None),)

    def contents(self, image: Image) -> Mapping[str, str]:
        """Return the versions of components in an image: stated, and those implied by exact requirements of what is stated.

        What a base without a framework holds of the libraries that wheels bring themselves is left out: a framework that is installed
        on top loads its own.
        """
        known = self._contents.get(image.name)
        if known is None:
            known = {**image.contents, "os": image.os} if image.os else dict(image.contents)
            if self._is_bare(image):
                known = {n: v for n, v in known.items() if n not in self.policy.get("wheels_bring", ())}
            for wanted, reference in self.policy.get("implied_by_release", {}).items():
                if wanted not in known and wanted not in image.absent:
                    known.update(self._told_by_release(wanted, reference, known))
            for wanted in self.policy.get("implied_parts", self.policy["must_be_known"]):
                if wanted not in known and wanted not in image.absent:
                    implied = self._implied(wanted, known)
                    if implied:
                        known[wanted] = implied
            self._contents[image.name] = known
        return known

    def _told_by_release(self, wanted: str, reference: str, known: Mapping[str, str]) -> Mapping[str, str]:
        """Return the version that the release of another part of an image tells in an attribute: Ubuntu 24.04 its glibc."""
        name, _, attribute = reference.partition(".")
        component = self.catalog.component(name) if name in known else None
        version = parsed_version(component, known[name]) if component else None
        release = match_release(component, version) if component and version else None
        text = release.attributes.get(attribute) if release else None
        return {wanted: str(text)} if text else {}

    def _is_bare(self, image: Image) -> bool:
        return "base" in image.purpose and self.policy["default_framework"] not in image.contents

    def _implied(self, wanted: str, known: Mapping[str, str]) -> str:
        for name in self.policy["implied_by"]:
            if name in known and name != wanted:
                key = (wanted, name, known[name], known.get("cuda", ""))
                if key not in self._exact:
                    self._exact[key] = self._exact_requirement(wanted, name, known)
                if self._exact[key]:
                    return self._exact[key]
        return ""

    def _exact_requirement(self, wanted: str, name: str, known: Mapping[str, str]) -> str:
        component = self.catalog.component(name)
        version = parsed_version(component, known[name]) if component else None
        release = match_release(component, version) if component and version else None
        if release is None or version is None:
            return ""
        build = match_build(release, version, self.arch, known.get("cuda"))
        if wanted == "cuda" and build is not None and "cuda" in build.attributes:
            return str(build.attributes["cuda"])
        for row in (*(build.requires if build else ()), *(release.requires or ())):
            if (
                row.component == wanted
                and row.range.startswith("==")
                and "," not in row.range
                and not row.extra
            ):
                return row.range.removeprefix("==").removesuffix(".*").strip()
        return ""

    def _is_offered(self, image: Image) -> bool:
        """Whether there is such an image for this kind of machine."""
        if not image.verified or not image.reference or image.name in self.without:
            return False
        return self.arch in image.arch if image.arch else self.arch == "x86_64"

    def _is_usable(self, image: Image) -> bool:
        """Whether what an image holds is known, and nothing of it is broken here."""
        return self._is_stated(image) and not self._is_broken_here(image) and not self._is_above_driver(image)

    def _is_above_driver(self, image: Image) -> bool:
        """Whether a bare base is built on a CUDA that no wished driver starts: what wheels bring on top does not help then."""
        if not self._is_bare(image):
            return False
        for base, attribute, host in self.policy.get("base_needs", ()):
            text = image.contents.get(base)
            component, driver = self.catalog.component(base), self.catalog.component(host)
            if not text or component is None or driver is None:
                continue
            version = parsed_version(component, text)
            release = match_release(component, version) if version else None
            floor = parsed_version(driver, str(release.attributes.get(attribute, ""))) if release else None
            if floor is not None and not self._can_reach(driver, floor):
                return True
        return False

    def _can_reach(self, component: Component, floor: Version) -> bool:
        """Whether what is wished of a component leaves one of its releases, or the wished one itself, at or above `floor`."""
        wished = [w.range for w in self.request.all_wishes if w.component == component.id and w.range]
        if not wished:
            return True
        bounds = [parsed_range(text, component.scheme) for text in wished]
        exact = [parsed_version(component, text.lstrip("=").strip()) for text in wished]
        known = [*(r.version for r in component.releases), *(v for v in exact if v is not None)]
        return any(v >= floor and all(b is None or v in b for b in bounds) for v in known)

    def _is_broken_here(self, image: Image) -> bool:
        """Whether the GPU's own matrix calls something broken that the image holds."""
        for row in self.gpu.rows:
            text = image.contents.get(row.component) if row.grade == "broken" else None
            component = self.catalog.component(row.component) if text else None
            version = parsed_version(component, text) if component and text else None
            if version is not None:
                first = next(
                    (r for r in self.gpu.rows if r.component == row.component and lies_in(version, r.range)),
                    None,
                )
                if first is row:
                    return True
        return False

    def _is_stated(self, image: Image) -> bool:
        """Whether it is known which of the decisive components an image holds; only a base may hold none of them."""
        if "base" in image.purpose:
            return True
        held = self.contents(image)
        return all(name in held or name in image.absent for name in self.policy["must_be_known"])

    def _serves_purpose(self, image: Image) -> bool:
        """Whether an image was made for what is asked for: an engine's image is no base for training."""
        purposes: Mapping[str, Sequence[str]] = self.policy["purposes"]
        wanted: set[str] = set()
        for name in self.asked:
            component = self.catalog.component(name)
            wanted.update(purposes.get(component.layer if component else "", purposes["default"]))
        return bool(wanted & set(image.purpose))

    def _rank(self, image: Image) -> tuple[Any, ...]:
        missing = sum(name not in image.contents for name in self.asked)
        missing += sum(
            w.component not in image.contents and self._wish_is_contained(w.component)
            for w in self.request.wishes
        )
        newest = self._lead_version(image)
        gaps = (
            sum(name not in image.contents for name in self.policy["fabric_parts"])
            if self.fabric_wanted
            else 0
        )
        complete = sum(name in image.contents for name in self.policy["image_complete"])
        past_patch = bool(image.eop and image.eop < self.as_of)
        by_version = bool(self.request.frameworks) and self.request.policy == "newest"
        return (
            missing,
            gaps,
            past_patch if self.request.policy == "stable" else False,
            self._made_for(image) != self.asked[0],
            Descending(newest if by_version else ()),
            self.families.index(image.family),
            past_patch,
            image.platform in self.policy["platforms_last"],
            Descending(newest),
            self._has_known_issue(image),
            Descending("" if image.date else image.tag),  # months in tags stand for days that no source tells
            -complete,
            Descending(image.date),
            image.name,
        )

    def _has_known_issue(self, image: Image) -> bool:
        """Whether a note tells of trouble with an image: a sibling of the same release without one is better."""
        marks = tuple(self.policy.get("issue_notes", ()))
        return any(note.startswith(marks) for note in image.notes)

    def _made_for(self, image: Image) -> str:
        """Return the framework that an image is made for, by the name of its repository; others in it are parts of it."""
        return str(self.policy.get("made_for", {}).get(image.repository.rpartition("/")[2], ""))

    def _lead_version(self, image: Image) -> tuple[Any, ...]:
        """Return the order of the first framework's version in an image, or nothing."""
        component = self.catalog.component(self.asked[0])
        if component is None or self.asked[0] not in image.contents:
            return ()
        try:
            return Version(image.contents[self.asked[0]], component.scheme).public
        except ValueError:
            return ()

    def _wish_is_contained(self, name: str) -> bool:
        component = self.catalog.component(name)
        return component is not None and self._is_contained(component)


class Descending:
    """Turns the order of a sort key around."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        """Wrap a key."""
        self.key = key

    def __lt__(self, other: Descending) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.key == other.key)

    __hash__ = None  # type: ignore[assignment]
