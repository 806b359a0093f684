"""Comments of files that people write: what a Dockerfile, a list of requirements, a script or a YAML file says beside `#` is no output.

A comment may quote any error message and name any version; neither happened nor is there. In logs `#` starts real lines (nccl-tests), so
a comment is taken out only where the whole text has the shape of such a file. Under a list of packages or variables people write what
they saw with them (`pip freeze` and then `# ImportError: ...`), so there the comments at the end stay. Tables of Markdown are statements of
the same kind as comments, but formats may still read them.
"""

from __future__ import annotations

from collections.abc import Sequence

from stackcheck.ingest.cleaning import is_fence
from stackcheck.ingest.patterns import Lazy
from stackcheck.ingest.segments import command_of

_MOST_LINES = 50_000  # files that people write are shorter; what is longer is a log
_DIRECTIVES = ("#!", "#SBATCH", "#PBS", "#BSUB", "#FLUX", "# Editable")
_INSTRUCTION = Lazy(
    r"\s{0,16}(?:FROM|ARG|RUN|ENV|COPY|ADD|CMD|ENTRYPOINT|WORKDIR|USER|LABEL|EXPOSE|VOLUME|SHELL|STOPSIGNAL|HEALTHCHECK|ONBUILD|MAINTAINER)\s",
)
_REQUIREMENT = Lazy(
    r"\s{0,8}(?:-[A-Za-z-][\w-]{0,40}(?:[ =]\S{1,2000})?|[A-Za-z0-9][\w.-]{0,80} {0,4}(?:\[[\w,. -]{0,200}\])? {0,4}(?:(?:[<>=~!]=?=?|@) {0,4}\S[^;#]{0,1000})?(?:;[^#]{0,500})?)\s{0,8}(?: #.*)?\Z"
)
_PINNED = Lazy(r"\s{0,8}[A-Za-z0-9][\w.-]{0,80}(?:\[[\w,. -]{0,200}\])? {0,4}[<>=~!]=")
_ASSIGNMENT = Lazy(r"\s{0,16}(?:export )?[A-Za-z_]\w{0,80}=")
_KEY = Lazy(r"\s{0,200}(?:- {1,8}){0,4}[\w./\"'-]{1,200}:(?: |\Z)")
_RULE = Lazy(r"\s{0,3}\|?(?:\s{0,8}:?-{3,40}:?\s{0,8}\|){1,40}(?:\s{0,8}:?-{3,40}:?)?\s{0,8}\Z")


def without_comments(content: str) -> str:
    """Return `content` with its comments as empty lines, so that every line keeps its number; logs come back as they are."""
    if "#" not in content:
        return content
    lines = content.split("\n", _MOST_LINES)
    if len(lines) > _MOST_LINES:
        return content
    end, strict = _end_of_file(lines)
    return "\n".join(
        "" if i < end and _is_comment(line) and (strict or not command_of(line)) else line
        for i, line in enumerate(lines)
    )


def without_tables(content: str) -> str:
    """Return `content` with the rows of Markdown tables as empty lines: a cell that quotes a message is no log line."""
    if "---" not in content or "|" not in content:
        return content
    inside = False
    kept = []
    for line in content.split("\n"):
        inside = bool(_RULE.match(line)) or (inside and line.lstrip().startswith("|"))
        kept.append("" if inside else line)
    return "\n".join(kept)


def _is_comment(line: str) -> bool:
    text = line.lstrip()
    return text.startswith("#") and not text.startswith(_DIRECTIVES)


def _end_of_file(lines: Sequence[str]) -> tuple[int, bool]:
    """Return how many lines belong to a file whose `#` lines are comments, 0 if none, and whether no prompt can be among these."""
    spoken = [line for line in lines if line.strip() and not _is_comment(line)]
    if lines[0].startswith("#!") or _is_manifest(spoken):
        return next((i for i, line in enumerate(lines) if is_fence(line)), len(lines)), True
    if spoken and _INSTRUCTION.match(spoken[0]):
        return _end_of_instructions(lines), True
    if spoken and all(map(_is_key, spoken)):
        return len(lines), False
    if spoken and (all(map(_is_assignment, spoken)) or _are_requirements(spoken)):
        return _end_of_list(lines), False
    return 0, False


def _end_of_list(lines: Sequence[str]) -> int:
    last = 0
    for i, line in enumerate(lines):
        if line.strip() and not _is_comment(line):
            last = i
    return last


def _is_manifest(spoken: Sequence[str]) -> bool:
    first = spoken[0] if spoken else ""
    return first.startswith(("apiVersion:", "kind:")) and all(
        any(line.startswith(key) for line in spoken) for key in ("apiVersion:", "kind:")
    )


def _end_of_instructions(lines: Sequence[str]) -> int:
    """Return where the instructions of a Dockerfile end: a line that neither is one nor goes on from one."""
    goes_on = heredoc = False
    for i, line in enumerate(lines):
        if not line.strip() or _is_comment(line):
            continue
        instruction = bool(_INSTRUCTION.match(line))
        if not instruction and not goes_on and not heredoc:
            return i
        heredoc = "<<" in line or (heredoc and not instruction)
        goes_on = line.rstrip().endswith("\\")
    return len(lines)


def _are_requirements(spoken: Sequence[str]) -> bool:
    return all(_REQUIREMENT.match(line) for line in spoken) and any(_PINNED.match(line) for line in spoken)


def _is_assignment(line: str) -> bool:
    return _ASSIGNMENT.match(line) is not None


def _is_key(line: str) -> bool:
    return _KEY.match(line) is not None or line.lstrip().startswith("- ")
