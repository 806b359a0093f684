"""Where the matrices are, and reading their JSON files.

Order of preference: the directory given (`--matrices`), `STACKCHECK_MATRICES`, a newer data set that `stackcheck matrices update`
installed for this user, the data inside the wheel, the checkout's folder beside the package. A directory that holds a file `VERSION` is a whole data set; one without is an overlay laid over the shipped set,
file by file. `os.path` is used instead of pathlib: this module is on the start-up path of every command.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from typing import Any

from stackcheck.catalog.catalog import Catalog
from stackcheck.model.errors import InputError, MatrixError

VARIABLE = "STACKCHECK_MATRICES"
FORMAT = 1
"""The format of data sets that this code reads; a data set states its own in the file FORMAT (1 if it has none)."""
_LARGEST = 64_000_000  # bytes of one matrix file
_DEEPEST = 60  # nesting levels
_LONGEST_NUMBER = 10  # digits
_PARTS = ("components",)  # without these no question has an answer


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
    base = base_root(environ)
    if chosen is None:
        return Catalog(FileStore((base,)))
    if not os.path.isdir(chosen):
        raise InputError("no such directory of matrices", where=chosen, fix=f"check --matrices or {VARIABLE}")
    whole = os.path.isfile(os.path.join(chosen, "VERSION"))
    if whole and format_of(chosen) > FORMAT:
        raise newer_format(chosen, format_of(chosen))
    roots = (chosen,) if whole else (chosen, base)
    from stackcheck.catalog.validate import validate_directory

    validate_directory(chosen, schemas=os.path.join(matrices_root(), "schema"))
    return Catalog(FileStore(roots), "" if whole else _name_of(chosen))


def _name_of(directory: str) -> str:
    """Return the name of a directory without the path to it, which is the business of one machine."""
    name = os.path.basename(os.path.abspath(directory)) or "/"
    return "".join(c if c.isprintable() else "?" for c in name[:60])


def base_root(environ: Mapping[str, str]) -> str:
    """Return the root that counts when the user names none: an installed data set if it is newer than the shipped one."""
    shipped = matrices_root()
    installed = installed_root(environ)
    if installed and not _unusable(installed) and version_of(installed) > version_of(shipped):
        return installed
    return shipped


def installed_doubt(environ: Mapping[str, str]) -> str:
    """Return why the data set installed for this user is passed over although it is not older, or an empty text."""
    home = installed_home(environ)
    active = os.path.join(home, "active")
    if not home or not os.path.lexists(active):
        return ""
    if _active_name(home) == "":
        return ""  # gone back to the shipped data, on purpose
    root = installed_root(environ)
    fault = f"{root}: {_unusable(root)}" if root else f"{active}: names no data set"
    return "" if root and not _unusable(root) else f"{fault}, so the shipped data counts"


def _unusable(root: str) -> str:
    """Return what is wrong with a data set as a whole, or an empty text; its files are judged when they are read."""
    if not version_of(root):
        return "its VERSION is none"
    if format_of(root) > FORMAT:
        return f"its FORMAT is not one that this stackcheck reads ({FORMAT})"
    lacking = [name for name in _PARTS if not os.path.exists(os.path.join(root, name))]
    return f"it lacks {' and '.join(lacking)}" if lacking else ""


def installed_home(environ: Mapping[str, str]) -> str:
    """Return the directory for data sets of this user, or an empty text if there is no home."""
    home = environ.get("HOME")
    base = environ.get("XDG_DATA_HOME") or (home and os.path.join(home, ".local", "share"))
    return os.path.join(base, "stackcheck", "matrices") if base else ""


def installed_root(environ: Mapping[str, str]) -> str:
    """Return the data set that the first line of the file `active` names, or an empty text."""
    home = installed_home(environ)
    name = _active_name(home) if home else None
    if not name or not name.replace("-", "").replace(".", "").isalnum() or name.startswith("."):
        return ""
    root = os.path.join(home, name)
    return root if os.path.isfile(os.path.join(root, "VERSION")) else ""


def _active_name(home: str) -> str | None:
    """Return the first line of the file `active`, or None if it cannot be read."""
    try:
        text = _bytes_of(os.path.join(home, "active"), 200).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    if not text:
        return None
    return text.partition("\n")[0].strip()  # a first line without a name is the shipped data


def version_of(root: str) -> tuple[int, ...]:
    """Return the calendar version of a data set as numbers; empty if it has none."""
    parts = FileStore((root,)).text("VERSION").split(".")
    return tuple(map(int, parts)) if all(_is_number(p) for p in parts) else ()


def format_of(root: str) -> int:
    """Return the format of a data set; 1 if it states none."""
    text = FileStore((root,)).text("FORMAT") or "1"
    return int(text) if _is_number(text) else FORMAT + 1


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < _LONGEST_NUMBER


def newer_format(where: str, found: int) -> MatrixError:
    """Return the fault of a data set that this code is too old for."""
    return MatrixError(
        f"a data set of format {found}, newer than this stackcheck reads ({FORMAT})",
        where=where,
        fix="upgrade stackcheck",
    )


class FileStore:
    """The JSON files of one or more roots; an earlier root's file hides a later root's file of the same name."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        """Look into `roots`, the most important first."""
        self.roots = roots

    @property
    def is_one_set(self) -> bool:
        """Whether there is one root only."""
        return len(self.roots) == 1

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

    def size(self, name: str) -> int:
        """Return the bytes of a file that is there; 0 if it has gone meanwhile."""
        try:
            return os.stat(self.path(name)).st_size
        except OSError:
            return 0

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
                text = _bytes_of(os.path.join(root, name), 10_000).decode("utf-8", "replace").strip()
            except OSError:
                continue
            return "".join(c if c.isprintable() else "?" for c in text)
        return ""


def _json_names(folder: str) -> list[str]:
    names: list[str] = []
    try:
        for entry in sorted(os.scandir(folder), key=lambda e: e.name):
            if entry.name.endswith(".json"):
                names.append(entry.name)
            elif entry.is_dir():
                inner = os.scandir(entry.path)
                names.extend(f"{entry.name}/{n.name}" for n in inner if n.name.endswith(".json"))
    except (FileNotFoundError, NotADirectoryError):
        return names
    except OSError as fault:  # rules that cannot be read must not count as no rules
        raise unlistable(fault) from fault
    return names


def unlistable(fault: OSError) -> MatrixError:
    """Return the fault of a directory that cannot be listed."""
    return MatrixError(
        f"cannot be listed: {fault.strerror}", where=str(fault.filename), fix="check its permissions"
    )


def _bytes_of(path: str, most: int) -> bytes:
    """Return up to `most` bytes of a regular file; a pipe or a device would hang the run or never end.

    Raises:
        OSError: it cannot be read, or it is no regular file.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError("it is no regular file")
        return file.read(most)


def read_json(path: str) -> Any:
    """Return the JSON value of a matrix file.

    Raises:
        MatrixError: unreadable, too large, too deep or no JSON; with line and column.
    """
    try:
        raw = _bytes_of(path, _LARGEST + 1)
        if len(raw) > _LARGEST:
            raise MatrixError("larger than any matrix", where=path, fix="split it")
        return json.loads(raw.decode("utf-8"))
    except json.JSONDecodeError as fault:
        raise MatrixError(
            f"no JSON: {fault.msg}", where=f"{path}:{fault.lineno}:{fault.colno}", fix="mend the syntax there"
        ) from fault
    except (OSError, ValueError) as fault:  # also no UTF-8, or a number of thousands of digits
        raise MatrixError(f"cannot be read: {fault}", where=path, fix="check the file") from fault
    except RecursionError as fault:
        raise MatrixError("nested too deeply", where=path, fix=f"keep below {_DEEPEST} levels") from fault
