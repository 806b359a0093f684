"""What a command line that argparse refuses was meant to be; imported only when one was refused.

Everything is derived: flags from the parser, names from the matrices.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence

from stackcheck.catalog.names import offer
from stackcheck.model.errors import StackcheckError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from stackcheck.catalog.catalog import Catalog

_SHOWN = 80  # characters of a wrong word that a message repeats
_NEAR = 0.6


def unknown_command(argv: Sequence[str], known: Sequence[str]) -> UsageError:
    """Return the fault of a command line that does not begin with a command."""
    words = [a for a in argv if not a.startswith("-")]
    word = words[0] if words else ""
    if argv[0] != word and argv[0] != "--":
        first = next((w for w in words if w in known), "COMMAND")
        return UsageError(
            f"{argv[0][:_SHOWN]!r} is no command",
            fix=f"the command comes first: stackcheck {first} {argv[0][:_SHOWN]} ...",
        )
    near = difflib.get_close_matches(word[:_SHOWN].lower(), known, n=1, cutoff=_NEAR)
    return UsageError(f"no command {word[:_SHOWN]!r}", fix=offer(near) or "see `stackcheck --help`")


def unrecognised(parser: argparse.ArgumentParser, rest: Sequence[str]) -> UsageError:
    """Return the fault of arguments that a command does not know, with what the first of them was meant to be."""
    rest = [word for word in rest if word != "--"] or list(rest)
    word = rest[0]
    name, equals, value = word.partition("=")
    if not equals and len(rest) > 1 and not rest[1].startswith("-"):
        value = rest[1]
    flags = dict(_flags(parser))
    if word.startswith("-") and word.strip("-"):
        hint = _for_flag(name, value, flags)
        what = f"no flag {name[:_SHOWN]!r}"
    else:
        hint = _for_word(word, flags)
        what = f"unrecognized argument {word[:_SHOWN]!r}"
    return UsageError(what, fix=f"did you mean {hint}?" if hint else f"see `{parser.prog} --help`")


def for_choice(parser: argparse.ArgumentParser, message: str) -> str:
    """Return what a word that is none of the choices was meant to be, or an empty text; `message` is argparse's."""
    found = re.match(r"argument (?P<of>[^:]+): invalid choice: '(?P<word>[^']{1,80})'", message)
    if found is None:
        return ""
    names = [name.strip() for name in found["of"].split("/")]
    for action in parser._actions:  # noqa: SLF001
        if action.choices and (set(names) & {*action.option_strings, action.metavar, action.dest}):
            words = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(found["word"].lower(), words, n=1, cutoff=_NEAR)
            named = near[0] if near else _named_in(found["word"], words)
            return f"did you mean {named}?" if named else ""
    return ""


def _named_in(word: str, kinds: Sequence[str]) -> str:
    """Return the kind of thing that a word names, with the word: `show b300` is `show gpu b300`."""
    catalog = _catalog()
    if catalog is None or not {"gpu", "instance", "component"} <= set(kinds):
        return ""
    if catalog.find_gpu(word) is not None:
        return f"gpu {word}"
    if catalog.instance(word.lower()) is not None:
        return f"instance {word.lower()}"
    component = _component(word)
    return f"component {component}" if component else ""


def _flags(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to look at a parser
        for flag in action.option_strings:
            yield flag, action


def _for_flag(name: str, value: str, flags: dict[str, argparse.Action]) -> str:
    """Return the flag that an unknown one was meant to be, or an empty text."""
    word = name.strip("-").lower()
    longs = [f.removeprefix("--") for f in flags if f.startswith("--")]
    formats = flags["--format"].choices if "--format" in flags else None
    if formats and word in formats:
        return f"--format {word}"
    begun = [f for f in longs if f.startswith(word) or word.startswith(f)]
    component = _component(word) if "--with" in flags and not begun else ""
    if component:
        return f"--with {component}=={value}" if re.match(r"v?\d", value) else f"--with {component}"
    near = begun[:1] or difflib.get_close_matches(word, longs, n=1, cutoff=_NEAR)
    return f"--{near[0]}" if near else ""


def _for_word(word: str, flags: dict[str, argparse.Action]) -> str:
    """Return the flag that was left out before a word, or an empty text."""
    catalog = _catalog()
    if catalog is None:
        return ""
    if "--instance" in flags and catalog.instance(word.lower()) is not None:
        return f"--instance {word.lower()}"
    gpu = catalog.find_gpu(word) if "--gpu" in flags else None
    if gpu is not None:
        return f"--gpu {gpu.id}"
    name = re.split(r"[\[<>=!~ ]", word, maxsplit=1)[0]
    component = _component(name)
    if component and "--component" in flags:
        return f"--component {component}"
    if component and "--with" in flags:
        known = catalog.component(component)
        runs = known is not None and known.layer in ("framework", "training", "serving")
        quoted = f"'{word}'" if set(word) & set("<> ") else word
        return f"--framework {quoted}" if runs else f"--with {quoted}"
    if "--from" in flags:
        return f"--from {word[:_SHOWN]}"
    return ""


def _component(word: str) -> str:
    """Return the id of the component that a word names, or an empty text."""
    from stackcheck.catalog.names import component_named

    catalog = _catalog()
    try:
        return component_named(catalog, word).id if catalog is not None else ""
    except StackcheckError:
        return ""


def _catalog() -> Catalog | None:
    """Return the data in use; None where it cannot be read, which is not what this command line is about."""
    from stackcheck.catalog import open_catalog

    try:
        return open_catalog()
    except StackcheckError:
        return None
