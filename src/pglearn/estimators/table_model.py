"""A table in, labels out: an encoder and a classifier that are fitted, saved and loaded together."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import pandas as pd

from pglearn.arrays import Array
from pglearn.errors import ModelFileError
from pglearn.estimators.pglearn import CLASSIFIER, PGLearnClassifier
from pglearn.search import Listener
from pglearn.sections import Expectation, Section, Sections, read_model, write_sections
from pglearn.tables.encode import TableEncoder

TARGET = Section("target", 1, name=Expectation("the column that was labelled", "text"))


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
        target = TARGET.arrays({"name": self.target})
        write_sections(path, {**self.classifier.to_arrays(), **self.encoder.to_arrays(), **target})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TableModel:
        arrays = read_model(path, CLASSIFIER)
        file = Sections(arrays)
        if not file.has(TARGET):
            raise ModelFileError(
                f"{path} holds a classifier for plain arrays: load it with pglearn.PGLearnClassifier.load in Python."
            )
        encoder, classifier = TableEncoder.from_arrays(arrays), PGLearnClassifier.from_arrays(arrays)
        file.require(len(encoder.source_) == classifier.n_features_in_, "the encoder makes other features")
        return cls(encoder=encoder, classifier=classifier, target=file.read(TARGET)["name"])
