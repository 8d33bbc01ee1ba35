"""Settings every test runs under."""

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from planner.ground import collector

# The same examples on every machine and in every run; a slow machine is not a failing test.
settings.register_profile(
    "house", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")

# Where nobody may write bytecode, each of a thousand processes compiles what it loads, and each run rewrites every assert.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would every program they start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests are made and stay: going through them again and again was a third of the time to the first test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_runtest_teardown() -> None:
    """A command puts its cluster aside from the garbage collector for as long as it runs (`planner.ground.collector.put_aside`); here
    the process goes on with the next test."""
    collector.take_back()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Minutes of each suite, a folder of tests/, where the run took some: their sum over all processes."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for one in reports:
            if isinstance(one, pytest.TestReport):
                seconds["/".join(one.nodeid.split("/")[:2])] += one.duration
    if sum(seconds.values()) > 300:
        told = ", ".join(
            f"{suite} {taken / 60:.1f}" for suite, taken in sorted(seconds.items(), key=lambda one: -one[1])
        )
        terminalreporter.write_line(f"minutes, of all processes together: {told}")
