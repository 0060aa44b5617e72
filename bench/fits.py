"""Fits of methods to tables, side by side in processes of one thread each; what is known of them is kept in a file."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits

import data_sets
from common import hidden
from peers import PEERS
from pglearn import PGLearnClassifier

BINS = 15
Answer = tuple[np.ndarray, np.ndarray | None]  # a label for every row and, if the method has any, a confidence
Method = Callable[[np.ndarray, np.ndarray, int], Answer]  # of X, y with −1 where hidden, and a seed


@dataclass(frozen=True)
class Fit:
    """A method, by its name, on one draw of a table."""

    method: str
    table: str
    draw: int
    percent: int = 10
    noise: str = "none"


def ours(X: np.ndarray, y: np.ndarray, seed: int, **parameters: Any) -> Answer:
    model = PGLearnClassifier(engine="cpu", random_state=seed, **parameters).fit(X, y)
    return model.transduction_, model.confidence_


def peer(X: np.ndarray, y: np.ndarray, seed: int, name: str) -> Answer:
    return PEERS[name](X, y, seed), None


def rows(fits: Iterable[Fit], methods: Mapping[str, Method], jobs: int, path: Path | None) -> pd.DataFrame:
    """A row for every fit: from the file where it is there, else measured and written to it at once."""
    wanted = list(fits)
    found = stored(path)
    missing = [fit for fit in wanted if fit not in found]
    print(f"{len(missing)} of {len(wanted)} fits to do", flush=True)
    calls = (delayed(row)(fit, methods[fit.method]) for fit in missing)
    with path.open("a") if path else nullcontext() as file, parallel_config("loky", inner_max_num_threads=1):
        for measured in Parallel(jobs, return_as="generator_unordered")(calls):
            found[fit_of(measured)] = measured
            if file:
                print(json.dumps(measured), file=file, flush=True)
    return pd.DataFrame([found[fit] for fit in wanted])


def stored(path: Path | None) -> dict[Fit, dict[str, Any]]:
    lines = path.read_text().splitlines() if path and path.exists() else []
    return {fit_of(row): row for row in map(json.loads, lines)}


def fit_of(row: dict[str, Any]) -> Fit:
    return Fit(**{field.name: row[field.name] for field in fields(Fit)})


def row(fit: Fit, method: Method) -> dict[str, Any]:
    """Processor seconds; of the rows without a label accuracy and, where the method has a confidence, its mean and
    its calibration error; and a digest that tells whether two answers have the same labels."""
    X, y, shown = data_sets.draw(fit.table, fit.draw, fit.percent, fit.noise)
    with threadpool_limits(1):
        warm_up()
        started = time.process_time()
        labels, confidence = method(X, hidden(y, shown), fit.draw)
        seconds = time.process_time() - started
    right = (labels == y)[~shown]
    digest = hashlib.sha256(labels.astype(np.int64).tobytes()).hexdigest()[:16]
    found = asdict(fit) | {"accuracy": float(right.mean()), "seconds": seconds, "labels": digest}
    if confidence is not None:
        confidence = confidence[~shown]
        found |= {"confidence": float(confidence.mean()), "calibration_error": calibration_error(confidence, right)}
    return found


@cache
def warm_up() -> None:
    """What is imported at first belongs to no fit."""
    X, y, shown = data_sets.draw("iris-5", 0)
    ours(X, hidden(y, shown), 0, budget=2, n_candidates=2)


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ over bins of confidence: share of the rows × |mean confidence − accuracy|."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(sum(abs((confidence - right)[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)))
