"""The progress bar: a listener to the events of a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

Event: TypeAlias = dict[str, Any]

AFTER_SECONDS = 3.0  # a fit that takes longer shows its bar to whoever watches


@contextmanager
def progress_bar(shown: int | None, console: Console | None = None) -> Iterator[tuple[Callable[[Event], None], ...]]:
    """A bar that fills as units are used up, with the best found so far; no listener if it is not to be shown. None
    shows it in a terminal or notebook, where the fit takes longer than a few seconds."""
    console = console or Console(stderr=True)
    if not (shown or (shown is None and (console.is_terminal or console.is_jupyter))):
        yield ()
        return
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.fields[best]}"),
        console=console,
    )
    bar = _Bar(progress, time.monotonic() + (AFTER_SECONDS if shown is None else 0))
    try:
        yield (bar,)
        bar.finish()
    finally:
        progress.stop()


class _Bar:
    """Draws the events of one search, of PG-learn or a baseline."""

    def __init__(self, progress: Progress, start: float) -> None:
        self._progress, self._start = progress, start
        self._task = progress.add_task("", best="", total=None)
        self._what, self._rounds = "", 0
        self._candidates, self._ends = 0, [0.0]  # ends of the rounds, in units
        self._answer = 0.0  # what it takes, in units
        self._lowest, self._highest = float("inf"), -1.0

    def finish(self) -> None:
        task = self._progress.tasks[self._task]
        self._progress.update(self._task, completed=task.total or 0)

    def __call__(self, event: Event) -> None:
        progress, task = self._progress, self._task
        if not progress.live.is_started and time.monotonic() >= self._start:
            progress.start()
        match event["event"]:
            case "search_started" if "method" in event:
                progress.update(task, total=event["budget"], description=event["method"])
            case "trial_ended":
                self._highest = max(self._highest, event["accuracy"])
                best = f"{event['candidate'] + 1} tried, best validation accuracy {self._highest:.4f}"
                progress.update(task, completed=event["spent"], best=best)
            case "search_started" | "search_resumed":
                self._what, self._rounds = _described(event), event["rounds"]
                self._candidates, self._ends = event["candidates"], [0.0, *event["milestones"]]
                self._answer = event["answer"]
                total, done = self._candidates * event["budget"], self._candidates * self._ends[event.get("round", 0)]
                progress.update(task, total=total + self._answer, completed=done, description=self._what)
            case "round_started":
                progress.update(task, description=f"{self._what} · round {event['round'] + 1}/{self._rounds}")
            case "candidate_advanced":
                self._lowest = min(self._lowest, event["loss"])
                units = self._ends[event["round"] + 1] - self._ends[event["round"]]
                progress.update(task, advance=units, best=f"best loss {self._lowest:.4g}")
            case "round_ended":
                progress.update(task, completed=self._candidates * self._ends[event["round"] + 1])
            case "worker_lost":
                progress.console.print(f"A worker died, with {len(event['candidates'])} candidates under way.")
            case "answer_started":
                self._answer /= event["total"]
                progress.update(task, description=f"{self._what} · labels of all rows")
            case "member_graph_built" | "member_solved":
                progress.update(task, advance=self._answer)


def _described(event: Event) -> str:
    """What searches what, so that nobody takes a part of the rows for all of them."""
    approximate = ", approximate neighbours" if event["neighbors"] == "approximate" else ""
    searched, points = event["searched"], event["points"]
    part = f", {searched:,} of {points:,} rows" if searched < points else ""
    return f"{event['engine']}{approximate}{part}"
