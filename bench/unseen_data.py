"""Fourteen data sets by somebody who had not read the method's code and ran no classifier on them (2026-11-18).

Made anew for every draw, apart from what ships with scikit-learn; five of them with five labels per class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets

from common import Rows
from pglearn import TableEncoder


def encoded(columns: Mapping[str, Any], gaps: Sequence[str], share: float, rng: np.random.Generator) -> np.ndarray:
    """What TableEncoder makes of the columns, of which some have gaps in a share of the rows."""
    table = pd.DataFrame(columns)
    for column in gaps:
        table[column] = table[column].mask(rng.random(len(table)) < share)
    return TableEncoder().fit_transform(table)


def thumbnails(seed: int) -> Rows:
    """Five of the handwritten digits, in 4 × 4 pixels instead of 8 × 8."""
    X, digit = datasets.load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(digit, (0, 2, 4, 5, 7))))[:650]
    small = X[rows].reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4))
    return small.reshape(len(rows), 16), np.searchsorted((0, 2, 4, 5, 7), digit[rows])


def bottles(seed: int) -> Rows:
    """Wine, seven of its columns read off in whole units, in an order of its own."""
    X, y = datasets.load_wine(return_X_y=True)
    coarse = [0, 1, 2, 5, 6, 9, 11]
    X[:, coarse] = np.round(X[:, coarse])
    rows = np.random.default_rng(seed).permutation(len(X))
    return X[rows], y[rows]


def lesions(seed: int) -> Rows:
    """Breast cancer, by standard errors and by how far the worst cells are from the mean; 450 of the patients."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(X))[:450]
    return np.hstack([X[:, 10:20], X[:, 20:] - X[:, :10]])[rows], y[rows]


