"""Seeded fits on thirty irises, whose answers stand here: a change of the method shows, one of rounding does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from pglearn import GridClassifier, PGLearnClassifier, TableEncoder, loss_and_gradient

IRIS, CLASSES = (array[::5] for array in load_iris(return_X_y=True))
SHOWN = np.where(np.arange(30) % 10 < 3, CLASSES, -1)
SEARCH = {"budget": 4, "n_candidates": 4, "random_state": 0}
LOOKED_AT = [8, 13, 17, 26, 29]


def table():
    """Three numbers and a category."""
    frame = pd.DataFrame(IRIS[:, :3], columns=list("abc")).assign(d=np.where(IRIS[:, 3] > 1.4, "wide", "narrow"))
    return TableEncoder().fit_transform(frame)


# The labels of the second and of the third ten rows, and the probability of class 1 in the rows above.
ANSWERS = {
    "default": (PGLearnClassifier(**SEARCH), IRIS, "1111111111 2222222222", [0.145, 0.503, 0.503, 0.347, 0.358]),
    "kfold": (
        PGLearnClassifier(**SEARCH, validation="kfold", loss="ranking", selection="best"),
        *(IRIS, "1111111111 2222222222", [0.0, 0.645, 0.646, 0.344, 0.357]),
    ),
    "holdout": (
        PGLearnClassifier(**SEARCH, validation="holdout", loss="power", views=["given"]),
        *(IRIS, "1111211111 2222222222", [0.158, 0.478, 0.441, 0.392, 0.367]),
    ),
    "entropy": (
        PGLearnClassifier(**SEARCH, loss="entropy"),
        *(IRIS, "1111111111 2222222222", [0.148, 0.456, 0.459, 0.389, 0.412]),
    ),
    "paper": (PGLearnClassifier.paper(**SEARCH), IRIS, "1111111111 2222222222", [0.0, 0.644, 0.64, 0.353, 0.355]),
    "sparse": (
        PGLearnClassifier(**SEARCH),
        *(sparse.csr_matrix(IRIS * (IRIS > 1.4)), "1111211211 2222222222", [0.167, 0.723, 0.223, 0.211, 0.214]),
    ),
    "table": (PGLearnClassifier(**SEARCH), table(), "1111211211 2222222222", [0.17, 0.723, 0.21, 0.208, 0.212]),
    "grid": (
        GridClassifier(budget=3, random_state=0),
        *(IRIS, "1111111111 2222222222", [0.0, 0.983, 0.784, 0.018, 0.05]),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_labels_and_probabilities_are_those_that_stand_here(name):
    model, X, labels, probabilities = ANSWERS[name]
    model.fit(X, SHOWN)
    assert "".join(map(str, model.transduction_)) == 10 * "0" + labels.replace(" ", "")
    np.testing.assert_allclose(model.label_distributions_[LOOKED_AT, 1], probabilities, atol=2e-3)


def test_the_objective_has_the_value_and_gradient_that_stand_here():
    g, dg_da = loss_and_gradient(IRIS, SHOWN, a=[0.5, 0.5, 1, 1], k=4, loss="log")
    assert g == pytest.approx(4.530950381652565, rel=1e-9)
    np.testing.assert_allclose(dg_da, [-0.04396978, 0.06095724, 0.0380915, -0.1132451], atol=1e-7)
