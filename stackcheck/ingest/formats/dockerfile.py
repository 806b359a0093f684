"""Dockerfile: the image of the last stage, packages that pip and apt pin, variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.efa_packages import upstream
from stackcheck.ingest.formats.env import is_private, version_variable
from stackcheck.ingest.formats.pins import parse_pin, parse_wheel
from stackcheck.ingest.interface import Line
from stackcheck.ingest.patterns import Lazy

_WORD = Lazy(
    r"\s{0,8}(?P<word>FROM|ARG|ENV|RUN|LABEL|COPY|ADD|WORKDIR|CMD|ENTRYPOINT|USER|EXPOSE|SHELL|VOLUME|STOPSIGNAL|HEALTHCHECK|ONBUILD)\s+(?P<rest>\S.*)\Z",
    re.DOTALL,
)
_FROM = Lazy(
    r"(?:--platform=\S{1,80}\s+)?(?P<image>\S{1,300})(?:\s+[Aa][Ss]\s+(?P<stage>[\w.-]{1,80}))?\s*\Z"
)
_VARIABLE = Lazy(r"\$(?:\{(?P<braced>\w{1,80})(?::?-(?P<default>[^}]{0,200}))?\}|(?P<plain>\w{1,80}))")
_PAIR = Lazy(
    r"(?P<name>[A-Za-z_]\w{0,79})=(?:\"(?P<double>[^\"]{0,4000})\"|'(?P<single>[^']{0,4000})'|(?P<bare>\S{0,4000}))"
)
_PIP = Lazy(r"(?:pip3?|uv pip|uv tool|python3? -m pip|\$\{?PIP\}?)\s+install\s+(?P<rest>.+)\Z")
_APT = Lazy(r"(?:apt-get|apt|dnf|yum|microdnf|tdnf)\s+(?:-\S{1,40}\s+){0,6}install\s+(?P<rest>.+)\Z")
_APT_PIN = Lazy(r"([a-z0-9][a-z0-9.+-]{1,80})=(\S{1,80})\Z")
_INDEX = Lazy(r"/whl/(?:nightly/|test/)?(cu\d{2,3})\b")
_EFA = Lazy(r"aws-efa-installer-v?(\d{1,3}\.\d{1,3}\.\d{1,3})\.tar")
_SEPARATOR = Lazy(r"&&|;|\|\|")
_LIMIT = 64


def sniff(text: str) -> float:
    """Look for an instruction that starts a stage, and one that fills it."""
    start = re.search(r"(?m)^\s{0,8}FROM \S", text)
    return (
        0.0
        if start is None
        else 1.0
        if re.search(r"(?m)^\s{0,8}(?:RUN|ENV|COPY|ARG|CMD|ENTRYPOINT|LABEL) ", text)
        else 0.6
    )


def read(draft: Draft) -> None:
    """Record base image, variables and pins; the last stage is the image that runs."""
    builder = _Builder(draft)
    for parts in _instructions(draft):
        builder.take(parts)
    builder.finish()


def _instructions(draft: Draft) -> Iterator[list[Line]]:
    """Yield each instruction as its lines; a backslash continues it, comments inside are left out."""
    parts: list[Line] = []
    for line in draft.source.open():
        text = line.text.rstrip()
        if text.lstrip().startswith("#"):
            continue
        if not parts and not _WORD.match(text):
            continue
        parts.append(line)
        if not text.endswith("\\") or len(parts) > 400:
            yield parts
            parts = []
    if parts:
        yield parts


class _Builder:
    """Stages, arguments and what each instruction records, while the file is read.

    Only the last stage and those it is built from end up in the image; what other stages install is left out.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._arguments: dict[str, str] = {}
        self._parents: list[int] = []
        self._images: list[tuple[str, Line]] = []
        self._names: dict[str, int] = {}
        self._records: list[tuple[int, Callable[[], None]]] = []

    def take(self, parts: Sequence[Line]) -> None:
        """Read one instruction."""
        joined = _joined(parts)
        match = _WORD.match(joined)
        if match is None:
            return
        for part in parts:
            self._draft.source.claim(part.number)
        word, rest = match["word"], match["rest"]
        if word == "FROM":
            self._from(rest, parts[0])
        elif word in ("ARG", "ENV"):
            self._variables(word, rest, parts)
        elif word in ("RUN", "ADD", "COPY"):
            self._run(self._resolved(joined), parts)

    def finish(self) -> None:
        """Record what the stages of the final image hold."""
        kept: set[int] = set()
        stage = len(self._images) - 1
        image = self._images[stage] if self._images else None
        while stage >= 0:
            kept.add(stage)
            image = self._images[stage]
            stage = self._parents[stage]
        for at, record in self._records:
            if at in kept or at < 0:
                record()
        if image and image[0].lower() != "scratch" and "$" not in image[0]:
            self._draft.single("image", image[0], image[1])

    def _record(self, record: Callable[[], None]) -> None:
        self._records.append((len(self._images) - 1, record))

    def _resolved(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match["braced"] or match["plain"]
            return self._arguments.get(name, match["default"] or "")[:400]

        return _VARIABLE.sub(value, text)[:20_000]

    def _from(self, rest: str, line: Line) -> None:
        match = _FROM.match(self._resolved(rest))
        if match is None:
            return
        self._parents.append(self._names.get(match["image"], -1))
        self._images.append((match["image"], line))
        if match["stage"]:
            self._names[match["stage"]] = len(self._images) - 1

    def _variables(self, word: str, rest: str, parts: Sequence[Line]) -> None:
        pairs = [(m["name"], m["double"] or m["single"] or m["bare"] or "") for m in _PAIR.finditer(rest)][
            :_LIMIT
        ]
        if not pairs and word == "ENV":
            name, _, value = rest.partition(" ")
            pairs = [(name, value.strip())] if value and re.fullmatch(r"[A-Za-z_]\w{0,79}", name) else []
        for name, value in pairs:
            resolved = self._resolved(value)
            self._arguments[name] = resolved
            if not is_private(name):
                line = _line_of(parts, name)
                self._record(partial(_variable, self._draft, word, name, resolved, line))

    def _run(self, text: str, parts: Sequence[Line]) -> None:
        if match := _EFA.search(text):
            line = _line_of(parts, "aws-efa-installer")
            self._record(partial(self._draft.component, "efa-installer", match[1], line, scope="container"))
        index = _INDEX.search(text)
        for command in _SEPARATOR.split(text)[:200]:
            if match := _PIP.search(command):
                self._record(partial(_pip, self._draft, match["rest"], index[1] if index else "", parts))
            elif match := _APT.search(command):
                self._record(partial(_apt, self._draft, match["rest"], parts))


def _joined(parts: Sequence[Line]) -> str:
    return " ".join(p.text.rstrip().removesuffix("\\").strip() for p in parts)[:20_000]


def _variable(draft: Draft, word: str, name: str, value: str, line: Line) -> None:
    if word == "ENV":
        draft.environment(name, value, line)
    version_variable(draft, name, value, line, scope="container")


def _pip(draft: Draft, rest: str, index: str, parts: Sequence[Line]) -> None:
    for word in rest.split()[:400]:
        bare = word.strip("'\"")
        pin = parse_wheel(bare) or (None if bare.startswith("-") else parse_pin(bare))
        if pin is None or (not pin.version and not pin.wanted):
            continue
        line = _line_of(parts, pin.name)
        if pin.version:
            local = f"+{index}" if index and "+" not in pin.version and pin.name.startswith("torch") else ""
            draft.package(pin.name, pin.version + local, line, scope="container", attributes=pin.attributes)
        elif draft.context.package(pin.name):
            draft.note(f"{pin.name} is only asked for as {pin.wanted}: the version in use is not told", line)


def _apt(draft: Draft, rest: str, parts: Sequence[Line]) -> None:
    for word in rest.split()[:400]:
        match = _APT_PIN.match(word.strip("'\""))
        if match and not match[2].endswith("*") and match[2][:1].isdigit():
            draft.package(match[1], upstream(match[2]), _line_of(parts, match[1]), scope="container")


def _line_of(parts: Sequence[Line], text: str) -> Line:
    return next((p for p in parts if text in p.text), parts[0])
