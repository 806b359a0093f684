"""Files of wheels: owned twice, changed on disk, and libraries that tell no version of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stackcheck_probes.inventory import collect
from tests.nodes.objects import Spec, build

SITE = "v/lib/python3.12/site-packages"


def node(root: Path, files: dict[str, bytes], records: dict[str, str]) -> dict[str, Any]:
    """Return the inventory of an environment with these files and RECORDs (``name-version`` -> text)."""
    (root / "v").mkdir()
    (root / "v/pyvenv.cfg").write_text("version = 3.12.3\n")
    for path, data in files.items():
        target = root / SITE / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    for key, record in records.items():
        name, _, version = key.rpartition("-")
        folder = root / SITE / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        (folder / "RECORD").write_text(record)
    return collect(root=str(root), environ={"VIRTUAL_ENV": "/v"})


def test_two_owners_count_only_where_the_contents_differ(tmp_path: Path) -> None:
    found = node(tmp_path, {}, {
        "a-1.0": "shared/same.py,sha256=1,1\nshared/other.py,sha256=2,1\nshared/__init__.py,sha256=3,1\n",
        "b-1.0": "shared/same.py,sha256=1,1\nshared/other.py,sha256=9,1\nshared/__init__.py,sha256=8,1\n",
    })  # fmt: skip
    assert found["facts"]["files_owned_twice"] == [f"a and b: /{SITE}/shared/other.py"]


def test_changed_and_missing_libraries(tmp_path: Path) -> None:
    found = node(
        tmp_path,
        {"p/good.so": b"1234", "p/bad.so": b"123"},
        {"p-1.0": "p/good.so,sha256=x,4\np/bad.so,sha256=x,4\np/gone.so,sha256=x,4\n"},
    )
    assert found["facts"]["files_changed"] == [
        f"/{SITE}/p/bad.so: 3 bytes, recorded 4 (p)", f"/{SITE}/p/gone.so: missing (p)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("site", "installer", "told"),
    [
        (
            "usr/lib/python3/dist-packages",
            None,
            False,
        ),  # python3-cryptography: stripped after RECORD was written
        ("usr/lib/python3/dist-packages", "debian", False),
        ("usr/lib/python3/dist-packages", "pip", True),
        ("usr/lib64/python3.12/site-packages", "rpm", False),
        ("usr/lib64/python3.12/site-packages", "pip", True),
        ("usr/local/lib/python3.12/dist-packages", "uv", True),
        ("usr/local/lib/python3.12/dist-packages", None, True),
    ],
)
def test_files_that_a_package_of_the_distribution_owns_are_left_to_it(
    tmp_path: Path, site: str, installer: str | None, told: bool
) -> None:
    for name in ("p", "q"):
        folder = tmp_path / site / f"{name}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
        (folder / "RECORD").write_text(f"{name}/_rust.so,sha256=x,22\nshared.py,sha256={name},1\n")
        if installer:
            (folder / "INSTALLER").write_text(f"{installer}\n")
    (tmp_path / site / "p").mkdir()
    (tmp_path / site / "p/_rust.so").write_bytes(b"12")
    (tmp_path / "usr/bin").mkdir(exist_ok=True)
    (tmp_path / "usr/bin/python3.12").write_bytes(b"\x7fELF")
    (tmp_path / "usr/bin/python3").symlink_to("python3.12")
    facts = collect(root=str(tmp_path), environ={"PATH": "/usr/bin"})["facts"]
    assert [len(facts["files_changed"]), len(facts["files_owned_twice"])] == ([2, 1] if told else [0, 0])


def test_version_of_a_library_that_tells_none(tmp_path: Path) -> None:
    path = "nvidia/cudnn/lib/libcudnn.so.9"
    data = build(Spec("libcudnn.so.9"))
    found = node(tmp_path, {path: data}, {"nvidia_cudnn_cu13-9.20.0.48": f"{path},sha256=x,{len(data)}\n"})
    cudnn = found["components"]["cudnn"]
    assert [(one["version"], one["method"], one["attributes"]["package"]) for one in cudnn] == [
        ("9.20.0.48", "dist-info", "nvidia_cudnn_cu13")
    ]


def test_version_by_the_header_where_no_package_tells(tmp_path: Path) -> None:
    (tmp_path / "opt/cudnn").mkdir(parents=True)
    lib, include = tmp_path / "usr/local/cuda-13.0/lib64", tmp_path / "usr/local/cuda-13.0/include"
    lib.mkdir(parents=True)
    include.mkdir()
    (lib / "libcudnn.so.9").write_bytes(build(Spec("libcudnn.so.9")))
    (lib / "libcudart.so.13").write_bytes(build(Spec("libcudart.so.13")))
    (include / "cudnn_version.h").write_text(
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n"
    )
    (include / "cuda_runtime_api.h").write_text("#define CUDART_VERSION  13000\n")
    found = collect(root=str(tmp_path), only=("native",))
    assert [(one["version"], one["method"]) for one in found["components"]["cudnn"]] == [("9.14.0", "header")]
    assert [(one["version"], one["method"]) for one in found["components"]["cuda"]] == [("13.0", "header")]


def test_a_library_of_unknown_version_is_there_without_one(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libnccl.so.2").write_bytes(build(Spec("libnccl.so.2")))
    nccl = collect(root=str(tmp_path), only=("native",))["components"]["nccl"]
    assert len(nccl) == 1
    assert "version" not in nccl[0]


def test_the_file_name_of_libfabric_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    source = "unsigned fi_version(void) { return (1u << 16) | 17u; }"
    spec = Spec("libfabric.so.1", strings=("1.20.0", "10.1.17.0", "1.17.0", "127.0.0.1"), source=source)
    (tmp_path / "usr/lib/libfabric.so.1.20.0").write_bytes(build(spec))
    found = collect(root=str(tmp_path), only=("native",))["components"]["libfabric"]
    assert [one["version"] for one in found] == ["1.17.0"]


def test_a_plugin_of_another_maker_is_no_aws_ofi_nccl(tmp_path: Path) -> None:
    folder = tmp_path / "opt/hpcx/nccl_rdma_sharp_plugin/lib"
    folder.mkdir(parents=True)
    (folder / "libnccl-net.so").write_bytes(
        build(Spec("libnccl-net.so", strings=("nccl-rdma-sharp-plugins",), symbols=("ncclNetPlugin_v9",)))
    )
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libnccl.so.2").write_bytes(build(Spec("libnccl.so.2")))
    found = collect(root=str(tmp_path), environ={"LD_LIBRARY_PATH": "/opt/hpcx/nccl_rdma_sharp_plugin/lib"})
    assert found["components"]["aws-ofi-nccl"] == []
    assert found["facts"]["nccl_net_plugin_kind"] == "sharp"
    assert found["facts"]["nccl_net_plugin_api"] == [9]


def test_a_plugin_without_its_libfabric_does_not_load(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib"
    folder.mkdir(parents=True)
    (folder / "libnccl.so.2").write_bytes(build(Spec("libnccl.so.2")))
    (folder / "libnccl-net.so").write_bytes(
        build(
            Spec(
                "x",
                strings=("aws-ofi-nccl 1.18.0",),
                needed=("libfabric.so.1",),
                symbols=("ncclNetPlugin_v9",),
            )
        )
    )
    facts = collect(root=str(tmp_path))["facts"]
    assert facts["nccl_net_plugin_missing"] == ["libfabric.so.1"]


def test_forward_compatibility_counts_only_where_it_is_taken(tmp_path: Path) -> None:
    compat = tmp_path / "usr/local/cuda-13.0/compat"
    compat.mkdir(parents=True)
    (compat / "libcuda.so.580.95.05").write_bytes(build(Spec("libcuda.so.1")))
    (compat / "libcuda.so.1").symlink_to("libcuda.so.580.95.05")
    assert collect(root=str(tmp_path))["components"]["cuda-compat"] == []
    taken = collect(root=str(tmp_path), environ={"LD_LIBRARY_PATH": "/usr/local/cuda-13.0/compat"})
    assert [
        (one["version"], one["attributes"]["package_drivers"]) for one in taken["components"]["cuda-compat"]
    ] == [("13.0", ["580.95.05"])]
    assert taken["facts"]["libcuda_version"] == "580.95.05"


def test_code_of_extensions_is_told_whole_and_that_of_the_toolkit_is_not(tmp_path: Path) -> None:
    """libcufft.so.12 of pkg:pypi/nvidia-cufft@12.0.0.61 shows one image for sm_75 and runs everywhere; cuSPARSELt has few for sm_80."""
    files = {
        "nvidia/cu13/lib/libcufft.so.12": build(Spec("libcufft.so.12", code=(("sm_75", 1),))),
        "ext/_C.so": build(Spec("_C.so", code=(("sm_90a", 60), ("sm_80", 4)))),
        "ext/_other.so": build(Spec("_other.so", code=(("compute_120", 1),), relocatable=(("sm_100", 1),))),
    }
    found = node(tmp_path, files, {
        "nvidia_cufft-12.0.0.61": "nvidia/cu13/lib/libcufft.so.12,sha256=x,1\n",
        "ext-1.0": "ext/_C.so,sha256=x,1\next/_other.so,sha256=x,1\n",
    })  # fmt: skip
    assert found["facts"]["gpu_code"] == ["ext: sm_80 sm_90a sm_100 compute_120"]
    assert {entry["package"] for entry in found["code"]} == {"nvidia_cufft", "ext"}


def test_what_packages_leave_in_the_common_directory_by_mistake_is_no_conflict(tmp_path: Path) -> None:
    files = ("build_backend.py", "setup.py", "tests/test_all.py", "docs/conf.py", "six.py", "tests/real.so")
    found = node(tmp_path, {}, {
        name: "".join(f"{path},sha256={name},1\n" for path in files) for name in ("a-1.0", "b-1.0")
    })  # fmt: skip
    assert found["facts"]["files_owned_twice"] == [f"a and b: /{SITE}/six.py and 1 more"]


TORCH = "torch/lib/libtorch.so"
ADDONS = "tvm_ffi/libaddon_torch{}-cuda.so"


def extensions(root: Path, symbols: dict[str, str]) -> list[str]:
    """Return the packages told as built for another torch: ``symbols`` says what each library wants of a torch with one symbol."""
    files = {TORCH: build(Spec("libtorch.so", symbols=("_ZN3c107presentEv",)))}
    files |= {path: build(Spec(needed=("libtorch.so",), undefined=(name,))) for path, name in symbols.items()}
    records = {"torch-2.14.0": f"{TORCH},sha256=x,1\n"}
    for path in symbols:
        key = f"{path.partition('/')[0]}-1.0"
        records[key] = records.get(key, "") + f"{path},sha256=x,1\n"
    told: list[str] = node(root, files, records)["facts"]["extensions_for_other_torch"]
    return told


def test_an_extension_that_wants_what_torch_has_not(tmp_path: Path) -> None:
    assert extensions(tmp_path, {"mine/_C.so": "_ZN3c106absentEv", "yours/_C.so": "_ZN3c107presentEv"}) == [
        "mine"
    ]


def test_a_wheel_that_serves_many_versions_of_torch_is_not_broken_by_those_that_do_not_fit(
    tmp_path: Path,
) -> None:
    symbols = {ADDONS.format(version): "_ZN3c106absentEv" for version in ("24", "29", "210", "_2.11")}
    assert extensions(tmp_path, symbols) == []


@pytest.mark.parametrize(
    ("sizes", "mixed"),
    [
        ((3, 3), []),
        ((4, 4), []),
        ((3, 4), ["1 files of a, 1 of b"]),
        ((4, 3), ["1 files of a, 1 of b"]),
        ((3, 9), []),
    ],
)
def test_two_wheels_that_each_won_some_files_are_mixed(
    tmp_path: Path, sizes: tuple[int, int], mixed: list[str]
) -> None:
    """a recorded three bytes for each file, b four."""
    paths = ("p/one.py", "p/two.so")
    found = node(
        tmp_path,
        {path: b"x" * size for path, size in zip(paths, sizes, strict=True)},
        {
            f"{name}-1.0": "".join(f"{path},sha256={name},{size}\n" for path in paths)
            for name, size in (("a", 3), ("b", 4))
        },
    )
    assert found["facts"]["files_owned_twice"] == [f"a and b: /{SITE}/p/one.py and 1 more"]
    assert found["facts"]["files_mixed"] == mixed
