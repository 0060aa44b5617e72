"""Text from tables on a terminal, which takes some characters for commands."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""The text with an escape in place of every character that a terminal would not show but act upon; lines stay.

    >>> print(printable("größe\x1b[2J"))
    größe\x1b[2J
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
