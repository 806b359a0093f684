"""JSON of the matrices to values of the model. Strict: what the schema does not know is an error of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from stackcheck.model.errors import MatrixError
from stackcheck.model.gpucode import Capability, Target
from stackcheck.model.release import (
    NOTHING,
    Build,
    Component,
    Gpu,
    GpuRow,
    Image,
    Instance,
    Release,
    Requirement,
    Source,
)
from stackcheck.model.version import Version


@lru_cache(maxsize=4096)
def target(text: str) -> Target:
    """Return a parsed GPU code target; cached, since the same dozen occur thousands of times."""
    return Target.parse(text)


def _strings(value: Any) -> frozenset[str]:
    return frozenset(str(v) for v in ([value] if isinstance(value, str) else value))


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        msg = f"not a number: {value!r}"
        raise TypeError(msg)
    return value


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        msg = f"neither true nor false: {value!r}"
        raise TypeError(msg)
    return value


ATTRIBUTE_TYPES: Mapping[str, Callable[[Any], Any]] = {
    "version": lambda v: Version(str(v)),
    "int": _number,
    "ints": lambda v: frozenset(int(_number(i)) for i in v),
    "string": str,
    "strings": _strings,
    "bool": _boolean,
    "capability": lambda v: Capability.parse(str(v)),
    "targets": lambda v: tuple(target(t) for t in v),
}


class Attributes(Mapping[str, Any]):
    """Typed attribute values, parsed when first asked for: most are never looked at; a null is left out, since it says unknown."""

    __slots__ = ("_parsed", "_raw", "_types", "_where")

    def __init__(self, raw: Mapping[str, Any], types: Mapping[str, str], where: str) -> None:
        """Know the raw values and their declared types."""
        self._raw = raw
        self._types = types
        self._where = where
        self._parsed: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self._parsed:
            return self._parsed[name]
        value = self._raw[name]
        if value is None:
            raise KeyError(name)
        kind = self._types.get(name)
        if kind is None:
            raise MatrixError(
                f"attribute {name!r} is not declared", where=self._where, fix="declare its type"
            )
        try:
            parsed = self._parsed[name] = ATTRIBUTE_TYPES[kind](value)
        except (ValueError, TypeError, KeyError) as fault:
            raise MatrixError(f"{name} is no {kind}: {fault}", where=f"{self._where}/{name}") from fault
        return parsed

    def get(self, name: str, default: Any = None) -> Any:
        """Return a value, or the default for a name that is not there."""
        return self[name] if self._raw.get(name) is not None else default

    def __contains__(self, name: object) -> bool:
        return self._raw.get(name) is not None  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[str]:
        return (n for n, v in self._raw.items() if v is not None)

    def __len__(self) -> int:
        return sum(v is not None for v in self._raw.values())

    def __bool__(self) -> bool:
        return bool(self._raw)


class Layered(Mapping[str, Any]):
    """Several mappings as one; an earlier one hides a later one's values."""

    __slots__ = ("_layers",)

    def __init__(self, layers: Sequence[Mapping[str, Any]]) -> None:
        """Look into `layers`, the most important first."""
        self._layers = layers

    def __getitem__(self, name: str) -> Any:
        for layer in self._layers:
            if name in layer:
                return layer[name]
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a name in the first layer that has it."""
        for layer in self._layers:
            if name in layer:
                return layer[name]
        return default

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self._layers)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for layer in self._layers for name in layer))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def attributes(body: Mapping[str, Any] | None, types: Mapping[str, str], where: str) -> Mapping[str, Any]:
    """Return typed attribute values; asking for a value that breaks its type raises `MatrixError`."""
    return Attributes(body, types, f"{where}/attributes") if body else NOTHING


def untyped(body: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the attributes of GPUs, instances and images, typed by their form: lists of texts become sets, floors become versions."""
    parsed: dict[str, Any] = {}
    for name, value in (body or NOTHING).items():
        if value is None:
            continue
        if name == "capability":
            parsed[name] = Capability.parse(value)
        elif name == "targets" or (isinstance(value, list) and name.endswith("_targets")):
            parsed[name] = tuple(target(t) for t in value)
        elif isinstance(value, list):
            parsed[name] = frozenset(value)
        elif isinstance(value, str) and name.startswith(("min_", "advised_min_", "first_cuda", "max_")):
            parsed[name] = Version(value)
        else:
            parsed[name] = value
    return parsed


def sources(body: Mapping[str, Any] | None) -> dict[str, Source]:
    """Return a file's source table."""
    return {
        key: Source(
            str(row["ref"]),
            str(row.get("read") or ""),
            str(row.get("word") or ""),
            str(row.get("note") or ""),
        )
        for key, row in (body or NOTHING).items()
    }


def _requirement(row: Mapping[str, Any]) -> Requirement:
    return Requirement(
        str(row["component"]),
        str(row.get("range") or ""),
        str(row.get("extra") or ""),
        str(row.get("python") or ""),
        tuple(row.get("arch") or ()),
        bool(row.get("optional")),
        tuple(row.get("sources") or ()),
    )


def requirements(rows: Iterable[Mapping[str, Any]] | None) -> tuple[Requirement, ...]:
    """Return parsed requirement rows."""
    return tuple(_requirement(row) for row in rows or ())


