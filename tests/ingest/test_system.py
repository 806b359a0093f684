from __future__ import annotations

import pytest

from tests.ingest.reading import attributes, read_sample, read_text, versions


class TestKernelLog:
    def test_modules_and_events(self) -> None:
        found = read_sample("dmesg.txt")
        assert versions(found, "driver") == {"580.95.05"}
        assert attributes(found, "driver") == {"flavour": "open"}
        assert found.components["driver"][0].scope == "host"
        assert versions(found, "efa-driver") == {"2.17.3g"}
        assert versions(found, "kernel") == {"6.8.0-1031-aws"}
        assert found.facts["xid"] == (79, 63)
        assert found.facts["sxid"] == (12028,)
        assert found.facts["gpu_fell_off_bus"] is True
        assert found.facts["oom_kills"] == 1
        assert found.arch == "x86_64"

    def test_boot_parameters_lose_the_names_of_disks(self) -> None:
        assert (
            read_sample("dmesg.txt").facts["kernel_command_line"]
            == "ro iommu=pt nvme_core.io_timeout=4294967295"
        )

    def test_journal_with_mismatched_driver_halves(self) -> None:
        found = read_sample("journal.txt")
        assert versions(found, "driver") == {"550.90.07", "550.127.05"}
        assert found.facts["driver_flavour"] == "proprietary"
        assert found.facts["driver_library_mismatch"] is True
        assert found.facts["modules_with_missing_symbols"] == ("efa_nv_peermem",)
        assert found.facts["oom_killed"] == ("pt_data_worker",)

    def test_proc_version_file(self) -> None:
        text = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (dvs-builder@U16)\nGCC version:  gcc 13\n"
        found = read_text(text)
        assert versions(found, "driver") == {"570.124.06"}
        assert attributes(found, "driver") == {"flavour": "open"}

    @pytest.mark.parametrize("number", [13, 31, 48, 63, 64, 74, 79, 94, 95, 119, 154])
    def test_xid_numbers(self, number: int) -> None:
        text = f"[  812.44] NVRM: Xid (PCI:0000:9c:00): {number}, pid=1, name=x, something\n"
        assert read_text(text).facts["xid"] == (number,)

    def test_events_of_nvlink_5_that_are_not_fatal_stand_apart(self) -> None:
        found = read_text(
            "[171170.0] NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)\n"
            "[171170.1] NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)\n"
            "[171170.2] NVRM: Xid (PCI:0018:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)\n"
        )
        assert found.facts["xid"] == (149,)
        assert found.facts["xid_nonfatal"] == (145, 149)


