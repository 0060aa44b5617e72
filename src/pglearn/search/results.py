"""What a search leaves behind for its user: its candidates and their steps as arrays, and what became of them."""

from __future__ import annotations

import numpy as np

from pglearn.arrays import Array
from pglearn.errors import warn
from pglearn.objective.graph.approximate import warn_of_recall
from pglearn.search.runs import NOT_FINITE, Run


def search_results(
    candidates: list[Run], recalls: dict[int, float], views: list[str], budget: float
) -> dict[str, Array]:
    """A row for each candidate. `recalls` has those that answer, by their ids: of all the neighbours that they had."""
    return {
        "candidate": np.array([run.id for run in candidates]),
        "k": np.array([run.k for run in candidates]),
        "view": np.array([views[run.view] for run in candidates]),
        "born": np.array([run.born for run in candidates]),
        "died": np.array([budget if run.died is None else run.died for run in candidates]),
        "steps": np.array([run.steps for run in candidates]),
        "loss": np.array([run.loss for run in candidates]),
        "accuracy": np.array([run.accuracy for run in candidates]),
        "converged": np.array([run.converged for run in candidates]),
        "failure": np.array([run.failure or "" for run in candidates]),
        "recall": np.array([recalls.get(run.id, run.recall) for run in candidates]),
        "selected": np.array([run.id in recalls for run in candidates]),
    }


def history(candidates: list[Run]) -> dict[str, Array]:
    rows = [(run.id, *entry) for run in candidates for entry in run.history]
    names = ("candidate", "step", "loss", "accuracy")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def warn_of_search(reason: str, candidates: list[Run], chosen: list[Run], recalls: dict[int, float]) -> None:
    """What the user should know of how a search ended: candidates that raised, or any failure if the answer is by some
    that failed; graphs that miss neighbours; Ctrl-C."""
    failures = [run.failure for run in candidates if run.failure is not None]
    raised = [failure for failure in failures if not failure.startswith(NOT_FINITE)]
    failed = [run.failure for run in chosen if run.failure is not None]
    if failed:
        warn(
            f"{len(failures)} of {len(candidates)} candidates failed, and none was left that had not: the labels are "
            f"those of the best that was found before, by one that ended with {failed[0]}. "
            "search_results_['failure'] has them all."
        )
    elif raised:
        warn(
            f"{len(raised)} of {len(candidates)} candidates failed and were left out, the first with {raised[0]}. "
            "search_results_['failure'] has them all."
        )
    warn_of_recall(min(recalls.values()))
    if reason == "interrupted":
        warn("The search was interrupted: the labels are those of the best candidates so far. Fit again for more.")
