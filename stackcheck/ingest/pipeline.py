"""From texts to one inventory: clean, cut, let every format that recognises a piece read it, join, say what is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stackcheck.ingest.cleaning import clean, is_fence, stripped
from stackcheck.ingest.comments import without_comments, without_tables
from stackcheck.ingest.interface import Context, Line, SourceText
from stackcheck.ingest.patterns import Lazy
from stackcheck.ingest.reconcile import reconcile
from stackcheck.ingest.registry import INGESTERS, Format, find
from stackcheck.ingest.segments import Segment, split
from stackcheck.ingest.two_nodes import require_one_node
from stackcheck.model.errors import InputError
from stackcheck.model.inventory import Inventory, Note, Text
from stackcheck.model.long_text import LONG as LONG_TEXT
from stackcheck.model.long_text import LongText, shapes

INVENTORY = "inventory-json"
MOST_LINES = 2_000_000  # a text of nothing but line ends must not fill the memory
_REPORT = Lazy(r'\s*\{\s*"schema"\s*:\s*"stackcheck\.report/')
LONG = 4000  # lines from which on repeated shapes are dropped
SHAPE_LIMIT = 300  # lines of one shape that are read; a rank more or less says nothing new


class _Reading:
    """What became of one file."""

    def __init__(self) -> None:
        self.inventory = Inventory()
        self.scores: dict[str, float] = {}
        self.claimed: set[int] = set()
        self.touched: set[int] = set()

    def took(self, record: Format, score: float, found: Inventory) -> None:
        self.inventory = self.inventory.merged(found)
        self.scores[record.format] = max(score, self.scores.get(record.format, 0.0))

    @property
    def formats(self) -> list[str]:
        return sorted(self.scores, key=lambda f: -self.scores[f])


def read_all(
    texts: Sequence[tuple[str, str]],
    *,
    aliases: Mapping[str, str],
    gpu_names: Mapping[str, str],
    forced_format: str | None,
) -> Inventory:
    """See `stackcheck.ingest.ingest`."""
    context = Context(aliases, gpu_names)
    formats: Sequence[Format] = INGESTERS
    if forced_format is not None:
        forced = find(forced_format)
        if forced is None:
            raise InputError(f"there is no format {forced_format[:40]!r}", fix=_nearest(forced_format))
        formats = (forced,)
    result = Inventory()
    nodes: list[tuple[str, Inventory]] = []
    for name, text in texts:
        found = _read(name, without_comments(clean(text)), formats, context)
        if INVENTORY in found.texts[-1].format.split():
            for before in nodes:
                require_one_node(before, (name, found), context)
            nodes.append((name, found))
        result = result.merged(found)
    if len(texts) == 1 and _REPORT.match(texts[0][1]):
        return result  # what a report says was joined when it was made: read again it is the same
    return reconcile(result)


def _read(name: str, content: str, formats: Sequence[Format], context: Context) -> Inventory:
    numbered = [Line(i, text) for i, text in enumerate(content.split("\n", MOST_LINES)[:MOST_LINES], 1)]
    reading = _Reading()
    forced = len(formats) == 1
    pieces = [Segment("", 0, numbered)] if forced else split(numbered)
    for piece in pieces:
        _read_piece(name, piece, formats, context, reading, forced=forced)
    found = reading.inventory
    return found._replace(
        subject=found.subject or name,
        notes=found.notes + tuple(_remarks(name, numbered, reading)),
        texts=(*found.texts, Text(name, " ".join(reading.formats), without_tables(content))),
    )


def _read_piece(
    name: str, piece: Segment, formats: Sequence[Format], context: Context, reading: _Reading, *, forced: bool
) -> None:
    document = SourceText(name, piece.lines, piece.command, reading.claimed, piece.at)
    if piece.at:
        reading.claimed.add(piece.at)
    _offer(document, [f for f in formats if f.whole], context, reading, forced=forced)
    rest = [line for line in piece.lines if line.number not in reading.claimed and line.text]
    if len(rest) > LONG:
        rest = _shortened(rest, reading.claimed)
    bare = stripped(rest)
    _offer(
        SourceText(name, bare, piece.command, reading.claimed, piece.at),
        [f for f in formats if not f.whole],
        context,
        reading,
        forced=forced,
    )


def _offer(
    source: SourceText, formats: Iterable[Format], context: Context, reading: _Reading, *, forced: bool
) -> None:
    formats = list(formats)
    if len(source.text) > LONG_TEXT and not forced:
        source.text = LongText.searched(source.text, frozenset(w for f in formats for w in f.words()))
    text = source.text
    for record in formats:
        if not forced and not record.hinted(text, source.name, source.command):
            continue
        score = record.sniff(text, source.name, source.command)
        if score <= 0 and not forced:
            continue
        before = len(source.claimed)
        found = record.parse(source, context)
        reading.touched |= source.touched
        if found != _NOTHING or len(source.claimed) > before:
            reading.took(record, score, found)


_NOTHING = Inventory()


def _shortened(lines: Sequence[Line], claimed: set[int]) -> list[Line]:
    """Return the lines without those that differ from many others in numbers only; these count as understood."""
    seen: dict[str, int] = {}
    kept: list[Line] = []
    for line, shape in zip(lines, shapes("\n".join(line.text for line in lines)), strict=True):
        count = seen.get(shape, 0)
        seen[shape] = count + 1
        if count < SHAPE_LIMIT:
            kept.append(line)
        else:
            claimed.add(line.number)
    return kept


def _remarks(name: str, lines: Sequence[Line], reading: _Reading) -> Iterable[Note]:
    spoken = [line for line in lines if line.text.strip(" \t-=+_#*|.") and not is_fence(line.text)]
    left = [
        line for line in spoken if line.number not in reading.claimed and line.number not in reading.touched
    ]
    if len(lines) == MOST_LINES:
        yield Note(name, f"only the first {MOST_LINES} lines were read")
    if not spoken:
        yield Note(name, "empty: there is nothing to read")
    elif not reading.scores:
        yield Note(
            name, f"nothing was recognised in {len(spoken)} lines: none is of a format this program reads"
        )
    elif left:
        titles = ", ".join(f.title for record in reading.formats if (f := find(record)))
        first = left[0]
        yield Note(
            name,
            f"read as {titles}; {len(left)} of {len(spoken)} lines hold nothing this program reads, "
            f"the first is line {first.number}: {first.text.strip()[:100]}",
        )


def _nearest(name: str) -> str:
    """Return the formats that a wrong name may have meant, or all of them."""
    import difflib  # only when somebody mistyped

    known = [f.format for f in INGESTERS]
    begun = [f for f in known if name and f.startswith(name.lower())]
    near = begun[:3] or difflib.get_close_matches(name[:80].lower(), known, n=1)
    return f"did you mean {' or '.join(near)}?" if near else f"formats: {', '.join(known)}"
