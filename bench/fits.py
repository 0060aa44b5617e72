"""Fits of methods to tables, side by side in processes of one thread each; what is known of them is kept in a file."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

import data_sets
from common import hidden, one_thread
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


@dataclass(frozen=True)
class Score:
    """Of the rows without a label: accuracy, mean confidence, expected calibration error. And processor seconds, and
    a digest of all labels that tells whether two answers are the same."""

    accuracy: float
    seconds: float
    labels: str
    confidence: float | None = None
    calibration_error: float | None = None


def pglearn(X: np.ndarray, y: np.ndarray, seed: int, paper: bool = False, **parameters: Any) -> Answer:
    """PGLearnClassifier with these parameters, on the CPU."""
    make = PGLearnClassifier.paper if paper else PGLearnClassifier
    model = make(engine="cpu", random_state=seed, **parameters).fit(X, y)
    return model.transduction_, model.confidence_


def peer(X: np.ndarray, y: np.ndarray, seed: int, name: str) -> Answer:
    return PEERS[name](X, y, seed), None


def scores(
    fits: Collection[Fit], methods: Mapping[str, Method], jobs: int = 1, path: Path | None = None
) -> dict[Fit, Score]:
    """The score of every fit: from the file where it is there, else measured and written to it at once."""
    found = stored(path)
    missing = [fit for fit in fits if fit not in found]
    print(f"{len(missing)} of {len(fits)} fits to do", flush=True)
    calls = (delayed(scored)(fit, methods[fit.method]) for fit in missing)
    with (
        path.open("a") if path else nullcontext() as file,
        parallel_config("loky", inner_max_num_threads=1),
    ):
        for fit, score in Parallel(jobs, return_as="generator_unordered")(calls):
            found[fit] = score
            if file:
                file.write(json.dumps({"fit": asdict(fit), "score": asdict(score)}) + "\n")
                file.flush()
    return {fit: found[fit] for fit in fits}


def stored(path: Path | None) -> dict[Fit, Score]:
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {Fit(**row["fit"]): Score(**row["score"]) for row in rows}


def scored(fit: Fit, method: Method) -> tuple[Fit, Score]:
    draw = data_sets.draw(fit.table, fit.draw, fit.percent, fit.noise)
    with one_thread():
        _warm_up()
        started = time.process_time()
        labels, confidence = method(draw.X, hidden(draw.y, draw.shown), fit.draw)
        seconds = time.process_time() - started
    right = (labels == draw.y)[~draw.shown]
    accuracy, digest = float(right.mean()), hashlib.sha256(labels.astype(np.int64).tobytes()).hexdigest()[:16]
    if confidence is None:
        return fit, Score(accuracy, seconds, digest)
    confidence = confidence[~draw.shown]
    error = calibration_error(confidence, right)
    return fit, Score(accuracy, seconds, digest, float(confidence.mean()), error)


@cache
def _warm_up() -> None:
    """What is imported and compiled at first belongs to no fit."""
    draw = data_sets.draw("iris-5", 0)
    PGLearnClassifier(budget=2, n_candidates=2, engine="cpu", random_state=0).fit(draw.X, hidden(draw.y, draw.shown))


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Σ over bins of confidence: share of the rows × |mean confidence − accuracy|."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return float(sum(abs((confidence - right)[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)))
