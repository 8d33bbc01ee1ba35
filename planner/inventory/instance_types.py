"""Instance types of a cloud from a list of its offerings: the properties of a node before it exists."""

from __future__ import annotations

import re
from typing import Final

from planner.ground.records import Record
from planner.ground.well_known_names import CPU, KARPENTER_GPU_NAME, MEMORY, NVIDIA_GPU
from planner.kubernetes.clouds import model_of_machine
from planner.kubernetes.object_records import EMPTY, Amounts, FrozenMap, Labels

_GIB: Final = 2**30
_MIB: Final = 2**20
_AWS: Final = re.compile(r"(([a-z]+)(\d+)[a-z0-9-]*)\.([a-z0-9-]+)\Z")
_BY_PROVIDER: Final = ("karpenter.k8s.aws/", "eks.amazonaws.com/", "karpenter.kwok.sh/")  # the second: EKS Auto Mode


class Offering(Record):
    """One way to buy a machine. `usd_per_hour` None: nothing says."""

    zone: str
    capacity_type: str
    usd_per_hour: float | None = None


class InstanceType(Record):
    """A machine type.

    Attributes
    ----------
    capacity : what the machine has
    overhead : what of it pods don't get; None where nothing says
    labels : what its nodes are labelled with beside what its name and amounts tell
    """

    name: str
    capacity: Amounts
    overhead: Amounts | None = None
    architecture: str = "amd64"
    operating_system: str = "linux"
    offerings: tuple[Offering, ...] = ()
    labels: Labels = EMPTY

    @property
    def allocatable(self) -> Amounts:
        """What pods may ask of it. Without a word on the overhead, all."""
        less = self.overhead or EMPTY
        return FrozenMap({name: max(0, amount - less.get(name, 0)) for name, amount in self.capacity.items()})

    @property
    def all_labels(self) -> Labels:
        """With those that Karpenter's providers make of name and amounts.

        Source: karpenter-provider-aws `pkg/providers/instancetype/types.go` `computeRequirements`; karpenter
        `kwok/cloudprovider/helpers.go` `setDefaultOptions`.
        """
        labels: dict[str, str] = {}
        parts = _AWS.match(self.name)
        cpus, memory = self.capacity.get(CPU, 0) // 1000, self.capacity.get(MEMORY, 0)
        for prefix in _BY_PROVIDER:
            if parts:
                names = ("family", "category", "generation", "size")
                labels |= {f"{prefix}instance-{name}": part for name, part in zip(names, parts.groups(), strict=True)}
            if cpus:
                labels[f"{prefix}instance-cpu"] = str(cpus)
        if memory:
            labels["karpenter.k8s.aws/instance-memory"] = str(memory // _MIB)
            labels["karpenter.kwok.sh/instance-memory"] = f"{memory // _GIB}Gi"
        gpus = self.capacity.get(NVIDIA_GPU, 0)
        if gpus:
            labels |= {f"{prefix}instance-gpu-count": str(gpus) for prefix in _BY_PROVIDER}
            labels |= {f"{prefix}instance-gpu-manufacturer": "nvidia" for prefix in _BY_PROVIDER}
            model = model_of_machine(self.name)
            if model:
                labels[KARPENTER_GPU_NAME] = model.lower()
        return FrozenMap({**labels, **self.labels})
