"""Workers on other machines: Dask, Ray and Spark, each by its own broadcast of the problem and its own tasks.

None of them is imported before it is asked for. What they have in common is in `broadcast`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pglearn.errors import InputError

if TYPE_CHECKING:
    from pglearn.search.executors import Workers

PACKAGES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}

OBJECTS = {"Client": "dask", "ClientExecutor": "dask", "SparkContext": "spark", "SparkSession": "spark"}  # by class


def cluster_for(executor: Any, n_jobs: int) -> Workers | None:
    """The cluster that the parameter `executor` names or is; None if it names none."""
    name = executor.partition("://")[0] if isinstance(executor, str) else _kind_of(executor)
    if name not in PACKAGES:
        return None
    if find_spec(PACKAGES[name]) is None:
        raise InputError(
            f'executor="{executor}" needs {PACKAGES[name]}, which is not installed. Run: pip install "pglearn[{name}]"'
        )
    workers: Workers = import_module(f"pglearn.search.clusters.{name}").Cluster(executor, n_jobs)
    return workers


def _kind_of(executor: Any) -> str:
    for kind in type(executor).__mro__:
        name = OBJECTS.get(kind.__name__, "")
        if name and kind.__module__.partition(".")[0] == PACKAGES[name]:
            return name
    return ""
