"""A table of flowers, the folder of what was found in it, and commands that are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pglearn.cli import main as cli

SEARCH = ["--budget", "2", "--candidates", "2", "--jobs", "1", "--quiet"]
FILES = ["events.jsonl", "feature_weights.csv", "model.npz", "predictions.csv"]


def rows(n=40):
    """Two kinds of flower, the first twelve rows labelled; and the kinds of all."""
    rng = np.random.default_rng(0)
    kinds = np.array(["rose", "tulip"])[np.arange(n) % 2]
    frame = pd.DataFrame({"height": rng.normal(size=n) + 5 * (np.arange(n) % 2), "width": rng.normal(size=n)})
    return frame.assign(kind=pd.Series(np.where(np.arange(n) < 12, kinds, None), dtype=object)), kinds


def run(*arguments):
    return cli.main([str(argument) for argument in arguments])


def fit(table, out, *options, target="kind"):
    assert run("fit", table, "--target", target, "-o", out, *SEARCH, *options) == 0


@pytest.fixture
def csv(tmp_path):
    rows()[0].to_csv(tmp_path / "flowers.csv", index=False)
    return tmp_path / "flowers.csv"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def results(csv, out, capsys):
    """The folder of a fit to the table."""
    fit(csv, out)
    capsys.readouterr()
    return out


@pytest.fixture
def says(capsys):
    """Runs a command that must be refused with a sentence on stderr."""

    def refused(*arguments, sentence):
        capsys.readouterr()
        assert run(*arguments) == 2
        printed, error = capsys.readouterr()
        assert sentence in error
        assert error.startswith("pglearn: ")
        assert error.count("\n") == 1
        assert printed == ""

    return refused
