"""Find JSON documents between other lines; none too deep, none too often tried."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from stackcheck.ingest.interface import Document, Line

_ATTEMPTS = 24  # starts that are tried; a text with more broken ones is no JSON
_TAIL = 200
_LONGEST = 32 << 20  # characters: a parsed document takes up to twenty times its text


def json_documents(lines: Sequence[Line], text: str) -> tuple[Document, ...]:
    """Return the JSON objects and arrays of `text` (the joined `lines`) that start at the beginning of a line."""
    if ("{" not in text and "[" not in text) or len(text) > _LONGEST:
        return ()
    starts = [0, *accumulate(len(line.text) + 1 for line in lines)]
    decoder = json.JSONDecoder()
    found: list[Document] = []
    attempts, after = 0, 0
    for index, line in enumerate(lines):
        if line.text.lstrip()[:1] not in ("{", "[") or starts[index] < after:
            continue
        attempts += 1
        if attempts > _ATTEMPTS:
            break
        begin = starts[index] + len(line.text) - len(line.text.lstrip())
        try:
            value, end = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict | list):
            continue
        last = lines[min(bisect_right(starts, end - 1) - 1, len(lines) - 1)]
        found.append(Document(value, line.number, last.number))
        after = end
        attempts = 0
    return tuple(found)


def looks_like_json(lines: Sequence[Line]) -> bool:
    """Whether the first and last lines that are not empty look like a whole JSON document."""
    spoken = [line.text.strip() for line in (*lines[:_TAIL], *lines[-_TAIL:]) if line.text.strip()]
    return bool(spoken) and spoken[0][:1] in "{[" and spoken[-1][-1:] in "}]"


def is_meant_as(schema: str, lines: Sequence[Line], text: str) -> bool:
    """Whether `text` (the joined `lines`) is meant as a document of a schema that begins with `schema`, whole or cut off."""
    key = re.compile(rf'(?<!\\)"schema"\s*:\s*"{re.escape(schema)}')
    first = next((line.text.lstrip() for line in lines[:_TAIL] if line.text.strip()), "")
    return (first[:1] == "{" or looks_like_json(lines)) and key.search(text) is not None
