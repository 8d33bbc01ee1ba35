"""``pytest -p tests.mutation.passing``, under coverage.py: each line is noted with the tests that run it, or the file whose fixtures do, and
each test with its seconds."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from tests.covered import FOLDER

_SECONDS: Final[defaultdict[str, float]] = defaultdict(float)
_CASES: Final = 3  # of one test
_MOST_SECONDS: Final = 60.0  # of tests for one line


def _note(name: str) -> None:
    run = import_module("coverage").Coverage.current()  # it lies in a folder of its own
    if run is not None:
        run.switch_context(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _note(_file(item.nodeid))  # a fixture may be made once for all tests of the file: any of them may see what is wrong


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    _note(item.nodeid)


def pytest_runtest_teardown() -> None:
    _note("")


def _file(name: str) -> str:
    return name.partition("::")[0]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _SECONDS[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # the others tell it theirs
        (FOLDER / "seconds.json").write_text(json.dumps(_SECONDS), encoding="utf-8")


class Passing:
    """Which tests run a line, of the last run of `tests.covered` with this plugin."""

    def __init__(self, root: Path) -> None:
        sys.path.append(str(FOLDER))
        self._root = root
        self._data = import_module("coverage").CoverageData(str(FOLDER / "data" / "covered"))
        self._data.read()
        self._seconds: dict[str, float] = json.loads((FOLDER / "seconds.json").read_text(encoding="utf-8"))
        of_files: defaultdict[str, float] = defaultdict(float)
        for name, seconds in self._seconds.items():
            of_files[_file(name)] += seconds
        self._seconds |= of_files

    def tests(self, path: Path, line: int) -> list[str]:
        """The quickest of them first. Of a line that is run while the module is loaded: the module's."""
        lines: dict[int, list[str]] = self._data.contexts_by_lineno(str(self._root / path))
        started = max((one for one in lines if one <= line), default=None)  # a statement of several lines
        if started is None:
            return []
        names = {one for one in lines[started] if one} or {one for every in lines.values() for one in every if one}
        return list(self._first(sorted(names, key=self._of)))

    def _of(self, name: str) -> float:
        return self._seconds.get(name, 0.0)

    def _first(self, names: Iterable[str]) -> Iterator[str]:
        taken, cases = 0.0, defaultdict[str, int](int)
        for name in names:
            test = name.partition("[")[0]
            cases[test] += 1
            taken += self._of(name)
            if taken > _MOST_SECONDS:
                return
            if cases[test] <= _CASES:
                yield name
