"""Matrix files against their JSON Schemas, with file and JSON pointer of every fault.

jsonschema is imported here alone: only a user's own directory and the lint need it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from stackcheck.catalog.backtracking import fault_of
from stackcheck.catalog.files import read_json, unlistable
from stackcheck.model.errors import MatrixError

SCHEMA_OF_FOLDER = {
    "components": "component",
    "gpus": "gpu",
    "instances": "instance",
    "images": "image",
    "rules": "rules",
    "advisories": "advisory",
    "signatures": "signatures",
}
"""Folder of the matrices -> name of its schema."""
OTHER_NAMES = ("schema", "VERSION", "FORMAT", "boards.json", "index.json", "policy.json", "upstreams.json")
"""What else may lie at the top of a data set."""
_MOST_FAULTS = 200  # of one file
_LONGEST = 300  # characters of a message
_LONGEST_PATTERN = 80  # characters of a pattern in a message
_PATTERNS = frozenset(("pattern", "matches", "local_pattern"))


def schema_for(name: str) -> str | None:
    """Return the schema's name for a file named relative to the root, or None for a file of another kind."""
    folder, slash, rest = name.partition("/")
    if not slash:
        return {"boards.json": "boards", "policy.json": "policy"}.get(name)
    if name == "images/families.json":
        return "families"
    return SCHEMA_OF_FOLDER.get(folder) if rest.endswith(".json") else None


def matrix_files(root: str) -> tuple[str, ...]:
    """Return the names of all matrix files below `root`, relative and sorted.

    Raises:
        MatrixError: a folder cannot be listed.
    """

    def refuse(fault: OSError) -> None:
        raise unlistable(fault) from fault

    found = []
    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = sorted(f for f in folders if f != "schema" and not f.startswith("."))
        for name in sorted(files):
            relative = os.path.relpath(os.path.join(folder, name), root)
            if schema_for(relative) is not None:
                found.append(relative)
    return tuple(found)


def faults_of(body: Any, schema: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return (JSON pointer, message) of each way in which `body` breaks `schema`, at most 200."""
    import jsonschema
    import jsonschema.exceptions

    validator = jsonschema.Draft202012Validator(schema)
    found: list[tuple[str, str]] = []
    for found_at in validator.iter_errors(body):
        fault = jsonschema.exceptions.best_match([found_at])  # of several allowed shapes, the one meant
        pointer = (
            "".join(f"/{str(p).replace('~', '~0').replace('/', '~1')}" for p in fault.absolute_path) or "/"
        )
        found.append(
            (pointer, fault.message if len(fault.message) <= _LONGEST else f"{fault.message[:_LONGEST]}...")
        )
        if len(found) >= _MOST_FAULTS:
            break
    return tuple(sorted(found))


def _strangers(root: str) -> Iterator[tuple[str, str]]:
    """Yield the folders and JSON files at the top of `root` that no program reads: a slip of the pen would be without effect."""
    try:
        entries = sorted(os.scandir(root), key=lambda e: e.name)
    except OSError as fault:
        raise unlistable(fault) from fault
    for entry in entries:
        known = entry.name in SCHEMA_OF_FOLDER or entry.name in OTHER_NAMES or entry.name.startswith(".")
        if known or not (entry.is_dir() or entry.name.endswith(".json")):
            continue
        kind = "folder" if entry.is_dir() else "file"
        yield entry.path, f"unknown {kind}, which nothing reads; there are {', '.join(SCHEMA_OF_FOLDER)}"


def faults_by_file(root: str, *, schemas: str) -> tuple[tuple[str, str], ...]:
    """Return (file and JSON pointer, message) of every fault in the matrix files below `root`; a folder or JSON file that nobody reads is one.

    Raises:
        MatrixError: a file is no JSON at all.
    """
    loaded: dict[str, dict[str, Any]] = {}
    found: list[tuple[str, str]] = list(_strangers(root))
    for name in matrix_files(root):
        kind = schema_for(name)
        if kind is None:
            continue
        path = os.path.join(root, name)
        if kind not in loaded:
            loaded[kind] = read_json(os.path.join(schemas, f"{kind}.schema.json"))
        body = read_json(path)
        try:
            faults = (*faults_of(body, loaded[kind]), *_pattern_faults(body))
        except RecursionError as fault:
            raise MatrixError(
                "nested too deeply", where=path, fix="split its conditions into several rules"
            ) from fault
        found += [(f"{path}#{pointer}", message) for pointer, message in faults]
    return tuple(found)


def _pattern_faults(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield the regular expressions in a file that are none, or that can keep a search busy for ever."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for key, part in parts:
        if key in _PATTERNS and isinstance(part, str):
            if fault := fault_of(part):
                shown = part if len(part) <= _LONGEST_PATTERN else f"{part[:_LONGEST_PATTERN]}..."
                yield f"{pointer}/{key}", f"pattern {shown!r}: {fault}"
        else:
            yield from _pattern_faults(part, f"{pointer}/{key}")


def validate_directory(root: str, *, schemas: str) -> None:
    """Check every matrix file below `root`.

    Raises:
        MatrixError: with the first fault, and how many more there are.
    """
    faults = faults_by_file(root, schemas=schemas)
    if faults:
        where, message = faults[0]
        more = f" (and {len(faults) - 1} more faults)" if len(faults) > 1 else ""
        raise MatrixError(
            message + more,
            where=where,
            fix=f"`stackcheck matrices lint -v --matrices {root}` lists all; see docs/adding-facts.md",
        )
