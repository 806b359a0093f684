"""What a finding id means: rules and advisories by id, and the families of findings that follow from data alone."""

from __future__ import annotations

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.names import nearest_id, offer
from stackcheck.model.errors import UsageError
from stackcheck.model.kinds import Grade, Kind, Severity
from stackcheck.model.meaning import Meaning
from stackcheck.model.release import Component, Gpu, GpuRow, Release
from stackcheck.model.rule import RemedyTemplate, Rule
from stackcheck.model.sourcing import sources_of

UNKNOWN_RELEASE = "unknown-release"
UNKNOWN_IMAGE = "image-unknown"
UNKNOWN_GPU = "gpu-unknown"
CONTRADICTION = "target-contradiction"
TWO_VERSIONS_FAMILY = "two-versions-"
GPU_FAMILY = "gpu-"
REQUIRES_FAMILY = "requires-"
_SEVERITY = {
    Grade.BROKEN: Severity.ERROR,
    Grade.DEGRADED: Severity.WARNING,
    Grade.CAVEAT: Severity.INFO,
}
_GOOD = (Grade.SUPPORTED, Grade.TESTED)
_MOST_OFFERED = 4  # ids that begin with what was asked for
_MOST_ASKED = 12  # requirements told of one release
_ANY = ("", ">=0")  # ranges that hold every version


def meaning_of(catalog: Catalog, finding_id: str) -> Meaning:
    """Return what a finding id means, whatever its case.

    Raises:
        UsageError: no finding has this id; the message offers the nearest.
    """
    wanted = finding_id.strip().lower()
    rule = next((r for r in catalog.rules if r.id.lower() == wanted), None)
    if rule is not None:
        return _of_rule(rule, catalog)
    found = _of_gpu_family(catalog, wanted) or _of_requires_family(catalog, wanted)
    if found is not None:
        return found
    if wanted == UNKNOWN_RELEASE:
        return _unknown_release(catalog)
    if wanted == UNKNOWN_IMAGE:
        return _unknown_image(catalog)
    doubt = _of_doubts(catalog).get(wanted)
    if doubt is not None:
        return doubt
    known = finding_ids(catalog)
    same = [i for i in known if _without_zeros(i) == _without_zeros(wanted)]
    near = same or _begun(known, wanted)[:_MOST_OFFERED] or nearest_id(wanted, {i: i for i in known})
    raise UsageError(
        f"no finding has the id {finding_id[:80]!r}",
        fix=offer(near) or "see `stackcheck show advisory --all`",
    )


def completed(catalog: Catalog, text: str) -> str:
    """Return the only finding id that begins with these whole words (`xid-79` for `xid-79-...`), or the text as it is.

    For people who ask about an id; where an id decides something (--accept) it has to be written out.
    """
    wanted = text.strip().lower()
    known = finding_ids(catalog)
    begun = [i for i in _begun(known, wanted) if i.lower().startswith(f"{wanted}-")]
    return begun[0] if len(begun) == 1 and wanted not in {i.lower() for i in known} else text


def _begun(known: tuple[str, ...], wanted: str) -> list[str]:
    """Return the ids that begin with a text; those that go on with a new word first."""
    found = [i for i in known if wanted and i.lower().startswith(wanted)]
    return sorted(found, key=lambda i: (not i.lower().startswith(f"{wanted}-"), len(i), i))


def _without_zeros(finding_id: str) -> str:
    """Return an id in the form in which SC-2026-1 and SC-2026-0001 are the same."""
    return "-".join(part.lstrip("0") for part in finding_id.lower().split("-"))


