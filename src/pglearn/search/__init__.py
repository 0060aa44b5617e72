"""The search for a configuration: Algorithm 1 inside Algorithm 2."""

from pglearn.runtime.events import Event, EventLog, Listener, read_events
from pglearn.search.candidate import Candidate
from pglearn.search.descent import Descent, Stint
from pglearn.search.halving import Search, SearchResult
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
