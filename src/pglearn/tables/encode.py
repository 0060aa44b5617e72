"""Rows of a table to rows of numbers between which distances make sense."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pglearn.errors import InputError
from pglearn.parameters import check_whole
from pglearn.sections import ABOVE_ZERO, Expectation, Section, Sections
from pglearn.tables.columns import READERS, Column, Floats, Reading, number_column, numbers_the_rows, reading_of
from pglearn.tables.frames import array_names, as_frame, listed
from pglearn.tables.scaling import half_ranges, is_automatic, on_common_scale

ENCODER = Section(
    "encoder",
    1,
    parameters=Expectation("those of TableEncoder by name", "record"),
    scaled=Expectation("whether numbers were standardised", "truth value"),
    notes=Expectation("what was left out, cut or filled in", "texts", ("notes",)),
    names_in=Expectation("columns of the table that was encoded", "texts", ("columns in",)),
    named=Expectation("whether these were names, or are only places", "truth value"),
    name=Expectation("the columns that are kept", "texts", ("columns",)),
    kind=Expectation("number, date or category", "texts", ("columns",)),
    median=Expectation("what fills the gaps of numbers", shape=("columns",)),
    center=Expectation("what is taken from numbers", shape=("columns",)),
    scale=Expectation("what they are divided by", shape=("columns",), low=ABOVE_ZERO, high=np.inf),
    has_missing=Expectation("whether a category has a feature for gaps", "truth value", ("columns",)),
    n_words=Expectation("how many of the words are of each column", "whole number", ("columns",), low=0),
    words=Expectation("levels of a category; texts among numbers that are gaps", "texts", ("words",)),
)
_OF_COLUMN = ("name", "kind", "median", "center", "scale", "has_missing")


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encode numbers, dates and categories as one matrix of floats.

    Numbers (also truth values; dates, ISO text among them, and durations in seconds): a missing or infinite one
    takes the median of its column; they are standardised if `scale` says so; a constant column becomes 0. So are
    numbers read as text for some stray words, if these fill at most 5 % of the rows: they count as missing.
    Categories (text, white space around it dropped; categoricals): one 0/1 feature per level seen in fit, and
    one for missing values if fit saw any; a level that fit did not see is all zeros. A column without a single
    value, of text that hardly repeats, or that only numbers the rows (1, 2, 3, ... over 20 rows or more) is left
    out, and transform does not ask for it.

    Parameters
    ----------
    scale : "auto", True or False
        Whether numbers get mean 0 and standard deviation 1. "auto" does so when there is a category beside
        them or when they are not on a common scale (`pglearn.tables.scaling`).
    max_levels : int
        Levels kept of a category, the most frequent ones; the others are all zeros.

    Attributes
    ----------
    columns_ : list of str
        The columns kept, in order.
    category_columns_ : list of str
        Those of them that are categories.
    feature_names_out_ : object array of str
        The encoded features: `age`, `city=Rome`, `city=(missing)`.
    source_ : int array
        For each encoded feature the index of its column in `columns_`.
    scaled_ : bool
        Whether numbers were standardised.
    notes_ : list of str
        Sentences on what was left out, cut or filled in.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [20, 40, None], "city": ["Rome", "Oslo", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'city=Oslo', 'city=Rome']
    >>> encoder.transform(table).round(1).tolist()
    [[-1.2, 0.0, 1.0], [1.2, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> encoder.notes_
    ["Missing or infinite numbers take the median of their column: 'age' (1)."]
    """

    def __init__(self, scale: Literal["auto"] | bool = "auto", max_levels: int = 50) -> None:
        self.scale = scale
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns of X; y is ignored."""
        is_auto = is_automatic(self.scale)
        check_whole("max_levels", self.max_levels, 1)
        frame = self._frame(X, reset=True)
        numbering = [str(name) for name, column in frame.items() if numbers_the_rows(column)]
        readings = [reading_of(frame[name], self.max_levels) for name in frame.columns if name not in numbering]
        alike = on_common_scale(np.array([half_ranges(r.x) for r in readings if r.x is not None]))
        self.scaled_ = any(r.category for r in readings) or not alike if is_auto else bool(self.scale)
        learned = [r.category or number_column(r, self.scaled_) for r in readings if r.category or r.x is not None]
        self.notes_ = _notes(numbering, readings)
        if not learned:
            raise InputError(" ".join(["No column can be used.", *self.notes_, "Add a column of features."]))
        self._set_columns(learned)
        return self

    def transform(self, X: Any) -> Floats:
        """Encode X: float64, one row per row of X, one column per name in `feature_names_out_`.

        Columns that were not there in fit are ignored; a column that is lacking is an error.
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        if lacking := [name for name in self.columns_ if name not in frame.columns]:
            raise InputError(f"The table lacks {listed(lacking)}, which fit has seen. Add what is lacking.")
        encoded = np.empty((len(frame), len(self.source_)))
        start = 0
        for column in self._learned:
            part = column.encode(frame[column.name])
            encoded[:, start : start + part.shape[1]] = part
            start += part.shape[1]
        return encoded

    @property
    def category_columns_(self) -> list[str]:
        """The columns kept that are categories: what they hold are names, however much like numbers these look."""
        check_is_fitted(self)
        return [column.name for column in self._learned if column.kind == "category"]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the encoded features; `input_features` is ignored, the names are those of fit."""
        check_is_fitted(self)
        return self.feature_names_out_

    def weights_by_column(self, a: npt.ArrayLike) -> Floats:
        """Weight of each column of the table in the units it came in, given the weights `a` of the encoded features.

        For a number a / scale²; for a category the mean of its levels.
        """
        check_is_fitted(self)
        mean: Floats = np.bincount(self.source_, weights=np.asarray(a)) / np.bincount(self.source_)
        scale: Floats = np.array([column.scale for column in self._learned])
        # Twice, because the square of a very large or very small scale is not a float.
        return mean / scale / scale

    def importance_by_column(self, a: npt.ArrayLike, X_encoded: npt.NDArray[Any]) -> Floats:
        """Share of each column in the mean squared weighted distance between rows.

        The mean of Σ_m a_m (x_im − x_jm)² over all pairs of rows i, j is 2 Σ_m a_m var_m, so the share of a
        column is the sum of a_m var_m over its features, divided by that over all. Zeros if that is zero.
        """
        part = np.bincount(self.source_, weights=a * np.var(X_encoded, axis=0))
        total = part.sum()
        return part / total if total > 0 else np.zeros_like(part)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that transform needs, in sections."""
        check_is_fitted(self)
        state = {
            "parameters": self.get_params(),
            "scaled": self.scaled_,
            "notes": self.notes_,
            "names_in": self._names_in(),
            "named": hasattr(self, "feature_names_in_"),
            "words": [word for column in self._learned for word in column.words],
            "n_words": [len(column.words) for column in self._learned],
        }
        return ENCODER.arrays(state | {name: [getattr(c, name) for c in self._learned] for name in _OF_COLUMN})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """The encoder that `to_arrays` stored."""
        file = Sections(arrays)
        stored = file.read(ENCODER)
        file.require(set(stored["parameters"]) == {"scale", "max_levels"}, "encoder.parameters has other names")
        file.require(stored["n_words"].sum() == len(stored["words"]), "encoder.n_words does not add up to the words")
        file.require(set(stored["kind"]) <= {*READERS, "category"}, "encoder.kind is not known")
        file.require(set(stored["name"]) <= set(stored["names_in"]), "encoder.name has names that fit did not see")
        words = iter(stored["words"])
        of_column = (np.asarray(stored[field], dtype=object) for field in ("n_words", *_OF_COLUMN))
        learned = [
            Column(**dict(zip(_OF_COLUMN, own, strict=True)), words=list(islice(words, n_words)))
            for n_words, *own in zip(*of_column, strict=True)
        ]
        encoder = cls(**stored["parameters"])
        encoder._set_columns(learned)
        encoder.scaled_, encoder.notes_ = stored["scaled"], stored["notes"]
        encoder.n_features_in_ = len(stored["names_in"])
        if stored["named"]:
            encoder.feature_names_in_ = np.array(stored["names_in"], dtype=object)
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _set_columns(self, learned: list[Column]) -> None:
        self._learned = learned
        self.columns_ = [column.name for column in learned]
        names = [column.feature_names for column in learned]
        self.feature_names_out_ = np.array([name for group in names for name in group], dtype=object)
        self.source_ = np.repeat(np.arange(len(learned)), [len(group) for group in names])

    def _frame(self, X: Any, reset: bool) -> pd.DataFrame:
        """X as a pandas frame; in fit (`reset`) its columns are taken note of."""
        if not hasattr(X, "columns"):
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            # An array of objects may hold a column of numbers beside a column of text.
            return pd.DataFrame(X, columns=self._names_in()).infer_objects()
        frame = as_frame(X)
        if reset:
            self.n_features_in_ = len(frame.columns)
            self.feature_names_in_ = np.array(frame.columns, dtype=object)
        return frame

    def _names_in(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", array_names(self.n_features_in_)))


def _notes(numbering: list[str], readings: list[Reading]) -> list[str]:
    """Sentences on what was left out, filled in or taken for something else."""
    notes = []
    if numbering:
        notes.append(f"Left out for only numbering the rows: {listed(numbering)}.")
    if empty := [r.name for r in readings if r.kind == "missing"]:
        notes.append(f"Left out for want of a single value: {listed(empty)}.")
    numbers = {r.name: r.x for r in readings if r.x is not None}
    if constant := [name for name, x in numbers.items() if not half_ranges(x)]:
        notes.append(f"Of one value only, and so encoded as 0: {listed(constant)}.")
    gaps = {name: int(np.sum(~np.isfinite(x))) for name, x in numbers.items()}
    if filled := [name for name, count in gaps.items() if count]:
        counts = listed(filled, [f" ({gaps[name]})" for name in filled])
        notes.append(f"Missing or infinite numbers take the median of their column: {counts}.")
    return [*notes, *(reading.note for reading in readings if reading.note)]
