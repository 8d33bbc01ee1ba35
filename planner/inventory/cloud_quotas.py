"""A cloud account's quotas in a region, from the cloud's own listing.

Sources: cloud.google.com/compute/resource-usage (``gcloud compute regions describe``: ``quotas`` with metric, limit, usage;
``gcloud compute project-info describe`` the same of all regions),
learn.microsoft.com/cli/azure/vm (``az vm list-usage``), docs.aws.amazon.com/servicequotas (``list-service-quotas --service-code ec2``;
docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html: on-demand and spot are counted in vCPUs by class of machine).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from planner.ground.records import Record

_AWS_NAME: Final = re.compile(
    r"Running On-Demand (?P<on_demand>.+) instances\Z|All (?P<spot>.+) Spot Instance Requests\Z"
)
_CLASS: Final = re.compile(r"\b[A-Z][A-Za-z]{0,3}\d{0,2}\b")
_NOT_CLASSES: Final = frozenset({"High", "Memory"})
_AZURE_SIZE: Final = re.compile(r"Standard_([A-Z]+)\d+(?:-\d+)?([a-z]*)((?:_[A-Z]+\d+)?)((?:_v\d+)?)\Z")
_GCP_FAMILIES: Final = ("n2", "n2d", "c2", "c2d", "c3", "c3d", "c4", "a2", "a3", "t2d", "t2a", "m1", "m2", "m3", "n4")


class QuotaUnit(StrEnum):
    GPUS = "GPUs"
    VCPUS = "vCPUs"


class Quota(Record):
    """One quota. `name` as the cloud writes it; `region` "" where the document doesn't say; `used` None: it doesn't say either.
    `is_of_spot` None: of machines however they are bought."""

    name: str
    limit: float
    used: float | None
    unit: QuotaUnit
    source: str
    region: str = ""
    is_of_spot: bool | None = None

    def counts(self, *, machine_type: str, accelerator: str, is_spot: bool) -> bool:
        """Whether a machine of that type, with that accelerator, bought so, counts against it."""
        if self.is_of_spot is not None and self.is_of_spot is not is_spot:
            return False
        if self.source == _GCLOUD:
            return self._gcloud(machine_type, accelerator)
        if self.source == _AZURE:
            return self._azure(machine_type, is_spot=is_spot)
        return _aws_class(machine_type, self.name)

    def _gcloud(self, machine_type: str, accelerator: str) -> bool:
        metric = self.name.removeprefix("PREEMPTIBLE_")
        if metric in _EVERYWHERE:
            return self.unit is QuotaUnit.VCPUS or bool(accelerator)
        if self.unit is QuotaUnit.GPUS:
            model = accelerator.lower().removeprefix("nvidia-").removeprefix("tesla-").replace("-", "_").upper()
            if not model.startswith("A100"):  # only A100s have a quota by memory
                model = model.removesuffix("_80GB")
            return bool(model) and metric == f"NVIDIA_{model}_GPUS"
        family = machine_type.partition("-")[0]
        return metric == (f"{family.upper()}_CPUS" if family in _GCP_FAMILIES else "CPUS")

    def _azure(self, machine_type: str, *, is_spot: bool) -> bool:
        if is_spot:
            return self.name == "lowPriorityCores"
        if self.name == "cores":
            return True
        size = _AZURE_SIZE.match(machine_type)
        if size is None:
            return False
        letters, features, accelerator, version = size.groups()
        # rdma, isolated, more memory: often one family; ND96asr_v4 is of NDASv4_A100Family
        fewer = [features.translate(dict.fromkeys(map(ord, dropped))) for dropped in ("", "ri", "rim")]
        models = (accelerator,) if accelerator or letters != "ND" else ("", "_A100")
        named = {
            f"standard{letters}{feature_letters}{a}{b}family"
            for feature_letters in fewer
            for model in models
            for a, b in ((model, version), (version, model))
        }
        return _plain(self.name) in {_plain(name_part) for name_part in named}


_EVERYWHERE: Final = ("GPUS_ALL_REGIONS", "CPUS_ALL_REGIONS")  # the project's, on top of each region's
_GCLOUD: Final = "gcloud compute regions describe"
_AZURE: Final = "az vm list-usage"
_AWS: Final = "aws service-quotas"


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "")


def _aws_class(machine_type: str, name: str) -> bool:
    """``Running On-Demand Standard (A, C, D, …) instances``: classes are first letters, or families (``All P5 …``)."""
    match = _AWS_NAME.match(name)
    family = machine_type.partition(".")[0]
    letters = re.match(r"[a-z]+", family)
    if match is None or letters is None or "." not in machine_type:
        return False
    classes = {
        class_name.lower()
        for class_name in _CLASS.findall(match["on_demand"] or match["spot"])
        if class_name not in _NOT_CLASSES
    }
    numbered = re.match(r"[a-z]+\d+", family)
    return letters[0] in classes or (numbered is not None and numbered[0] in classes)


def is_quotas(document: Mapping[str, Any]) -> bool:
    """Whether an object is (a part of) a document of quotas."""
    return (
        isinstance(document.get("quotas"), list)
        or isinstance(document.get("Quotas"), list)
        or _is_usage(document)
        or "QuotaCode" in document
    )


def _is_usage(document: Mapping[str, Any]) -> bool:
    return "currentValue" in document and "limit" in document and isinstance(document.get("name"), Mapping)


def quotas_of(document: Mapping[str, Any]) -> Iterator[Quota]:
    """The quotas on machines in one object of such a document; those on anything else are left out."""
    if _is_usage(document):
        name = str(document["name"].get("value", ""))
        if name in ("cores", "lowPriorityCores") or name.lower().endswith("family"):
            # "cores" counts machines however they are bought, a family's quota those on demand, lowPriorityCores those on spot.
            is_of_spot = True if name == "lowPriorityCores" else False if name != "cores" else None
            yield Quota(
                name=name, limit=_number(document["limit"]) or 0.0, used=_number(document["currentValue"]), unit=QuotaUnit.VCPUS, source=_AZURE,
                is_of_spot=is_of_spot,
            )  # fmt: skip
    for each in _objects(document.get("quotas")):
        metric, limit = str(each.get("metric", "")), _number(each.get("limit"))
        is_gpus = metric.removeprefix("PREEMPTIBLE_").startswith("NVIDIA_") and metric.endswith("_GPUS")
        is_gpus |= metric == _EVERYWHERE[0]
        if limit is not None and (is_gpus or metric.endswith("CPUS") or metric in _EVERYWHERE):
            yield Quota(
                name=metric, limit=limit, used=_number(each.get("usage")), unit=QuotaUnit.GPUS if is_gpus else QuotaUnit.VCPUS,
                source=_GCLOUD, region="" if metric in _EVERYWHERE else str(document.get("name", "")),
                is_of_spot=None if metric in _EVERYWHERE else metric.startswith("PREEMPTIBLE_"),
            )  # fmt: skip
    for each in [*_objects(document.get("Quotas")), *([document] if "QuotaCode" in document else [])]:
        name, limit = str(each.get("QuotaName", "")), _number(each.get("Value"))
        match = _AWS_NAME.match(name)
        if match is not None and limit is not None:
            region = str(each.get("QuotaArn", "")).split(":")[3:4]
            yield Quota(
                name=name, limit=limit, used=None, unit=QuotaUnit.VCPUS, source=_AWS, region=region[0] if region else "",
                is_of_spot=match["spot"] is not None,
            )  # fmt: skip


def _objects(value: Any) -> Sequence[Mapping[str, Any]]:
    return [element for element in value if isinstance(element, Mapping)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
