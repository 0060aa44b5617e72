"""Class-mass normalisation: no class is favoured because its labels spread further."""

from __future__ import annotations

import numpy as np

from pglearn.problem import Array


def mass_normalised(F: Array, masses: Array | None = None) -> Array:
    """F with its columns divided by the classes' masses, by default their sums, then rows that sum to one.

    A class without mass and rows of zeros stay as they are.
    """
    masses = F.sum(axis=0) if masses is None else masses
    F = F / np.where(masses > 0, masses, 1)
    sums = F.sum(axis=1, keepdims=True)
    return np.asarray(F / np.where(sums > 0, sums, 1))
