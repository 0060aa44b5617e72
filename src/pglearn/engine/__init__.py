"""Where the mathematics meets the hardware."""

from pglearn.engine.base import Configuration, Engine, Evaluation
from pglearn.engine.choose import chosen_engine
from pglearn.engine.cpu import CPUEngine

__all__ = ["CPUEngine", "Configuration", "Engine", "Evaluation", "chosen_engine"]
