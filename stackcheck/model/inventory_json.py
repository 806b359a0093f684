"""Inventory to and from the JSON of `stackcheck.inventory/1`.

Source of the shape: docs/design of the command line's contract, matrices/schema/inventory.schema.json. A component may be a plain string for short.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from stackcheck.model.errors import InputError
from stackcheck.model.inventory import SCHEMA, Evidence, FactValue, Inventory, Note, Observation

MOST_MEMBERS = 512
"""Observations of one component, and members of one fact, that are read."""
MOST_NAMES = 4096
"""Components, variables, facts, evidence and notes that are read."""


def inventory_to_json(inventory: Inventory) -> dict[str, Any]:
    """Return the JSON object of an inventory; texts are left out, empty parts are kept only where the shape fixes them."""
    gpu = None
    if inventory.gpu_model is not None or inventory.gpu_count is not None:
        gpu = {"model": inventory.gpu_model, "count": inventory.gpu_count}
    body: dict[str, Any] = {
        "schema": SCHEMA,
        "subject": inventory.subject,
        "gpu": gpu,
        "instance": inventory.instance,
        "components": {
            c: [_observation_to_json(o) for o in seen] for c, seen in sorted(inventory.components.items())
        },
        "environment": dict(sorted(inventory.environment.items())),
        "facts": {n: list(v) if isinstance(v, tuple) else v for n, v in sorted(inventory.facts.items())},
    }
    if inventory.arch:
        body["arch"] = inventory.arch
    if inventory.image:
        body["image"] = inventory.image
    if inventory.evidence:
        body["evidence"] = {
            subject: {k: v for k, v in (("method", e.method), ("where", e.where), ("raw", e.raw)) if v}
            for subject, e in sorted(inventory.evidence.items())
        }
    if inventory.notes:
        body["notes"] = [{"source": n.source, "text": n.text} for n in inventory.notes]
    return body


def _observation_to_json(seen: Observation) -> dict[str, Any]:
    entry: dict[str, Any] = {"version": seen.version}
    pairs = (
        ("scope", seen.scope),
        ("path", seen.path),
        ("method", seen.evidence.method),
        ("where", seen.evidence.where),
        ("raw", seen.evidence.raw),
    )
    entry.update({k: v for k, v in pairs if v})
    if seen.loaded is not None:
        entry["loaded"] = seen.loaded
    if seen.attributes:
        entry["attributes"] = dict(seen.attributes)
    return entry


def inventory_from_json(body: Any, *, where: str) -> Inventory:
    """Return the inventory of a JSON object; `where` names the file in messages and evidence.

    Unknown keys are ignored: a newer writer may say more than an older reader knows.

    Raises:
        InputError: it is not an inventory, or a part of it has the wrong shape.
    """
    if not isinstance(body, dict):
        raise InputError(
            "an inventory is a JSON object", where=where, fix="see `stackcheck probe --inventory`"
        )
    schema = body.get("schema", SCHEMA)
    if not isinstance(schema, str) or schema.partition("/")[0] != SCHEMA.partition("/")[0]:
        raise InputError(f"schema {str(schema)[:60]!r} is not {SCHEMA}", where=where, fix="give an inventory")
    if schema != SCHEMA:
        raise InputError(
            f"schema {schema[:60]!r} is newer than {SCHEMA}", where=where, fix="update stackcheck"
        )
    gpu = body.get("gpu")
    if isinstance(gpu, str):
        gpu = {"model": gpu}
    gpu = _table(gpu, "/gpu", where)
    count = gpu.get("count")
    return Inventory(
        subject=_text(body.get("subject")) or where,
        gpu_model=_text(gpu.get("model")),
        gpu_count=count if isinstance(count, int) and not isinstance(count, bool) else None,
        instance=_text(body.get("instance")),
        arch=_text(body.get("arch")),
        image=_text(body.get("image")),
        components={
            _clean(str(name)): _observations(entry, f"/components/{name}", where)
            for name, entry in _table(body.get("components"), "/components", where).items()
        },
        environment={
            _clean(str(k)): "" if v is None else _clean(str(v))
            for k, v in _table(body.get("environment"), "/environment", where).items()
        },
        facts={_clean(str(k)): _fact(v) for k, v in _table(body.get("facts"), "/facts", where).items()},
        evidence={
            _clean(str(k)): _evidence(v, where)
            for k, v in _table(body.get("evidence"), "/evidence", where).items()
        },
        notes=_notes(body.get("notes"), where) + _left_out(body, where),
    )


def _text(value: Any) -> str | None:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return _clean(str(value))


def _clean(text: str) -> str:
    """Return a text that every output can encode: JSON may hold half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _notes(value: Any, where: str) -> tuple[Note, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError("/notes is not a list", where=where, fix="see `stackcheck probe --inventory`")
    return tuple(
        Note(_text(n.get("source", n.get("probe"))) or "", _text(n.get("text")) or "")
        for n in value[:MOST_NAMES]
        if isinstance(n, dict)
    )


def _left_out(body: Mapping[str, Any], where: str) -> tuple[Note, ...]:
    """Say what the limits cut off: a file with that many entries was not written by a probe."""
    tables = {name: body.get(name) for name in ("components", "environment", "facts", "evidence", "notes")}
    notes = [
        f"only the first {MOST_NAMES} of {len(table)} {name} were read"
        for name, table in tables.items()
        if isinstance(table, dict | list) and len(table) > MOST_NAMES
    ]
    for name in ("components", "facts"):
        for key, entry in _table(tables[name], f"/{name}", where).items():
            if isinstance(entry, list) and len(entry) > MOST_MEMBERS and len(notes) < MOST_MEMBERS:
                notes.append(
                    f"only the first {MOST_MEMBERS} of {len(entry)} entries of {_clean(str(key))} were read"
                )
    return tuple(Note(where, text) for text in notes)


def _table(value: Any, pointer: str, where: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"{pointer} is not an object", where=where, fix="see `stackcheck probe --inventory`")
    return value if len(value) <= MOST_NAMES else dict(islice(value.items(), MOST_NAMES))


def _observations(entry: Any, pointer: str, where: str) -> tuple[Observation, ...]:
    if entry is None:
        return ()
    if isinstance(entry, str | int | float) and not isinstance(entry, bool):
        entry = [{"version": str(entry)}]
    elif isinstance(entry, dict):
        entry = [entry]
    if not isinstance(entry, list):
        raise InputError(
            f"{pointer} is neither a version nor a list", where=where, fix='write for example "2.27.3"'
        )
    return tuple(_observation(item, f"{pointer}/{i}", where) for i, item in enumerate(entry[:MOST_MEMBERS]))


def _observation(item: Any, pointer: str, where: str) -> Observation:
    if isinstance(item, str):
        item = {"version": item}
    if not isinstance(item, dict) or not isinstance(item.get("version", ""), str):
        raise InputError(
            f"{pointer} has no version text", where=where, fix='write for example {"version": "2.27.3"}'
        )
    loaded = item.get("loaded")
    attributes = item.get("attributes")
    return Observation(
        version=_clean(item.get("version", "")),
        scope=_text(item.get("scope")) or "",
        path=_text(item.get("path")) or "",
        loaded=loaded if isinstance(loaded, bool) else None,
        evidence=Evidence(
            _text(item.get("method")) or "inventory",
            _text(item.get("where")) or f"{where}#{pointer}",
            _text(item.get("raw")) or "",
        ),
        attributes=_attributes(attributes) if isinstance(attributes, dict) else {},
    )


def _attributes(entry: Mapping[str, Any]) -> dict[str, Any]:
    read = {_clean(str(name)): _fact(value) for name, value in entry.items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in read.items()}


def _fact(value: Any) -> FactValue:
    if isinstance(value, list):
        return tuple(_scalar(v) for v in value[:MOST_MEMBERS])
    return None if value is None else _scalar(value)


def _scalar(value: Any) -> str | int | float | bool:
    """Return a value that JSON can hold: NaN and the infinities become texts, an object its text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, bool | int | float):
        return value
    return _clean(str(value))


def _evidence(value: Any, where: str) -> Evidence:
    if not isinstance(value, dict):
        return Evidence("inventory", where, _clean(str(value)))
    return Evidence(*(_text(value.get(k)) or "" for k in ("method", "where", "raw")))
