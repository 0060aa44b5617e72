"""Changes stored files at random and reads them: `python -m tests.changed_files KIND NUMBER` counts what comes of it.

It runs in a process of its own, which a file that ends Python would end (`tests/test_sections.py`).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from pglearn import PGLearnClassifier
from pglearn.errors import PGLearnError
from pglearn.estimators.table_model import TableModel
from pglearn.files import digest, read_arrays

QUICK = {"budget": 2, "n_candidates": 5, "random_state": 0, "verbose": 0}
VALUES = (np.nan, np.inf, -np.inf, -1, 0, 1, 3, 0.5, 1e-300, 1e300, -1e300, 5e-324, 2**31, 2**62, -(2**63))
TYPES = ("f2", "f4", "f8", ">f8", "f16", "i1", "i4", "i8", ">i4", "u8", "c16", "b1", "U9", "S9", "M8[s]", "V8")


def points(n=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 3] += X[:, 2]
    X[:, 0] += 3 * (np.arange(n) % 2)
    return X, np.where(np.arange(n) < 10, np.arange(n) % 2, -1)


class Stored:
    """A file of one kind, and what reading it gives: an array of class probabilities."""

    def __init__(self, folder):
        self.X, self.y = points()
        self.path = folder / "model.npz"
        self.write()

    def write(self):
        PGLearnClassifier(**QUICK, scale=True).fit(self.X, self.y).save(self.path)

    def answer(self):
        model = PGLearnClassifier.load(self.path)
        model.suggest(2)
        return np.vstack([model.label_distributions_, model.predict_proba(self.X[:7] * 1.1)])


class SparseTable(Stored):
    def write(self):
        X = sparse.random(40, 30, 0.2, random_state=0, format="csr")
        y = np.where(np.arange(40) < 12, np.arange(40) % 2, -1)
        X[:, 0] = X[:, 0].toarray() + (np.arange(40) % 2)[:, None]
        self.X = sparse.csr_array(X)
        PGLearnClassifier(**QUICK).fit(self.X, y).save(self.path)


class Command(Stored):
    """As the command line stores it: with the encoder of a table."""

    def write(self):
        hours = pd.to_timedelta(np.arange(len(self.X)), unit="h")
        since = pd.Timestamp("2020-01-01") + hours
        columns = {"a": self.X[:, 0], "b": np.where(self.X[:, 1] > 0, "high", "low"), "since": since}
        self.frame = pd.DataFrame(columns | {"c": [*map(str, self.X[:-1, 2]), "?"]})
        labels = np.array([None if label < 0 else "yn"[label] for label in self.y], dtype=object)
        TableModel.fitted(self.frame, labels, "kind", PGLearnClassifier(**QUICK)).save(self.path)

    def answer(self):
        model = TableModel.load(self.path)
        model.weights(self.frame)
        return np.vstack([model.classifier.label_distributions_, model.predict_proba(self.frame[:7])])


class Checkpoint(Stored):
    """That of a search killed in its second round."""

    def write(self):
        self.path = self.path.with_name("state.npz")

        def kill(event):
            if event["event"] == "round_started" and event["round"] == 1:
                raise KeyboardInterrupt

        try:
            self.fit((kill,))
        except KeyboardInterrupt:
            return

    def answer(self):
        return self.fit().label_distributions_

    def fit(self, listeners=()):
        model = PGLearnClassifier(**QUICK, executor="serial", checkpoint=self.path.parent)
        return model.fit(self.X, self.y, listeners=listeners)


KINDS = {"dense": Stored, "sparse": SparseTable, "command": Command, "checkpoint": Checkpoint}


def other_value(array, rng):
    array = array.copy()
    flat = array.reshape(-1)
    if flat.size:
        with np.errstate(all="ignore"):
            flat[rng.integers(flat.size)] = np.array(VALUES[rng.integers(len(VALUES))]).astype(array.dtype)
    return flat.reshape(array.shape)


def other_bytes(array, rng):
    raw = np.frombuffer(array.tobytes(), dtype=np.uint8).copy()
    if raw.size:
        raw[rng.integers(raw.size)] ^= rng.integers(1, 256, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), dtype=array.dtype).reshape(array.shape)


def other_text(array, rng):
    if array.dtype.kind != "U" or array.ndim:
        return other_value(array, rng)
    text, start = str(array), rng.integers(len(str(array)) + 1)
    token = ("", "null", "[]", "{}", "[1, 2]", "-1", "1e999", "NaN", '"', ", ", "9" * 400)[rng.integers(11)]
    value = re.sub(r": [^,}]*", f": {token}", text, count=int(rng.integers(1, 5)))
    return np.array((text[:start], text[:start] + token + text[start + 3 :], token, value)[rng.integers(4)])


def other_shape(array, rng):
    forms = (array[None], array.reshape(-1), array.T, array.reshape(-1)[:-1], array.reshape(-1)[:0], array[..., None])
    longer = np.concatenate([np.atleast_1d(array)] * 2)
    return (*forms, longer, np.atleast_1d(array)[1:], np.atleast_1d(array)[::-1])[rng.integers(9)]


def other_type(array, rng):
    try:
        return array.astype(TYPES[rng.integers(len(TYPES))])
    except (ValueError, TypeError):
        return array.astype("U20")


def other_arrays(arrays, rng):
    """One array dropped or changed, or another in its place."""
    names = [name for name in sorted(arrays) if not name.endswith(".version") or rng.integers(10) == 0]
    name, other = rng.choice(names, 2, replace=False)
    way = rng.integers(8)
    changed = dict(arrays)
    if way == 0:
        del changed[name]
    elif way == 1:
        changed[name], changed[other] = arrays[other], arrays[name]
    elif way == 2:
        changed[name] = arrays[other]
    else:
        change = (other_value, other_bytes, other_text, other_shape, other_type)[rng.integers(5)]
        changed[name] = change(np.asarray(arrays[name]), rng)
    return changed


def change(path, whole, arrays, rng):
    """Write the file in another way; whether what it holds may be other than before, its checksum being right."""
    way = rng.integers(8)
    if way == 0:
        path.write_bytes(whole[: rng.integers(len(whole))])
    elif way == 1:
        raw = np.frombuffer(whole, dtype=np.uint8).copy()
        raw[rng.integers(raw.size, size=rng.integers(1, 4))] ^= rng.integers(1, 256, dtype=np.uint8)
        path.write_bytes(raw.tobytes())
    elif way == 2:
        np.savez(path, **arrays, **{"added.more": np.zeros(3)})
    elif way == 3:
        np.savez(path, **other_arrays(arrays, rng))
    else:
        content = other_arrays({name: array for name, array in arrays.items() if name != "checksum"}, rng)
        content = content | ({"added.more": np.zeros(3)} if way == 4 else {})
        np.savez(path, checksum=np.array(digest(content)), **content)
    return way > 3


def main(kind, number):
    warnings.simplefilter("ignore")
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        stored = KINDS[kind](Path(folder))
        whole, arrays = stored.path.read_bytes(), read_arrays(stored.path)
        expected = stored.answer()
        for seed in range(number):
            rng = np.random.default_rng([seed, len(kind)])
            may_differ = change(stored.path, whole, arrays, rng)
            print(kind, seed, file=sys.stderr, flush=True)  # the last line tells which one ended Python
            try:
                found = stored.answer()
            except PGLearnError as error:
                assert str(error).strip().endswith((".", "?")), error  # noqa: PT017
                counts["a sentence"] += 1
                continue
            assert np.isfinite(found).all()
            np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
            same = found.shape == expected.shape and np.array_equal(found, expected)
            assert same or may_differ
            counts["the right answer" if same else "another answer"] += 1
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
