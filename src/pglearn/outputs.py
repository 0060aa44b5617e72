"""What `pglearn fit` and `pglearn predict` write: tables of labels and of weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pglearn.estimators.pglearn import PGLearnClassifier
from pglearn.files import whole_file
from pglearn.problem import UNLABELLED, Array, class_codes


def labelled_rows(model: PGLearnClassifier, labels: Array) -> pd.DataFrame:
    """One line per row of the fitted table: its label, where that comes from, and how sure the graph is of it.

    A given label stays as it is, with the probability that the graph gives it: a low one is worth a second look.
    """
    given, _ = class_codes(labels)
    codes = np.where(given != UNLABELLED, given, model.label_distributions_.argmax(axis=1))
    frame = _rows(model.classes_, codes, model.label_distributions_)
    source = np.where(given != UNLABELLED, "given", np.where(model.unreached_, "unreached", "predicted"))
    frame.insert(2, "source", source)
    return frame


def predicted_rows(classes: Array, probabilities: Array) -> pd.DataFrame:
    """One line per new row: its label and the probabilities."""
    return _rows(classes, probabilities.argmax(axis=1), probabilities)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as file:
        frame.to_csv(file, index=False, mode="wb")


def _rows(classes: Array, codes: Array, probabilities: Array) -> pd.DataFrame:
    rows = np.arange(len(codes))
    columns = {"row": rows, "label": classes[codes], "confidence": probabilities[rows, codes].round(6)}
    columns |= {f"p({name})": probabilities[:, c].round(6) for c, name in enumerate(classes.tolist())}
    return pd.DataFrame(columns)
