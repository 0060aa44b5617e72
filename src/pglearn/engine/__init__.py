"""Where the mathematics meets the hardware."""

from pglearn.engine.base import Configuration, Engine, Evaluation
from pglearn.engine.choose import announce_neighbours, check_engine, chosen_engine, neighbours_among
from pglearn.engine.cpu import CPUEngine

__all__ = [
    "CPUEngine",
    "Configuration",
    "Engine",
    "Evaluation",
    "announce_neighbours",
    "check_engine",
    "chosen_engine",
    "neighbours_among",
]
