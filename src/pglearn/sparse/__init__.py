"""Tables of which most numbers are zero (text, one-hot categories), without ever writing the zeros down.

Whatever takes points takes an array or such a table, and asks here where the two differ.
"""

from pglearn.sparse.rows import (
    SparseDifferences,
    is_sparse,
    k_nearest,
    parts_of,
    ranges,
    scaled_rows,
    sparse_rows,
    table_of,
    times_columns,
    unit_rows,
)

__all__ = [
    "SparseDifferences",
    "is_sparse",
    "k_nearest",
    "parts_of",
    "ranges",
    "scaled_rows",
    "sparse_rows",
    "table_of",
    "times_columns",
    "unit_rows",
]
