"""Case files of the command line: a sentence why, the arguments, the exit code, and what must hold in the answer.

`expect` maps JSON pointers into the answer to a value, or to an object of tests that must all pass:

* `mentions`, `omits`: texts that occur, or do not, in the part written as JSON;
* `matches`: a regular expression found in the text;
* `range` (with `scheme`, dotted if not given): the version lies in it;
* `at_least`: a number, or the length of a list or object;
* `one_of`: equal to one of these;
* `present`: whether there is such a part at all.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from stackcheck.model.ranges import Range
from stackcheck.model.version import Version

FOLDER = Path(__file__).parents[1] / "cases"
KEYS = {"why", "argv", "exit", "expect"}
NOTHING = object()


def load(path: Path) -> dict[str, Any]:
    """Return a case; an unknown or missing key is a mistake in the file."""
    body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert set(body) == KEYS, f"{path.name}: keys {sorted(body)}"
    assert len(body["why"]) > 20, f"{path.name}: say why"
    assert body["argv"], path.name
    return body


def part(body: Any, pointer: str) -> Any:
    """Return the part of a JSON value that a pointer names, or NOTHING."""
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(body, list):
            body = body[int(token)] if int(token) < len(body) else NOTHING
        elif isinstance(body, dict):
            body = body.get(token, NOTHING)
        else:
            return NOTHING
    return body


def failures(body: Any, expect: dict[str, Any]) -> list[str]:
    """Return what an answer lacks of what a case expects."""
    found: list[str] = []
    for pointer, wanted in expect.items():
        value = part(body, pointer)
        if not isinstance(wanted, dict):
            if value != wanted:
                found.append(f"{pointer} is {value!r}, not {wanted!r}")
            continue
        options = dict(wanted)
        scheme = options.pop("scheme", "dotted")
        for test, operand in options.items():
            if not _passes(test, operand, value, scheme):
                found.append(f"{pointer}: {test} {operand!r} does not hold for {value!r}")
    return found


def _passes(test: str, operand: Any, value: Any, scheme: Any) -> bool:
    if test == "present":
        return (value is not NOTHING and value is not None) is operand
    if value is NOTHING:
        return False
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    match test:
        case "mentions":
            return all(o in text for o in operand)
        case "omits":
            return not any(o in text for o in operand)
        case "matches":
            return re.search(operand, text) is not None
        case "range":
            return Version(str(value), scheme) in Range(operand, scheme)
        case "at_least":
            return bool((value if isinstance(value, int | float) else len(value)) >= operand)
        case "one_of":
            return value in operand
    raise ValueError(f"no test {test!r}")
