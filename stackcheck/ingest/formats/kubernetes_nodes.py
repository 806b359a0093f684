"""`kubectl get nodes -o json`: labels of GPU Feature Discovery and Node Feature Discovery, capacities, kernel and kubelet.

Source of the labels: the README files of NVIDIA/k8s-device-plugin (gpu-feature-discovery) and kubernetes-sigs/node-feature-discovery.
"""

from __future__ import annotations

from typing import Any

from stackcheck.ingest.draft import Draft
from stackcheck.ingest.formats.node_labels import LABELS, driver_from_parts, label
from stackcheck.ingest.interface import Document, Line

_NODES = 5000


def sniff(text: str) -> float:
    """Look for a list of nodes or one node."""
    return 0.9 if '"Node"' in text or '"nodeInfo"' in text else 0.0


def read(draft: Draft) -> None:
    """Record what the nodes are and hold; differences between them become a fact and a note."""
    for document in draft.source.documents:
        nodes = _nodes(document.value)
        if nodes:
            _record(draft, nodes, document)
            draft.source.claim_range(document.first, document.last)


def _nodes(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, dict):
        return []
    entries = value.get("items") if str(value.get("kind", "")).endswith("List") else [value]
    if not isinstance(entries, list):
        return []
    nodes = [e for e in entries[:_NODES] if isinstance(e, dict)]
    return [
        n for n in nodes if n.get("kind") == "Node" or isinstance(_table(n, "status").get("nodeInfo"), dict)
    ]


def _table(value: Any, *path: str) -> dict[str, Any]:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _record(draft: Draft, nodes: list[dict[str, Any]], document: Document) -> None:
    places = _Places(draft, document)
    with_gpu = [n for n in nodes if _has_gpu(n)] or nodes
    seen: dict[str, set[str]] = {}
    for node in with_gpu:
        labels = _table(node, "metadata", "labels")
        for name, value in labels.items():
            if name in LABELS and isinstance(value, str):
                seen.setdefault(name, set()).add(value)
                label(draft, name, value, places.of(name, value))
        driver_from_parts(draft, labels, places.of("nvidia.com/cuda.driver.major", ""))
        _info(draft, _table(node, "status", "nodeInfo"), places)
        amounts = _table(node, "status", "allocatable") or _table(node, "status", "capacity")
        _capacity(
            draft, amounts, places, shared=str(labels.get("nvidia.com/gpu.replicas", "1")) not in ("0", "1")
        )
    draft.fact("node_count", len(nodes), places.start)
    for name in sorted(n for n, values in seen.items() if len(values) > 1):
        draft.add("node_label_differs", name, places.of(name, ""))
    if len(with_gpu) > 1:
        draft.note(
            f"{len(with_gpu)} nodes with GPUs were read as one; labels that differ between them are in node_label_differs"
        )


def _has_gpu(node: dict[str, Any]) -> bool:
    labels = _table(node, "metadata", "labels")
    capacity = _table(node, "status", "capacity")
    return "nvidia.com/gpu.product" in labels or str(capacity.get("nvidia.com/gpu", "0")) not in ("0", "")


def _info(draft: Draft, info: dict[str, Any], places: _Places) -> None:
    for key, component in (("kernelVersion", "kernel"), ("kubeletVersion", "kubernetes")):
        value = info.get(key)
        if isinstance(value, str) and value:
            draft.component(
                component,
                value.removeprefix("v"),
                places.of(key, value),
                scope="host" if component == "kernel" else "cluster",
            )
    arch = info.get("architecture")
    if isinstance(arch, str) and arch in ("amd64", "arm64"):
        draft.single("arch", "x86_64" if arch == "amd64" else "aarch64", places.of("architecture", arch))
    runtime = info.get("containerRuntimeVersion")
    if isinstance(runtime, str) and runtime:
        draft.first_fact("container_runtime", runtime, places.of("containerRuntimeVersion", runtime))


def _capacity(draft: Draft, amounts: dict[str, Any], places: _Places, *, shared: bool) -> None:
    for name in ("nvidia.com/gpu", "vpc.amazonaws.com/efa"):
        value = amounts.get(name)
        if not isinstance(value, str | int):
            continue
        text = str(value)
        if name == "nvidia.com/gpu" and text.isdigit() and len(text) < 5:
            if not shared:  # each GPU would count several times
                draft.gpu(None, places.of(name, text), int(text))
        elif name != "nvidia.com/gpu":
            number: int | str = int(text) if text.isdigit() and len(text) < 12 else text
            draft.first_fact(f"limit:{name}", number, places.of(name, text))


class _Places:
    """Finds the line of a key; JSON keeps none."""

    def __init__(self, draft: Draft, document: Document) -> None:
        self._lines = [x for x in draft.source.lines if document.first <= x.number <= document.last]
        self._known: dict[tuple[str, str], Line] = {}
        self.start = Line(self._lines[0].number, "kubectl get nodes")

    def of(self, key: str, value: str) -> Line:
        """Return the first line with the key and, if possible, the value."""
        known = self._known.get((key, value))
        if known is None:
            quoted = f'"{key}"'
            found = (
                next((x for x in self._lines if quoted in x.text and value in x.text), None)
                if len(self._lines) > 1
                else None
            )
            known = Line((found or self.start).number, f"{key}: {value}")
            self._known[key, value] = known
        return known
