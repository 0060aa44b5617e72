"""What a method is measured on: features, classes and the rows whose labels it may see, draw by draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from common import DataSet
from pglearn.datasets import NOISE, noisy

__all__ = ["NOISE", "Draw", "Task", "published", "with_noise"]


@dataclass(frozen=True)
class Draw:
    """Features, classes 0 … c−1 and a mask of the labelled rows; every other row is a test row."""

    X: np.ndarray
    y: np.ndarray
    shown: np.ndarray


@dataclass(frozen=True)
class Task:
    """A data set and how to draw from it, by the number of the draw."""

    name: str
    draw: Callable[[int], Draw]
    imbalanced: bool = False


def published(data: DataSet, percent: int) -> Task:
    """A data set of the paper: draw i is its published split i."""
    return Task(data.name, lambda split: Draw(data.X, data.y, data.labelled(percent, split)))


def with_noise(task: Task, kind: str) -> Task:
    """The task with as many columns of noise beside its own, or as it is where the kind is "none"."""
    return task if kind == "none" else Task(task.name, partial(_noisy, task, kind), task.imbalanced)


def _noisy(task: Task, kind: str, split: int) -> Draw:
    draw = task.draw(split)
    return Draw(noisy(draw.X, kind, split), draw.y, draw.shown)
