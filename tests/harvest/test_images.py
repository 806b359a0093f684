"""Images from every door say the same: what was put in."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackcheck.cli import main
from stackcheck.harvest import image_reading
from stackcheck.harvest.cache import Cache
from stackcheck.harvest.client import Client
from stackcheck.harvest.image_reference import parse
from stackcheck.harvest.image_sources import Opened, RegistrySource
from stackcheck.harvest.interface import AbsentError, HarvestError
from stackcheck.harvest.oci_registry import Registry
from tests.harvest.images import Layout, device, digest, distribution, docker_archive, layer, link
from tests.harvest.upstream import Handler, Upstream, body, status

ENV = ["CUDA_VERSION=13.0.2", "NCCL_VERSION=2.30.7", "PATH=/usr/bin"]
STATUS = b"Package: libnccl2\nStatus: install ok installed\nVersion: 2.30.7-1+cuda13.0\n"
BASE = layer(
    ("etc/os-release", b'ID=ubuntu\nVERSION_ID="24.04"\n'),
    ("var/lib/dpkg/status", STATUS),
    distribution("torch", "2.13.0"),
    device("dev/sda"),
    ("../../etc/evil", b"x"),
)
OLD = "usr/lib/python3/dist-packages/.wh.torch-2.13.0.dist-info"
TOP = layer(
    (OLD, b""),
    distribution("torch", "2.14.0"),
    link("opt/x/torch-2.14.0.dist-info/METADATA", distribution("torch", "2.14.0")[0], b"1"),
    ("usr/lib/libnccl.so.2.30.7", b"\x7fELF"),
)
ARM = layer(distribution("torch", "2.14.1"))


def layout(path: Path, *, nested: bool = True) -> Path:
    made = Layout(path)
    made.image([BASE, TOP], env=ENV, labels={"com.example.cudnn": "9.24"})
    made.image([ARM], arch="arm64")
    return made.finish("t1", nested=nested)


def judged(contents: image_reading.ImageContents) -> None:
    """What was put into the x86_64 image, and nothing else."""
    found = {(p.name, p.version, p.manager) for p in contents.packages}
    assert found == {("torch", "2.14.0", "pip"), ("libnccl2", "2.30.7-1+cuda13.0", "dpkg")}
    assert (contents.arch, contents.os) == ("x86_64", "ubuntu-24.04")
    assert contents.config.environment["CUDA_VERSION"] == "13.0.2"
    assert contents.libraries == ("usr/lib/libnccl.so.2.30.7",)
    assert len(contents.notes) == 2, contents.notes


@pytest.mark.parametrize("nested", [True, False])
def test_an_oci_layout_is_read_per_architecture(tmp_path: Path, nested: bool) -> None:
    with Opened(layout(tmp_path / "img", nested=nested)) as opened:
        judged(image_reading.read(opened.source))
        arm = image_reading.read(opened.source, arch="aarch64")
        assert [(p.name, p.version) for p in arm.packages] == [("torch", "2.14.1")]
        only = image_reading.read(opened.source, layers=False)
        assert (only.layers_read, only.packages) == (False, ())


def test_a_tar_of_the_layout_is_the_same(tmp_path: Path) -> None:
    folder = layout(tmp_path / "img")
    packed = layer(
        *((str(p.relative_to(folder)), p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file())
    )
    (tmp_path / "img.tar").write_bytes(packed)
    with Opened(tmp_path / "img.tar") as opened:
        judged(image_reading.read(opened.source))


def test_a_docker_archive_is_the_same(tmp_path: Path) -> None:
    with Opened(docker_archive(tmp_path / "a.tar", [BASE, TOP], ENV)) as opened:
        judged(image_reading.read(opened.source))


def test_a_layout_that_lies_about_a_digest_is_refused(tmp_path: Path) -> None:
    folder = layout(tmp_path / "img")
    for path in (folder / "blobs/sha256").iterdir():
        if path.read_bytes().startswith(b"\x1f\x8b"):
            path.write_bytes(path.read_bytes() + b"more")
    with Opened(folder) as opened, pytest.raises(HarvestError, match=r"stands for|unpacked"):
        image_reading.read(opened.source)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"manifests": 5}',
        '{"manifests": [{"digest": "sha256:../../x", "size": 1}]}',
        '{"manifests": [{"digest": "md5:1"}]}',
    ],
)
def test_a_damaged_index_is_one_line(tmp_path: Path, text: str) -> None:
    folder = layout(tmp_path / "img")
    (folder / "index.json").write_text(text)
    with pytest.raises(HarvestError), Opened(folder) as opened:
        image_reading.read(opened.source)


def test_archives_lead_nowhere_else(tmp_path: Path) -> None:
    folder = layout(tmp_path / "img")
    secret = tmp_path / "secret"
    secret.write_text("{}")
    (folder / "index.json").unlink()
    (folder / "index.json").symlink_to(secret)
    with Opened(folder) as opened, pytest.raises(HarvestError, match="leads out"):
        image_reading.read(opened.source)
    manifest = [{"Config": "../../etc/passwd", "Layers": []}]
    (tmp_path / "b.tar").write_bytes(layer(("manifest.json", json.dumps(manifest).encode())))
    with Opened(tmp_path / "b.tar") as opened, pytest.raises(HarvestError, match="names a file"):
        image_reading.read(opened.source)


def test_what_is_no_image_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b"no tar")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "x.tar", tmp_path / "empty", tmp_path / "nothing"):
        with pytest.raises(HarvestError):
            Opened(path)


# --- a registry of our own, that may lie -----------------------------------------------------------------------------------------


def registry_of(upstream: Upstream, folder: Path) -> str:
    """Serve a layout as a registry; return its host."""
    for path in (folder / "blobs/sha256").iterdir():
        data = path.read_bytes()
        kind = json.loads(data).get("mediaType", "") if data.startswith(b"{") else ""
        for place in ("blobs", "manifests"):
            upstream.routes[f"/v2/some/image/{place}/sha256:{path.name}"] = body(
                data, kind or "application/octet-stream"
            )
    row = json.loads((folder / "index.json").read_text())["manifests"][0]
    upstream.routes["/v2/some/image/manifests/t1"] = upstream.routes[
        f"/v2/some/image/manifests/{row['digest']}"
    ]
    return upstream.url.removeprefix("http://")


def reading(host: str, tmp_path: Path, token: str = "") -> image_reading.ImageContents:
    with Client(cache=Cache(tmp_path / "cache"), sleep=lambda _: None) as client:
        registry = Registry(client, host, token=token)
        return image_reading.read(RegistrySource(registry, parse(f"{host}/some/image:t1")))


def guarded(handler: Handler, upstream: Upstream, token: str = "t0ken") -> Handler:
    def answer(request):  # type: ignore[no-untyped-def]
        if request.headers.get("Authorization") == f"Bearer {token}":
            return handler(request)
        realm = f'Bearer realm="{upstream.url}/token",service="reg",scope="repository:some/image:pull"'
        return status(401, WWW_Authenticate=realm)(request)

    return answer


def test_a_registry_that_asks_for_a_token_gets_an_anonymous_one(upstream: Upstream, tmp_path: Path) -> None:
    host = registry_of(upstream, layout(tmp_path / "img"))
    upstream.routes = {path: guarded(handler, upstream) for path, handler in upstream.routes.items()}
    upstream.routes["/token"] = body(b'{"token": "t0ken"}', "application/json")
    judged(reading(host, tmp_path))
    tokens = [path for path in upstream.paths() if path.startswith("/token")]
    assert tokens == ["/token?scope=repository%3Asome%2Fimage%3Apull&service=reg"], "asked for once"


def test_a_private_registry_takes_the_token_given(upstream: Upstream, tmp_path: Path) -> None:
    host = registry_of(upstream, layout(tmp_path / "img"))
    upstream.routes = {path: guarded(handler, upstream, "mine") for path, handler in upstream.routes.items()}
    judged(reading(host, tmp_path, token="mine"))
    with pytest.raises(HarvestError, match="401"):
        reading(host, tmp_path / "b", token="wrong")


@pytest.mark.parametrize(
    "answer", [b"{", b"[]", b"{}", b'{"token": 5}', b'{"token": "a\\r\\nX-Evil: 1"}', b"<html>login</html>"]
)
def test_a_token_that_is_none_is_one_line(upstream: Upstream, tmp_path: Path, answer: bytes) -> None:
    host = registry_of(upstream, layout(tmp_path / "img"))
    upstream.routes = {path: guarded(handler, upstream) for path, handler in upstream.routes.items()}
    upstream.routes["/token"] = body(answer)
    with pytest.raises(HarvestError):
        reading(host, tmp_path)


def test_credentials_are_asked_for_over_https_alone(upstream: Upstream, tmp_path: Path) -> None:
    host = registry_of(upstream, layout(tmp_path / "img"))
    upstream.routes["/v2/some/image/manifests/t1"] = status(
        401, WWW_Authenticate='Bearer realm="http://evil.example/t"'
    )
    with pytest.raises(HarvestError, match="credentials"):
        reading(host, tmp_path)


@pytest.mark.parametrize("part", ["tag", "manifest", "config", "layer"])
def test_a_registry_that_lies_about_a_digest_is_refused(
    upstream: Upstream, tmp_path: Path, part: str
) -> None:
    folder = layout(tmp_path / "img")
    host = registry_of(upstream, folder)
    image = json.loads((folder / "index.json").read_text())["manifests"][0]
    rows = json.loads((folder / "blobs/sha256" / image["digest"][7:]).read_text())["manifests"]
    manifest = json.loads((folder / "blobs/sha256" / rows[0]["digest"][7:]).read_text())
    path = {
        "tag": "manifests/t1",
        "manifest": f"manifests/{rows[0]['digest']}",
        "config": f"blobs/{manifest['config']['digest']}",
        "layer": f"blobs/{manifest['layers'][1]['digest']}",
    }[part]
    other = (folder / "blobs/sha256" / rows[1]["digest"][7:]).read_bytes()
    if part == "layer":
        other = b"\0" * manifest["layers"][1]["size"]
    if part == "config":
        other = b"{" + b" " * (manifest["config"]["size"] - 2) + b"}"
    upstream.routes[f"/v2/some/image/{path}"] = body(other, Docker_Content_Digest="sha256:" + "0" * 64)
    with pytest.raises(HarvestError, match="stands for"):
        reading(host, tmp_path)


def test_a_blob_may_come_from_elsewhere_without_our_token(upstream: Upstream, tmp_path: Path) -> None:
    from tests.harvest.upstream import serving

    host = registry_of(upstream, layout(tmp_path / "img"))
    with serving() as storage:
        for path in [p for p in upstream.routes if "/blobs/" in p]:
            storage.routes[path] = upstream.routes[path]
            upstream.routes[path] = status(307, Location=f"{storage.url}{path}")
        judged(reading(host, tmp_path, token="mine"))
        assert storage.asked
        assert not [h for _, _, h in storage.asked if "authorization" in h]


def test_tags_are_read_over_pages_and_never_from_another_host(upstream: Upstream, tmp_path: Path) -> None:
    first = body(
        b'{"name": "some/image", "tags": ["a", "b"]}', Link='</v2/some/image/more?last=b>; rel="next"'
    )
    upstream.routes["/v2/some/image/tags/list"] = first
    upstream.routes["/v2/some/image/more"] = body(b'{"tags": ["b", "c", 5]}')
    with Client(sleep=lambda _: None) as client:
        registry = Registry(client, upstream.url.removeprefix("http://"))
        assert registry.tags("some/image") == ("a", "b", "c")
        upstream.routes["/v2/some/image/more"] = body(
            b'{"tags": []}', Link='<http://evil.example/v2/>; rel="next"'
        )
        with pytest.raises(HarvestError, match="another host"):
            registry.tags("some/image")
        upstream.routes["/v2/some/image/more"] = first
        upstream.routes["/v2/some/image/tags/list"] = body(
            b'{"tags": []}', Link="</v2/some/image/tags/list>; rel=next"
        )
        with pytest.raises(HarvestError, match="does not end"):
            registry.tags("some/image")


@pytest.mark.parametrize(
    "text",
    [
        "torch",
        "torch:2.14",
        "h.example/UPPER:1",
        "h.example/a@sha256:12",
        "h.example/../x",
        "-/x:1",
        "h.example:99999999/x",
        "h.example/a b",
    ],
)
def test_what_is_no_full_reference_is_one_line(text: str) -> None:
    with pytest.raises(HarvestError):
        parse(text)


def test_references_are_read_as_engines_write_them() -> None:
    found = parse("docker://registry.example:5000/team/torch:2.14-cu130@sha256:" + "a" * 64)
    assert (found.registry, found.repository, found.tag) == (
        "registry.example:5000",
        "team/torch",
        "2.14-cu130",
    )
    assert str(parse("h.example/a/b")) == "h.example/a/b:latest"


# --- Debian's docker-registry --------------------------------------------------------------------------------------------------


@contextmanager
def docker_registry(tmp_path: Path) -> Iterator[str]:
    for tool in ("docker-registry", "skopeo"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (apt-get install docker-registry skopeo)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = tmp_path / "registry.yml"
    settings.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {tmp_path / 'data'}}}}}\n"
        f'http: {{addr: "127.0.0.1:{port}"}}\n'
    )
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def test_a_real_registry_gives_what_was_put_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = layout(tmp_path / "img")
    with docker_registry(tmp_path) as host:
        for tag in ("t1", "25.10-py3"):
            copy = [
                "skopeo",
                "copy",
                "--all",
                "--preserve-digests",
                "--dest-tls-verify=false",
                f"oci:{folder}:t1",
            ]
            subprocess.run(
                [*copy, f"docker://{host}/some/image:{tag}"], check=True, capture_output=True, timeout=60
            )
        judged(reading(host, tmp_path))
        with Client(sleep=lambda _: None) as client:
            registry = Registry(client, host)
            assert set(registry.tags("some/image")) == {"t1", "25.10-py3"}
            images = registry.images(parse(f"{host}/some/image:t1"))
            expected = {digest(p.read_bytes()) for p in (folder / "blobs/sha256").iterdir()}
            assert {arch for arch, _, _ in images} == {"x86_64", "aarch64"}
            assert {d for _, d, _ in images} <= expected
            with pytest.raises(AbsentError):
                registry.images(parse(f"{host}/some/image:none"))
        code = main(
            [
                "check",
                "--image",
                f"{host}/some/image:t1",
                "--gpu",
                "b200",
                "--format",
                "json",
                "--fail-on",
                "never",
            ]
        )
    assert code == 0
    report = json.loads(capsys.readouterr().out)
    components = report["inventory"]["components"]
    assert "2.14.0" in json.dumps(components["torch"])
    assert "2.13.0" not in json.dumps(components["torch"])
    assert "2.30.7" in json.dumps(components["nccl"])
    assert "13.0" in json.dumps(components["cuda"])


def test_check_reads_an_image_from_disk_and_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = docker_archive(
        tmp_path / "a.tar", [layer(distribution("torch", "2.4.0"))], ["CUDA_VERSION=12.1"]
    )
    code = main(["check", "--image", str(archive), "--gpu", "b200", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert code == 1, "torch 2.4 has no code for B200"
    assert any("torch" in f["subjects"] for f in report["findings"])
    assert main(["check", "--image", str(tmp_path / "none.tar")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_check_without_anything_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "nothing to check" in capsys.readouterr().err
