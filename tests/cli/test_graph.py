"""`stackcheck graph`: the ties are facts of the matrices; dot and Mermaid are accepted by their own readers."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from stackcheck.catalog import Catalog
from stackcheck.catalog.graph import around, catalog_graph
from stackcheck.model.graph import EdgeKind, Graph, GraphEdge, GraphNode
from stackcheck.report.graph_text import render_dot, render_mermaid
from tests.cli.conftest import Call

STACKS = [
    ("--gpu", "b200"),
    ("--gpu", "h100", "--framework", "vllm", "--images", "none"),
    ("--instance", "p6e-gb200.36xlarge"),
    (),
]
each_stack = pytest.mark.parametrize("flags", STACKS, ids=lambda f: " ".join(f) or "catalog")
NASTY = 'a"b\\c]}|<script>{x};#é\x1b[31m\n--> n9'


def graph(call: Call, *flags: str) -> Any:
    outcome = call("graph", *flags, "--format", "json")
    assert outcome.code == 0, outcome.err
    return outcome.json


@each_stack
def test_nodes_are_the_stack_and_ties_stay_inside(call: Call, flags: tuple[str, ...]) -> None:
    body = graph(call, *flags)
    ids = [n["id"] for n in body["nodes"]]
    assert ids == sorted(set(ids))
    assert {e["source"] for e in body["edges"]} | {e["target"] for e in body["edges"]} <= set(ids)
    if flags:
        stack = call("resolve", *flags, "--format", "json").json["components"]
        assert {n["id"]: n["version"] for n in body["nodes"]} == {c: p["version"] for c, p in stack.items()}


@each_stack
def test_all_that_is_required_comes_before_what_requires_it(call: Call, flags: tuple[str, ...]) -> None:
    body = graph(call, *flags)
    step = {node: number for number, members in enumerate(body["order"]) for node in members}
    assert set(step) == {n["id"] for n in body["nodes"]}
    together = {frozenset((a, b)) for cycle in body["cycles"] for a in cycle for b in cycle}
    for edge in body["edges"]:
        if edge["kind"] != "rule" and frozenset((edge["source"], edge["target"])) not in together:
            assert step[edge["target"]] < step[edge["source"]], edge


def test_requirements_are_those_of_the_pinned_release(call: Call, catalog: Catalog) -> None:
    body = graph(call, "--gpu", "h100", "--framework", "vllm", "--images", "none")
    version = {n["id"]: n["version"] for n in body["nodes"]}
    told = {
        e["target"]: e["label"] for e in body["edges"] if e["source"] == "vllm" and e["kind"] == "requires"
    }
    vllm = catalog.component("vllm")
    assert vllm is not None
    release = next(r for r in vllm.releases if r.version.text == version["vllm"].partition("+")[0])
    asked = {q.component: q.range for q in release.requires or () if not q.extra and q.component in version}
    assert asked.keys() == told.keys()
    assert all(asked[name] in told[name] for name in asked)
    assert told["torch"].startswith("==")


def test_the_driver_is_tied_to_cuda_and_fabric_manager(call: Call) -> None:
    ties = {(e["source"], e["target"]) for e in graph(call, "--gpu", "b200")["edges"]}
    assert ("cuda", "driver") in ties
    assert ("fabric-manager", "driver") in ties


def test_around_a_component_is_what_it_requires_and_what_requires_it(call: Call) -> None:
    whole = graph(call, "--gpu", "b200")
    part = graph(call, "--gpu", "b200", "--component", "nvidia-nccl-cu13")
    ids = {n["id"] for n in part["nodes"]}
    assert "nccl" in ids
    assert ids < {n["id"] for n in whole["nodes"]}
    for edge in whole["edges"]:
        if "nccl" in (edge["source"], edge["target"]):
            assert edge in part["edges"]
    reached = {"nccl"}
    for _ in ids:
        reached |= {e["target"] for e in whole["edges"] if e["source"] in reached}
    asking = {"nccl"}
    for _ in ids:
        asking |= {e["source"] for e in whole["edges"] if e["target"] in asking}
    assert ids == reached | asking


def test_a_lock_is_drawn_as_it_is(call: Call, lock: Path) -> None:
    pinned = json.loads(lock.read_text())["components"]
    assert {n["id"]: n["version"] for n in graph(call, "--lock", str(lock))["nodes"]} == {
        c: p["version"] for c, p in pinned.items()
    }


def test_a_conflict_has_no_graph(call: Call) -> None:
    flags = ("--gpu", "b200", "--with", "torch==2.4.1")
    assert call("graph", *flags).out == call("resolve", *flags).out
    outcome = call("graph", *flags, "--format", "json")
    assert (outcome.code, outcome.json["status"]) == (1, "conflict")


def test_cycles_are_found_and_do_not_stop_the_order() -> None:
    nodes = [GraphNode(id=i, name=i, version="1", layer="x") for i in "abcd"]
    pairs = (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"))
    edges = [GraphEdge(s, t, EdgeKind.REQUIRES) for s, t in pairs]
    found = around(Graph(title="t", nodes=tuple(nodes), edges=tuple(edges)), "a")
    assert found.cycles == (("a", "b", "c"),)
    assert found.order == (("d",), ("a", "b", "c"))


def test_the_real_catalog_has_no_cycle(catalog: Catalog) -> None:
    assert catalog_graph(catalog).cycles == ()


def hostile() -> Graph:
    nodes = (
        GraphNode(id=NASTY, name=NASTY, version=NASTY, layer=NASTY),
        GraphNode(id="end", name="end", version="", layer="graph"),
    )
    return Graph(
        title=NASTY,
        nodes=nodes,
        edges=(GraphEdge(NASTY, "end", EdgeKind.RULE, NASTY), GraphEdge("end", NASTY, EdgeKind.BRINGS)),
    )


def written(call: Call, flags: tuple[str, ...], name: str, tmp_path: Path) -> str:
    path = tmp_path / name
    assert call("graph", *flags, "--format", name, "-o", str(path)).code == 0
    return path.read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed (apt package graphviz)")
@each_stack
def test_graphviz_draws_it(call: Call, flags: tuple[str, ...], tmp_path: Path) -> None:
    drawn = draw(written(call, flags, "dot", tmp_path))
    for node in graph(call, *flags)["nodes"]:
        assert f">{node['id']}</text>" in drawn


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed (apt package graphviz)")
def test_graphviz_draws_hostile_names() -> None:
    drawn = draw(render_dot(hostile()))
    assert drawn.count('class="node"') == 2
    assert drawn.count('class="edge"') == 2


def draw(text: str) -> str:
    done = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return html.unescape(done.stdout.decode())


# Mermaid, by the part of its grammar that a flowchart of ours uses: https://mermaid.js.org/syntax/flowchart.html

_LABEL = r'"(?:[^"#\\]|#\d+;)*"'
_MERMAID_LINES = (
    re.compile(rf"  subgraph s\d+\[{_LABEL}\]"),
    re.compile(rf"    n\d+\[{_LABEL}\]"),
    re.compile(r"  end"),
    re.compile(rf"  n\d+ (?:-->|==>|-\.->)(?:\|{_LABEL}\|)? n\d+"),
)


def mermaid_faults(text: str) -> list[str]:
    head, title, tail, kind, *lines = text.rstrip("\n").split("\n")
    faults = (
        []
        if (head, tail, kind) == ("---", "---", "flowchart LR") and title.startswith('title: "')
        else [text[:80]]
    )
    depth = 0
    for line in lines:
        if not any(p.fullmatch(line) for p in _MERMAID_LINES):
            faults.append(line)
        depth += line.startswith("  subgraph") - (line == "  end")
        if depth not in (0, 1):
            faults.append(f"nesting at {line}")
    declared = re.findall(r"^    (n\d+)\[", text, re.MULTILINE)
    used = re.findall(r"^  (n\d+) .* (n\d+)$", text, re.MULTILINE)
    faults += [f"undeclared {n}" for pair in used for n in pair if n not in declared]
    return faults + ([] if depth == 0 else ["a subgraph is open"])


@each_stack
def test_mermaid_reads_it(call: Call, flags: tuple[str, ...], tmp_path: Path) -> None:
    text = written(call, flags, "mermaid", tmp_path)
    assert mermaid_faults(text) == []
    body = graph(call, *flags)
    assert len(re.findall(r"^    n\d+\[", text, re.MULTILINE)) == len(body["nodes"])
    assert len(re.findall(r"(?:-->|==>|-\.->)", text)) == len(body["edges"])


def test_mermaid_reads_hostile_names() -> None:
    text = render_mermaid(hostile())
    assert mermaid_faults(text) == []
    assert "<script>" not in text
    assert "\x1b" not in text


def test_mermaid_faults_are_seen() -> None:
    assert mermaid_faults('---\ntitle: "x"\n---\nflowchart LR\n  n1 --> n2\n')
    assert mermaid_faults('---\ntitle: "x"\n---\nflowchart LR\n  subgraph s0["a"b"]\n  end\n')


def test_the_graph_of_all_says_of_which_releases_it_is(call: Call) -> None:
    title = call("graph", "--component", "nccl", "--format", "json").json["title"]
    assert "newest releases with read requirements" in title


def test_a_component_that_the_image_does_not_state_is_told_how_to_be_pinned(call: Call) -> None:
    message = call("graph", "--gpu", "b200", "--component", "slurm").message
    assert "not in this stack" in message
    assert "--images none" in message
