"""A search with a worker dying in it: what it costs, and a picture of it from its events.

    python bench/dying.py                                     # a dask scheduler and two workers, started here
    python bench/dying.py --plot docs/dying.svg               # and the picture
    python bench/dying.py --quick                             # loky, small

One of the two workers gets SIGKILL when a quarter of the candidates of the second round are back. The answer must be
that of a search in which nobody died, bit for bit.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from common import Figure, few_labels, hidden, machine, made_up, one_thread, print_table, pyplot
from pglearn import PGLearnClassifier
from processes import children, dask_cluster, workers_of


@dataclass
class Witness:
    """A listener that keeps the events and kills, once."""

    victims: Callable[[], list[int]]
    events: list[dict[str, Any]] = field(default_factory=list)
    killed_at: float | None = None

    def __call__(self, event: dict[str, Any]) -> None:
        self.events.append(event)
        back = [e for e in self.events if e["event"] == "candidate_advanced" and e["round"] == 1]
        if self.killed_at is None and len(back) >= 4 and (victims := self.victims()):
            self.killed_at = time.time()
            os.kill(victims[0], signal.SIGKILL)

    @property
    def seconds(self) -> float:
        return float(self.events[-1]["time"] - self.events[0]["time"])


def main() -> None:
    options = parsed()
    print(machine())
    data = made_up(200, 10, 3) if options.quick else made_up(1500, 241, 6)
    y = hidden(data.y, few_labels(data.y, 0.1))

    def searched(executor: str, victims: Callable[[], list[int]]) -> tuple[PGLearnClassifier, Witness]:
        witness = Witness(victims)
        model = PGLearnClassifier(n_candidates=16, n_jobs=2, executor=executor, random_state=0)
        return model.fit(data.X, y, listeners=(witness,)), witness

    with one_thread(), workers(options.quick) as (executor, victims):
        whole, undisturbed = searched(executor, list)
        model, witness = searched(executor, victims)
    assert witness.killed_at is not None, "nobody was killed"
    np.testing.assert_array_equal(model.label_distributions_, whole.label_distributions_)
    differ = np.any([model.history_[name] != values for name, values in whole.history_.items()], axis=0)
    if options.plot:
        draw(witness, options.plot)
    print_table(
        [
            Figure("search in which nobody dies", f"{undisturbed.seconds:.2f} s"),
            Figure("search with a worker killed", f"{witness.seconds:.2f} s"),
            Figure.at_most(f"of {len(differ)} evaluations, those that differ", float(differ.sum()), 0, ""),
        ]
    )


@contextmanager
def workers(quick: bool) -> Iterator[tuple[str, Callable[[], list[int]]]]:
    """Where to search, and the processes to choose a victim from."""
    if quick:
        yield "loky", lambda: children(os.getpid(), "popen_loky")
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        dask_cluster(Path(folder)) as (address, nannies),
    ):
        yield address, lambda: workers_of(nannies)


def draw(witness: Witness, paths: list[Path]) -> None:
    """A bar for every candidate and round, as long as its evaluations took, ending when it was back."""
    plt = pyplot()
    begun = witness.events[0]["time"]
    figure, axes = plt.subplots(figsize=(8, 5))
    for event in witness.events:
        if event["event"] == "candidate_advanced":
            end = event["time"] - begun
            axes.barh(event["candidate"], event["seconds"], left=end - event["seconds"], color=f"C{event['round']}")
        if event["event"] == "round_ended":
            axes.axvline(event["time"] - begun, color="0.8", linewidth=0.8, zorder=0)
    assert witness.killed_at is not None
    axes.axvline(witness.killed_at - begun, color="black", linestyle="--", label="one of two workers is killed")
    axes.set(xlabel="seconds", ylabel="candidate", ylim=(-1, None))
    axes.invert_yaxis()
    axes.legend(loc="upper right")
    figure.tight_layout()
    for path in paths:
        figure.savefig(path)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="loky and small data")
    parser.add_argument("--plot", type=Path, nargs="+", metavar="FILE", help="draw the second search (.svg, .png)")
    parser.add_argument("--data", help=argparse.SUPPRESS)  # the tests give one to every script; X is made up here
    return parser.parse_args()


if __name__ == "__main__":
    main()
