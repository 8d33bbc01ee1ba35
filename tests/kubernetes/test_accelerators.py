"""Which resources are accelerators, what one unit is, what labels say: by tables that a user's file adds to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planner.ground.errors import InputError
from planner.kubernetes import accelerators
from planner.kubernetes.accelerators import (
    Tables,
    Unit,
    accelerator,
    alike,
    extended,
    is_gpu_resource,
    model_named,
    unit,
)
from planner.kubernetes.node_properties import (
    gpu_count,
    gpu_model,
    labels_beside,
    machine_type,
    node_pool,
    physical_gpus,
    provisioning_model,
    region,
    zone,
)
from planner.kubernetes.object_records import FrozenMap, Node
from planner.sources import accelerator_file as source
from planner.sources.prices import embedded_book
from tests.seen import each


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    yield
    accelerators.use(Tables())


def node(labels: dict[str, str] | None = None, **amounts: int) -> Node:
    held = FrozenMap({name.replace("__", "/").replace("_", "."): count for name, count in amounts.items()})
    return Node(name="n", labels=FrozenMap(labels or {}), allocatable=held, capacity=held)


# ── resources ────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("resource", "vendor", "of"),
    [
        ("nvidia.com/gpu", "NVIDIA", Unit.DEVICE),
        ("nvidia.com/gpu.shared", "NVIDIA", Unit.SHARE),
        ("nvidia.com/mig-1g.5gb", "NVIDIA", Unit.SLICE),
        ("nvidia.com/mig-1g.5gb.shared", "NVIDIA", Unit.SHARE),
        ("nvidia.com/gpumem-percentage", "NVIDIA", Unit.MEMORY),
        ("amd.com/gpu", "AMD", Unit.DEVICE),
        ("amd.com/cpx_nps4", "AMD", Unit.SLICE),
        ("gpu.intel.com/i915", "Intel", Unit.DEVICE),
        ("habana.ai/gaudi", "Intel", Unit.DEVICE),
        ("google.com/tpu", "Google", Unit.DEVICE),
        ("aws.amazon.com/neuroncore", "AWS", Unit.CORE),
        ("huawei.com/Ascend910", "Huawei", Unit.DEVICE),
        ("cambricon.com/mlu.smlu.vcore", "Cambricon", Unit.SHARE),
        ("alibabacloud.com/gpu-milli", "NVIDIA", Unit.CORE),
        ("tencent.com/vcuda-core", "NVIDIA", Unit.CORE),
    ],
)
def test_what_one_unit_is(resource: str, vendor: str, of: Unit) -> None:
    row = accelerator(resource)
    assert row is not None
    assert (row.vendor, unit(resource)) == (vendor, of)
    assert is_gpu_resource(resource) is (of in (Unit.DEVICE, Unit.SLICE, Unit.SHARE))


@pytest.mark.parametrize("resource", ["cpu", "nvidia.com/hostdev", "vpc.amazonaws.com/efa", "example.com/gpu", ""])
def test_what_is_no_accelerator(resource: str) -> None:
    assert accelerator(resource) is None
    assert not is_gpu_resource(resource)


def test_only_what_is_alike_is_added() -> None:
    assert alike({"nvidia.com/gpu": 4, "nvidia.com/mig-1g.5gb": 7, "nvidia.com/gpu.shared": 16}) == 4
    assert alike({"nvidia.com/mig-1g.5gb": 7, "nvidia.com/mig-2g.10gb": 3, "cpu": 8}) == 10
    assert alike({"nvidia.com/gpu.shared": 16}) == 16
    assert (
        alike({"aws.amazon.com/neuron": 16, "aws.amazon.com/neurondevice": 16, "aws.amazon.com/neuroncore": 128}) == 16
    )
    assert alike({"aws.amazon.com/neurondevice": 2}) == 2
    assert alike({"tencent.com/vcuda-core": 800}) == 0


# ── labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("labels", "pool"),
    [
        ({"cloud.google.com/gke-nodepool": "a", "nodepool": "b"}, "a"),
        ({"agentpool": "np1"}, "np1"),
        ({"karpenter.sh/provisioner-name": "default"}, "default"),
        ({"doks.digitalocean.com/node-pool": "pool-x"}, "pool-x"),
        ({"node-pool": "oke"}, "oke"),
        ({"tke.cloud.tencent.com/nodepool-id": "np-8", "nodepool": "x"}, "np-8"),
        ({"node.tke.cloud.tencent.com/machineset": "np-9"}, "np-9"),
        ({"hypershift.openshift.io/nodePool": "h"}, "h"),
        ({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/gpu": ""}, "gpu, worker"),
        ({}, ""),
    ],
)
def test_the_pool(labels: dict[str, str], pool: str) -> None:
    assert node_pool(node(labels)) == pool


def test_machine_zone_and_region_under_their_old_names() -> None:
    old = node(
        {
            "beta.kubernetes.io/instance-type": "m5.large",
            "failure-domain.beta.kubernetes.io/zone": "eu-west-1a",
            "failure-domain.beta.kubernetes.io/region": "eu-west-1",
        }
    )
    assert (machine_type(old), zone(old), region(old)) == ("m5.large", "eu-west-1a", "eu-west-1")


@pytest.mark.parametrize(
    ("zone_name", "of"),
    [
        ("asia-northeast3-b", "asia-northeast3"), ("us-central1-a", "us-central1"), ("eastus-1", "eastus"), ("us-east-1a", "us-east-1"),
        ("us-gov-west-1b", "us-gov-west-1"), ("us-west-2-lax-1a", "us-west-2"), ("us-east-1-wl1-bos-wlz-1", "us-east-1"), ("rack", ""),
    ],
)  # fmt: skip
def test_a_zone_names_its_region(zone_name: str, of: str) -> None:
    assert region(node({"topology.kubernetes.io/zone": zone_name})) == of


@pytest.mark.parametrize(
    ("labels", "model"),
    [
        ({"nvidia.com/gpu.product": "Tesla-T4-SHARED"}, "T4"),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, "A100"),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"}, "A100"),
        ({"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice"}, "tpu-v5-lite-podslice"),
        ({"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, "MI300X"),
        ({"alibabacloud.com/gpu-card-model": "V100M32"}, "V100M32"),
        ({"kubernetes.azure.com/accelerator": "nvidia", "node.kubernetes.io/instance-type": "Standard_NC24ads_A100_v4"}, "A100"),
        ({"node.kubernetes.io/instance-type": "Standard_ND96isr_H100_v5"}, "H100"),
        ({"node.kubernetes.io/instance-type": "Standard_NC6s_v3"}, "V100"),
        ({"node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3"}, "T4"),
        ({"node.kubernetes.io/instance-type": "Standard_D4s_v5"}, ""),
        ({"accelerator": "nvidia"}, ""),
        ({"node.kubernetes.io/instance-type": "p5.48xlarge"}, "H100"),
        ({"node.kubernetes.io/instance-type": "g6e.12xlarge"}, "L40S"),
        ({"node.kubernetes.io/instance-type": "p4de.24xlarge"}, "A100-80GB"),
        ({"node.kubernetes.io/instance-type": "p5en.48xlarge"}, "H200"),
        ({"node.kubernetes.io/instance-type": "g2-standard-8"}, "L4"),
        ({"node.kubernetes.io/instance-type": "a3-megagpu-8g"}, "H100"),
        ({"node.kubernetes.io/instance-type": "a2-ultragpu-1g"}, "A100-80GB"),
        ({"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}, "H100"),
        ({"node.kubernetes.io/instance-type": "BM.GPU.A100-v2.8"}, "A100-80GB"),
        ({"node.kubernetes.io/instance-type": "VM.GPU.A10.1"}, "A10"),
        ({"node.kubernetes.io/instance-type": "VM.Standard.E4.Flex"}, ""),
        ({"node.kubernetes.io/instance-type": "g5.xlarge", "nvidia.com/gpu.product": "NVIDIA-A10G"}, "A10G"),
        ({"node.kubernetes.io/instance-type": "p3.2xlarge", "k8s.amazonaws.com/accelerator": "true"}, "V100"),
        ({"k8s.amazonaws.com/accelerator": "nvidia-tesla-t4"}, "T4"),
        ({"gpu.nvidia.com/class": "A100_NVLINK_80GB"}, "A100-80GB"),
        ({"skypilot.co/accelerator": "h100"}, "H100"),
    ],
)  # fmt: skip
def test_the_model(labels: dict[str, str], model: str) -> None:
    assert gpu_model(node(labels)) == model


@pytest.mark.parametrize(
    ("labels", "bought"),
    [
        ({"node.kubernetes.io/lifecycle": "spot"}, "spot"),
        ({"oci.oraclecloud.com/oke-is-preemptible": "true"}, "spot"),
        ({"eks.amazonaws.com/capacityType": "SPOT"}, "spot"),
        ({"node.kubernetes.io/lifecycle": "normal"}, "on-demand"),
        ({"cloud.google.com/gke-provisioning": "standard"}, "on-demand"),
        ({"karpenter.sh/capacity-type": "reserved"}, "reserved"),
        (
            {"karpenter.sh/capacity-type": "reserved", "karpenter.k8s.aws/capacity-reservation-type": "default"},
            "reserved",
        ),
        (
            {"karpenter.sh/capacity-type": "reserved", "karpenter.k8s.aws/capacity-reservation-type": "capacity-block"},
            "capacity-block",
        ),
        ({"eks.amazonaws.com/capacityType": "CAPACITY_BLOCK"}, "capacity-block"),
    ],
)
def test_how_it_was_bought(labels: dict[str, str], bought: str) -> None:
    assert provisioning_model(node(labels)) == bought


ONE = {
    "H100": "h100 H100 nvidia-h100-80gb NVIDIA-H100-80GB-HBM3 NVIDIA-H100-PCIe H100_NVLINK_80GB nvidia-h100-mega-80gb",
    "A100": "a100 nvidia-tesla-a100 NVIDIA-A100-SXM4-40GB NVIDIA-A100-PCIE-40GB nvidia-ampere-a100",
    "A100-80GB": "nvidia-a100-80gb NVIDIA-A100-80GB-PCIe NVIDIA-A100-SXM4-80GB A100_PCIE_80GB",
    "T4": "t4 T4 nvidia-tesla-t4 Tesla-T4 Tesla-T4-SHARED",
    "V100": "v100 nvidia-tesla-v100 Tesla-V100-SXM2-16GB",
    "V100-32GB": "Tesla-V100-SXM2-32GB",
    "H200": "nvidia-h200-141gb NVIDIA-H200 h200",
    "RTX-PRO-6000": "nvidia-rtx-pro-6000 NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
    "MI300X": "mi300x AMD_Instinct_MI300X_OAM AMD-Instinct-MI300X",
    "H100-NVL": "NVIDIA-H100-NVL",
    "A10G": "a10g NVIDIA-A10G",
    "tpu-v5-lite-podslice": "tpu-v5-lite-podslice",
    "V100M32": "V100M32",
    "": "nvidia true gpu",
}


def test_one_model_has_one_name() -> None:
    """However a label calls it; the name itself is one too, and so are the price book's."""
    for model, names in ONE.items():
        assert {model_named(name) for name in (*names.split(), *([model] if model else []))} == {model}


