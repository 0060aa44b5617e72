"""Data frames to files."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pglearn.files import whole_file


def write_table(frame: pd.DataFrame, path: Path) -> None:
    with whole_file(path) as file:
        frame.to_csv(file, index=False, mode="wb")
