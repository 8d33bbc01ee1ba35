"""Tables of accelerators and their node labels: the only place with vendors' names; the clouds' are in `clouds`.

A user's file adds to them (`extended`, `use`). Sources: the device plugins of NVIDIA (k8s-device-plugin, GPU feature
discovery), AMD (ROCm/k8s-device-plugin), Intel (intel-device-plugins-for-kubernetes), AWS Neuron, Habana, Ascend,
Project-HAMi, Volcano, Alibaba (gpushare) and Tencent (gpu-manager).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

import msgspec

from planner.ground import typed_json
from planner.ground.data_files import table_beside
from planner.ground.errors import InputError
from planner.ground.records import Record, replace
from planner.kubernetes.clouds import BOUGHT, SPOT, labels_of
from planner.kubernetes.object_records import Amounts, FrozenMap


class Unit(StrEnum):
    """What one unit of a resource is."""

    DEVICE = "device"  # a card or chip, or what the plugin offers as one
    SLICE = "slice"  # a part of a device with memory of its own: MIG
    SHARE = "share"  # a turn on a device that others have too
    CORE = "core"  # a part of a device's compute: a core, a percent, a thousandth
    MEMORY = "memory"  # a part of a device's memory


COUNTED: Final = (Unit.DEVICE, Unit.SLICE, Unit.SHARE)
"""Units that a pod holds a number of; the others are amounts beside them."""


class Accelerator(Record, forbid_unknown_fields=True):
    """One extended resource, or a driver of dynamic resource allocation. `resource` may end with ``*``: all that start so.

    `same_as`: the resource that tells of the same devices under another name and counts in its place where both are, ""
    where none does.
    """

    resource: str
    vendor: str = ""
    unit: Unit = Unit.DEVICE
    noun: str = "GPU"
    same_as: str = ""


def _rows() -> tuple[Accelerator, ...]:
    """Those of ``accelerators.txt``: resource, vendor, unit, noun, and what it is the same as."""
    rows = []
    for line in table_beside(__name__, "accelerators.txt").decode().splitlines():
        resource, vendor, unit, noun, *same_as = line.split()
        rows.append(Accelerator(resource=resource, vendor=vendor, unit=Unit(unit), noun=noun, same_as="".join(same_as)))
    return tuple(rows)


class Tables(Record):
    """What is known of accelerators and labels. Of several labels the first that a node has counts.

    Attributes
    ----------
    pool, zone, region, machine_type : labels that say so
    model : labels with the accelerator's name
    count : labels with the number of physical devices in the machine
    bought : label → value (lower case) → how such nodes were bought, where that isn't on demand
    """

    accelerators: tuple[Accelerator, ...] = _rows()
    pool: tuple[str, ...] = labels_of("pool")
    zone: tuple[str, ...] = labels_of("zone")
    region: tuple[str, ...] = labels_of("region")
    machine_type: tuple[str, ...] = labels_of("machine_type")
    model: tuple[str, ...] = labels_of("model")
    count: tuple[str, ...] = labels_of("count")
    bought: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: BOUGHT)


_tables = Tables()
_known: dict[str, Accelerator | None] = {}


def tables() -> Tables:
    """The tables of this process."""
    return _tables


def use(new: Tables) -> None:
    """Let `new` be the tables of this process. Meant for its start: answers that were given keep what they were."""
    global _tables  # noqa: PLW0603 - one table for the process, as the words of a language
    _tables = new
    _known.clear()
    _alike.cache_clear()


def accelerator(resource: str) -> Accelerator | None:
    """The row of an extended resource, None for what is no accelerator; of several the one that says most."""
    if resource not in _known:
        rows = [row for row in _tables.accelerators if _fits(row.resource, resource)]
        _known[resource] = max(rows, key=lambda row: len(row.resource), default=None)
    return _known[resource]


def _fits(pattern: str, resource: str) -> bool:
    return resource.startswith(pattern[:-1]) if pattern.endswith("*") else resource == pattern


def unit(resource: str) -> Unit | None:
    """What one unit of `resource` is, None for what is no accelerator.

    A renamed share (``nvidia.com/mig-1g.5gb.shared``) is a share of what it is called after.
    """
    row = accelerator(resource)
    return None if row is None else Unit.SHARE if resource.endswith(".shared") else row.unit


def is_gpu_resource(resource: str) -> bool:
    """Whether pods hold a number of `resource`: devices, slices or shares of accelerators of any kind."""
    return unit(resource) in COUNTED


_LISTS: Final = msgspec.json.decode(table_beside(__name__, "accelerators.json"))


@lru_cache(4_096)
def is_of_extender(resource: str) -> bool:
    """Whether an extender of the scheduler, or a scheduler of its own, counts a resource card by card: the nodes list it not
    at all, or as a sum, which says what is too much and not what fits.

    Source: HAMi `charts/hami/values.yaml` and `charts/hami/templates/scheduler/configmap*.yaml` (``managedResources`` with
    ``ignoredByScheduler``), Koordinator's device scheduling, Tencent's gpu-admission, Alibaba's gpushare-scheduler-extender,
    Volcano's deviceshare plugin, Intel's platform-aware-scheduling.
    """
    return any(fnmatchcase(resource, pattern) for pattern in _LISTS["of_extenders"])


def same_as(resource: str) -> str:
    """The resource that the same devices are counted under, "" where that is itself."""
    row = accelerator(resource)
    return "" if row is None else row.same_as


def once(amounts: Mapping[str, int]) -> dict[str, int]:
    """The accelerators in `amounts`, each device under one name: what stands under a second one beside it is left out."""
    gpu_names = (name for name, amount in amounts.items() if amount and accelerator(name) is not None)
    return {name: amounts[name] for name in gpu_names if not amounts.get(same_as(name))}


def alike(amounts: Mapping[str, int]) -> int:
    """How many there are, of what may be added: devices, else slices, else shares. The same devices under a second name
    count once."""
    return _alike(amounts if isinstance(amounts, FrozenMap) else FrozenMap(amounts))


@lru_cache(4_096)
def _alike(amounts: Amounts) -> int:
    counted: dict[Unit, int] = {}
    for name, amount in once(amounts).items():
        of = unit(name)
        if of is not None:
            counted[of] = counted.get(of, 0) + amount
    return next((counted[resource] for resource in COUNTED if counted.get(resource)), 0)


# ── one model, one name ──────────────────────────────────────────────────────────────────────────────────────────────
_SHARED_PRODUCT: Final = re.compile(
    r"(-MIG-[\w.+]+)?(-SHARED)?\Z"
)  # what GPU feature discovery puts behind the product's name
_VENDORS: Final = frozenset({"nvidia", "amd", "intel", "true", "gpu"})  # what some labels say instead of a model
_MAKERS: Final = frozenset({"nvidia", "amd", "intel", "tesla", "instinct", "geforce", "quadro", "ampere", "hopper"})
_FORMS: Final = re.compile(  # how a card is built in, and GKE's name of a machine with another network
    r"(SXM\d?|PCIe|NVLink|OAM|HBM\w+|Mega|AC|Blackwell|Server|Edition|Generation)\Z", re.IGNORECASE
)
_SIZE: Final = re.compile(r"(\d+)Gi?B?\Z", re.IGNORECASE)
_PRODUCT: Final = re.compile(r"([a-z]{1,2}\d{1,4}[a-z]{0,2}|RTX)\Z", re.IGNORECASE)
_USUAL_GB: Final[Mapping[str, int]] = _LISTS["usual_gb"]  # of products that are made in several sizes


@lru_cache(1_024)
def model_named(value: str) -> str:
    """The model in a label's value, by the name that all labels of it are one under; "" where it names the vendor only.

    ``H100`` of ``h100``, ``nvidia-h100-80gb``, ``NVIDIA-H100-80GB-HBM3`` and ``H100_NVLINK_80GB``. Vendor, brand and how the card
    is built in aren't the model; how much memory it has is where that isn't the usual: ``A100-80GB``. What looks like none of
    NVIDIA's or AMD's names stays as it is. Values: NVIDIA's feature discovery, the labels of `planner.kubernetes.clouds`; the
    price book's names are the same.
    """
    text = _SHARED_PRODUCT.sub("", value)
    if text.lower() in _VENDORS:
        return ""
    words = [word for word in re.split(r"[-_ ]+", text) if not _FORMS.match(word)]
    while words and words[0].lower() in _MAKERS:
        del words[0]
    if not words or not _PRODUCT.match(words[0]):
        return text
    sizes = [int(match[1]) for word in words if (match := _SIZE.match(word))]
    name = "-".join(word for word in words if not _SIZE.match(word)).upper()
    # Labels of a card in its usual size may leave the size out: named in both, equal cards would be two models.
    usual = _USUAL_GB.get(words[0].upper())
    return f"{name}-{sizes[0]}GB" if usual and sizes and sizes[0] != usual else name


# ── a user's own ─────────────────────────────────────────────────────────────────────────────────────────────────────
class _OwnLabels(msgspec.Struct, forbid_unknown_fields=True):
    pool: list[str] = []
    zone: list[str] = []
    region: list[str] = []
    machine_type: list[str] = []
    model: list[str] = []
    count: list[str] = []
    spot: dict[str, list[str]] = {}


class _Own(msgspec.Struct, forbid_unknown_fields=True):
    resources: list[Accelerator] = []
    labels: _OwnLabels = msgspec.field(default_factory=_OwnLabels)


def extended(values: Any, where: str, base_tables: Tables | None = None) -> Tables:
    """`base_tables` (else the tables as they are made) with a user's own rows before them: what a file says comes first.

    Parameters
    ----------
    values
        The content of the file: ``{"resources": [{"resource", "vendor", "unit", "noun", "same_as"}], "labels":
        {"pool": […], "zone", "region", "machine_type", "model", "count", "spot": {label: [values]}}}``.

    Raises
    ------
    InputError
        For a field or a unit that isn't known, and for a resource without a domain.
    """
    try:
        own = typed_json.convert(values, _Own)
    except msgspec.ValidationError as error:
        units = ", ".join(Unit)
        fix = f"Give resources (resource, vendor, unit: {units}, noun) and labels (pool, zone, machine_type, model, …)"
        raise InputError(f"isn't a table of accelerators: {error}", where=where, fix=fix) from None
    for row in own.resources:
        if "/" not in row.resource:
            fix = "Write the extended resource as a node's allocatable has it, such as example.com/npu"
            raise InputError(f'"{row.resource[:60]}" has no domain', where=where, fix=fix)
    before = base_tables or Tables()
    lists = [field_name for field_name in _OwnLabels.__struct_fields__ if field_name != "spot"]
    spot = {key: {label.lower(): SPOT for label in values} for key, values in own.labels.spot.items()}
    return replace(
        before,
        accelerators=(*own.resources, *before.accelerators),
        bought={**spot, **before.bought},
        **{field_name: (*getattr(own.labels, field_name), *getattr(before, field_name)) for field_name in lists},
    )
