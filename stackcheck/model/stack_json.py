"""Stacks to and from the JSON of `stackcheck.stack/1`; a lock file is exactly this document."""

from __future__ import annotations

from typing import Any

from stackcheck.model.errors import InputError
from stackcheck.model.kinds import Grade
from stackcheck.model.stack import (
    SCHEMA,
    Alternative,
    Change,
    HeldBack,
    Pin,
    Stack,
    StackConflict,
    StackImage,
    Target,
)


def stack_to_json(stack: Stack) -> dict[str, Any]:
    """Return the JSON object of a stack, with the contract's keys."""
    return {
        "schema": SCHEMA,
        "status": "solved" if stack.solved else "conflict",
        "target": {
            "gpu": stack.target.gpu,
            "instance": stack.target.instance,
            "arch": stack.target.arch,
            "gpu_name": stack.target.gpu_name,
            "gpu_count": stack.target.gpu_count,
            "efa_interfaces": stack.target.efa_interfaces,
        },
        "image": _image_to_json(stack.image) if stack.image else None,
        "components": {p.component: _pin_to_json(p) for p in stack.pins},
        "conflict": _conflict_to_json(stack.conflict) if stack.conflict else None,
        "alternatives": [
            {
                "change": [{"requirement": c.requirement, "to": c.to} for c in a.change],
                "result": dict(a.result),
                "image": a.image or None,
            }
            for a in stack.alternatives
        ],
        "environment": dict(stack.environment),
        "notes": list(stack.notes),
        "requirements": list(stack.requirements),
        "policy": stack.policy,
        "matrices": stack.data_version,
        "request": dict(stack.request) or None,
    }


def _image_to_json(image: StackImage) -> dict[str, Any]:
    return {
        "reference": image.reference or None,
        "family": image.family,
        "grade": str(image.grade),
        "repository": image.repository,
        "tag": image.tag,
        "digest": image.digest or None,
        "verified": image.verified,
        "os": image.os or None,
        "date": image.date or None,
        "why": list(image.why),
        "notes": list(image.notes),
        "environment": dict(image.environment),
        "sources": list(image.sources),
    }


def _pin_to_json(pin: Pin) -> dict[str, Any]:
    return {
        "version": pin.version,
        "name": pin.name,
        "build": pin.build or None,
        "index_build": pin.index_build,
        **({"builds_against": pin.builds_against} if pin.builds_against else {}),
        "accepts": pin.accepts,
        "scope": pin.scope,
        "layer": pin.layer,
        "grade": str(pin.grade),
        "origin": pin.origin,
        "purl": pin.purl or None,
        "why": list(pin.why),
        "held_back": [{"version": h.version, "because": list(h.because)} for h in pin.held_back],
        "caveats": list(pin.caveats),
        "sources": list(pin.sources),
    }


def _conflict_to_json(conflict: StackConflict) -> dict[str, Any]:
    return {
        "requirements": list(conflict.requirements),
        "facts": list(conflict.facts),
        "chain": list(conflict.chain),
        "sources": list(conflict.sources),
    }


def stack_from_json(body: Any, *, where: str) -> Stack:
    """Return the stack of a lock file's JSON object.

    Raises:
        InputError: it is not a stack, or a part of it has the wrong shape.
    """
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise InputError(
            f"not a lock: schema is not {SCHEMA}", where=where, fix="write one with `stackcheck resolve -o`"
        )
    try:
        return _stack(body)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise InputError(
            f"broken lock: {wrong_part(fault)}",
            where=where,
            fix="write it again with `stackcheck resolve -o`",
        ) from fault


def _stack(body: dict[str, Any]) -> Stack:
    target, image, conflict = body["target"], body.get("image"), body.get("conflict")
    return Stack(
        target=Target(
            gpu=str(target["gpu"]),
            instance=_name(target.get("instance"), "/target/instance"),
            arch=str(target.get("arch") or ""),
            gpu_name=str(target.get("gpu_name") or ""),
            gpu_count=_number(target.get("gpu_count"), "/target/gpu_count"),
            efa_interfaces=_number(target.get("efa_interfaces"), "/target/efa_interfaces"),
        ),
        image=_image(image) if image else None,
        pins=tuple(_pin(str(c), entry) for c, entry in body["components"].items()),
        conflict=StackConflict(
            requirements=_texts(conflict["requirements"]),
            facts=_texts(conflict["facts"]),
            chain=_texts(conflict["chain"]),
            sources=_texts(conflict.get("sources")),
        )
        if conflict
        else None,
        alternatives=tuple(
            Alternative(
                change=tuple(Change(str(c["requirement"]), str(c["to"])) for c in a["change"]),
                result={str(k): str(v) for k, v in a["result"].items()},
                image=str(a.get("image") or ""),
            )
            for a in body.get("alternatives") or ()
        ),
        environment={str(k): str(v) for k, v in (body.get("environment") or {}).items()},
        notes=_texts(body.get("notes")),
        requirements=_texts(body.get("requirements")),
        policy=str(body.get("policy") or "newest"),
        data_version=str(body.get("matrices") or ""),
        request=_request(body.get("request") or {}),
    )


def _name(value: Any, pointer: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"{pointer} is no text")


def _number(value: Any, pointer: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError(f"{pointer} is no number")


def _request(entry: Any) -> dict[str, Any]:
    """Return what was asked for: texts, and lists of texts."""
    for key, value in entry.items():
        if not isinstance(value, list):
            _name(value, f"/request/{key}")
        elif not all(isinstance(v, str) for v in value):
            raise ValueError(f"/request/{key} is no list of texts")
    return dict(entry)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(v) for v in value or ())


def _image(entry: dict[str, Any]) -> StackImage:
    return StackImage(
        reference=str(entry.get("reference") or ""),
        family=str(entry["family"]),
        grade=Grade(entry["grade"]),
        tag=str(entry.get("tag") or ""),
        repository=str(entry.get("repository") or ""),
        digest=str(entry.get("digest") or ""),
        verified=bool(entry.get("verified")),
        why=_texts(entry.get("why")),
        notes=_texts(entry.get("notes")),
        environment={str(k): str(v) for k, v in (entry.get("environment") or {}).items()},
        os=str(entry.get("os") or ""),
        date=str(entry.get("date") or ""),
        sources=_texts(entry.get("sources")),
    )


def _pin(component: str, entry: dict[str, Any]) -> Pin:
    return Pin(
        component=component,
        version=str(entry["version"]),
        scope=str(entry.get("scope") or ""),
        layer=str(entry.get("layer") or ""),
        name=str(entry.get("name") or ""),
        build=str(entry.get("build") or ""),
        index_build=entry.get("index_build"),
        builds_against=str(entry.get("builds_against") or ""),
        accepts=str(entry.get("accepts") or ""),
        grade=Grade(entry.get("grade") or "unknown"),
        origin=str(entry.get("origin") or ""),
        purl=str(entry.get("purl") or ""),
        why=_texts(entry.get("why")),
        held_back=tuple(
            HeldBack(str(h["version"]), _texts(h["because"])) for h in entry.get("held_back") or ()
        ),
        caveats=_texts(entry.get("caveats")),
        sources=_texts(entry.get("sources")),
    )


def wrong_part(fault: Exception) -> str:
    """Return in words what reading a document stumbled over."""
    if isinstance(fault, KeyError) and fault.args and " " not in str(fault.args[0]):
        return f"it lacks {str(fault.args[0])[:80]!r}"
    text = str(fault.args[0] if fault.args else "")[:80]
    return text if isinstance(fault, KeyError | ValueError) else f"a part has another form ({text})"
