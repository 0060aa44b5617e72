"""Stored files that were changed: a sentence or an answer, whatever is in them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

from tests.changed_files import KINDS

EACH = 80


def test_changed_files_end_in_a_sentence_or_an_answer():
    """320 of them, in processes of their own: a crash of Python would be noticed here."""
    command = [sys.executable, "-m", "tests.changed_files"]
    running = {
        kind: subprocess.Popen([*command, kind, str(EACH)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for kind in KINDS
    }
    counts = Counter()
    for kind, process in running.items():
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, f"{kind} ended with {process.returncode}:\n{err[-2000:]}"
        found = Counter(json.loads(out))
        assert found.total() == EACH
        assert found["a sentence"] > EACH / 2
        assert found["the right answer"] > 0
        counts += found
    print(f"{counts.total()} changed files: {dict(counts)}")
    assert counts.total() >= 300
