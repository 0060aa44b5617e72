"""What a person reads at the end of `pglearn fit`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pglearn.estimators.pglearn import PGLearnClassifier
from pglearn.estimators.table_model import TableModel
from pglearn.problem import MOST_SCORED
from pglearn.terminal import printable

MOST_COLUMNS = 8
SUGGESTIONS = 5
HIDDEN = {"loo": "each hidden in turn", "kfold": "one fold hidden at a time", "holdout": "one half hidden"}
GOES_ON = {"interrupted": "", "out of time": " --max-time SECONDS"}

FILES = {
    "predictions.csv": "a label for every row",
    "feature_weights.csv": "how much each column counts",
    "model.npz": "for pglearn predict",
    "events.jsonl": "what happened during the search",
}


def print_summary(model: TableModel, rows: pd.DataFrame, weights: pd.DataFrame, folder: Path) -> None:
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    classifier = model.classifier
    for note in model.encoder.notes_:
        console.print(f"[yellow]note[/] {escape(printable(note))}")
    if classifier.stop_reason_ != "finished":
        console.print(
            f"[yellow]note[/] The search was {classifier.stop_reason_}: this is the best found so far. "
            f"[bold]pglearn resume {escape(str(folder))}{GOES_ON[classifier.stop_reason_]}[/] goes on with it."
        )
    counts = rows["source"].value_counts()
    console.print(
        f"Labelled [bold]{len(rows) - counts['given']}[/] rows from {counts['given']} given labels of "
        f"{len(classifier.classes_)} classes. Engine: {escape(classifier.engine_)}. Accuracy on given labels, "
        f"{_hidden(classifier.validation, counts['given'])}: {_accuracy(model):.3f}, "
        "a little optimistic, since the search chose by it."
    )
    if counts.get("unreached", 0):
        console.print(
            f"[yellow]note[/] No label reaches {counts['unreached']} of them; they have {_shares(classifier)}. "
            "Label a row of each group that has none."
        )
    likeliest = classifier.classes_[classifier.label_distributions_.argmax(axis=1)]
    doubtful = rows[(rows["source"] == "given") & (rows["label"].to_numpy() != likeliest)]
    if len(doubtful):
        first = ", ".join(str(row) for row in doubtful["row"].head(5))
        console.print(
            f"[yellow]note[/] The graph doubts {len(doubtful)} of the given labels, first rows {first}: look again."
        )
    console.print(_weights_table(weights))
    if len(rows) > counts["given"]:
        suggested = ", ".join(str(row) for row in classifier.suggest(SUGGESTIONS))
        console.print(f"If you can label more rows, these would help most: {suggested}.")
    for name, what in FILES.items():
        console.print(f"  {escape(str(folder / name))}  [dim]{what}[/]")


def _hidden(validation: str, labels: int) -> str:
    if validation == "loo" and labels > MOST_SCORED:
        return f"{MOST_SCORED} of them hidden in turn"
    return HIDDEN[validation]


def _shares(classifier: PGLearnClassifier) -> str:
    """What rows have that no label reaches."""
    given = classifier.class_prior is not None and not isinstance(classifier.class_prior, str)
    return "the class shares that were given" if given else "the class shares of the labels"


def _accuracy(model: TableModel) -> float:
    results = model.classifier.search_results_
    return float(np.mean(results["accuracy"][results["selected"]]))


def _weights_table(weights: pd.DataFrame) -> Table:
    table = Table(title="Columns that count most", title_justify="left", box=None)
    table.add_column("column")
    table.add_column("share of the distance", justify="right")
    for column, share in zip(weights["column"].head(MOST_COLUMNS), weights["share"].head(MOST_COLUMNS), strict=True):
        table.add_row(escape(printable(str(column))), f"{share:.1%}")
    return table
