"""Workers on other machines: Dask, Ray and Spark, each by its own broadcast of the problem and its own tasks.

None of them is imported before it is asked for. What they have in common is in `broadcast`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pglearn.errors import InputError

if TYPE_CHECKING:
    from pglearn.search.workers import Workers

PACKAGES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}

# The objects that may be given, by the module that has their class. A module that nobody imported has no instances.
OBJECTS = {
    "dask": (("distributed", "Client"), ("distributed.cfexecutor", "ClientExecutor")),
    "spark": (
        ("pyspark", "SparkContext"),
        ("pyspark.sql", "SparkSession"),
        ("pyspark.sql.connect.session", "SparkSession"),
    ),
}


def cluster_for(executor: Any, n_jobs: int) -> Workers | None:
    """The cluster that the parameter `executor` names or is; None if it names none."""
    name = _named(executor) if isinstance(executor, str) else _kind_of(executor)
    if name is None:
        return None
    if find_spec(PACKAGES[name]) is None:
        raise InputError(
            f'executor="{executor}" needs {PACKAGES[name]}, which is not installed. Run: pip install "pglearn[{name}]"'
        )
    workers: Workers = import_module(f"pglearn.search.clusters.{name}").Cluster(executor, n_jobs)
    return workers


def _named(executor: str) -> str | None:
    name, separator, address = executor.partition("://")
    if separator and name in PACKAGES and not address:
        raise InputError(f"executor={executor!r} lacks its address: write it like {name}://host:port.")
    return name if name in PACKAGES else None


def _kind_of(executor: Any) -> str | None:
    for name, kinds in OBJECTS.items():
        if any(isinstance(executor, getattr(sys.modules.get(module), kind, ())) for module, kind in kinds):
            return name
    return None
