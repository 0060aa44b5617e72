"""What each part of the answer adds, and whether its probabilities mean what they say.

    python bench/answers.py                                    # the paper's data sets, ten published splits
    python bench/answers.py --noise uniform --splits 3
    python bench/answers.py --other --first 20 --splits 3      # draws that no table of accuracies has
    python bench/answers.py --plot docs/reliability.svg        # needs matplotlib
    python bench/answers.py --quick                            # small made-up data

One default fit per split. Its members then answer alone, in each basis, together with weights of several widths τ,
after hearing each other, with regressions beside them that count more or less, and with class shares, which is the
default. The second table is the expected calibration error of the default (15 bins).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from catalogue import drawn, other_task
from common import DATA_SETS, data_folder, few_labels, hidden, load, machine, print_columns, pyplot
from other_data import NAMES, skewed
from pglearn import PGLearnClassifier
from pglearn.engine import CPUEngine
from pglearn.estimators.answer import Answer
from pglearn.estimators.members import TAU, Member, averaged
from pglearn.estimators.opinion import learned_distances, regressions, said_by
from pglearn.graph import weighted_graph
from pglearn.problem import Problem
from pglearn.propagation import LGC
from tasks import NOISE, Draw, Task, published, with_noise

BINS = 15


def main() -> None:
    options = parsed()
    print(f"10 % labels, noise {options.noise}, {options.splits} draws; {machine()}")
    accuracy: dict[str, dict[str, list[float]]] = {}
    answers: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for task in chosen_tasks(options):
        for split in range(options.first, options.first + options.splits):
            draw = task.draw(split)
            model = PGLearnClassifier(
                random_state=split, n_jobs=options.jobs, **({"budget": 2} if options.quick else {})
            )
            model.fit(draw.X, hidden(draw.y, draw.shown))
            for name, probabilities in variations(model, draw).items():
                right = (probabilities.argmax(axis=1) == draw.y)[~draw.shown]
                accuracy.setdefault(name, {}).setdefault(task.name, []).append(right.mean())
            sure = model.confidence_[~draw.shown]
            answers.setdefault(task.name, []).append((sure, (model.transduction_ == draw.y)[~draw.shown]))
        print(f"{task.name} done", flush=True)
    print_accuracy(accuracy, list(answers))
    print_calibration(answers)
    if options.plot:
        plot(answers, options.plot)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the .npz files (default: PGLEARN_DATA or ../shared/data)")
    parser.add_argument("--sets", nargs="+", default=DATA_SETS, choices=DATA_SETS, metavar="SET")
    parser.add_argument("--other", action="store_true", help="data that ships with scikit-learn or makes itself")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first split or draw")
    parser.add_argument("--noise", default="none", choices=("none", *NOISE), help="as many columns as features")
    parser.add_argument("--jobs", type=int, default=-1, help="processes of a fit")
    parser.add_argument("--plot", type=Path, help="write a reliability plot to this file")
    parser.add_argument("--quick", action="store_true", help="small made-up data, a small budget")
    options = parser.parse_args()
    if options.quick:
        options.splits, options.jobs = 1, 1
    return options


def chosen_tasks(options: argparse.Namespace) -> list[Task]:
    if options.quick:
        return [Task("small", partial(drawn, partial(skewed, (60, 40, 30)), partial(few_labels, fraction=0.2)))]
    if options.other:
        return [other_task(name, 10) for name in NAMES]
    sets = [load(name, data_folder(options.data)) for name in options.sets]
    if None in sets:
        raise SystemExit("The published data sets are not in that folder: name it with --data. --quick needs none.")
    return [with_noise(published(data, 10), options.noise) for data in sets]


def variations(model: PGLearnClassifier, draw: Draw) -> dict[str, np.ndarray]:
    """Probabilities of the table's rows, by what made them."""
    answer = model._answer
    members = before_hearing(answer, Problem.of(answer.X, hidden(draw.y, draw.shown)), model)
    found = {f"{name} alone": mean_of(answer, by_basis(members, b)) for b, name in enumerate(model.bases_)}
    found["all, equal weights"] = mean_of(answer, members)
    weights = np.array([member.weight for member in members])
    for tau in (TAU / 2, TAU, 2 * TAU):
        found[f"all, weighted, τ = {tau:g}"] = averaged(
            [member.F for member in members], (weights ** (TAU / tau)).tolist(), answer.prior
        )[0]
    found["all, after hearing each other"] = replace(answer, beside=None).opinion[0]
    for times in (0.5, 1, 2):
        found[f"and regressions, × {times:g}"] = with_regressions(answer, min(times * model.regression_weight_, 1.0))
    found["all regressions, equal weights"] = mean_of_regressions(
        answer, np.eye(len(answer.classes))[draw.y[draw.shown]]
    )
    found["with class shares: the default"] = model.label_distributions_
    return found


