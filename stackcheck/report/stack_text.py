"""A stack for people: the image first, then the pins by layer, or the conflict and the ways out of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from stackcheck.model.kinds import Grade
from stackcheck.model.stack import Alternative, Change, Pin, Stack, StackConflict, StackImage
from stackcheck.report.style import LONGEST_VALUE, NARROWEST, Style, visible, wrapped
from stackcheck.report.wording import shown_sources

LAYERS = (
    "platform",
    "driver",
    "cuda",
    "math",
    "communication",
    "fabric",
    "framework",
    "kernels",
    "training",
    "serving",
    "container",
    "scheduler",
    "kubernetes",
    "storage",
    "observability",
)
"""The order in which people look for things: from the machine up."""

_REASON_ROOM = 30  # columns a reason needs to stand beside its pin instead of below it
_WORD = re.compile(r"[a-z][a-z0-9-]*")
_ONLY_BUILD = "wheel"  # the label of a release that has one build only
_TOLD_FIRST = ("torch", "cuda", "driver", "nccl", "python")  # of a result, after what was asked for
_MOST_TOLD = 6  # components of a result that stand in one line
_ORIGINS = {"image": "in image", "install": "install", "host": "host"}


def render_stack(
    stack: Stack, colour: bool = False, width: int = 100, verbose: bool = False, ascii_only: bool = False
) -> str:
    """Return a stack, or a conflict with its alternatives, as text that ends with a newline.

    `verbose` adds every reason, every newer release that was not taken, and the sources.
    """
    style = Style(colour, ascii_only)
    width = max(width, NARROWEST)
    body = _solved(stack, style, width, verbose) if stack.solved else _conflict(stack, style, width, verbose)
    return style.encode("\n".join([*_head(stack, style), *body])) + "\n"


def by_layer(pins: tuple[Pin, ...]) -> dict[str, list[Pin]]:
    """Return the pins under their layers, layers in `LAYERS` order and unknown ones last."""
    groups: dict[str, list[Pin]] = {}
    for pin in pins:
        groups.setdefault(pin.layer or "other", []).append(pin)
    return {
        layer: groups[layer] for layer in [*LAYERS, *sorted(groups.keys() - set(LAYERS))] if layer in groups
    }


def _head(stack: Stack, style: Style) -> Iterator[str]:
    target = stack.target
    parts = [target.gpu_name or target.gpu, target.instance or "", target.arch]
    line = style.dot.join(visible(p, 80) for p in parts if p)
    made = ", ".join(
        visible(p, 80)
        for p in (f"policy {stack.policy}", stack.data_version and f"matrices {stack.data_version}")
        if p
    )
    lead = "" if stack.solved else style.paint("no stack for ", "bold", "red")
    yield f"{lead}{style.paint(line, 'bold')}  {style.paint(made, 'dim')}"
    if stack.requirements:
        yield style.paint("asked for: " + visible(", ".join(stack.requirements), LONGEST_VALUE), "dim")
    yield ""


def _solved(stack: Stack, style: Style, width: int, verbose: bool) -> Iterator[str]:
    yield from _image(stack.image, style, width, verbose)
    name_width = max((len(visible(p.component, 40)) for p in stack.pins), default=0)
    version_width = max((len(_version(p)) for p in stack.pins if len(_version(p)) <= 24), default=0)
    for layer, pins in by_layer(stack.pins).items():
        yield ""
        yield style.paint(visible(layer, 40), "bold")
        for pin in pins:
            yield from _pin(pin, style, (name_width, version_width, width), verbose)
    if stack.environment:
        yield ""
        yield style.paint("environment", "bold")
        yield from (f"  {visible(f'{n}={v}', LONGEST_VALUE)}" for n, v in stack.environment.items())
    if stack.notes:
        yield ""
        for note in stack.notes:
            yield from wrapped(visible(note), width, "note: ", "      ")
    yield from _legend(stack, style)


def _version(pin: Pin) -> str:
    build = pin.build if pin.build != _ONLY_BUILD and pin.build not in pin.version else ""
    return visible(f"{pin.version} ({build})" if build else pin.version, 60)


def _image(image: StackImage | None, style: Style, width: int, verbose: bool) -> Iterator[str]:
    lead = style.paint("image", "bold") + "  "
    if image is None:
        yield f"{lead}none: install the pins below on a base of your own"
        return
    known = visible(image.reference, LONGEST_VALUE)
    if known:
        digest = f"@{visible(image.digest, 80)}" if image.digest and "@" not in image.reference else ""
        yield lead + style.paint(known + digest, "bold")
    else:
        tag = visible(f"{image.repository}:{image.tag}" if image.tag else image.repository, LONGEST_VALUE)
        yield f"{lead}no verified tag is known" + (f" ({tag} is in no list that was read)" if tag else "")
    facts = style.dot.join(
        visible(p, 60) for p in (str(image.grade), image.family, image.os, image.date) if p
    )
    yield f"     {style.sign(image.grade)} {facts}"
    for reason in image.why if verbose else image.why[:1]:
        yield from wrapped(visible(reason), width, " " * 7, " " * 7)
    for note in image.notes:
        yield from wrapped(visible(note), width, " " * 7 + "note: ", " " * 13)
    if verbose:
        yield from (f"{' ' * 7}source: {s}" for s in shown_sources(image.sources))


def _pin(pin: Pin, style: Style, widths: tuple[int, int, int], verbose: bool) -> Iterator[str]:
    name_width, version_width, width = widths
    name, version = visible(pin.component, 40), _version(pin)
    origin = pin.scope if pin.scope == "cluster" else _ORIGINS.get(pin.origin, pin.origin or pin.scope)
    padded = f"{name:<{name_width}}  {style.paint(version, 'bold')}{' ' * (version_width - len(version))}"
    line = f"  {style.sign(pin.grade)} {padded}  {style.paint(f'{visible(origin, 12):<8}', 'dim')}"
    used = 4 + name_width + 2 + max(version_width, len(version)) + 2 + 8 + 2
    below = " " * 6
    reasons = [visible(r) for r in (pin.why if verbose else pin.why[:1])]
    if reasons and width - used >= _REASON_ROOM:
        text = wrapped(reasons[0], width, " " * used, " " * used)
        yield f"{line}  {text[0].lstrip()}"
        yield from text[1:]
        reasons, below = reasons[1:], " " * used
    else:
        yield line.rstrip()
    for reason in reasons:
        yield from wrapped(reason, width, below, below)
    for caveat in pin.caveats:
        yield from wrapped(visible(caveat), width, f"{below}caveat: ", f"{below}  ")
    yield from _held_back(pin, width, below, verbose)
    if verbose:
        if pin.accepts:
            yield from wrapped(visible(pin.accepts), width, f"{below}accepts: ", f"{below}  ")
        yield from (f"{below}source: {s}" for s in shown_sources(pin.sources))


def _held_back(pin: Pin, width: int, below: str, verbose: bool) -> Iterator[str]:
    rest = 0 if verbose else len(pin.held_back) - 1
    for held in pin.held_back if verbose else pin.held_back[:1]:
        more = f" (and {rest} more)" if rest > 0 else ""
        because = held.because if verbose else held.because[:1]
        if because and set(because) <= set(pin.why[:1]):
            text = f"so not {held.version}{more}"
        else:
            text = f"not {held.version}{more}: {'; '.join(because) or 'no reason recorded'}"
        yield from wrapped(visible(text), width, below, f"{below}  ")


def _legend(stack: Stack, style: Style) -> Iterator[str]:
    grades = {p.grade for p in stack.pins} | ({stack.image.grade} if stack.image else set())
    if grades:
        yield ""
        yield "  ".join(f"{style.sign(g)} {g}" for g in Grade if g in grades)


def _conflict(stack: Stack, style: Style, width: int, verbose: bool) -> Iterator[str]:
    conflict = stack.conflict or StackConflict(requirements=(), facts=(), chain=())
    steps = conflict.chain or (*conflict.requirements, *conflict.facts)
    yield style.paint("why", "bold")
    for number, step in enumerate(steps, 1):
        yield from wrapped(visible(step), width, f"  {number}. ", " " * 5)
    if verbose:
        yield from (f"     source: {s}" for s in shown_sources(conflict.sources))
    yield ""
    if stack.alternatives:
        yield style.paint("ways out, each solved again", "bold")
    else:
        yield "no way out was found by changing what you asked for"
    for number, alternative in enumerate(stack.alternatives, 1):
        yield from _alternative(number, alternative, stack, style, width, verbose)
    for note in stack.notes:
        yield from wrapped(visible(note), width, "note: ", "      ")


def _alternative(
    number: int, alternative: Alternative, stack: Stack, style: Style, width: int, verbose: bool
) -> Iterator[str]:
    flags = "  ".join(style.paint(flag_for(c), "bold") for c in alternative.change)
    yield f"  {number}. {flags}"
    for change in alternative.change:
        yield from wrapped(
            visible(f"instead of {change.requirement}", LONGEST_VALUE), width, " " * 5, " " * 7
        )
    gives = _result(alternative, stack, verbose)
    if gives:
        yield from wrapped(visible(f"gives {gives}"), width, " " * 5, " " * 7)
    if alternative.image:
        yield from wrapped(visible(f"image {alternative.image}"), width, " " * 5, " " * 7)


def _result(alternative: Alternative, stack: Stack, verbose: bool) -> str:
    """Return what an alternative gives: first what was asked for, then what people look at."""
    texts = (*stack.requirements, *(c.requirement for c in alternative.change))
    asked = [word for text in texts for word in _WORD.findall(text)]
    names = [c for c in dict.fromkeys((*asked, *_TOLD_FIRST, *alternative.result)) if c in alternative.result]
    shown = names if verbose else names[:_MOST_TOLD]
    return ", ".join(f"{c} {alternative.result[c]}" for c in shown) + (
        " ..." if len(names) > len(shown) else ""
    )


def flag_for(change: Change) -> str:
    """Return the words to type instead: `--with 'torch>=2.8'`, or what to change where no flag does it.

    `Change.to` is a requirement, a whole flag that starts with `--`, a sentence that starts with `leave`, or empty for "leave it
    out". A requirement that itself starts with a flag keeps that flag; one about the host can only be changed there.
    """
    to, requirement = visible(change.to, LONGEST_VALUE), visible(change.requirement, LONGEST_VALUE)
    flag, _, value = requirement.partition(" ")
    if not to:
        return f"leave out {requirement}"
    if to.startswith(("--", "leave ")):
        return to
    if requirement.startswith("the host has "):
        return f"on the host: {to.replace('==', ' ')}"
    if flag.startswith("--") and value:
        return f"{flag} {shlex.quote(to)}"
    return f"--with {shlex.quote(to)}"
