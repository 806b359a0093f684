"""Where the matrices are, and reading their JSON files.

Order of preference: the directory given (`--matrices`), `STACKCHECK_MATRICES`, the data inside the wheel, the checkout's folder
beside the package. A directory that holds a file `VERSION` is a whole data set; one without is an overlay laid over the shipped set,
file by file. `os.path` is used instead of pathlib: this module is on the start-up path of every command.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.model.errors import InputError, MatrixError

VARIABLE = "STACKCHECK_MATRICES"
_LARGEST = 64_000_000  # bytes of one matrix file
_DEEPEST = 60  # nesting levels


def matrices_root() -> str:
    """Return the directory of the shipped matrices.

    Raises:
        InputError: it is in none of the places; the message names them.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = [os.path.join(package, "matrices"), os.path.join(os.path.dirname(package), "matrices")]
    for place in places:
        if os.path.isfile(os.path.join(place, "VERSION")):
            return place
    raise InputError(f"no matrices in {' or '.join(places)}", fix=f"reinstall stackcheck, or set {VARIABLE}")


def open_catalog(directory: str | None = None, environ: Mapping[str, str] = os.environ) -> Catalog:
    """Return the catalog of the shipped matrices, of a whole data set, or of an overlay over the shipped ones.

    Files are read when the catalog is first asked for what they hold. A directory given by the user is validated against the
    schemas first; the shipped data is validated by the project's own tests instead.

    Raises:
        InputError: the directory is not there.
        MatrixError: a file breaks its schema; the message has file and JSON pointer.
    """
    chosen = directory or environ.get(VARIABLE) or None
    if chosen is None:
        return Catalog(FileStore((matrices_root(),)))
    if not os.path.isdir(chosen):
        raise InputError("no such directory of matrices", where=chosen, fix=f"check --matrices or {VARIABLE}")
    whole = os.path.isfile(os.path.join(chosen, "VERSION"))
    roots = (chosen,) if whole else (chosen, matrices_root())
    from stackcheck.catalog.validate import validate_directory

    validate_directory(chosen, schemas=os.path.join(matrices_root(), "schema"))
    return Catalog(FileStore(roots))


class FileStore:
    """The JSON files of one or more roots; an earlier root's file hides a later root's file of the same name."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        """Look into `roots`, the most important first."""
        self.roots = roots

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the file names below `folder` (one level of sub-folders included), sorted, as `sub/name.json`."""
        found: set[str] = set()
        for root in self.roots:
            found.update(_json_names(os.path.join(root, folder)))
        return tuple(sorted(found))

    def exists(self, name: str) -> bool:
        """Whether some root has this file."""
        return any(os.path.isfile(os.path.join(root, name)) for root in self.roots)

    def read(self, name: str) -> Any:
        """Return the JSON value of `folder/name.json`.

        Raises:
            MatrixError: it cannot be read or is no JSON.
        """
        path = self.path(name)
        return read_json(path)

    def path(self, name: str) -> str:
        """Return the path of the file that counts."""
        for root in self.roots:
            path = os.path.join(root, name)
            if os.path.isfile(path):
                return path
        raise MatrixError("no such matrix file", where=name, fix="reinstall stackcheck")

    def text(self, name: str) -> str:
        """Return a small text file of the first root that has it, or an empty text."""
        for root in self.roots:
            try:
                with open(os.path.join(root, name), encoding="utf-8") as file:
                    return file.read(10_000).strip()
            except OSError:
                continue
        return ""


def _json_names(folder: str) -> list[str]:
    names: list[str] = []
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError:
        return names
    for entry in entries:
        if entry.name.endswith(".json"):
            names.append(entry.name)
        elif entry.is_dir():
            names.extend(f"{entry.name}/{n.name}" for n in os.scandir(entry.path) if n.name.endswith(".json"))
    return names


def read_json(path: str) -> Any:
    """Return the JSON value of a matrix file.

    Raises:
        MatrixError: unreadable, too large, too deep or no JSON; with line and column.
    """
    try:
        if os.path.getsize(path) > _LARGEST:
            raise MatrixError("larger than any matrix", where=path, fix="split it")
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except json.JSONDecodeError as fault:
        raise MatrixError(
            f"no JSON: {fault.msg}", where=f"{path}:{fault.lineno}:{fault.colno}", fix="mend the syntax there"
        ) from fault
    except (OSError, UnicodeDecodeError) as fault:
        raise MatrixError(f"cannot be read: {fault}", where=path, fix="check the file") from fault
    except RecursionError as fault:
        raise MatrixError("nested too deeply", where=path, fix=f"keep below {_DEEPEST} levels") from fault