def finding_ids(catalog: Catalog) -> tuple[str, ...]:
    """Return every id a finding can have, sorted."""
    ids = {r.id for r in catalog.rules} | {UNKNOWN_RELEASE, UNKNOWN_IMAGE, *_of_doubts(catalog)}
    for gpu in catalog.gpus():
        ids.update(
            f"{GPU_FAMILY}{gpu.id}-{row.component}" for row in gpu.rows if Grade(row.grade) in _SEVERITY
        )
    ids.update(
        f"{REQUIRES_FAMILY}{c.id}" for c in catalog.components() if _asking(c) is not None
    )  # a component whose requirements were read
    return tuple(sorted(ids))


def _of_rule(rule: Rule, catalog: Catalog) -> Meaning:
    return Meaning(
        id=rule.id,
        title=rule.title,
        kind=rule.kind,
        severities=(rule.severity,),
        grade=rule.grade,
        subjects=rule.subjects,
        symptom=rule.symptom,
        impact=rule.impact,
        why=rule.why,
        when=rule.when,
        unless=rule.unless,
        require=rule.require,
        remedies=rule.remedies,
        causes=rule.cause_of,
        caused_by=tuple(r.id for r in catalog.rules if rule.id in r.cause_of),
        sources=sources_of(rule.source_table, rule.sources),
        origin=rule.origin,
        serves_solver=rule.solver,
    )


def _of_gpu_family(catalog: Catalog, wanted: str) -> Meaning | None:
    """Return the meaning of `gpu-GPU-COMPONENT`, if that GPU has a bad word for that component."""
    if not wanted.startswith(GPU_FAMILY):
        return None
    rest = wanted.removeprefix(GPU_FAMILY)
    for name in sorted(catalog.gpu_ids, key=len, reverse=True):  # h100 before h1, should there be both
        gpu = catalog.gpu(name) if rest.startswith(f"{name}-") else None
        component = catalog.component(rest.removeprefix(f"{name}-")) if gpu else None
        if gpu is not None and component is not None:
            rows = [r for r in gpu.rows if r.component == component.id]
            bad = [r for r in rows if Grade(r.grade) in _SEVERITY]
            return _gpu_meaning(catalog, gpu, component, rows, bad) if bad else None
    return None


def _gpu_meaning(
    catalog: Catalog, gpu: Gpu, component: Component, rows: list[GpuRow], bad: list[GpuRow]
) -> Meaning:
    kinds = catalog.policy["gpu_row_kind"]
    good = [r.range for r in rows if Grade(r.grade) in _GOOD][:2]
    return Meaning(
        id=f"{GPU_FAMILY}{gpu.id}-{component.id}",
        title=f"{component.name} {{{component.id}}} on {gpu.name}",
        kind=Kind(kinds.get(component.id, kinds["default"])),
        severities=tuple(dict.fromkeys(_SEVERITY[Grade(r.grade)] for r in bad)),
        subjects=(component.id, "gpu"),
        why=f"Our table of {gpu.name} says so, from the sources below; the first row that holds the version counts.",
        fires=tuple(
            f"{component.id} {r.range or '(any version)'} is {r.grade} ({_SEVERITY[Grade(r.grade)]}): {r.why}"
            for r in bad
        ),
        remedies=tuple(RemedyTemplate(f"Take {component.name} {g}", {component.id: g}) for g in good),
        sources=sources_of(gpu.sources, (k for r in bad for k in r.sources)),
        origin=f"matrices/gpus/{gpu.id}.json",
        serves_solver=True,
    )


def _asking(component: Component) -> Release | None:
    """Return the newest release whose requirements were read and are not empty."""
    asking = (r for r in reversed(component.releases) if r.requires or any(b.requires for b in r.builds))
    return next(asking, None)


