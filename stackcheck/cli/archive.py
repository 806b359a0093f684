"""Running out of one file: the matrices of a zip archive that holds the program too (`probes/build_zipapp.py --verdict`)."""

from __future__ import annotations

import stackcheck

# Every probe asks whether it runs out of an archive; most do not, and pay for no reader of zip files.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from stackcheck.catalog.catalog import Catalog

FOLDER = "matrices/"


def own_archive() -> str | None:
    """Return the path of the archive that this program was started from, or None if it was not."""
    archive = getattr(getattr(stackcheck, "__loader__", None), "archive", None)
    return archive if isinstance(archive, str) else None


class ArchiveStore:
    """The matrices inside a zip archive. See `catalog.Store` for the contract."""

    def __init__(self, path: str) -> None:
        """Open the archive at `path`."""
        import zipfile

        self._path = path
        self._zip = zipfile.ZipFile(path)
        self._names = frozenset(
            n.removeprefix(FOLDER) for n in self._zip.namelist() if n.startswith(FOLDER) and n != FOLDER
        )

    @property
    def is_one_set(self) -> bool:
        """An archive holds the shipped data and nothing laid over it."""
        return True

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the sorted names of the JSON files below a folder."""
        below = (n.removeprefix(f"{folder}/") for n in self._names if n.startswith(f"{folder}/"))
        return tuple(sorted(n for n in below if n.endswith(".json")))

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        return name in self._names

    def read(self, name: str) -> Any:
        """Return the JSON value of a file.

        Raises:
            MatrixError: it is not there, or damaged.
        """
        import json
        from zipfile import BadZipFile

        from stackcheck.model.errors import MatrixError

        try:
            return json.loads(self._zip.read(f"{FOLDER}{name}"))
        except (KeyError, ValueError, OSError, BadZipFile) as fault:
            raise MatrixError(
                "cannot be read", where=f"{self._path}/{name}", fix="copy the archive again"
            ) from fault

    def size(self, name: str) -> int:
        """Return the bytes of a file."""
        return self._zip.getinfo(f"{FOLDER}{name}").file_size

    def text(self, name: str) -> str:
        """Return a small text file, or an empty text."""
        return self._zip.read(f"{FOLDER}{name}").decode().strip() if self.exists(name) else ""


def catalog_for(directory: str | None) -> Catalog:
    """Return the catalog asked for; by default the shipped one, which lies in the archive if the program does.

    Raises:
        UsageError: matrices are given to an archive, which cannot validate them.
    """
    archive = own_archive()
    if archive is None:
        from stackcheck.cli.data import open_data

        return open_data(directory)
    if directory:
        from stackcheck.model.errors import UsageError

        raise UsageError(
            "this archive holds matrices of its own", fix="leave out --matrices, or install stackcheck"
        )
    return catalog_of(archive)


def catalog_of(path: str) -> Catalog:
    """Return the catalog inside an archive."""
    from stackcheck.catalog.catalog import Catalog

    return Catalog(ArchiveStore(path))


def entry() -> int:
    """Run `stackcheck probe` with the arguments of the process, and return the exit code.

    Besides, `--version` tells the versions of tool and data, as the file on a node may be an old one, and `explain ID` what the id in
    a drained node's reason means.
    """
    import gc
    import sys

    from stackcheck.cli import main, streams

    gc.disable()  # as the console script does
    given = sys.argv[1:]
    if given == ["--version"]:
        return streams.guarded(_tell_version)
    return main(given if given[:1] == ["explain"] else ["probe", *given])


def _tell_version() -> int:
    from stackcheck.cli import streams

    archive = own_archive()
    data = f" (matrices {catalog_of(archive).version})" if archive else ""
    streams.answer(f"stackcheck {stackcheck.__version__}{data}")
    return streams.OK
