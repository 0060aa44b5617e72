"""Learned graphs that answer together: labels of all rows, new rows, class shares, suggestions."""

from pglearn.ensemble.answer import SELECTIONS, Table, concluded, warn_if_unsolved
from pglearn.ensemble.class_shares import checked_prior
from pglearn.ensemble.graph_ensemble import GraphEnsemble, Member

__all__ = ["SELECTIONS", "GraphEnsemble", "Member", "Table", "checked_prior", "concluded", "warn_if_unsolved"]
