"""Who is ahead of whom."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from pglearn.search.candidate import Candidate


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Lowest loss first; ties go to the older draw, so that the order does not depend on who came in first.

    Those that failed come last, whatever they had found by then.
    """
    return sorted(candidates, key=lambda candidate: (candidate.failure is not None, candidate.loss, candidate.id))


def standing(candidates: Iterable[Candidate]) -> list[Candidate]:
    """By rank among the candidates of the same view, then by loss; with one view that is by loss alone.

    Those without a finite loss come last, and after them those that failed.
    """
    seen: Counter[int] = Counter()
    places = []
    for candidate in ranked(candidates):
        place = seen[candidate.view] if candidate.sound else math.inf
        places.append((place, candidate))
        seen[candidate.view] += 1
    return [candidate for _, candidate in sorted(places, key=lambda place: place[0])]
