"""CEL selectors: what Kubernetes' own types of values make of an expression (`dynamic-resource-allocation/cel`)."""

from __future__ import annotations

import pytest

from planner.kubernetes.object_records import Device, FrozenMap, Version
from planner.scheduling.cel_errors import CelError, NotEvaluated
from planner.scheduling.device_selectors import satisfies

GPU = Device(
    name="gpu-0",
    attributes=FrozenMap({"driverVersion": Version("1.10.0"), "label": "1.10.0", "index": 3}),
    capacity=FrozenMap({"memory": 24 * 2**30, "cpu": 1500}),
)
OF = "device.attributes['gpu.example.com']"
HAS = "device.capacity['gpu.example.com']"


def judged(expression: str) -> bool:
    return satisfies(expression, "gpu.example.com", GPU)


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        (f"{OF}.driverVersion.compareTo(semver('1.9.9')) > 0", True),
        (f"{OF}.driverVersion.isGreaterThan(semver('1.10.0-rc.1'))", True),
        (f"{OF}.driverVersion.isLessThan(semver('v1.11', true))", True),
        (f"{OF}.driverVersion == semver('1.10.0+build')", True),
        (f"{OF}.driverVersion == '1.10.0'", False),
        ("semver('1.10.0-rc.2').isGreaterThan(semver('1.10.0-rc.1'))", True),
        ("semver('1.10.0-rc.10').isGreaterThan(semver('1.10.0-rc.9'))", True),  # numbers by size
        (
            "semver('1.10.0-beta').isLessThan(semver('1.10.0-rc')) && semver('1.10.0-1').isLessThan(semver('1.10.0-a'))",
            True,
        ),
        ("device.allowMultipleAllocations", False),
        (f"{OF}.label == '1.10.0'", True),
        (f"{OF}.driverVersion.minor() == 10 && isSemver('1.0.0') && !isSemver('1.0')", True),
        (f"{HAS}.memory.compareTo(quantity('24Gi')) == 0", True),
        (f"{HAS}.cpu.isGreaterThan(quantity('1400m'))", True),
        (f"{HAS}.memory == quantity('24Gi')", True),
    ],
)
def test_versions_and_quantities_are_compared_as_such(expression: str, holds: bool) -> None:
    assert judged(expression) is holds


@pytest.mark.parametrize(
    "expression",
    [f"{HAS}.memory >= quantity('1Gi')", f"{OF}.driverVersion.isLessThan(quantity('1'))", "semver('1').major() == 1"],
)
def test_what_kubernetes_has_no_comparison_for_is_an_error(expression: str) -> None:
    with pytest.raises(CelError):
        judged(expression)


@pytest.mark.parametrize("expression", [f"cel.bind(a, {OF}, a.index == 3)", f"{OF}.?label.orValue('') == ''"])
def test_what_is_not_known_here_is_not_guessed(expression: str) -> None:
    with pytest.raises(NotEvaluated):
        judged(expression)


def test_a_version_is_no_plain_text() -> None:
    assert Version("1.0.0") == Version("1.0.0") != Version("1.0.1")
    assert Version("1.0.0") != "1.0.0"
    assert FrozenMap({"v": Version("1.0.0")}) != FrozenMap({"v": "1.0.0"})
