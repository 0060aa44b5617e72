"""The search for a configuration: Algorithm 1 inside Algorithm 2."""

from pglearn.search.candidate import Candidate
from pglearn.search.events import Event, EventLog, Listener, read_events
from pglearn.search.gradient import Descent, Stint
from pglearn.search.pglearn import Search, SearchResult
from pglearn.search.schedule import Schedule

__all__ = [
    "Candidate",
    "Descent",
    "Event",
    "EventLog",
    "Listener",
    "Schedule",
    "Search",
    "SearchResult",
    "Stint",
    "read_events",
]
