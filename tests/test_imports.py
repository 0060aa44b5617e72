"""The rooms of the house, and who may import whom: a room imports only rooms that stand before it here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pglearn

SOURCE = Path(pglearn.__file__).parent
ORDER = (
    *("arrays", "errors", "files", "sections", "parameters"),  # modules: what every room may use, and one another
    *("runtime", "tables", "objective", "engine", "search", "ensemble", "estimators", "paper", "cli"),
)
FOUNDATION = {"arrays", "errors", "files", "sections", "parameters", "__version__"}
PACKAGE = {"__init__", "__main__"}  # names what is public, wherever it is


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports, at its beginning or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "pglearn":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pglearn."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.partition(".")[2].split(".")[0] for alias in node.names if alias.name[:8] == "pglearn."
            }
    return found


def test_every_module_stands_in_a_room():
    at_the_root = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"} - {"__pycache__"}
    assert at_the_root == {*ORDER, *PACKAGE}


@pytest.mark.parametrize("room", ORDER)
def test_a_room_imports_only_rooms_before_it(room):
    before = FOUNDATION | {room, *ORDER[: ORDER.index(room)]}
    if room in ("paper", "cli"):
        before |= set(pglearn.__all__)
    files = [SOURCE / f"{room}.py"] if room in FOUNDATION else sorted((SOURCE / room).rglob("*.py"))
    assert files
    wrong = {str(file.relative_to(SOURCE)): later for file in files if (later := imported_rooms(file) - before)}
    assert not wrong
