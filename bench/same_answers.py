"""Whether seeded fits of this checkout have the answers of an older commit, bit for bit.

    python bench/same_answers.py --against 004b443       # a worktree of the commit is made, and removed at the end
    python bench/same_answers.py --against ../old --only dense "mixed table"
    python bench/same_answers.py --quick                 # two small fits, beside this checkout itself

Each checkout fits in a process of its own, on one thread. The bits of `label_distributions_` are compared; the exit
status is 1 where some differ. Only public names are used, so that older commits can run it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

from common import ROOT, checkout, few_labels, hidden, machine, made_up
from pglearn import PGLearnClassifier, TableEncoder

SEARCH = {"budget": 2, "n_candidates": 6, "random_state": 0}
QUICK = ("dense", "validation by folds")
NEEDS_TORCH = "torch on the CPU"


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    if options.write:
        np.savez(options.write, **{name: FITS[name]() for name in options.only})
        return
    with checkout(options.against) as folder, tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "answers.npz"
        there, here = (answers(root, options.only, path) for root in (folder, ROOT))
    table = comparison(there, here)
    print(f"{machine()}\nThis checkout beside {folder.name}:\n{table.to_string()}")
    if not table["equal"].all():
        raise SystemExit(1)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    possible = [name for name in FITS if name != NEEDS_TORCH or find_spec("torch")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default=str(ROOT), metavar="REV", help="a commit, or the folder of a checkout")
    parser.add_argument("--only", nargs="+", choices=FITS, default=possible, metavar="FIT")
    parser.add_argument("--quick", action="store_true", help="two small fits")
    parser.add_argument("--write", metavar="FILE", help=argparse.SUPPRESS)  # in a process with the src of a checkout
    options = parser.parse_args(arguments)
    if options.quick:
        options.only = QUICK
    return options


def answers(root: Path, names: Sequence[str], path: Path) -> dict[str, np.ndarray]:
    """`label_distributions_` of each fit with the package of that checkout, which go through the file."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = os.environ | threads | {"PYTHONPATH": str(root / "src"), "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, __file__, "--write", path, "--only", *names], env=environment, check=True)
    with np.load(path) as stored:
        return dict(stored)


def comparison(there: dict[str, np.ndarray], here: dict[str, np.ndarray]) -> pd.DataFrame:
    """A line per fit: its rows, and whether all bits are equal."""
    equal = {name: F.dtype == there[name].dtype and np.array_equal(F, there[name]) for name, F in here.items()}
    return pd.DataFrame({"rows": {name: len(F) for name, F in here.items()}, "equal": equal}).rename_axis("fit")


def fitted(X: Any, y: np.ndarray, of_each: int = 6, make: Any = PGLearnClassifier, **parameters: Any) -> np.ndarray:
    """`label_distributions_` of a small search that sees so many labels of each class."""
    shown = hidden(y, few_labels(y, 0, of_each=of_each))
    return np.asarray(make(**SEARCH | parameters).fit(X, shown).label_distributions_)


def wine(**parameters: Any) -> np.ndarray:
    return fitted(*load_wine(return_X_y=True), **parameters)


def digits(**parameters: Any) -> np.ndarray:
    X, y = load_digits(return_X_y=True)
    return fitted(X[:500], y[:500], **parameters)


def words(counts: bool) -> np.ndarray:
    """Sparse rows of fractions, or of counts, which become TF-IDF."""
    X = sparse.random(300, 80, 0.05, random_state=0, format="csr")
    y = (np.asarray(X[:, :5].sum(axis=1)).ravel() > 0.1).astype(int)
    if counts:
        X.data = np.random.default_rng(0).integers(1, 4, X.nnz).astype(float)
    return fitted(X, y)


def mixed_table() -> np.ndarray:
    """Numbers with a gap, text and dates."""
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame({"alcohol": X[:, 0], "ash": X[:, 3]}).assign(day=pd.date_range("2020", periods=len(X)))
    frame["acid"] = np.where(X[:, 1] > 2, "high", "low")
    frame.loc[3, "alcohol"] = np.nan
    return fitted(TableEncoder().fit_transform(frame), y)


def resumed() -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        wine(checkpoint=folder, max_time=1e-6)
        return wine(checkpoint=folder)


FITS: dict[str, Callable[[], np.ndarray]] = {
    "dense": wine,
    "dense, defaults": lambda: digits(budget=8, n_candidates=12),
    "dense, float64": lambda: digits(dtype="float64", selection="best"),
    "validation by folds": lambda: wine(loss="ranking", validation="kfold"),
    "holdout, class shares": lambda: wine(validation="holdout", class_prior=[0.2, 0.5, 0.3]),
    "entropy, other views": lambda: wine(loss="entropy", views=["unit", "given", "unit components"], scale=True),
    "sparse": lambda: words(counts=False),
    "sparse counts": lambda: words(counts=True),
    "mixed table": mixed_table,
    "sampled large table": lambda: fitted(*made_up(24_000, 8, 3, separation=0.8), 20, n_candidates=3),
    NEEDS_TORCH: lambda: wine(engine="torch", dtype="float64"),
    "paper": lambda: wine(make=PGLearnClassifier.paper, n_candidates=4),
    "resumed": resumed,
    "two workers": lambda: wine(n_jobs=2),
}


if __name__ == "__main__":
    main()