def component(body: Mapping[str, Any], where: str) -> Component:
    """Return the component of one file under components/.

    Raises:
        MatrixError: a part of it is missing or malformed.
    """
    try:
        types = body.get("attributes") or NOTHING
        scheme = body["scheme"]
        releases = [
            _release(row, types, scheme, f"{where}#/releases/{i}") for i, row in enumerate(body["releases"])
        ]
        releases.sort(key=lambda r: r.version)
        return Component(
            id=body["id"],
            name=body["name"],
            scope=body["scope"],
            layer=body["layer"],
            scheme=scheme,
            description=body.get("description") or "",
            aliases=tuple(body.get("aliases") or ()),
            packages=tuple(body.get("packages") or ()),
            attribute_types=types,
            local_pattern=body.get("local_pattern") or "",
            builds_against=body.get("builds_against") or "",
            releases=tuple(releases),
            sources=sources(body.get("sources")),
            read=body.get("read") or "",
        )
    except (KeyError, ValueError, TypeError, AttributeError) as fault:
        raise MatrixError(
            f"{type(fault).__name__}: {fault}", where=where, fix="see docs/data-model.md"
        ) from fault


def _release(row: Mapping[str, Any], types: Mapping[str, str], scheme: Any, where: str) -> Release:
    asks = row.get("requires", ())
    return Release(
        version=Version(str(row["version"]), scheme),
        attributes=attributes(row.get("attributes"), types, where),
        requires=None if asks is None else requirements(asks),
        bundles=row.get("bundles") or None,
        builds=tuple(_build(b, types, f"{where}/builds/{i}") for i, b in enumerate(row.get("builds") or ())),
        date=row.get("date") or "",
        eol=row.get("eol") or "",
        yanked=bool(row.get("yanked")),
        prerelease=bool(row.get("prerelease")),
        aka=tuple(row.get("aka") or ()),
        sources=tuple(row.get("sources") or ()),
        notes=tuple(row.get("notes") or ()),
    )


def _build(row: Mapping[str, Any], types: Mapping[str, str], where: str) -> Build:
    return Build(
        label=str(row["label"]),
        arch=tuple(row.get("arch") or ()),
        attributes=attributes(row.get("attributes"), types, where),
        requires=requirements(row.get("requires")),
        default=bool(row.get("default")),
        exists=row.get("exists", True),
        sources=tuple(row.get("sources") or ()),
    )


def gpu(body: Mapping[str, Any], where: str) -> Gpu:
    """Return the GPU of one file under gpus/.

    Raises:
        MatrixError: a part of it is missing or malformed.
    """
    try:
        return Gpu(
            id=body["id"],
            name=body["name"],
            architecture=body.get("architecture") or "",
            aliases=tuple(body.get("aliases") or ()),
            pci_ids=tuple(body.get("pci_ids") or ()),
            attributes=untyped(body.get("attributes")),
            rows=tuple(
                GpuRow(
                    r["component"], r["range"], r["grade"], r.get("why") or "", tuple(r.get("sources") or ())
                )
                for r in body.get("components") or ()
            ),
            sources=sources(body.get("sources")),
            notes=tuple(body.get("notes") or ()),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as fault:
        raise MatrixError(
            f"{type(fault).__name__}: {fault}", where=where, fix="see docs/data-model.md"
        ) from fault


def instance(body: Mapping[str, Any], where: str) -> Instance:
    """Return the instance type of one file under instances/.

    Raises:
        MatrixError: a part of it is missing or malformed.
    """
    try:
        return Instance(
            id=body["id"],
            gpu=body["gpu"],
            gpu_count=body.get("gpu_count"),
            family=body.get("family") or "",
            aliases=tuple(body.get("aliases") or ()),
            attributes=untyped(body.get("attributes")),
            sources=sources(body.get("sources")),
            notes=tuple(body.get("notes") or ()),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as fault:
        raise MatrixError(
            f"{type(fault).__name__}: {fault}", where=where, fix="see docs/data-model.md"
        ) from fault


def images(body: Mapping[str, Any], where: str) -> tuple[Image, ...]:
    """Return the images of one repository file under images/FAMILY/.

    Raises:
        MatrixError: a part of it is missing or malformed.
    """
    try:
        table = sources(body.get("sources"))
        return tuple(_image(row, body, table) for row in body["images"])
    except (KeyError, ValueError, TypeError, AttributeError) as fault:
        raise MatrixError(
            f"{type(fault).__name__}: {fault}", where=where, fix="see docs/data-model.md"
        ) from fault


def _image(row: Mapping[str, Any], body: Mapping[str, Any], table: Mapping[str, Source]) -> Image:
    extra = {
        "min_driver": row.get("min_driver"),
        "targets": row.get("targets"),
        "family": body["family"],
        "repository": body["repository"],
        "platform": row.get("platform"),
        "arch": row.get("arch"),
        "tag": row["tag"],
    }
    return Image(
        repository=body["repository"],
        tag=row["tag"],
        family=body["family"],
        reference=row.get("reference") or "",
        public_reference=row.get("public_reference") or "",
        verified=bool(row.get("verified")),
        digest=row.get("digest") or "",
        other_tags=tuple(row.get("other_tags") or ()),
        arch=tuple(row.get("arch") or ()),
        date=row.get("date") or "",
        eop=row.get("eop") or "",
        platform=row.get("platform") or "",
        purpose=tuple(row.get("purpose") or body.get("purpose") or ()),
        os=row.get("os") or "",
        contents=row.get("contents") or {},
        derived=tuple(row.get("derived") or ()),
        absent=tuple(row.get("absent") or ()),
        attributes=untyped(extra),
        environment=row.get("environment") or {},
        grade=row.get("grade") or "supported",
        sources=tuple(row.get("sources") or ()),
        source_table=table,
        notes=tuple(row.get("notes") or ()),
    )
