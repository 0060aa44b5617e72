"""Accuracy and seconds on sparse tables, beside what one would try on text: linear models, naive Bayes, LabelSpreading.

    python bench/sparse.py [--rows N] [--draws N] [--only TASK ...] [--methods METHOD ...] [--quick]
    python bench/sparse.py --neighbours N [N ...]

Documents are made up, and the docstrings of installed packages: real text that needs no download. It is SciPy's, to be
told apart by subpackage, and scikit-learn's; another version of them has other text. All are given as word counts
and as TF-IDF. Categories are one-hot columns, many of which say nothing. Every class has 15 labels. The peers
choose their setting by cross-validation on the labels they are shown (bench/peers.py); accuracy is on all other rows,
the mean over the draws, and seconds, those of the processor, are the median.

``--neighbours`` times a search for 10 neighbours of each of so many rows instead, with 50 words of 200,000 each, as
usual in text most of them common, half of them of a topic: exactly in the sparse rows, and approximately in 100
principal components, with the recall of these neighbours among those in the components.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import OneHotEncoder
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import LinearSVC

from common import best_of, hidden, machine, print_columns
from peers import ALPHAS, NEIGHBOURS, best_propagation, transduction, tuned
from pglearn import PGLearnClassifier
from pglearn.basis import bases_for
from pglearn.graph import k_nearest
from pglearn.graph.approximate import k_near, sampled_recall
from pglearn.sparse import sparse_rows

LABELS_PER_CLASS = 15
SUBPACKAGES = ("integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")
MODULES = ("cluster", "decomposition", "ensemble", "linear_model", "metrics", "model_selection", "neighbors")
LEAST_WORDS = 30

Rows = tuple[Any, np.ndarray]  # X, y


def documents(n: int, seed: int, n_classes: int = 6, words: int = 4000) -> Rows:
    """Word counts: a quarter of the words of a document are of its class, the others anyone's; lengths differ."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, words + 1)
    y = rng.permutation(np.arange(n) % n_classes)
    of_class = common**0.7 * rng.gamma(0.1, size=(n_classes, words))
    share = 0.25 * of_class / of_class.sum(axis=1, keepdims=True) + 0.75 * common / common.sum()
    lengths = 20 + rng.lognormal(4, 0.7, size=n).astype(int)
    counts = [rng.multinomial(length, share[c]) for length, c in zip(lengths, y, strict=True)]
    return sparse.csr_array(np.array(counts, dtype=np.float64)), y