def glucose(seed: int) -> Rows:
    """Diabetes that went on slowly or fast, without the third between; age, weight, pressure in steps, with gaps."""
    X, level = datasets.load_diabetes(return_X_y=True, scaled=False)
    low, high = np.quantile(level, [1 / 3, 2 / 3])
    ends = (level <= low) | (level > high)
    age, sex, weight, pressure = X[ends, :4].T
    columns = {f"serum {m}": serum for m, serum in enumerate(X[ends, 4:].T)}
    columns |= {"decade": age // 10, "sex": np.where(sex == 1, "one", "other")}
    columns["weight"] = np.array(["thin", "normal", "heavy", "obese"])[np.digitize(weight, [18.5, 25, 30])]
    columns["pressure"] = np.round(pressure, -1)
    X = encoded(columns, ["serum 2", "serum 5", "weight"], 0.05, np.random.default_rng(seed))
    return X, (level[ends] > high).astype(int)


def assays(seed: int) -> Rows:
    """Five classes of unequal size in 28 columns of unequal scale: nine informative, nine that repeat them, ten not."""
    sizes = [0.32, 0.24, 0.2, 0.14, 0.1]
    widths = {"n_features": 28, "n_informative": 9, "n_redundant": 6, "n_repeated": 3, "n_clusters_per_class": 1}
    return datasets.make_classification(
        700, n_classes=5, weights=sizes, class_sep=1.5, hypercube=False, scale=None, random_state=seed, **widths
    )


def articles(seed: int) -> Rows:
    """How often each of 45 words occurs in texts on no subject, on one of two, or on both, at most 150 of each."""
    X, subjects = datasets.make_multilabel_classification(
        n_samples=4000, n_features=45, n_classes=2, n_labels=1, length=35, random_state=seed
    )
    y = subjects @ [1, 2]
    rows = np.sort(np.concatenate([np.flatnonzero(y == c)[:150] for c in range(4)]))
    return X[rows], y[rows]


def gauges(seed: int) -> Rows:
    """Three levels of a noisy sum of four of fourteen columns."""
    X, level = datasets.make_sparse_uncorrelated(n_samples=540, n_features=14, random_state=seed)
    return X, np.digitize(level, np.quantile(level, [1 / 3, 2 / 3]))


def bookings(seed: int) -> Rows:
    """Hotel bookings that are cancelled or not: days ahead matter by the deposit, price by nights and channel; gaps."""
    rng = np.random.default_rng(seed)
    n = 700
    lead, nights, requests = rng.gamma(1.2, 60, n).round(), 1.0 + rng.poisson(2, n), rng.poisson(0.6, n).astype(float)
    deposit = rng.choice(["none", "part", "full"], n, p=[0.6, 0.25, 0.15])
    channel = rng.choice(["web", "agent", "firm"], n, p=[0.5, 0.3, 0.2])
    summer = rng.random(n) < 0.4
    price = rng.lognormal(4.4 + 0.3 * summer, 0.35)
    again = rng.random(n) < np.where(channel == "firm", 0.45, 0.15)
    risk = np.select([deposit == "none", deposit == "part"], [lead / 50, lead / 150], -1)
    risk += np.where(channel == "firm", -0.8, 0.8 * ((price > 90) & (nights > 2)))
    risk += rng.logistic(scale=0.35, size=n) - 1.2 * again - 0.6 * requests
    country = rng.choice(["PT", "GB", "FR", "ES", "DE", "IE"], n, p=[0.35, 0.2, 0.15, 0.12, 0.1, 0.08])
    columns = {"lead": lead, "nights": nights, "price": price, "deposit": deposit, "channel": channel}
    columns |= {"requests": requests, "again": again, "summer": summer, "country": country}
    cancelled = (risk > np.quantile(risk, 0.63)).astype(int)
    return encoded(columns, ["lead", "price", "country"], 0.05, rng), cancelled


def fields(seed: int) -> Rows:
    """What farmers grow, of four crops, by soil, height, weather that goes with it, and water where rain is short."""
    rng = np.random.default_rng(seed)
    n = 640
    height = rng.gamma(2, 150, n)
    rain, warmth = rng.normal(560 + 0.35 * height, 110), rng.normal(11 - 0.006 * height, 0.8)
    soil = np.where(rng.random(n) < height / 1500, "stony", rng.choice(["clay", "sand", "loam"], n))
    acidity = rng.normal(6.6 - 0.7 * (soil == "sand"), 0.5)
    slope = rng.gamma(1.5, 1 + height / 150)
    watered = rng.random(n) < np.where(rain < 620, 0.5, 0.1)
    wheat = 1.5 * acidity + 1.2 * (soil == "loam") - rain / 400
    maize = warmth + np.where(watered, 2, (rain - 680) / 100)
    potatoes = 2.5 * (soil == "sand") * (watered | (rain > 650)) - acidity - slope / 8
    grass = height / 200 + slope / 4 + (soil == "clay")
    use = np.column_stack([wheat, maize, potatoes, grass])
    use = (use - use.mean(axis=0)) / use.std(axis=0) + rng.gumbel(scale=0.25, size=use.shape)
    hectares, owner = rng.lognormal(1, 0.9, n), rng.choice(["family", "lease", "estate"], n)
    columns = {"height": height, "rain": rain, "warmth": warmth, "acidity": acidity, "slope": slope}
    columns |= {"soil": soil, "watered": watered, "hectares": hectares, "owner": owner}
    return encoded(columns, ["rain", "acidity", "soil", "hectares"], 0.07, rng), use.argmax(axis=1)


def repairs(seed: int) -> Rows:
    """Five faults of washing machines by age, use, noise, heat, the code that is shown, and leaks, with gaps."""
    rng = np.random.default_rng(seed)
    n = 550
    y = rng.permutation(np.arange(n) % 5)
    age = rng.gamma(4, np.array([1.4, 2.3, 1.8, 2.1, 1.2])[y])
    odds = np.array([[6, 1, 1, 3], [1, 2, 1, 6], [1, 1, 6, 3], [1, 5, 1, 4], [3, 3, 3, 3]])[y]
    columns = {
        "age": age,
        "cycles": age * rng.lognormal(5.2, 0.4, n),
        "decibels": rng.normal(np.array([62, 75, 61, 67, 60])[y], 5),
        "minutes": rng.normal(np.array([118, 106, 128, 100, 110])[y], 14),
        "degrees": rng.normal(np.array([54, 55, 39, 55, 47])[y], 8),
        "amperes": rng.lognormal(np.array([1.9, 2.2, 1.5, 1.8, 1.9])[y], 0.3),
        "code": [rng.choice(["E1", "E2", "E3", "none"], p=o / o.sum()) for o in odds],
        "leaks": rng.random(n) < np.array([0.6, 0.3, 0.1, 0.1, 0.1])[y],
        "brand": rng.choice(list("KLMNO"), n),
    }
    return encoded(columns, ["cycles", "decibels", "code", "amperes"], 0.08, rng), y


def outages(seed: int) -> Rows:
    """One machine run in twenty-one breaks off: of heat at low speed, of power, or of wear under load."""
    rng = np.random.default_rng(seed)
    n = 840
    room = rng.normal(300, 2, n)
    inside, torque = room + rng.normal(10, 1, n), rng.normal(40, 10, n)
    speed = rng.normal(1900 - 9 * torque, 90) + rng.exponential(60, n)
    wear, grade = rng.uniform(0, 250, n), rng.choice(["low", "middle", "high"], n, p=[0.6, 0.3, 0.1])
    heat = (inside - room - 10) - (speed - speed.mean()) / speed.std()
    power = np.abs(torque * speed - np.mean(torque * speed))
    load = wear * torque * np.where(grade == "low", 1.2, 1.0)
    strain = np.max([(part - part.mean()) / part.std() for part in (heat, power, load)], axis=0)
    strain += rng.normal(scale=0.2, size=n)
    columns = {"room": room, "inside": inside, "torque": torque, "speed": speed, "wear": wear, "grade": grade}
    return encoded(columns, [], 0, rng), (strain >= np.sort(strain)[-40]).astype(int)


def donors(seed: int) -> Rows:
    """One blood donor in twenty-one is ill, in one of two forms; blood values that go together, habits, gaps."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [800, 40]))
    first = y * (rng.random(840) < 0.6)
    build, man = rng.normal(size=840), rng.random(840) < 0.6
    enzymes = 3.1 + 0.25 * build + 0.15 * man
    columns = {
        "age": rng.normal(46 + 5 * y, 10),
        "man": man,
        "weight": 68 + 11 * man + 9 * build + rng.normal(scale=5, size=840),
        "alat": np.exp(enzymes + 0.8 * first + rng.normal(scale=0.35, size=840)),
        "asat": np.exp(enzymes + 1.0 * first + rng.normal(scale=0.3, size=840)),
        "albumin": rng.normal(42 - 5 * (y - first) - 1 * first, 3.5),
        "bilirubin": rng.lognormal(2.1 + 0.7 * (y - first) + 0.3 * first, 0.5),
        "platelets": 1e3 * rng.normal(240 - 60 * (y - first), 50),
        "drinks": np.where(rng.random(840) < 0.35 * y, "daily", rng.choice(["never", "weekly", "daily"], 840)),
        "smokes": rng.random(840) < 0.25 + 0.15 * y,
    }
    return encoded(columns, ["weight", "albumin", "bilirubin", "drinks"], 0.06, rng), y


SHARE_LABELLED = (thumbnails, lesions, glucose, assays, gauges, bookings, fields, outages, donors)
FIVE_LABELLED = (thumbnails, bottles, articles, bookings, repairs)
UNSEEN: dict[str, Callable[[int], Rows]] = {
    **{make.__name__: make for make in SHARE_LABELLED},
    **{f"{make.__name__}-5": make for make in FIVE_LABELLED},
}