def test_the_price_books_names_are_the_same() -> None:
    for gpu in each(embedded_book().gpu_models.values()):
        assert model_named(gpu.model) in (gpu.model, "H100")  # GKE sells H100s with another network as H100-MEGA
        assert model_named(gpu.gke_accelerator) == model_named(gpu.model)


def test_a_label_stands_beside_the_model_where_it_is_another_word() -> None:
    some = [node({"nvidia.com/gpu.product": name}) for name in ("NVIDIA-L4", "L4", "Tesla-T4-SHARED")]
    assert labels_beside(some) == ("NVIDIA-L4", "Tesla-T4-SHARED")
    assert labels_beside([node({"node.kubernetes.io/instance-type": "g6.xlarge"})]) == ()


def test_physical_devices_are_no_slices() -> None:
    single = {"nvidia.com/gpu.product": "A100-MIG-1g.5gb", "nvidia.com/gpu.count": "56"}
    assert physical_gpus(node(single, nvidia_com__gpu=56)) is None
    assert gpu_count(node(single, nvidia_com__gpu=56)) == 56
    assert physical_gpus(node(single | {"cloud.google.com/gke-accelerator-count": "8"}, nvidia_com__gpu=56)) == 8
    assert physical_gpus(node({"karpenter.k8s.aws/instance-gpu-count": "4"}, nvidia_com__gpu=16)) == 4