def _of_requires_family(catalog: Catalog, wanted: str) -> Meaning | None:
    """Return the meaning of `requires-COMPONENT`, if requirements of that component were read."""
    if not wanted.startswith(REQUIRES_FAMILY):
        return None
    component = catalog.component(wanted.removeprefix(REQUIRES_FAMILY))
    release = _asking(component) if component else None
    if component is None or release is None:
        return None
    asked = [*(release.requires or ()), *(r for b in release.builds[:1] for r in b.requires)]
    ranges: dict[str, dict[str, None]] = {}
    for one in asked:
        if not one.extra and one.range not in _ANY:
            ranges.setdefault(one.component, {})[one.range] = None
    told = [f"{name} {' and '.join(of)}" for name, of in ranges.items()]
    more = ", ..." if len(told) > _MOST_ASKED else ""
    return Meaning(
        id=f"{REQUIRES_FAMILY}{component.id}",
        title=f"{component.name} {{{component.id}}} asks for versions that are not installed beside it",
        kind=Kind.VERSION_CONFLICT,
        severities=(Severity.WARNING,),
        subjects=(component.id,),
        why=f"The metadata of each release of {component.name} names the versions it works with; an installer that was told to "
        "ignore it, or a later install, put others in their place.",
        fires=(
            f"something that a release of {component.id} requires is installed in a version outside the required range",
            f"{component.id} {release.version} requires {', '.join(told[:_MOST_ASKED])}{more}",
        ),
        remedies=(RemedyTemplate("Install the versions it asks for", {}),),
        sources=tuple(dict.fromkeys(component.source(k) for k in release.sources)),
        origin=f"matrices/components/{component.id}.json",
        serves_solver=True,
    )


def _unknown_release(catalog: Catalog) -> Meaning:
    return Meaning(
        id=UNKNOWN_RELEASE,
        title="newer than the matrices know",
        kind=Kind.UNKNOWN_RELEASE,
        severities=(Severity.INFO,),
        why=f"The data of {catalog.version} ends before the release that was found; it was judged by ranges alone.",
        fires=("a component is newer than the newest release in its matrix",),
        remedies=(RemedyTemplate("Update stackcheck, or add the release to an overlay (--matrices)", {}),),
    )


def _unknown_image(catalog: Catalog) -> Meaning:
    return Meaning(
        id=UNKNOWN_IMAGE,
        title="an image of which the matrices know nothing",
        kind=Kind.UNKNOWN_RELEASE,
        severities=(Severity.INFO,),
        why=f"The data of {catalog.version} does not hold this reference: nothing that is inside was judged.",
        fires=(
            "a Dockerfile, pod or inventory names an image that is in no matrix and whose tag tells nothing",
        ),
        remedies=(RemedyTemplate("Read it from its registry: stackcheck check --image REFERENCE", {}),),
    )


def _of_doubts(catalog: Catalog) -> dict[str, Meaning]:
    """Return the meanings of findings about the texts as a whole, by id."""

    def info(ident: str, title: str, kind: Kind, subject: str, why: str, fires: str) -> Meaning:
        return Meaning(
            id=ident, title=title, kind=kind, severities=(Severity.INFO,), subjects=(subject,), why=why, fires=(fires,)
        )  # fmt: skip

    found = [
        info(
            UNKNOWN_GPU,
            "a GPU of which the matrices know nothing",
            Kind.UNKNOWN_RELEASE,
            "gpu",
            f"The data of {catalog.version} does not hold it: nothing was held against the GPU, only the parts against each other.",
            "a text or inventory names a GPU that is in no matrix",
        ),
        info(
            CONTRADICTION,
            "GPU, instance type and CPU exclude each other",
            Kind.CONFIG,
            "gpu",
            "The texts may be of two nodes, or a flag names another target than they do.",
            "the GPU is not the one of the instance type, or sits in no machine of that architecture",
        ),
    ]
    found += [
        info(
            f"{TWO_VERSIONS_FAMILY}{name}",
            f"{name} is told in two versions",
            Kind.VERSION_CONFLICT,
            name,
            "A node runs one at a time: the texts are of two nodes or of two boots, or a module and its libraries differ. The oldest was judged.",
            f"the texts tell two versions of {name} that is loaded",
        )
        for name in catalog.policy.get("one_at_a_time", ())
    ]
    return {m.id: m for m in found}
