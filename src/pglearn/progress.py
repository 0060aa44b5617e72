"""The progress bar: a listener to the events of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from pglearn.search.events import Event, Listener


@contextmanager
def silence() -> Iterator[tuple[Listener, ...]]:
    """No listeners."""
    yield ()


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[tuple[Listener, ...]]:
    """A bar that fills as candidates use up their units, with the best loss so far."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[engine]} {task.fields[round]}/{task.fields[rounds]}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=console or Console(stderr=True)) as progress:
        yield (Bar(progress),)


@contextmanager
def trials_bar(console: Console | None = None) -> Iterator[tuple[Listener, ...]]:
    """A bar that fills as a baseline uses up its units, with the best validation accuracy so far."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[method]} · {task.fields[tried]} tried"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=console or Console(stderr=True)) as progress:
        task = progress.add_task("search", method="", tried=0, best="", total=None)
        highest = -1.0

        def listen(event: Event) -> None:
            nonlocal highest
            match event["event"]:
                case "search_started":
                    progress.update(task, total=event["budget"], method=event["method"])
                case "trial_ended":
                    highest = max(highest, event["accuracy"])
                    best = f"best validation accuracy {highest:.4f}"
                    progress.update(task, completed=event["spent"], tried=event["candidate"] + 1, best=best)

        yield (listen,)


class Bar:
    """Draws the events of one search on a rich progress display."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("search", engine="· round", round=0, rounds="?", best="", total=None)
        self._units: list[float] = []  # that a candidate uses in each round
        self._loss = float("inf")
        self._answer = self._task
        self._built = 0

    def __call__(self, event: Event) -> None:
        match event["event"]:
            case "search_started" | "search_resumed":
                ends = event["milestones"]
                self._units = [end - start for start, end in zip([0.0, *ends[:-1]], ends, strict=True)]
                self._progress.update(
                    self._task,
                    total=event["candidates"] * event["budget"],
                    completed=event.get("units", 0.0),
                    rounds=event["rounds"],
                    engine=_described(event),
                )
            case "answer_started":
                what, total, members = "labels of all rows · graph", event["total"], len(event["members"])
                self._answer = self._progress.add_task(
                    "answer", total=total, engine=what, round=0, rounds=members, best=""
                )
            case "member_graph_built":
                self._built += 1
                recall = f"recall {event['recall']:.3f}"
                self._progress.update(self._answer, advance=1, round=self._built, best=recall)
            case "member_solved":
                self._progress.update(self._answer, advance=1)
            case "answer_ended":
                self._progress.update(self._answer, completed=self._progress.tasks[self._answer].total)
            case "round_started":
                self._progress.update(self._task, round=event["round"] + 1)
            case "worker_lost":
                self._progress.console.print(f"A worker died, with {len(event['candidates'])} candidates under way.")
            case "candidate_advanced":
                if event["loss"] < self._loss:
                    self._loss = event["loss"]
                    best = f"best loss {event['loss']:.4g}"
                    self._progress.update(self._task, best=best)
                self._progress.advance(self._task, self._units[event["round"]])


def _described(event: Event) -> str:
    """What searches what, so that nobody takes a part of the rows for all of them."""
    approximate = ", approximate neighbours" * (event.get("neighbors") == "approximate")
    searched, points = event.get("searched", 0), event.get("points", 0)
    part = f", {searched:,} of {points:,} rows" * (searched < points)
    return f"{event['engine']}{approximate}{part} · round"