def categories(n: int, seed: int, n_classes: int = 4) -> Rows:
    """One-hot columns: eight questions that the class has a say in, eight that it has not, and one of 300 towns."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % n_classes)
    answers = []
    for question in range(16):
        levels = rng.integers(3, 12)
        shares = rng.dirichlet(np.ones(levels), size=n_classes if question < 8 else 1)
        answers.append((shares.cumsum(axis=1)[y % len(shares)] < rng.random((n, 1))).sum(axis=1))
    answers.append(rng.integers(300, size=n))
    return sparse.csr_array(OneHotEncoder().fit_transform(np.column_stack(answers))), y


def docstrings(package: str) -> Iterator[str]:
    """Of all modules, classes and functions, as the source has them."""
    folder = Path(str(importlib.import_module(package).__file__)).parent
    for path in sorted(folder.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text and len(text.split()) >= LEAST_WORDS:
                    yield text


@cache
def texts_of(packages: tuple[str, ...]) -> tuple[list[str], np.ndarray]:
    """Docstrings, each once, and the position of their package."""
    texts: dict[str, int] = {}
    for position, package in enumerate(packages):
        for text in docstrings(package):
            texts.setdefault(text, position)
    return list(texts), np.array(list(texts.values()))


def real_text(packages: tuple[str, ...], n: int, seed: int) -> Rows:
    """Word counts of some docstrings, as many of each package, without the names of the packages."""
    texts, y = texts_of(packages)
    rng = np.random.default_rng(seed)
    each = n // len(packages)
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:each] for c in range(len(packages))])
    names = [part for package in packages for part in package.split(".")]
    words = CountVectorizer(stop_words=names, min_df=2)
    return sparse.csr_array(words.fit_transform([texts[row] for row in rows]), dtype=np.float64), y[rows]


def with_tf_idf(counts: Callable[[int, int], Rows], n: int, seed: int) -> Rows:
    X, y = counts(n, seed)
    return TfidfTransformer().fit_transform(X), y


COUNTS: dict[str, Callable[[int, int], Rows]] = {
    "documents": documents,
    "SciPy by subpackage": partial(real_text, tuple(f"scipy.{name}" for name in SUBPACKAGES)),
    "scikit-learn by module": partial(real_text, tuple(f"sklearn.{name}" for name in MODULES)),
}
TASKS: dict[str, Callable[[int, int], Rows]] = {
    **{f"{name}, counts": rows for name, rows in COUNTS.items()},
    **{f"{name}, TF-IDF": partial(with_tf_idf, rows) for name, rows in COUNTS.items()},
    "categories, one-hot": categories,
}


def ours(X: Any, y: np.ndarray, seed: int, **options: Any) -> np.ndarray:
    return PGLearnClassifier(random_state=seed, **options).fit(X, y).transduction_


def linear_model(model: Any, grid: dict[str, list[float]], X: Any, y: np.ndarray, seed: int) -> np.ndarray:
    shown = np.flatnonzero(y >= 0)
    return tuned(model, grid, X[shown], y[shown], seed).predict(X)


def label_spreading(X: Any, y: np.ndarray, seed: int) -> np.ndarray:
    graphs = (kneighbors_graph(X, k, include_self=True) for k in NEIGHBOURS)
    settings = (partial(transduction, LabelSpreading(alpha=alpha), W) for W in graphs for alpha in ALPHAS)
    return best_propagation(settings, y, seed)


STRENGTHS = [1.0, 0.01, 0.1, 10.0, 100.0]
METHODS: dict[str, Callable[[Any, np.ndarray, int], np.ndarray]] = {
    "pglearn": ours,
    "logistic": partial(linear_model, LogisticRegression(max_iter=1000), {"C": STRENGTHS}),
    "LinearSVC": partial(linear_model, LinearSVC(max_iter=10_000), {"C": STRENGTHS}),
    "naive Bayes": partial(linear_model, MultinomialNB(), {"alpha": [1.0, 0.01, 0.1]}),
    "LabelSpreading": label_spreading,
}


def shown_labels(y: np.ndarray, per_class: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    labelled = np.zeros(len(y), dtype=bool)
    for c in np.unique(y):
        labelled[rng.permutation(np.flatnonzero(y == c))[:per_class]] = True
    return labelled


def measured(method: Any, task: Callable[[int, int], Rows], n: int, draws: int) -> str:
    """Accuracy and seconds."""
    accuracies, seconds = [], []
    for draw in range(draws):
        X, y = task(n, draw)
        labelled = shown_labels(y, LABELS_PER_CLASS, draw)
        begun = time.process_time()
        found = method(X, hidden(y, labelled), draw)
        seconds.append(time.process_time() - begun)
        accuracies.append((found == y)[~labelled].mean())
    return f"{np.mean(accuracies):.3f}, {np.median(seconds):.1f} s"


def neighbours(n: int) -> tuple[str, ...]:
    """Seconds in sparse rows; of learning components, placing the rows in them and searching there; recall."""
    rng = np.random.default_rng(0)
    words = (200_000 ** rng.random((n, 50))).astype(int)  # as many of the 10 commonest as of the next 90
    words[:, 25:] += 1_000 * rng.integers(1, 100, size=(n, 1))  # the commonest of one of 99 topics
    words %= 200_000
    X = sparse_rows(sparse.csr_array((np.ones(50 * n), words.ravel(), np.arange(n + 1) * 50), shape=(n, 200_000)))
    X = TfidfTransformer().fit_transform(X)
    k_nearest(X[:5_000], 10)  # compilation
    k_near(np.random.default_rng(0).normal(size=(5_000, 100)), 10)
    exact, _ = best_of(1, lambda: k_nearest(X, 10))
    placing, Z = best_of(1, lambda: bases_for(X, "pca")[0].of_table(X))
    searching, found = best_of(1, lambda: k_near(Z, 10))
    return f"{n:,}", f"{exact:.1f} s", f"{placing:.1f} s", f"{searching:.1f} s", f"{sampled_recall(Z, found):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS), metavar="TASK")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="METHOD")
    parser.add_argument("--neighbours", type=int, nargs="+", metavar="N")
    parser.add_argument("--data", help="not used: nothing is read but the source of installed packages")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    n, draws, tasks, methods = options.rows, options.draws, options.only, options.methods
    if options.quick:
        methods = [name for name in methods if name != "logistic"]  # on counts it takes longer than all others
        n, draws, tasks = 300, 1, ["documents, counts", "two packages, TF-IDF", "categories, one-hot"]
        TASKS["two packages, TF-IDF"] = partial(with_tf_idf, partial(real_text, ("joblib", "rich")))
        METHODS["pglearn"] = partial(ours, budget=1, n_candidates=5)
    print(machine())
    if options.neighbours:
        head = ("rows", "exact, sparse", "components", "approximate, in them", "recall")
        print_columns([head, *(neighbours(n) for n in options.neighbours)])
        return
    rows = [(task, *(measured(METHODS[method], TASKS[task], n, draws) for method in methods)) for task in tasks]
    print_columns([("table", *methods), *rows])


if __name__ == "__main__":
    main()