class TestShell:
    def test_session(self) -> None:
        found = read_sample("shell_session.txt")
        expected = {
            "limit:memlock": 64,
            "memlock_kb": 64,
            "limit:nofile": 1048576,
            "service:nvidia-fabricmanager": "inactive",
            "service:nvidia-persistenced": "active",
            "service:nvidia-imex": "not-found",
            "module:gdrdrv": False,
            "module:efa": True,
            "device:/dev/gdrdrv": False,
            "param:nvidia_uvm.uvm_disable_hmm": "N",
            "libcuda_path": "/usr/local/cuda-12.9/compat/libcuda.so.1",
            "cuda_available": True,
            "limit:shm": 1 << 40,
        }
        assert expected.items() <= found.facts.items()
        assert found.gpu_count == 8
        assert found.arch == "x86_64"
        assert found.environment == {
            "LD_LIBRARY_PATH": "/opt/amazon/efa/lib",
            "NCCL_DEBUG": "INFO",
            "FI_PROVIDER": "efa",
        }
        assert found.image == "vllm/vllm-openai:v0.11.0"
        assert versions(found, "torch") == {"2.8.0+cu129"}
        assert {(o.version, o.loaded) for o in found.components["nccl"]} == {
            ("2.27.7", None),
            ("2.27.3", True),
        }
        assert versions(found, "cuda-toolkit") == {"12.4.131"}

    def test_compat_library_that_comes_first_is_the_one_in_use(self) -> None:
        (compat,) = read_sample("shell_session.txt").components["cuda-compat"]
        assert (compat.path, compat.loaded) == ("/usr/local/cuda-12.9/compat/libcuda.so.1", True)

    @pytest.mark.parametrize(
        ("text", "fact", "value"),
        [
            ("$ lsmod | grep -c nvidia_peermem\n0\n", "module:nvidia_peermem", False),
            ("$ lsmod | grep nvidia_peermem\n", "module:nvidia_peermem", False),
            ("$ lsmod | grep -E 'efa|nvidia'\nefa 151552 0\n", "module:efa", True),
            ("$ lsmod | grep -E 'efa|nvidia_peermem'\nefa 151552 0\n", "module:nvidia_peermem", False),
            (
                "$ systemctl is-active nvidia-fabricmanager\nfailed\n",
                "service:nvidia-fabricmanager",
                "failed",
            ),
            (
                "# systemctl is-active nvidia-persistenced\ninactive\n",
                "service:nvidia-persistenced",
                "inactive",
            ),
            (
                "Unit nvidia-fabricmanager.service could not be found.\n",
                "service:nvidia-fabricmanager",
                "not-found",
            ),
            (
                "$ ls /dev/infiniband\nls: cannot access '/dev/infiniband': No such file or directory\n",
                "device:/dev/infiniband",
                False,
            ),
            ("$ ulimit -l\nunlimited\n", "limit:memlock", "unlimited"),
            ("max locked memory           (kbytes, -l) 65536\n", "limit:memlock", 65536),
            (
                "Max locked memory         65536                65536                bytes\n",
                "limit:memlock",
                64,
            ),
            ("HugePages_Free:        3\n", "hugepages_free", 3),
            ("NUMA node(s):                       8\n", "numa_nodes", 8),
            (" Cgroup Driver: systemd\n", "cgroup_driver", "systemd"),
            ("shm             64M     0   64M   0% /dev/shm\n", "limit:shm", 64 << 20),
        ],
    )
    def test_facts(self, text: str, fact: str, value: object) -> None:
        assert read_text(text).facts[fact] == value

    def test_a_unit_that_does_not_exist_means_its_component_is_absent(self) -> None:
        assert (
            read_text("Unit nvidia-fabricmanager.service could not be found.\n").components["fabric-manager"]
            == ()
        )

    def test_status_of_a_unit_by_its_heading(self) -> None:
        text = "● nvidia-fabricmanager.service - NVIDIA fabric manager service\n     Loaded: loaded\n     Active: failed (Result: exit-code)\n"
        assert read_text(text).facts["service:nvidia-fabricmanager"] == "failed"

    def test_modinfo(self) -> None:
        found = read_text(
            "$ modinfo nvidia | egrep 'license|^version'\nversion:        535.54.03\nlicense:        NVIDIA\n"
        )
        assert versions(found, "driver") == {"535.54.03"}
        assert found.facts["driver_flavour"] == "proprietary"

    @pytest.mark.parametrize(
        ("text", "component", "version"),
        [
            ("$ uname -r\n5.15.133-86.144.amzn2.x86_64\n", "kernel", "5.15.133-86.144.amzn2.x86_64"),
            ("ldd (Ubuntu GLIBC 2.35-0ubuntu3.8) 2.35\n", "glibc", "2.35"),
            ("ldd (GNU libc) 2.34\n", "glibc", "2.34"),
            ("Cuda compilation tools, release 12.4, V12.4.131\n", "cuda-toolkit", "12.4.131"),
            ("nvcc: release 12.8, V12.8.93\n", "cuda-toolkit", "12.8.93"),
            ("Build cuda_12.8.r12.8/compiler.35583870_0\n", "cuda-toolkit", "12.8"),
            ('PRETTY_NAME="Ubuntu 22.04.5 LTS"\n', "os", "ubuntu-22.04"),
            ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', "os", "debian-12"),
            ("Rocky Linux 9.6, kernel 5.14.0-570.23.1.el9_6.x86_64\n", "os", "rocky-9.6"),
            (
                "Rocky Linux 9.6, kernel 5.14.0-570.23.1.el9_6.x86_64\n",
                "kernel",
                "5.14.0-570.23.1.el9_6.x86_64",
            ),
            ("Red Hat Enterprise Linux 9.6\n", "os", "rhel-9.6"),
            ("dcgmi  version: 3.3.5\n", "dcgm", "3.3.5"),
        ],
    )
    def test_versions(self, text: str, component: str, version: str) -> None:
        assert versions(read_text(text), component) == {version}

    def test_a_distributions_version_is_no_kernel(self) -> None:
        assert "kernel" not in read_text("Red Hat Enterprise Linux 9.6\n").components

    def test_echo_of_an_unset_variable(self) -> None:
        assert read_text('$ echo "[$TRITON_PTXAS_PATH]"\n[]\n').environment == {"TRITON_PTXAS_PATH": ""}

    def test_values_of_a_python_one_liner_go_by_their_place(self) -> None:
        found = read_text(
            '$ python -c "import torch; print(torch.__version__, torch._C._GLIBCXX_USE_CXX11_ABI)"\n2.2.0+cu118 False\n'
        )
        assert versions(found, "torch") == {"2.2.0+cu118"}
        assert attributes(found, "torch")["abi"] == "pre-cxx11"

    def test_a_comment_is_no_command(self) -> None:
        found = read_text("# platform\ninstance-type: p5.48xlarge\n# see ls output below\nNCCL_DEBUG=INFO\n")
        assert found.instance == "p5.48xlarge"
        assert found.environment == {"NCCL_DEBUG": "INFO"}


