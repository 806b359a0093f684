from __future__ import annotations

import pytest

from tests.ingest.reading import read_sample, read_text, versions


class TestDockerfile:
    def test_the_last_stage_and_its_parents_count(self) -> None:
        found = read_sample("Dockerfile")
        assert found.image == "nvcr.io/nvidia/pytorch:25.09-py3"
        assert "flash-attn" not in found.components  # installed in a stage that is thrown away
        assert versions(found, "torch") == {"2.8.0+cu129"}  # ARG, and the index it comes from
        assert versions(found, "deepspeed") == {"0.18.2"}
        assert versions(found, "nccl") == {
            "2.27.7",
            "2.28.3",
        }  # ENV and apt: two statements, two observations
        assert versions(found, "efa-installer") == {"1.44.0"}
        assert found.environment == {"NCCL_VERSION": "2.27.7", "NCCL_DEBUG": "INFO", "FI_PROVIDER": "efa"}
        assert all(o.scope == "container" for seen in found.components.values() for o in seen)

    def test_a_range_is_noted(self) -> None:
        assert any(
            n.text.startswith("vllm is only asked for as >=0.10") for n in read_sample("Dockerfile").notes
        )

    def test_a_from_without_a_known_argument_names_no_image(self) -> None:
        assert read_text("FROM ${BASE}\nRUN pip install torch==2.8.0\n", name="Dockerfile").image != "${BASE}"


class TestImageConfiguration:
    def test_ngc_image(self) -> None:
        found = read_sample("image_ngc.json")
        assert found.image == "nvcr.io/nvidia/pytorch:25.09-py3"
        assert found.arch == "x86_64"
        assert versions(found, "cuda") == {"13.0.1.012"}
        assert versions(found, "nccl") == {"2.27.7"}
        assert versions(found, "cudnn") == {"9.13.0.50"}
        assert versions(found, "torch") == {"2.9.0a0+50eac811a6"}
        assert versions(found, "transformer-engine") == {"2.7"}
        assert versions(found, "cuda-compat") == {"580.82.07"}
        assert found.environment["NCCL_NET_PLUGIN"] == "spcx"

    def test_running_container_with_its_limits(self) -> None:
        found = read_sample("docker_inspect_container.json")
        assert found.image == "vllm/vllm-openai:v0.11.0"
        assert found.facts["limit:shm"] == 64 << 20
        assert found.facts["limit:memlock"] == 64

    def test_oci_configuration(self) -> None:
        found = read_text(
            '{"architecture": "arm64", "config": {"Env": ["CUDA_VERSION=12.8.1"]}, "rootfs": {}}'
        )
        assert found.arch == "aarch64"
        assert versions(found, "cuda") == {"12.8.1"}

    @pytest.mark.parametrize("text", ['{"Env": 5}', '{"Config": {"Env": [null, 3, {}]}}', '[{"Config": []}]'])
    def test_other_shapes_are_survived(self, text: str) -> None:
        assert read_text(text).components == {}


class TestKubernetes:
    def test_nodes_are_read_as_one_and_differences_told(self) -> None:
        found = read_sample("nodes.json")
        assert (found.instance, found.gpu_model, found.gpu_count) == (
            "p5.48xlarge",
            "NVIDIA H100 80GB HBM3",
            8,
        )
        assert versions(found, "driver") == {"570.172.08", "550.163.01"}
        assert found.facts["driver_cuda"] == "12.8"
        assert found.facts["node_count"] == 3
        assert found.facts["limit:vpc.amazonaws.com/efa"] == 32
        assert found.facts["gpu_shared"] is True
        assert found.facts["node_label_differs"] == ("nvidia.com/gpu.product",)
        assert versions(found, "kubernetes") == {"1.33.1-eks-1fbb135"}

    def test_pod(self) -> None:
        found = read_sample("pod.yaml")
        assert found.image is not None
        assert found.image.endswith("/pytorch-training:2.8.0-gpu-py312-cu129-ubuntu22.04-ec2")
        assert found.environment == {
            "NCCL_DEBUG": "INFO",
            "FI_PROVIDER": "efa",
            "NCCL_SOCKET_IFNAME": "^docker,lo",
        }
        assert found.facts["limit:vpc.amazonaws.com/efa"] == 32
        assert found.facts["limit:memory"] == 8000 << 20
        assert found.facts["limit:hugepages"] == 2560
        assert found.gpu_count is None  # what a pod may use is not what the node has

    def test_described_node(self) -> None:
        found = read_sample("describe_node.txt")
        assert (found.instance, found.gpu_model, found.gpu_count) == ("p5en.48xlarge", "NVIDIA H200", 8)
        assert versions(found, "driver") == {"570.133.20"}
        assert found.arch == "x86_64"

    def test_killed_pod(self) -> None:
        facts = read_text(
            "#   Last State: Terminated  Reason: OOMKilled  Exit Code: 137\n#   Limits: memory 8Gi\n"
        ).facts
        assert facts["oom_kills"] == 1
        assert facts["limit:memory"] == 8 << 30


