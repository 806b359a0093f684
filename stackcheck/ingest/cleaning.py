"""Take off what terminals, loggers and chat programs put around a text; every line keeps its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stackcheck.ingest.interface import LINE_LIMIT, Line
from stackcheck.ingest.patterns import Lazy

# ECMA-48 control sequences, operating-system commands and other string sequences, then two-character escapes. None may
# run over a line end: an unterminated one would swallow the rest of the file.
_ESCAPES = Lazy(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]?|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]{0,4}[0-~]?|\x9b[0-?]{0,64}[@-~]"
)
# Colours whose escape character was lost on the clipboard, or that a logger wrote out (`#033`, `^[`).
_BARE_COLOURS = Lazy(r"(?:#033|\^\[)?\[(?:\d{1,3}(?:;\d{1,3}){0,6})?m")
# Other control characters, line separators that are not ours, and the characters that reorder or hide text.
_CONTROLS = Lazy("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]")

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = rf"(?:\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?|\d\d[-/]\d\d {_CLOCK}|{_CLOCK})"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)"
# What loggers, launchers and log collectors put before a line, by the kind of character it begins with.
_BRACKETED = Lazy(
    "|".join(
        (
            rf"\[{_STAMP}[^\]]{{0,24}}\] ?",
            r"\[ *\d{1,8}\.\d{1,9}\] ?",  # kernel ring buffer
            rf"\[{_MONTH}[a-z]{{0,6}} [^\]]{{8,24}}\] ?",
            r"\[(?:default|rank ?|Rank ?|RANK ?|node-?|worker-?|DP|TP|PP|EP)\d{1,5}(?: [^\]]{1,40})?\] ?:? ?",
            r"\[\d{1,5},\d{1,5}\]<std(?:out|err)>: ?",  # mpirun --tag-output
            r"\[pod/[\w./-]{1,200}\] ",  # kubectl logs --prefix
        )
    )
)
_PARENTHESISED = Lazy(
    r"\((?=[^)]{0,100}(?:pid=|rank=|_TP|_DP|_PP|_EP|EngineCore|APIServer|Worker))[A-Za-z][^)]{0,100}\) ?"
)
_NUMBERED = Lazy(
    rf"{_STAMP}(?: std(?:out|err) [FP])?(?:[ ,|:-]{{1,3}}|$)|\d{{1,5}}: (?=\S)"
)  # or srun --label
_WORDED = Lazy(
    "|".join(
        (
            rf"{_MONTH} +\d{{1,2}} {_CLOCK} [\w.-]{{1,64}} [\w./@-]{{1,64}}(?:\[\d{{1,8}}\])?: ",  # syslog
            rf"[IWEF]\d{{4}} {_CLOCK} +\d{{1,8}} [\w.-]{{1,64}}:\d{{1,6}}\] ",  # glog, klog
            rf"{_LEVEL}(?: {_STAMP})? ?\[[\w./:-]{{1,80}}\] ?:?",  # vLLM: INFO 08-21 12:22:33 [config.py:12]
        )
    )
)
_PREFIXES = {
    "[": _BRACKETED,
    "(": _PARENTHESISED,
    **dict.fromkeys("0123456789", _NUMBERED),
    **dict.fromkeys("JFMASONDIWEFTC", _WORDED),
}
_LEADER = Lazy(r"([A-Za-z][\w./-]{0,80}?) {0,30}\| ?")
_QUOTE = Lazy(r"(?:> ?)+")
_FENCE = ("```", "~~~")


def clean(text: str) -> str:
    """Return `text` without terminal sequences and control characters, with `\\n` as its only line end."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        text = text.replace("\r", " " if "\n" in text else "\n")
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPES.sub("", text)
    if "[0m" in text or "[0;0m" in text or "[39m" in text:
        text = _BARE_COLOURS.sub("", text)
    return _CONTROLS.sub("", text)


def is_fence(text: str) -> bool:
    """Whether a line opens or closes a Markdown code block."""
    return text.lstrip()[:3] in _FENCE


def stripped(lines: Sequence[Line]) -> list[Line]:
    """Return lines without quote marks and the prefixes of loggers, launchers and log collectors."""
    leaders = _leaders(lines)
    return [Line(number, _bare(text, leaders)) for number, text in lines]


def _leaders(lines: Sequence[Line]) -> frozenset[str]:
    """Return the names before `|` that docker compose or a log collector repeats on line after line."""
    names: Counter[str] = Counter()
    for _, text in lines:
        if "|" in text[:100] and (match := _LEADER.match(text)):
            names[match[1]] += 1
    return frozenset(name for name, seen in names.items() if seen > 1)


def _bare(text: str, leaders: frozenset[str]) -> str:
    text = text[:LINE_LIMIT]
    if text[:1] == ">" and not text.startswith(">>>"):
        text = text[_quote_end(text) :]
    if leaders and (match := _LEADER.match(text)) and match[1] in leaders:
        text = text[match.end() :]
    for _ in range(6):
        prefix = _PREFIXES.get(text[:1])
        if prefix is None or (prefix is _WORDED and ":" not in text[:48] and "[" not in text[:48]):
            break
        match = prefix.match(text)
        if match is None or match.end() == 0:
            break
        text = text[match.end() :]
    return text.replace("\t", "    ") if "\t" in text else text


def _quote_end(text: str) -> int:
    match = _QUOTE.match(text)
    return match.end() if match else 0