def with_regressions(answer: Answer, weight: float) -> np.ndarray:
    """The answer before class shares, regressions counting so much, if any are heard."""
    beside = None if answer.beside is None else replace(answer.beside, weight=weight)
    return replace(answer, beside=beside).opinion[0]


def mean_of_regressions(answer: Answer, Y: np.ndarray) -> np.ndarray:
    """Whether they are heard or not; of none, as with very many classes, the class shares."""
    learned = learned_distances(answer.bases, [(member.basis, member.a, member.weight) for member in answer.members])
    found = regressions(answer.X, answer.bases, answer.labelled, Y, learned).values()
    said = [said_by(regression, answer.X, answer.bases) for regression, _ in found]
    return np.mean(said, axis=0) if said else mean_of(answer, [])


def before_hearing(answer: Answer, problem: Problem, model: PGLearnClassifier) -> list[Member]:
    engine = CPUEngine(propagation=LGC(model.alpha))
    solved = []
    for member in answer.members:
        F = np.maximum(engine.propagate(problem, weighted_graph(answer.view(member.basis), member.a, member.k)).F, 0)
        sums = F.sum(axis=1, keepdims=True)
        solved.append(replace(member, F=np.divide(F, sums, out=np.zeros_like(F), where=sums > 0)))
    return solved


def by_basis(members: list[Member], basis: int) -> list[Member]:
    return [member for member in members if member.basis == basis]


def mean_of(answer: Answer, members: list[Member]) -> np.ndarray:
    """Of none, the class shares."""
    opinions = [member.F for member in members] or [np.zeros_like(answer.members[0].F)]
    return averaged(opinions, [1.0] * len(opinions), answer.prior)[0]


def print_accuracy(accuracy: dict[str, dict[str, list[float]]], sets: list[str]) -> None:
    rows = [["answer", *sets, "mean"]]
    for name, by_set in accuracy.items():
        means = [float(np.mean(by_set[task])) if task in by_set else float("nan") for task in sets]
        rows.append([name, *(f"{mean:.4f}" for mean in (*means, float(np.mean(means))))])
    print_columns(rows)
    print()


def print_calibration(answers: dict[str, list[tuple[np.ndarray, np.ndarray]]]) -> None:
    rows = [["data set", "accuracy", "mean confidence", "expected calibration error"]]
    for name, draws in answers.items():
        figures = [(right.mean(), sure.mean(), calibration_error(sure, right)) for sure, right in draws]
        rows.append([name, *(f"{figure:.4f}" for figure in np.mean(figures, axis=0))])
    print_columns(rows)


def bins_of(sure: np.ndarray) -> np.ndarray:
    return np.minimum((sure * BINS).astype(int), BINS - 1)


def calibration_error(sure: np.ndarray, right: np.ndarray) -> float:
    """Σ over bins of confidence: share of the rows × |mean confidence − accuracy|."""
    bins = bins_of(sure)
    return float(sum(abs((sure - right)[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)))


def plot(answers: dict[str, list[tuple[np.ndarray, np.ndarray]]], path: Path) -> None:
    figure, axes = pyplot().subplots(figsize=(4.5, 4.5), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="as sure as right")
    for name, draws in answers.items():
        sure, right = (np.concatenate(parts) for parts in zip(*draws, strict=True))
        bins = bins_of(sure)
        many = [b for b in np.unique(bins) if (bins == b).sum() >= 20]
        points = [(sure[bins == b].mean(), right[bins == b].mean()) for b in many]
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name)
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.legend(frameon=False)
    figure.savefig(path)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
