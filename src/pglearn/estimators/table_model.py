"""A table in, labels out: an encoder and a classifier that are fitted, saved and loaded together."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from pglearn.arrays import Array
from pglearn.errors import ModelFileError
from pglearn.estimators import model_file
from pglearn.estimators.pglearn import PGLearnClassifier
from pglearn.search import Listener
from pglearn.tables.encode import TableEncoder


@dataclass(frozen=True, eq=False)
class TableModel:
    """What `pglearn fit` makes and `pglearn predict` uses."""

    encoder: TableEncoder
    classifier: PGLearnClassifier
    target: str

    @classmethod
    def fitted(
        cls,
        features: pd.DataFrame,
        labels: Array,
        target: str,
        classifier: PGLearnClassifier,
        listeners: tuple[Listener, ...] = (),
    ) -> TableModel:
        """Encode and scale the features, and fit `classifier` to them as they are then."""
        encoder = TableEncoder().fit(features)
        classifier.set_params(scale=False)
        return cls(encoder, classifier.fit(encoder.transform(features), labels, listeners=listeners), target)

    def predict_proba(self, features: pd.DataFrame) -> Array:
        return self.classifier.predict_proba(self.encoder.transform(features))

    def weights(self, features: pd.DataFrame) -> pd.DataFrame:
        """Weight of every column in its own units, and its share in the distance between rows; largest share first."""
        ensemble = self.classifier._ensemble
        X = ensemble.scaling.transform(self.encoder.transform(features))
        table = pd.DataFrame(
            {
                "column": self.encoder.columns_,
                "weight": self.encoder.weights_by_column(self.classifier.feature_weights_),
                "share": self.encoder.importance_by_column(ensemble.weights_after_scaling, X),
            }
        )
        return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def save(self, path: str | PathLike[str]) -> None:
        arrays: dict[str, Array] = {**self.classifier.to_arrays(), **self.encoder.to_arrays()}
        model_file.write(path, {**arrays, "target": np.array(self.target)})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TableModel:
        arrays: dict[str, Any] = model_file.read(path)
        if "target" not in arrays:
            raise ModelFileError(
                f"{path} holds a classifier for plain arrays: load it with pglearn.PGLearnClassifier.load in Python."
            )
        return cls(TableEncoder.from_arrays(arrays), PGLearnClassifier.from_arrays(arrays), str(arrays["target"]))
