"""The time that is left, told from what was timed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pglearn.reproduction.expected import CALIBRATION, Timing, calibrated, expected_seconds
from pglearn.reproduction.methods import Budget
from pglearn.reproduction.rows import Cell

CELL = Cell("PG-learn", "tiny", 10, 0, "none", Budget(32, 8))

SLOW_AT_FIRST = """
import time
from pathlib import Path

import numpy as np

BEEN_HERE = Path(__file__).with_name("been here")


class Slow:
    def fit(self, X, y):
        if not BEEN_HERE.exists():
            time.sleep(0.5)
        BEEN_HERE.touch()
        self.transduction_ = np.where(y == -1, 0, y)
        return self


METHODS = {"slow at first": lambda budget, seed: Slow()}
"""


def at(seconds, **changes):
    return Timing(replace(CELL, **changes), seconds)


def test_the_same_fit_on_other_splits_comes_first():
    timings = [at(10, split=1), at(14, split=2), at(50, percent=50), at(1, budget=Budget(1, 8))]
    assert expected_seconds(CELL, timings) == 12


def test_another_share_of_labels_will_do():
    assert expected_seconds(CELL, [at(50, percent=50), at(1, budget=Budget(1, 8))]) == 50


def test_two_budgets_make_a_line():
    timings = [at(3, budget=Budget(2, 2)), at(6, budget=Budget(8, 2))]
    assert expected_seconds(CELL, timings) == pytest.approx(2 + 256 / 4)


def test_one_budget_is_scaled():
    assert expected_seconds(CELL, [at(3, budget=Budget(4, 4))]) == pytest.approx(3 * 256 / 16)
    assert expected_seconds(CELL, [at(3, budget=Budget(4, 4, unit_steps=2))]) == pytest.approx(3 * 256 / 32)


def test_times_that_fall_with_the_budget_make_no_line():
    timings = [at(4, budget=Budget(2, 2)), at(2, budget=Budget(8, 2))]
    assert expected_seconds(CELL, timings) == pytest.approx(256 * 6 / 20)


def test_nothing_alike_tells_nothing():
    assert expected_seconds(CELL, [at(3, method="Grid"), at(3, data="coil"), at(3, noise="normal")]) is None


def test_units_of_seconds_need_no_timing():
    assert expected_seconds(replace(CELL, budget=Budget(4, 8, unit_seconds=0.5)), []) == 16


def test_a_long_run_is_calibrated_by_two_short_fits(data):
    timings = calibrated([CELL, replace(CELL, split=1)], [], {"tiny": data}, [])
    assert [timing.cell.budget for timing in timings] == list(CALIBRATION)
    assert expected_seconds(CELL, timings) > 0


def test_what_only_the_first_fit_takes_is_not_expected_of_the_others(data, tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(SLOW_AT_FIRST)
    cells = [replace(CELL, method="slow at first", data=name) for name in ("tiny", "too")]
    timings = calibrated(cells, [], {"tiny": data, "too": data}, [file])
    assert [timing.cell.data for timing in timings] == ["tiny", "tiny", "too", "too"]
    assert max(timing.seconds for timing in timings) < 0.4


def test_a_short_run_and_a_known_one_are_not(data):
    assert calibrated([replace(CELL, budget=Budget(4, 4))], [], {"tiny": data}, []) == []
    known = [at(3, split=5)]
    assert calibrated([CELL], known, {"tiny": data}, []) == known
