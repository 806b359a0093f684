"""`stackcheck matrices harvest` from end to end, against an index and a registry on loopback."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stackcheck.catalog.files import matrices_root
from stackcheck.cli import main
from stackcheck.harvest import collect, release_pages
from stackcheck.harvest.registry import HARVESTERS
from stackcheck.harvest.simple_index import JSON_TYPE
from tests.harvest.upstream import Upstream, body, core, wheel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def matrices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped matrices that may be written, and nothing of the user's configuration."""
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_CERT", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = Path(shutil.copytree(matrices_root(), tmp_path / "matrices"))
    for folder in ("advisories", "gpus", "images", "instances", "rules", "signatures"):
        for path in (root / folder).rglob("*.json"):
            path.unlink()  # harvesting does not look at them, and validating them takes seconds
    (root / "index.json").unlink()  # of what is gone
    return root


def index(
    upstream: Upstream, name: str, releases: dict[str, tuple[str, ...]], day: str = "2026-11-20"
) -> None:
    rows = []
    for version, requires in releases.items():
        file = f"{name}-{version}-py3-none-any.whl"
        data = wheel(name, version, core(name, version, *requires))
        upstream.routes[f"/files/{file}"] = body(data)
        rows.append(
            {
                "filename": file,
                "url": f"{upstream.url}/files/{file}",
                "hashes": {},
                "size": len(data),
                "upload-time": f"{day}T00:00:00Z",
            }
        )
    whole = {"meta": {"api-version": "1.1"}, "name": name, "files": rows}
    upstream.routes[f"/simple/{name}/"] = body(json.dumps(whole).encode(), JSON_TYPE)


def harvested(upstream: Upstream, matrices: Path, *flags: str) -> int:
    return main(
        ["matrices", "harvest", "--index-url", f"{upstream.url}/simple", "--matrices", str(matrices), *flags]
    )


def releases(matrices: Path, component: str) -> dict[str, dict[str, object]]:
    held = json.loads((matrices / "components" / f"{component}.json").read_text())
    return {r["version"]: r for r in held["releases"]}