class TestDeployments:
    def test_modules_charts_images_and_values_name_versions(self) -> None:
        found = read_sample("deployments.txt")
        assert {
            c: versions(found, c) for c in ("efa-driver", "gdrdrv", "driver", "gpu-operator", "karpenter")
        } == {
            "efa-driver": {"2.12.1"},
            "gdrdrv": {"2.4.1"},
            "driver": {"550.54.15"},
            "gpu-operator": {"24.3.0"},
            "karpenter": {"1.0.2"},
        }
        assert versions(found, "nvidia-device-plugin") == {"0.14.5"}
        assert versions(found, "nvidia-container-toolkit") == {"1.14.6"}
        assert versions(found, "dcgm-exporter") == {"3.3.5"}
        assert "grafana" not in found.components
        assert "python" not in found.components

    def test_modules_tell_their_kernels(self) -> None:
        found = read_text(
            "$ uname -r\n6.8.0-1024-aws\n$ dkms status\nefa/2.13.0, 6.8.0-1021-aws, x86_64: installed\n"
            "$ dpkg -l | grep modules\nii  linux-modules-nvidia-550-6.8.0-1019-aws  6.8.0-1019.20  amd64\n"
        )
        assert found.facts["kernel_release"] == "6.8.0-1024-aws"
        assert found.facts["kernels_of_efa_driver"] == ("6.8.0-1021-aws",)
        assert found.facts["kernels_of_driver"] == ("6.8.0-1019-aws",)
        assert "driver" not in found.components

    @pytest.mark.parametrize(
        ("text", "component", "version"),
        [
            ("$ enroot version\n3.5.0\n", "enroot", "3.5.0"),
            ("$ dcgmi --version\n\nVersion : 3.3.9\nBuild ID : 22\n", "dcgm", "3.3.9"),
            ('$ pcluster version\n{\n  "version": "3.8.0"\n}\n', "parallelcluster", "3.8.0"),
            ("$ lfs --version\nlfs 2.15.4\n", "lustre-client", "2.15.4"),
            ("cli-version: 1.17.8\nlib-version: 1.17.8\n", "nvidia-container-toolkit", "1.17.8"),
            ("IMEX version is: 570.133.20\n", "imex", "570.133.20"),
            ("   NodeAddr=gpu-1 NodeHostName=gpu-1 Version=23.02.7\n", "slurm", "23.02.7"),
        ],
    )
    def test_programs_that_tell_their_version(self, text: str, component: str, version: str) -> None:
        assert versions(read_text(text), component) == {version}


class TestOurDocuments:
    def test_inventory(self) -> None:
        found = read_sample("inventory.json")
        assert (found.subject, found.gpu_model, found.gpu_count, found.instance) == (
            "node-a",
            "b200",
            8,
            "p6-b200.48xlarge",
        )
        assert versions(found, "torch") == {"2.9.1+cu130"}
        assert found.components["gdrdrv"] == ()
        assert found.components["nccl"][0].loaded is True
        assert found.facts == {"memlock_kb": 64, "xid": (63, 94)}

    def test_lock(self) -> None:
        found = read_sample("lock.json")
        assert (found.gpu_model, found.instance, found.arch) == ("b200", "p6-b200.48xlarge", "x86_64")
        assert found.image == "nvcr.io/nvidia/pytorch:25.09-py3"
        assert versions(found, "nccl") == {"2.27.7"}
        assert found.components["driver"][0].evidence.where == "lock.json:7"
        assert found.environment == {"FI_PROVIDER": "efa"}


def test_compose_file() -> None:
    found = read_sample("compose.yaml")
    assert found.image == "vllm/vllm-openai:v0.11.0"
    assert found.environment == {"NCCL_DEBUG": "INFO", "NCCL_P2P_DISABLE": "1"}
    assert found.facts["limit:shm"] == 10 << 30
