"""Broken files of every format are read or refused.

No traceback, no hang, no memory without end.
"""

import os
import signal
import sys
import time

import pytest

if sys.platform == "win32":
    pytest.skip("the harness forks", allow_module_level=True)

from tests.fuzzing import run as harness
from tests.fuzzing.headers import AdapterCases, HeaderCases
from tests.fuzzing.hostile import HostileCases
from tests.fuzzing.run import Cases, Tally, run
from tests.fuzzing.seeds import formats

_FEW, _MANY = 25, 2_000


@pytest.mark.parametrize("name", formats())
def test_a_few_broken_files_of_each_format(name: str) -> None:
    tally = Tally()
    assert list(run(Cases(name, seed=4), 0, _FEW, tally)) == []
    assert tally.read + tally.refused == _FEW


@pytest.mark.parametrize("kind", [HeaderCases, AdapterCases])
def test_a_few_broken_headers_of_models(kind: type[HeaderCases]) -> None:
    tally = Tally()
    assert list(run(kind(seed=4), 0, 2 * _FEW, tally)) == []
    assert tally.read > 10
    assert tally.refused > 10


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [HeaderCases, AdapterCases])
def test_two_thousand_broken_headers_of_models(kind: type[HeaderCases]) -> None:
    assert list(run(kind(seed=5), 0, _MANY, Tally())) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", formats())
def test_two_thousand_broken_files_of_each_format(name: str) -> None:
    assert list(run(Cases(name, seed=5), 0, _MANY, Tally())) == []


@pytest.mark.parametrize("name", ["md"])
def test_a_few_hostile_files_of_each_format(name: str) -> None:
    # On cores shared with other tests, the same work takes more processor time.
    assert list(run(HostileCases(name, seed=4, hang_s=40.0), 0, 3, Tally())) == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", formats())
def test_a_thousand_hostile_files_of_each_format(name: str) -> None:
    assert list(run(HostileCases(name, seed=5), 0, 1_000, Tally())) == []


def test_what_raises_hangs_or_dies_is_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(harness, "HANG_S", 0.5)

    def broken(cases: Cases, index: int) -> None:
        if index == 3:
            raise ZeroDivisionError
        if index == 5:
            time.sleep(60)
        if index == 7:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Cases, "open", lambda cases, index: broken(cases, index))
    monkeypatch.setattr(harness, "assert_keeps_promises", lambda book: None)
    failures = {
        failure.index: failure.what
        for failure in run(Cases("txt", seed=1), 0, 10, Tally())
    }
    assert set(failures) == {3, 5, 7}
    assert "ZeroDivisionError" in failures[3]
    assert "hung" in failures[5]
    assert "signal" in failures[7]
