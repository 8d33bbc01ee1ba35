"""Settings every test runs under."""

import atexit
import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from planner.ground import garbage_collector
from tests import prices_of_a_day, quick, seen

prices_of_a_day.pin()

# The same examples on every machine and in every run; a slow machine is not a failing test.
HOUSE = settings(derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("house", HOUSE)
settings.register_profile("quick", HOUSE, max_examples=100 // quick.SHARE)
settings.load_profile("house")

# Where nobody may write bytecode, each of a thousand processes compiles what it loads, and each run rewrites every assert.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would every program they start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that take long go first, so that no process waits for another's last one; the others follow in their order.
FIRST = ("tests/cli/test_refused_lists.py", "tests/sources/test_live.py", "tests/browser/test_every_page.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="what `make test` runs: see tests/quick.py")


def pytest_configure(config: pytest.Config) -> None:
    os.environ[quick.VARIABLE] = "1" if config.getoption("--quick") else ""
    if quick.is_quick():
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return (collection_path.is_file() and quick.is_quick() and quick.is_later(collection_path, config.rootpath)) or None


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    if quick.is_quick():
        if missed := quick.picking_nothing([item.nodeid for item in items]):
            raise pytest.UsageError(f"tests/quick.py picks a smoke that no test is called: {', '.join(missed)}")
        left = [item for item in items if quick.is_left_out(item.nodeid)]
        items[:] = [item for item in items if not quick.is_left_out(item.nodeid)]
        config.hook.pytest_deselected(items=left)
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests are made and stay: going through them again and again was a third of the time to the first test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        _put_tests_aside()


_here = pytest.MonkeyPatch()


def _put_tests_aside() -> None:
    """Nobody goes through what thousands of tests, their modules and the libraries are made of: that was an eighth of a run. They are put aside
    for good, as a server does with its first cluster; a command's cluster isn't, since this process goes on with the next test."""
    garbage_collector.settle()
    gc.set_threshold(20_000)  # a command's (`planner.ground.garbage_collector.seldom`)
    _here.setattr(garbage_collector, "put_aside", lambda: None)


@pytest.fixture(scope="module")
def collector_of_a_new_process() -> Generator[None, None, None]:
    """Nothing is put aside, and what puts it aside does."""
    _here.undo()
    garbage_collector.take_back()
    yield
    _put_tests_aside()


@pytest.fixture(scope="module", autouse=True)
def _premises_hold(request: pytest.FixtureRequest) -> Generator[None, None, None]:
    """What a test's cases are about was there in one of them (`tests.seen.premise`)."""
    yield
    assert seen.unheld(request.node.nodeid) == []


def pytest_unconfigure() -> None:
    """A command has the system take back what it leaves at its end (`planner.ground.garbage_collector.seldom`); here the summary's line is the
    last, and not what a library says of objects that are left."""
    atexit.unregister(gc.freeze)


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
