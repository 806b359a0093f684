"""What was seen: components, facts, environment, packages, GPU code, with evidence and notes. Filled by many threads."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Union

Value = Union[None, str, int, float, bool, list[Any], dict[str, Any]]
RAW_LIMIT = 400
LIST_KEYS = ("packages", "code", "environments")


class Observations:
    """A growing inventory. After ``close`` nothing is added any more: a probe that comes too late changes nothing."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self._lock = threading.Lock()
        self._closed = False
        self._loaded: dict[str, tuple[str, str]] = {}
        self._packages: dict[tuple[str, str], dict[str, Any]] = {}
        self._data: dict[str, Any] = {
            "gpu": {},
            "instance": None,
            "components": {},
            "facts": {},
            "environment": {},
            "evidence": {},
            "notes": [],
            **{key: [] for key in LIST_KEYS},
        }

    def set(self, key: str, value: Value) -> None:
        """Set a field of the inventory itself, such as ``instance`` or ``arch``."""
        with self._lock:
            if not self._closed:
                self._data[key] = value

    def update(self, key: str, values: Mapping[str, Value]) -> None:
        """Add to a field that is a mapping, such as ``gpu``; values that are None are left out."""
        with self._lock:
            if not self._closed:
                self._data[key].update({name: value for name, value in values.items() if value is not None})

    def append(self, key: str, entry: Mapping[str, Value]) -> None:
        """Add one entry to a field that is a list."""
        with self._lock:
            if not self._closed:
                self._data[key].append(dict(entry))

    def package(self, environment: str, path: str, fields: Mapping[str, Value]) -> None:
        """Add a package of an environment, or add ``fields`` (``attributes`` are merged) to what is known of it."""
        with self._lock:
            if self._closed:
                return
            key = (environment, path)
            entry = self._packages.get(key)
            if entry is None:
                entry = self._packages[key] = {"environment": environment, "path": path}
                self._data["packages"].append(entry)
            for name, value in fields.items():
                if name == "attributes" and isinstance(value, dict):
                    entry.setdefault(name, {}).update(value)
                elif value is not None:
                    entry[name] = value

    def component(self, name: str, entry: Mapping[str, Value]) -> None:
        """Add one copy of a component, unless the very same one is there."""
        clean = {key: _cut(value) for key, value in entry.items()}
        with self._lock:
            if self._closed:
                return
            copies = self._data["components"].setdefault(name, [])
            if clean not in copies:
                copies.append(clean)

    def mark_loaded(self, name: str, path: str, rule: str) -> None:
        """Say which copy of a component is taken, by its path; applied when the inventory is closed."""
        with self._lock:
            if not self._closed:
                self._loaded[name] = (path, rule)

    def looked_for(self, components: Iterable[str]) -> None:
        """Make sure that these components have at least an empty list."""
        with self._lock:
            if not self._closed:
                for name in components:
                    self._data["components"].setdefault(name, [])

    def fact(self, name: str, value: Value, where: str, method: str, raw: str) -> None:
        """Set a fact and its evidence."""
        subject = name if ":" in name else f"fact:{name}"
        self._set_with_evidence("facts", name, value, subject, where, method, raw)

    def variable(self, name: str, value: str, where: str, method: str, raw: str = "") -> None:
        """Set a variable of the environment and its evidence."""
        self._set_with_evidence("environment", name, value, f"env:{name}", where, method, raw)

    def evidence(self, subject: str, method: str, where: str, raw: str = "") -> None:
        """Say where something was read that is neither a fact nor a variable, such as ``instance``."""
        with self._lock:
            if not self._closed:
                self._data["evidence"][subject] = {"method": method, "where": where, "raw": raw[:RAW_LIMIT]}

    def note(self, probe: str, text: str) -> None:
        """Add a note, once."""
        entry = {"probe": probe, "text": text[:RAW_LIMIT]}
        with self._lock:
            if not self._closed and entry not in self._data["notes"]:
                self._data["notes"].append(entry)

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of what is there now."""
        with self._lock:
            return copy.deepcopy(self._data)

    def close(self) -> dict[str, Any]:
        """Return what was seen and take nothing more."""
        with self._lock:
            if not self._closed:
                self._apply_loaded()
            self._closed = True
            return self._data

    def _apply_loaded(self) -> None:
        for name, (path, rule) in self._loaded.items():
            copies = self._data["components"].get(name, [])
            for copy_ in copies if path else ():
                copy_["loaded"] = copy_.get("path") == path
                if copy_["loaded"]:
                    copy_["where"] = f"{path} ({rule})"

    def _set_with_evidence(
        self, key: str, name: str, value: Value, subject: str, where: str, method: str, raw: str
    ) -> None:
        evidence = {"method": method, "where": where}
        if raw:
            evidence["raw"] = raw[:RAW_LIMIT]
        with self._lock:
            if not self._closed:
                self._data[key][name] = value
                self._data["evidence"][subject] = evidence


def _cut(value: Value) -> Value:
    return value[:RAW_LIMIT] if isinstance(value, str) else value