# ── a user's own ─────────────────────────────────────────────────────────────────────────────────────────────────────
OWN = """
resources:
- {resource: example.com/npu, vendor: Example, noun: NPU}
- {resource: example.com/npu-part, unit: slice}
- {resource: nvidia.com/gpu, vendor: Ours, unit: share}
labels:
  pool: [example.com/pool]
  model: [example.com/chip]
  spot: {example.com/lifetime: [Short]}
"""


def test_a_file_adds_rows_before_the_built_in_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    source.use(str(tmp_path / "own.yaml"))
    assert (unit("example.com/npu"), unit("example.com/npu-part")) == (Unit.DEVICE, Unit.SLICE)
    assert unit("nvidia.com/gpu") is Unit.SHARE
    assert unit("amd.com/gpu") is Unit.DEVICE
    own = node(
        {
            "example.com/pool": "p",
            "cloud.google.com/gke-nodepool": "g",
            "example.com/chip": "c",
            "example.com/lifetime": "short",
        }
    )
    assert (node_pool(own), gpu_model(own), provisioning_model(own)) == ("p", "c", "spot")
    accelerators.use(Tables())
    source.use()
    assert unit("example.com/npu") is None
    monkeypatch.setenv("HEADROOM_ACCELERATORS", str(tmp_path / "own.yaml"))
    source.use()
    assert unit("example.com/npu") is Unit.DEVICE


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"resources": [{"resource": "npu"}]}, "has no domain"),
        ({"resources": [{"vendor": "x"}]}, "resource"),
        ({"resources": [{"resource": "a/b", "unit": "half"}]}, "half"),
        ({"labels": {"colour": []}}, "colour"),
        ([], "isn't a table of accelerators"),
        (None, "isn't a table of accelerators"),
    ],
)
def test_what_is_no_such_table_is_refused(values: Any, what: str) -> None:
    with pytest.raises(InputError, match=what) as refused:
        extended(values, "own.yaml")
    assert refused.value.where == "own.yaml"
    assert refused.value.fix


@pytest.mark.parametrize("content", [b"", b"a: 1\n---\nb: 2\n", b"\xff", b"a: [", b"x" * (2**20 + 1)])
def test_files_that_can_not_be_read(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_bytes(content)
    for path in (tmp_path / "own.yaml", tmp_path / "none.yaml"):
        with pytest.raises(InputError):
            source.use(str(path))
