"""The engine for GPUs: a whole population as one batched tensor program. Only this folder imports torch."""

from pglearn.engine.torch.engine import TorchEngine, cuda_is_available

__all__ = ["TorchEngine", "cuda_is_available"]
