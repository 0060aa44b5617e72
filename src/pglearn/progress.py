"""The progress bar: a listener to the events of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from pglearn.search.events import Event, Listener


@contextmanager
def silence() -> Iterator[tuple[Listener, ...]]:
    """No listeners."""
    yield ()


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[tuple[Listener, ...]]:
    """A bar that fills as candidates use up their units, with the best loss so far."""
    with _display(console) as progress:
        yield (Bar(progress),)


@contextmanager
def trials_bar(console: Console | None = None) -> Iterator[tuple[Listener, ...]]:
    """A bar that fills as a baseline uses up its units, with the best validation accuracy so far."""
    with _display(console) as progress:
        yield (TrialsBar(progress),)


def _display(console: Console | None) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[best]}"),
        console=console or Console(stderr=True),
    )


class TrialsBar:
    """Draws the trials of a baseline on a rich progress display."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", best="", total=None)
        self._highest = -1.0

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "search_started":
                self._progress.update(self._task, total=event["budget"], description=event["method"])
            case "trial_ended":
                self._highest = max(self._highest, event["accuracy"])
                best = f"{event['candidate'] + 1} tried, best validation accuracy {self._highest:.4f}"
                self._progress.update(self._task, completed=event["spent"], best=best)


class Bar:
    """Draws the events of one search on a rich progress display."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("", best="", total=None)
        self._what, self._rounds = "", 0
        self._candidates, self._ends = 0, [0.0]  # of the rounds, in units
        self._lowest = float("inf")
        self._answer = self._task
        self._built, self._members = 0, 0

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "search_started" | "search_resumed":
                self._what, self._rounds = _described(event), event["rounds"]
                self._candidates, self._ends = event["candidates"], [0.0, *event["milestones"]]
                total, done = self._candidates * event["budget"], self._ends[event.get("round", 0)]
                self._progress.update(self._task, total=total, completed=self._candidates * done)
                self._progress.update(self._task, description=self._in_round(event.get("round", 0)))
            case "round_started":
                self._progress.update(self._task, description=self._in_round(event["round"]))
            case "round_ended":
                self._progress.update(self._task, completed=self._candidates * self._ends[event["round"] + 1])
            case "candidate_advanced":
                self._lowest = min(self._lowest, event["loss"])
                best = f"best loss {self._lowest:.4g}"
                units = self._ends[event["round"] + 1] - self._ends[event["round"]]
                self._progress.update(self._task, advance=units, best=best)
            case "worker_lost":
                self._progress.console.print(f"A worker died, with {len(event['candidates'])} candidates under way.")
            case "answer_started":
                self._members = len(event["members"])
                self._answer = self._progress.add_task(self._of_graphs(), total=event["total"], best="")
            case "member_graph_built":
                self._built += 1
                best = f"recall {event['recall']:.3f}"
                self._progress.update(self._answer, advance=1, description=self._of_graphs(), best=best)
            case "member_solved":
                self._progress.update(self._answer, advance=1)
            case "answer_ended":
                self._progress.update(self._answer, completed=self._progress.tasks[self._answer].total)

    def _in_round(self, round: int) -> str:
        return f"{self._what} · round {min(round + 1, self._rounds)}/{self._rounds}"

    def _of_graphs(self) -> str:
        return f"labels of all rows · graph {self._built}/{self._members}"


def _described(event: Event) -> str:
    """What searches what, so that nobody takes a part of the rows for all of them."""
    approximate = ", approximate neighbours" if event["neighbors"] == "approximate" else ""
    searched, points = event["searched"], event["points"]
    part = f", {searched:,} of {points:,} rows" if searched < points else ""
    return f"{event['engine']}{approximate}{part}"