class TestLibraries:
    def test_release_in_a_file_name(self) -> None:
        found = read_text(
            "$ readlink -f /usr/lib/x86_64-linux-gnu/libnccl.so.2\n/usr/lib/x86_64-linux-gnu/libnccl.so.2.23.4\n"
        )
        (seen,) = found.components["nccl"]
        assert (seen.version, seen.path) == ("2.23.4", "/usr/lib/x86_64-linux-gnu/libnccl.so.2.23.4")

    def test_listed_directory_is_part_of_the_path(self) -> None:
        found = read_text("$ ls /usr/local/cuda/compat\nlibcuda.so  libcuda.so.1  libcuda.so.535.104.12\n")
        (seen,) = found.components["cuda-compat"]
        assert (seen.version, seen.path) == ("535.104.12", "/usr/local/cuda/compat/libcuda.so.535.104.12")

    def test_interface_numbers_of_other_makers_are_no_releases(self) -> None:
        assert read_text("/opt/amazon/efa/lib/libfabric.so.1.29.0\n/lib/libmpi.so.40.30.5\n").components == {}

    def test_toolkit_library_has_its_version_from_its_directory(self) -> None:
        found = read_text("\tlibnvJitLink.so.12 => /usr/local/cuda-12.1/lib64/libnvJitLink.so.12\n")
        assert versions(found, "nvjitlink") == {"12.1"}

    def test_parts_loaded_from_two_places(self) -> None:
        text = (
            "calling init: /opt/venv/lib/python3.10/site-packages/nvidia/cudnn/lib/libcudnn.so.9\n"
            "calling init: /lib/x86_64-linux-gnu/libcudnn_engines_tensor_ir.so.9\n"
        )
        assert read_text(text).facts["mixed_libraries"] == ("cudnn",)
        assert "mixed_libraries" not in read_text(text.splitlines()[0]).facts


class TestPrograms:
    """Lines that start a program, without a prompt before them."""

    def test_a_container(self) -> None:
        found = read_text(
            "docker run --rm --gpus all -e NCCL_DEBUG=INFO -e LD_PRELOAD=/usr/lib/libnccl.so.2.12.7 nvcr.io/nvidia/pytorch:25.03-py3 python x.py\n"
        )
        assert found.environment == {"NCCL_DEBUG": "INFO", "LD_PRELOAD": "/usr/lib/libnccl.so.2.12.7"}
        assert found.image == "nvcr.io/nvidia/pytorch:25.03-py3"

    def test_variables_before_a_launcher(self) -> None:
        found = read_text("NCCL_PROTO=simple NCCL_ALGO=Ring torchrun --nproc_per_node 8 train.py\n")
        assert found.environment == {"NCCL_PROTO": "simple", "NCCL_ALGO": "Ring"}

    def test_python_prompt(self) -> None:
        found = read_text(
            ">>> import torch\n>>> torch.__version__\n'2.9.1+cu128'\n>>> torch.cuda.is_available()\nFalse\n"
        )
        assert versions(found, "torch") == {"2.9.1+cu128"}
        assert found.facts["cuda_available"] is False


def test_fabric_manager_says_that_versions_differ() -> None:
    found = read_text(
        "nvidia-fabricmanager[2212]: fabric manager version 570.133.20 doesn't match with driver version 570.148.08\n"
    )
    assert versions(found, "fabric-manager") == {"570.133.20"}
    assert versions(found, "driver") == {"570.148.08"}


def test_newer_nvidia_smi_names_its_versions_otherwise() -> None:
    found = read_text(
        "| NVIDIA-SMI 590.44.01              KMD Version: 590.44.01      CUDA UMD Version: 13.1     |\n"
    )
    assert versions(found, "driver") == {"590.44.01"}
    assert found.facts["driver_cuda"] == "13.1"


def test_a_long_listing_names_files_only() -> None:
    found = read_text(
        "$ ls -la /opt/amazon/ofi-nccl/lib/\ntotal 2400\ndrwxr-xr-x 2 root root    4096 Jan  1 00:00 .\n"
        "lrwxrwxrwx 1 root root      14 Jan  1 00:00 libnccl-net-ofi.so -> libnccl-net.so\n"
    )
    assert found.facts == {"file:/opt/amazon/ofi-nccl/lib/libnccl-net-ofi.so": True}


def test_keys_of_os_release_are_no_variables() -> None:
    assert (
        read_text('PRETTY_NAME="Ubuntu 22.04.5 LTS"\nNAME="Ubuntu"\nVERSION_ID="22.04"\n').environment == {}
    )


def test_kubectl_describe_sets_amounts_in_columns() -> None:
    found = read_text(
        "Name:               hyperpod-i-0a1b2c\nLabels:             node.kubernetes.io/instance-type=ml.p5.48xlarge\n"
        "Capacity:\n  nvidia.com/gpu:         8\n  vpc.amazonaws.com/efa:  32\n"
        "System Info:\n  Kernel Version:             6.1.141-155.222.amzn2023.x86_64\n"
    )
    assert versions(found, "kernel") == {"6.1.141-155.222.amzn2023.x86_64"}
    assert found.gpu_count == 8
    assert found.facts["limit:vpc.amazonaws.com/efa"] == 32
