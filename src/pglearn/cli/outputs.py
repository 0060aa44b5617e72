"""What `pglearn fit` and `pglearn predict` write, and what a person reads at the end of a fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pglearn.arrays import Array
from pglearn.errors import printable
from pglearn.estimators.pglearn import PGLearnClassifier
from pglearn.estimators.table_model import TableModel
from pglearn.objective.labels import UNLABELLED, class_codes

MAX_COLUMNS_SHOWN = 8
N_SUGGESTIONS = 5
GOES_ON = {"interrupted": "", "out of time": " --max-time SECONDS"}

FILES = {
    "predictions.csv": "a label for every row",
    "feature_weights.csv": "how much each column counts",
    "model.npz": "for pglearn predict",
    "events.jsonl": "what happened during the search",
}


def labelled_rows(model: PGLearnClassifier, labels: Array) -> pd.DataFrame:
    """One line per row of the fitted table: its label, where that comes from, and how sure the graph is of it.

    A given label stays as it is, with the probability that the graph gives it: a low one is worth a second look.
    """
    given, _ = class_codes(labels)
    codes = np.where(given != UNLABELLED, given, model.label_distributions_.argmax(axis=1))
    frame = rows_of_labels(model.classes_, codes, model.label_distributions_)
    source = np.where(given != UNLABELLED, "given", np.where(model.unreached_, "unreached", "predicted"))
    frame.insert(2, "source", source)
    return frame


def print_summary(model: TableModel, rows: pd.DataFrame, weights: pd.DataFrame, folder: Path) -> None:
    """Print what became of a table, what to look at again, and where the files are."""
    console = Console(highlight=False, emoji=False, soft_wrap=True)
    classifier, results = model.classifier, model.classifier.search_results_
    notes = [escape(printable(note)) for note in model.encoder.notes_]
    counts = rows["source"].value_counts()
    if classifier.stop_reason_ != "finished":
        notes.append(
            f"The search was {classifier.stop_reason_}: this is the best found so far. "
            f"[bold]pglearn resume {escape(str(folder))}{GOES_ON[classifier.stop_reason_]}[/] goes on with it."
        )
    if counts.get("unreached", 0):
        notes.append(
            f"No label reaches {counts['unreached']} of the rows; they have the class shares. "
            "Label a row of each group that has none."
        )
    likeliest = classifier.classes_[classifier.label_distributions_.argmax(axis=1)]
    doubtful = rows["row"][(rows["source"] == "given") & (rows["label"].to_numpy() != likeliest)]
    if len(doubtful):
        first = ", ".join(map(str, doubtful.head(5)))
        notes.append(f"The graph doubts {len(doubtful)} of the given labels, first rows {first}: look again.")
    for note in notes:
        console.print(f"[yellow]note[/] {note}")
    console.print(
        f"Labelled [bold]{len(rows) - counts['given']}[/] rows from {counts['given']} given labels of "
        f"{len(classifier.classes_)} classes. Engine: {escape(classifier.engine_)}. Accuracy on hidden labels "
        f"({classifier.validation}): {np.mean(results['accuracy'][results['selected']]):.3f}, "
        "a little optimistic, since the search chose by it."
    )
    table = Table("column", title="Columns that count most", title_justify="left", box=None)
    table.add_column("share of the distance", justify="right")
    for column, share in weights[["column", "share"]].head(MAX_COLUMNS_SHOWN).itertuples(index=False):
        table.add_row(escape(printable(str(column))), f"{share:.1%}")
    console.print(table)
    if len(rows) > counts["given"]:
        suggested = ", ".join(map(str, classifier.suggest(N_SUGGESTIONS)))
        console.print(f"If you can label more rows, these would help most: {suggested}.")
    for name, what in FILES.items():
        console.print(f"  {escape(str(folder / name))}  [dim]{what}[/]")


def rows_of_labels(classes: Array, codes: Array, probabilities: Array) -> pd.DataFrame:
    """One line per row: its label, that label's probability and those of all classes."""
    rows = np.arange(len(codes))
    columns = {"row": rows, "label": classes[codes], "confidence": probabilities[rows, codes].round(6)}
    columns |= {f"p({name})": probabilities[:, c].round(6) for c, name in enumerate(classes.tolist())}
    return pd.DataFrame(columns)
