"""The command that began a search, kept beside its checkpoint so that `pglearn resume` can give it again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pglearn.errors import CheckpointError
from pglearn.files import whole_file
from pglearn.search import checkpoint

NAME = "command.json"
FOLDER = "checkpoint"  # within the output folder


@dataclass(frozen=True)
class Command:
    """A table (none for the demonstration), its target, and the options of the search that were given."""

    table: str | None
    target: str | None
    options: dict[str, Any]

    def write(self, output: Path) -> None:
        with whole_file(output / FOLDER / NAME) as file:
            file.write(json.dumps(asdict(self), indent=1).encode())

    @classmethod
    def read(cls, output: Path) -> Command:
        path = output / FOLDER / NAME
        if not path.is_file():
            if (output / "model.npz").is_file():
                raise CheckpointError(f"The search in {output} has ended: there is nothing to resume.")
            raise CheckpointError(f"There is no search to resume in {output}: begin one with pglearn fit -o {output}.")
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, TypeError) as error:
            raise CheckpointError(
                f"{path} is not the command of a search: give the pglearn fit command again, which goes on too."
            ) from error


def remove(output: Path) -> None:
    """Remove the checkpoint of a search whose results are there; what else somebody keeps in its folder stays."""
    folder = output / FOLDER
    for name in (NAME, checkpoint.NAME, checkpoint.LOCK):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
