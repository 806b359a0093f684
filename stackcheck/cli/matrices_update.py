"""`stackcheck matrices update`: newer data without newer code, from a folder, a wheel or an address; and back again."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from stackcheck.cli import streams
from stackcheck.model.errors import InputError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.harvest.data_set import DataSet

SOURCE = "STACKCHECK_UPDATE_FROM"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of update."""
    parser.add_argument(
        "--from",
        dest="origin",
        metavar="URL|DIR|WHEEL",
        help=f"a stackcheck wheel, a folder of matrices, or the address of a wheel (default: ${SOURCE})",
    )
    parser.add_argument("--sha256", metavar="HEX", help="what the wheel's checksum must be")
    parser.add_argument(
        "--allow-older",
        action="store_true",
        help="also take a set older than the installed one; never one older than the shipped data",
    )
    parser.add_argument("--rollback", action="store_true", help="return to the data set before")


def run(options: argparse.Namespace) -> int:
    """Install a data set, or return to the one before."""
    from stackcheck.catalog.files import installed_home, matrices_root, version_of
    from stackcheck.harvest.data_set import Home

    place = installed_home(os.environ)
    if not place:
        raise InputError("no home directory to keep data in", fix="set XDG_DATA_HOME")
    home = Home(Path(place))
    if options.rollback:
        state = home.rollback()
        streams.answer(f"in use: {state.active or 'the data shipped with stackcheck'}")
        return streams.OK
    origin = options.origin or os.environ.get(SOURCE, "")
    if not origin:
        raise UsageError("nowhere to update from", fix=f"give --from URL|DIR|WHEEL, or set {SOURCE}")
    data = _data(origin, options.sha256)
    active, shipped = home.state().active, version_of(matrices_root())
    in_use = max(shipped, version_of(str(home.path / active)) if active else ())
    offered = tuple(int(p) for p in data.version.split("."))
    if offered < shipped:
        raise InputError(
            f"data of {data.version} is older than that shipped with this stackcheck "
            f"({'.'.join(map(str, shipped))}), which would stay in use",
            where=origin if "@" not in origin else "",
            fix="name a folder with --matrices or STACKCHECK_MATRICES where it shall count",
        )
    if offered < in_use and not options.allow_older:
        raise InputError(
            f"data of {data.version} is older than that in use ({'.'.join(map(str, in_use))})",
            where=origin if "@" not in origin else "",
            fix="--allow-older takes it all the same",
        )
    fresh = home.install(data, prove)
    words = "installed" if fresh else "was already in use"
    streams.answer(f"matrices {data.version} {words}: {home.path / data.folder}")
    if offered == shipped:
        streams.say("the data shipped with stackcheck is as new and stays in use")
    return streams.OK


def _data(origin: str, sha256: str | None) -> DataSet:
    from stackcheck.harvest.data_set import from_folder, from_wheel
    from stackcheck.harvest.interface import HarvestError

    if origin.startswith(("http://", "https://")):
        url, _, fragment = origin.partition("#")
        content = _fetched(url)
        sha256 = sha256 or fragment.removeprefix("sha256=") or None
    elif Path(origin).is_dir():
        if sha256:
            raise UsageError("--sha256 is for wheels, not for folders", fix="leave it out")
        return from_folder(Path(origin))
    else:
        try:
            if Path(origin).exists() and not Path(origin).is_file():
                raise HarvestError("is neither a folder nor a wheel", where=origin, fix="give one of these")
            if Path(origin).stat().st_size > 400_000_000:
                raise HarvestError("is larger than any wheel of stackcheck", where=origin)
            content = Path(origin).read_bytes()
        except OSError as fault:
            raise InputError(f"cannot be read: {fault.strerror}", where=origin) from fault
    return from_wheel(_matching(content, sha256), origin.partition("#")[0].rpartition("/")[2])


def _matching(content: bytes, sha256: str | None) -> bytes:
    import hashlib

    if sha256 and hashlib.sha256(content).hexdigest() != sha256.strip().lower():
        raise InputError("the wheel is not the one of this checksum", fix="fetch it anew; do not use it")
    return content


def _fetched(url: str) -> bytes:
    from urllib.parse import urlsplit

    from stackcheck.harvest.client import Client, Limits
    from stackcheck.harvest.settings import network

    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise UsageError("data is fetched over https alone", fix="use https, or copy the wheel here")
    proxy, ca = network(os.environ)
    with Client(limits=Limits(size=400_000_000, seconds=600.0), proxy=proxy, ca=ca) as client:
        return client.get(url, conditional=False).body


def prove(root: Path) -> None:
    """Raise if the data set below `root` is not fit to be used: each file fits our schemas, and lint finds nothing fatal.

    Raises:
        MatrixError: with the first fault.
    """
    from stackcheck.catalog.catalog import Catalog
    from stackcheck.catalog.files import FileStore, matrices_root
    from stackcheck.catalog.lint import lint
    from stackcheck.catalog.validate import validate_directory
    from stackcheck.model.errors import MatrixError

    try:
        validate_directory(str(root), schemas=f"{matrices_root()}/schema")
    except MatrixError as fault:
        where = fault.where.replace(f"{root}/", "")  # the staged copy is gone when somebody reads this
        raise MatrixError(fault.what, where=where, fix="this data set is damaged") from fault
    for check, faults in lint(Catalog(FileStore((str(root),)))):
        if check.fatal and faults:
            raise MatrixError(
                f"{check.code} {faults[0].text}", where=faults[0].where, fix="this data set is damaged"
            )
