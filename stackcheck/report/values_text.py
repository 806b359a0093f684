"""Values of attributes for people and for JSON: versions, capabilities, sets, code targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stackcheck.model.gpucode import Capability, Target
from stackcheck.model.version import Version


def value_text(value: Any) -> str:
    """Return a value as people write it; `yes` and `no` for booleans, members of sets sorted."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return ", ".join(map(str, sorted(value, key=_natural))) or "none"
    if isinstance(value, tuple) and not isinstance(value, Capability | Target):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def value_json(value: Any) -> Any:
    """Return a value as JSON; versions, capabilities and targets as texts, sets as sorted lists."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Version | Capability | Target):
        return str(value)
    if isinstance(value, frozenset):
        return [value_json(v) for v in sorted(value, key=_natural)]
    if isinstance(value, tuple | list):
        return [value_json(v) for v in value]
    return str(value)


def attributes_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as a JSON object with sorted keys."""
    return {name: value_json(value) for name, value in sorted(attributes.items())}


def _natural(value: Any) -> tuple[Any, ...]:
    """Sort 3.9 before 3.10, and numbers before texts."""
    if isinstance(value, int | float):
        return (0, (value,), "")
    parts = str(value).split(".")
    if all(p.isdigit() for p in parts):
        return (0, tuple(map(int, parts)), "")
    return (1, (), str(value))