def test_a_new_release_is_shown_and_written_only_if_asked_for(
    upstream: Upstream, matrices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index(upstream, "verl", {"99.1": ("torch==2.15.0", "vllm==0.33.0")})
    before = (matrices / "components" / "verl.json").read_text()
    assert harvested(upstream, matrices, "verl") == 0
    text = capsys.readouterr().out
    assert "+ verl 99.1: requires [pkg:pypi/verl@99.1]" in text
    assert "torch ==2.15.0" in text
    assert (matrices / "components" / "verl.json").read_text() == before
    assert harvested(upstream, matrices, "verl", "--write") == 0
    capsys.readouterr()
    new = releases(matrices, "verl")["99.1"]
    assert new["date"] == "2026-11-20"
    assert {"component": "torch", "range": "==2.15.0"} in new["requires"]  # type: ignore[operator]
    after = (matrices / "components" / "verl.json").read_text()
    assert after == json.dumps(json.loads(after), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert main(["matrices", "lint", "--quick", "--matrices", str(matrices)]) == 0, capsys.readouterr().out
    capsys.readouterr()
    assert harvested(upstream, matrices, "verl", "--write") == 0
    assert (matrices / "components" / "verl.json").read_text() == after, "writing twice changes nothing"


def test_a_contradiction_is_kept_beside_and_exits_1(
    upstream: Upstream, matrices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = max(releases(matrices, "vllm"), key=lambda v: [int(n) for n in v.split(".") if n.isdigit()])
    index(upstream, "vllm", {newest: ("torch==1.0.0",)})
    assert (
        harvested(
            upstream,
            matrices,
            "vllm",
            "--again",
            "--newest",
            "1",
            "--days",
            "0",
            "--write",
            "--format",
            "json",
        )
        == 1
    )
    found = json.loads(capsys.readouterr().out)
    (row,) = [
        p for p in found["proposals"] if p["kind"] == "contradicting" and p["field"] == "requires.torch"
    ]
    assert row["theirs"] == "==1.0.0"
    kept = releases(matrices, "vllm")[newest]
    assert any(d["value"] == "==1.0.0" for d in kept["disagreements"])  # type: ignore[attr-defined]
    assert {"component": "torch", "range": row["ours"]} in kept["requires"]  # type: ignore[operator]


@pytest.mark.parametrize("form", ["truncated", "html", "403", "404", "500", "empty"])
def test_an_index_that_fails_is_a_remark_and_nothing_is_written(
    upstream: Upstream,
    matrices: Path,
    form: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.harvest.upstream import status

    monkeypatch.setattr("time.sleep", lambda _: None)
    answers = {
        "truncated": body(b'{"files": [', JSON_TYPE),
        "html": body(b"<html>please log in</html>", "application/json"),
        "403": status(403),
        "404": status(404),
        "500": status(500),
        "empty": body(b"", JSON_TYPE),
    }
    upstream.routes["/simple/verl/"] = answers[form]
    before = (matrices / "components" / "verl.json").read_text()
    assert harvested(upstream, matrices, "verl", "--write") == 0
    out, err = capsys.readouterr()
    assert "1 not read" in out
    assert "Traceback" not in out + err
    assert (matrices / "components" / "verl.json").read_text() == before


def test_pages_tables_and_images_are_harvested_too(
    upstream: Upstream, matrices: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tests.harvest.images import Layout, layer
    from tests.harvest.test_images import registry_of

    recorded = Path(__file__).with_name("recorded")
    upstream.routes["/changelog"] = body(
        b"## [99.0] - 2026-11-28\n" + (recorded / "gdrcopy-changelog.md").read_bytes()
    )
    upstream.routes["/table"] = body((recorded / "cuda-driver-table.html").read_bytes(), "text/html")
    made = Layout(tmp_path / "img")
    row = made.image([layer(("a", b""))])
    host = registry_of(upstream, made.finish("t1"))
    upstream.routes["/v2/some/image/tags/list"] = body(b'{"tags": ["t1", "t2"]}')
    table = json.loads((matrices / "upstreams.json").read_text())
    table["releases"] = [
        r | {"url": f"{upstream.url}/changelog"} for r in table["releases"] if r["component"] == "gdrcopy"
    ]
    table["tables"] = [t | {"url": f"{upstream.url}/table"} for t in table["tables"]]
    table["repositories"] = [f"{host}/some/image"]
    (matrices / "upstreams.json").write_text(json.dumps(table))
    image = {"tag": "t1", "verified": False, "contents": {}, "sources": ["https://example.com"]}
    gone = {"tag": "t0", "verified": True, "contents": {}, "sources": ["https://example.com"]}
    file = {
        "repository": f"{host}/some/image",
        "family": "ngc",
        "sources": {},
        "title": "x",
        "purpose": ["training"],
        "images": [image, gone],
    }
    (matrices / "images" / "ngc" / "zz.json").write_text(json.dumps(file))
    what = ["--what", "pages", "--what", "tables", "--what", "images"]
    assert harvested(upstream, matrices, *what, "--write") == 0, capsys.readouterr()
    text = capsys.readouterr().out
    assert "gdrcopy 99.0: exists" in text
    assert f"? {host}/some/image t2: exists True" in text
    assert f"- {host}/some/image t0: exists False" in text
    assert releases(matrices, "gdrcopy")["99.0"]["date"] == "2026-11-28"
    written = {
        i["tag"]: i for i in json.loads((matrices / "images" / "ngc" / "zz.json").read_text())["images"]
    }
    assert written["t1"]["verified"] is True
    assert written["t1"]["arch"] == ["x86_64"]
    assert written["t1"]["digest"] == row["digest"]
    assert written["t0"]["verified"] is True, "a reviewed tag is not unsaid by one answer"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["driver"], "no Python package"),
        (["nothing-like-it"], "unknown component"),
        (["verl", "--index-url", "ftp://h/simple"], "no web address"),
        (["--what", "everything"], "invalid choice"),
    ],
)
def test_wrong_usage_is_one_line(
    matrices: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["matrices", "harvest", "--matrices", str(matrices), *flags]) == 2
    assert said in capsys.readouterr().err


def test_every_harvester_has_a_function_and_a_row_in_the_docs() -> None:
    docs = (ROOT / "docs" / "harvest.md").read_text()
    for harvester in HARVESTERS:
        assert callable(getattr(collect, harvester.function))
        assert f"| `{harvester.id}` |" in docs
    for reader in release_pages.READERS:
        assert f"`{reader}`" in docs


def test_no_progress_is_written_where_there_is_no_terminal(
    upstream: Upstream, matrices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index(upstream, "verl", {"99.1": ()})
    assert harvested(upstream, matrices, "verl") == 0
    assert capsys.readouterr().err == ""


def test_the_status_names_what_upstream_has_that_we_do_not(
    upstream: Upstream, matrices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (matrices / "components").glob("*.json"):
        if path.stem not in ("verl", "torch"):
            path.unlink()
    index(upstream, "verl", {"99.1": (), "99.2rc1": (), "0.1.0": ()})
    flags = ["--upstream", "--index-url", f"{upstream.url}/simple", "--matrices", str(matrices)]
    assert main(["matrices", "status", *flags]) == 0
    text, said = capsys.readouterr()
    assert said.startswith("stackcheck: torch: "), "the index has no such page"
    assert "newer upstream:" in text
    assert [line.split() for line in text.splitlines() if line.startswith("  verl")] == [["verl", "99.1"]]
    assert main(["matrices", "status", *flags, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["upstream"] == {"verl": ["99.1"]}
