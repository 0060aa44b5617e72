"""Does a search survive the death of its process? SIGKILL at random moments, then resume, then compare bit for bit.

    python bench/kills.py                 # 20 kills of fits of 500×30 made-up points on two loky processes
    python bench/kills.py --kills 5 --jobs 1
    python bench/kills.py --quick         # 2 kills on small made-up data, in one process

Every trial kills a new fit once, at a moment drawn evenly over the time that the fit takes, lets another process go on
from the checkpoint, and compares search_results_, history_, labels and probabilities with those of a fit that was left
alone. The log of events must have every number once, and as many evaluations as the fit has.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from common import Figure, few_labels, hidden, machine, made_up, print_table
from pglearn import PGLearnClassifier
from pglearn.search import EventLog, read_events
from pglearn.search import checkpoint as checkpoints
from pglearn.search.checkpoint import digest


def main() -> None:
    options = parsed()
    if options.child is not None:
        fit(options)
        return
    kills = 2 if options.quick else options.kills
    options.jobs = 1 if options.quick else options.jobs
    print(f"{kills} kills, {options.jobs} processes; {machine()}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        figures = measured(options, kills, Path(folder))
    print_table(figures)
    if not all(figure.met for figure in figures if figure.met is not None):
        raise SystemExit(1)


def measured(options: argparse.Namespace, kills: int, folder: Path) -> list[Figure]:
    alone = folder / "alone"
    begun, ended = run(options, alone), time.monotonic()
    expected, seconds = answer(alone), ended - begun
    rng = np.random.default_rng(options.seed)
    trials = killed = identical = sound = 0
    while killed < kills:
        out = folder / f"trial {trials}"
        moment = rng.uniform(0, seconds)
        trials += 1
        if run(options, out, kill_after=moment) is not None:
            print(f"ended before it could be killed after {moment:.2f} s: does not count", flush=True)
            continue
        killed += 1
        run(options, out)
        same, whole = answer(out) == expected, log_is_sound(out)
        identical, sound = identical + same, sound + whole
        print(f"killed after {moment:.2f} of {seconds:.2f} s: {'identical' if same else 'DIFFERENT'}", flush=True)
    return [
        Figure("fits begun, of which killed before their end", f"{trials}, {killed}"),
        Figure.at_least("resumed to the identical result", identical, kills, f" of {kills}"),
        Figure.at_least("logs with every event once", sound, kills, f" of {kills}"),
    ]


def run(options: argparse.Namespace, out: Path, kill_after: float | None = None) -> float | None:
    """When the search of a child began, after the child has ended; None if it was killed on the way."""
    out.mkdir(exist_ok=True)
    arguments = [f"--child={out}", f"--jobs={options.jobs}", *(["--quick"] if options.quick else [])]
    command = [sys.executable, __file__, *arguments]
    complaints = None if kill_after is None else subprocess.DEVNULL  # loky's, about what the kill left behind
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as child:
        assert child.stdout is not None
        if not child.stdout.readline().startswith("search_"):
            raise SystemExit("the fit did not begin")
        begun = time.monotonic()
        if kill_after is not None:
            try:
                child.wait(kill_after)
            except subprocess.TimeoutExpired:
                child.kill()
                return None
        if child.wait():
            raise SystemExit(f"the fit ended with {child.returncode}")
    return begun


def fit(options: argparse.Namespace) -> None:
    checkpoints.EVERY = 0.2  # so that states within a round are gone on from too
    out = Path(options.child)
    data = made_up(200, 10, 3) if options.quick else made_up(500, 30, 4)
    labelled = few_labels(data.y, 0.1)
    model = PGLearnClassifier(
        budget=8, n_candidates=8, n_jobs=options.jobs, random_state=0, checkpoint=out / "checkpoint"
    )
    first = lambda event: print(event["event"], flush=True) if event["event"].startswith("search_") else None  # noqa: E731
    with EventLog(out / "events.jsonl") as log:
        model.fit(data.X, hidden(data.y, labelled), listeners=(log, first))
    arrays = {
        **{f"results {name}": column for name, column in model.search_results_.items()},
        **{f"history {name}": column for name, column in model.history_.items()},
        "labels": model.transduction_,
        "probabilities": model.label_distributions_,
        "weights": model.feature_weights_,
    }
    (out / "answer").write_text(digest(arrays))
    (out / "evaluations").write_text(str(len(model.history_["step"])))


def answer(out: Path) -> str:
    return (out / "answer").read_text()


def log_is_sound(out: Path) -> bool:
    events = read_events(out / "events.jsonl")
    told = sum(len(event["history"]) for event in events if event["event"] == "candidate_advanced")
    numbers = [event["number"] for event in events]
    return numbers == list(range(len(events))) and told == int((out / "evaluations").read_text())


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="not needed: the data are made up")
    parser.add_argument("--quick", action="store_true", help="small made-up data, two kills")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
