"""What an answer does not depend on: the names of the classes, and the order of the rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pglearn import PGLearnClassifier, loss_and_gradient
from pglearn.objective.folds import VALIDATIONS
from tests.problems import partly_labelled, points

X, Y = points(60), partly_labelled(60, 18)


def fit(y, validation):
    return PGLearnClassifier(budget=2, n_candidates=5, validation=validation, random_state=0).fit(X, y)


def renamed(names, library=list):
    """The labels under other names, None where there is none."""
    return library([names[code] if code >= 0 else None for code in Y])


@pytest.mark.parametrize("validation", VALIDATIONS)
@pytest.mark.parametrize(
    ("names", "library"),
    [(["a", "b", "c"], list), ([-7, 0, 3], pl.Series), (["=1+1", "[bold]b[/]", "Ä"], pd.Series)],
    ids=["letters", "numbers", "signs"],
)
def test_names_of_classes_in_the_same_order_change_no_bit(names, library, validation):
    model, other = fit(Y, validation), fit(renamed(names, library), validation)
    np.testing.assert_array_equal(other.label_distributions_, model.label_distributions_)
    assert other.transduction_.tolist() == [names[code] for code in model.transduction_]


@pytest.mark.parametrize("validation", ["loo", "holdout"])  # for folds classes are taken in their order
def test_names_of_classes_in_another_order_change_the_order_of_columns_alone(validation):
    names = ["pear", "fig", "apple"]
    model, other = fit(Y, validation), fit(renamed(names), validation)
    np.testing.assert_allclose(other.label_distributions_[:, ::-1], model.label_distributions_, atol=1e-9)
    np.testing.assert_allclose(other.feature_weights_, model.feature_weights_, rtol=1e-6)
    assert other.transduction_.tolist() == [names[code] for code in model.transduction_]


@pytest.mark.parametrize(("validation", "loss"), [("loo", "log"), ("kfold", "ranking"), ("holdout", "entropy")])
def test_the_order_of_rows_does_not_matter_to_the_objective(validation, loss):
    """Points without ties; folds are drawn of labels in their order, which stays where there are any."""
    order, labelled = np.random.default_rng(0).permutation(60), np.flatnonzero(Y >= 0)
    if validation != "loo":
        order[np.isin(order, labelled)] = labelled
    how = {"a": np.full(4, 0.3), "k": 7, "loss": loss, "validation": validation, "random_state": 0}
    g, dg_da = loss_and_gradient(X, Y, **how)
    g_of_other, of_other = loss_and_gradient(X[order], Y[order], **how)
    assert g_of_other == pytest.approx(g, rel=1e-9)
    np.testing.assert_allclose(of_other, dg_da, rtol=0, atol=1e-9 * np.abs(dg_da).max())
