"""What a search leaves behind for its user: its candidates and their steps as arrays, and what became of them."""

from __future__ import annotations

import warnings

import numpy as np

from pglearn.arrays import Array
from pglearn.objective.graph.approximate import warn_of_recall
from pglearn.search.candidate import NOT_FINITE, Candidate


def search_results(
    candidates: list[Candidate], chosen: list[Candidate], views: list[str], budget: float
) -> dict[str, Array]:
    ids = {candidate.id for candidate in chosen}
    return {
        "candidate": np.array([c.id for c in candidates]),
        "k": np.array([c.k for c in candidates]),
        "view": np.array([views[c.view] for c in candidates]),
        "born": np.array([c.born for c in candidates]),
        "died": np.array([budget if c.died is None else c.died for c in candidates]),
        "steps": np.array([c.steps for c in candidates]),
        "loss": np.array([c.loss for c in candidates]),
        "accuracy": np.array([c.accuracy for c in candidates]),
        "converged": np.array([c.converged for c in candidates]),
        "failure": np.array([c.failure or "" for c in candidates]),
        "recall": np.array([c.recall for c in candidates]),
        "selected": np.array([c.id in ids for c in candidates]),
    }


def history(candidates: list[Candidate]) -> dict[str, Array]:
    rows = [(c.id, *entry) for c in candidates for entry in c.history]
    names = ("candidate", "step", "loss", "accuracy")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def warn_of_search(reason: str, candidates: list[Candidate], chosen: list[Candidate]) -> None:
    """What the user should know of how a search ended."""
    warn_of_failures(candidates, chosen)
    warn_of_recall(min(candidate.recall for candidate in chosen))
    if reason == "interrupted":
        warnings.warn(
            "The search was interrupted: the labels are those of the best candidates so far. Fit again for more.",
            stacklevel=3,
        )


def warn_of_failures(candidates: list[Candidate], chosen: list[Candidate]) -> None:
    """Of candidates that raised; and of any failure, if the answer is by some that failed."""
    failures = [candidate.failure for candidate in candidates if candidate.failure is not None]
    if failed := [candidate.failure for candidate in chosen if candidate.failure is not None]:
        warnings.warn(
            f"{len(failures)} of {len(candidates)} candidates failed, and none was left that had not: the labels are "
            f"those of the best that was found before, by one that ended with {failed[0]}. "
            "search_results_['failure'] has them all.",
            stacklevel=4,
        )
    elif raised := [failure for failure in failures if not failure.startswith(NOT_FINITE)]:
        warnings.warn(
            f"{len(raised)} of {len(candidates)} candidates failed and were left out, the first with {raised[0]}. "
            "search_results_['failure'] has them all.",
            stacklevel=4,
        )
