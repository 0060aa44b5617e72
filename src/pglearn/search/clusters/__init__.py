"""Workers on other machines: Dask, Ray and Spark, each by its own broadcast of the problem and its own tasks.

None of them is imported before it is asked for. What they have in common is in `broadcast`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pglearn.errors import InputError

if TYPE_CHECKING:
    from pglearn.search.workers import Workers

PACKAGES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}


def cluster_for(executor: Any, n_jobs: int) -> Workers | None:
    """The cluster that the parameter `executor` names or is; None if it names none."""
    name = _name_of(executor)
    if name is None:
        return None
    if find_spec(PACKAGES[name]) is None:
        raise InputError(
            f'executor="{executor}" needs {PACKAGES[name]}, which is not installed. Run: pip install "pglearn[{name}]"'
        )
    return _opener(name)(executor, n_jobs)


def _opener(name: str) -> Callable[[Any, int], Workers]:
    if name == "dask":
        from pglearn.search.clusters.dask import Dask

        return Dask
    if name == "ray":
        from pglearn.search.clusters.ray import Ray

        return Ray
    from pglearn.search.clusters.spark import Spark

    return Spark


def _name_of(executor: Any) -> str | None:
    """Which of the three it is, by the name, the address or the kind of object."""
    if isinstance(executor, str):
        name, separator, address = executor.partition("://")
        if separator and name in PACKAGES and not address:
            raise InputError(f"executor={executor!r} lacks its address: write it like {name}://host:port.")
        return name if name in PACKAGES else None
    if _is_a(executor, "distributed", "Client") or _is_a(executor, "distributed.cfexecutor", "ClientExecutor"):
        return "dask"
    if _is_a(executor, "pyspark", "SparkContext"):
        return "spark"
    sessions = ("pyspark.sql", "pyspark.sql.connect.session")
    return "spark" if any(_is_a(executor, module, "SparkSession") for module in sessions) else None


def _is_a(thing: Any, module: str, kind: str) -> bool:
    """Whether it is of that class; a class whose module nobody has imported has no instances."""
    return module in sys.modules and isinstance(thing, getattr(sys.modules[module], kind, ()))
