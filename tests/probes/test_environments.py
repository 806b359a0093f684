"""Python environments and packages, from metadata alone: which there are, which one is used, what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stackcheck_probes import dists
from stackcheck_probes.inventory import collect
from stackcheck_probes.probes.packages import is_native
from stackcheck_probes.tree import open_tree

ONLY = ("packages",)


def write(root: Path, path: str, text: str = "") -> None:
    """Write a file of a node."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def dist(root: Path, site: str, name: str, version: str, record: str = "") -> None:
    """Install a wheel's metadata."""
    folder = f"{site}/{name.replace('-', '_')}-{version}.dist-info"
    write(
        root,
        f"{folder}/METADATA",
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nName: not this\n",
    )
    write(root, f"{folder}/RECORD", record)


def active(root: Path, **environ: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the active environment and its packages."""
    found = collect(root=str(root), only=ONLY, environ=environ)
    environment = next(one for one in found["environments"] if one["active"])
    return environment, {one["name"]: one["version"] for one in found["packages"] if one["active"]}


def test_virtual_environment_of_uv_first(tmp_path: Path) -> None:
    write(
        tmp_path,
        "/srv/job/.venv/pyvenv.cfg",
        "home = /usr/bin\nuv = 0.5.1\nversion_info = 3.12.4\ninclude-system-site-packages = false\n",
    )
    dist(tmp_path, "/srv/job/.venv/lib/python3.12/site-packages", "vllm", "0.11.0")
    dist(tmp_path, "/usr/lib/python3/dist-packages", "PyYAML", "6.0")
    environment, packages = active(tmp_path, VIRTUAL_ENV="/srv/job/.venv")
    assert (environment["kind"], environment["python"], packages) == ("uv", "3.12.4", {"vllm": "0.11.0"})
    assert len(collect(root=str(tmp_path), only=ONLY, environ={})["environments"]) == 1, (
        "only what can be found without a hint"
    )


def test_virtual_environment_by_path_alone(tmp_path: Path) -> None:
    write(tmp_path, "/srv/env/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n")
    write(tmp_path, "/srv/env/bin/python3")
    dist(tmp_path, "/srv/env/lib/python3.11/site-packages", "torch", "2.9.1")
    assert active(tmp_path, PATH="/srv/env/bin:/usr/bin")[1] == {"torch": "2.9.1"}


def test_system_site_packages_are_seen_where_the_environment_says_so(tmp_path: Path) -> None:
    write(
        tmp_path, "/v/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.12.3\n"
    )
    dist(tmp_path, "/v/lib/python3.12/site-packages", "extra", "1.0")
    dist(tmp_path, "/usr/local/lib/python3.12/dist-packages", "torch", "2.9.0a0+nv25.10")
    assert active(tmp_path, VIRTUAL_ENV="/v")[1] == {"extra": "1.0", "torch": "2.9.0a0+nv25.10"}


def test_conda_with_packages_that_have_no_wheel_metadata(tmp_path: Path) -> None:
    for name in (
        "python-3.10.14-h955ad1f_1.json",
        "nccl-2.21.5.1-h3a97aeb_0.json",
        "numpy-1.26.4-py310h5f9d8c6_0.json",
    ):
        write(tmp_path, f"/opt/conda/conda-meta/{name}", "{}")
    dist(tmp_path, "/opt/conda/lib/python3.10/site-packages", "numpy", "1.26.4")
    environment, packages = active(tmp_path)
    assert (environment["kind"], environment["python"]) == ("conda", "3.10.14")
    assert packages == {"numpy": "1.26.4", "nccl": "2.21.5.1", "python": "3.10.14"}


def test_debian_splits_its_python_over_two_prefixes(tmp_path: Path) -> None:
    write(tmp_path, "/usr/bin/python3.12")
    (tmp_path / "usr/bin/python3").symlink_to("python3.12")
    dist(tmp_path, "/usr/local/lib/python3.12/dist-packages", "torch", "2.9.0")
    dist(tmp_path, "/usr/lib/python3/dist-packages", "six", "1.16.0")
    environment, packages = active(tmp_path, PATH="/usr/bin")
    assert (environment["prefix"], environment["python"]) == ("/usr", "3.12")
    assert packages == {"torch": "2.9.0", "six": "1.16.0"}


def test_python_path_comes_first_and_shadows(tmp_path: Path) -> None:
    write(tmp_path, "/v/pyvenv.cfg", "version = 3.12.3\n")
    dist(tmp_path, "/v/lib/python3.12/site-packages", "megatron-core", "0.14.0")
    dist(tmp_path, "/code", "Megatron_Core", "0.15.0rc1")
    found = collect(
        root=str(tmp_path), only=ONLY, environ={"VIRTUAL_ENV": "/v", "PYTHONPATH": "/code:relative"}
    )
    shadowed = {one["version"]: "shadowed_by" in one for one in found["packages"]}
    assert shadowed == {"0.15.0rc1": False, "0.14.0": True}


def test_other_environments_are_listed_but_not_active(tmp_path: Path) -> None:
    for name, version in (("a", "2.8.0"), ("b", "2.9.0")):
        write(tmp_path, f"/opt/{name}/pyvenv.cfg", "version = 3.12.3\n")
        dist(tmp_path, f"/opt/{name}/lib/python3.12/site-packages", "torch", version)
    found = collect(root=str(tmp_path), only=ONLY, environ={"VIRTUAL_ENV": "/opt/b"})
    assert {one["version"]: one["active"] for one in found["packages"]} == {"2.8.0": False, "2.9.0": True}


def test_damaged_metadata_is_left_out_or_read_by_its_name(tmp_path: Path) -> None:
    site = "/v/lib/python3.12/site-packages"
    write(tmp_path, "/v/pyvenv.cfg", "version = 3.12.3\n")
    write(tmp_path, f"{site}/half-1.0.dist-info/METADATA", "rubbish")
    write(tmp_path, f"{site}/nothing.dist-info/METADATA", "")
    write(tmp_path, f"{site}/windows-2.0.dist-info/METADATA", "Name: windows\r\nVersion: 2.0\r\n\r\n")
    write(tmp_path, f"{site}/old-3.0.egg-info", "Name: old\nVersion: 3.0\n")
    write(tmp_path, f"{site}/older-4.0.egg-info/PKG-INFO", "Name: older\nVersion: 4.0\n")
    assert active(tmp_path, VIRTUAL_ENV="/v")[1] == {
        "half": "1.0",
        "windows": "2.0",
        "old": "3.0",
        "older": "4.0",
    }


def test_record_lines(tmp_path: Path) -> None:
    record = 'pkg/a.so,sha256=abc,12\n"pkg/odd, name.py",sha256=def,3\npkg/b.py,,\n../../../bin/tool,sha256=x,1\n/etc/passwd,sha256=x,1\n\n,,\n'
    dist(tmp_path, "/s", "pkg", "1.0", record)
    files = open_tree(str(tmp_path))
    distribution = dists.distributions(files, "/s")[0]
    found = list(dists.recorded(distribution, dists.record(files, distribution)))
    assert [(one.path, one.digest, one.size) for one in found] == [
        ("/s/pkg/a.so", "sha256=abc", 12), ("/s/pkg/odd, name.py", "sha256=def", 3), ("/s/pkg/b.py", "", None), ("/bin/tool", "sha256=x", 1),
    ]  # fmt: skip


def test_pins_of_torch(tmp_path: Path) -> None:
    write(tmp_path, "/s/torch-2.9.0.dist-info/METADATA", (
        "Name: torch\nVersion: 2.9.0\nRequires-Dist: nvidia-nccl-cu13==2.27.7; platform_system == 'Linux'\n"
        "Requires-Dist: cuda-toolkit[cublas,cudart]==13.0.2\nRequires-Dist: triton==3.5.0; platform_machine == 'x86_64'\n"
        "Requires-Dist: triton==3.5.1; platform_machine == 'aarch64'\nRequires-Dist: filelock>=3\nRequires-Dist: sympy (==1.13)\n"))  # fmt: skip
    files = open_tree(str(tmp_path))
    pins = dists.requirements(files, dists.distributions(files, "/s")[0])
    assert pins == {"nvidia-nccl-cu13": "2.27.7", "cuda-toolkit": "13.0.2", "sympy": "1.13"}


def test_names_of_native_libraries() -> None:
    assert all(
        map(
            is_native,
            ("a/libnccl.so.2", "libx.so", "_C.cpython-312-x86_64-linux-gnu.so", "libcudart.so.13.0.96"),
        )
    )
    assert not any(map(is_native, ("a.py", "libx.so.txt", ".so", "notes.sort", "libx.so.2.bak")))
