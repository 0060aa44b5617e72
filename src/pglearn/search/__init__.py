"""The search for a configuration: Algorithm 1 inside Algorithm 2."""

from pglearn.search.descent import Descent, Limit
from pglearn.search.draws import Draws, Space
from pglearn.search.events import VERSION, Event, EventLog, Listener, Stream, read_events
from pglearn.search.executors import Serial, Threads, Workers, workers_for
from pglearn.search.halving import Search, SearchResult
from pglearn.search.pool import LARGE, Pool
from pglearn.search.results import history, search_results, warn_of_search
from pglearn.search.runs import Run, standing
from pglearn.search.schedule import Schedule

__all__ = [
    "LARGE",
    "VERSION",
    "Descent",
    "Draws",
    "Event",
    "EventLog",
    "Limit",
    "Listener",
    "Pool",
    "Run",
    "Schedule",
    "Search",
    "SearchResult",
    "Serial",
    "Space",
    "Stream",
    "Threads",
    "Workers",
    "history",
    "read_events",
    "search_results",
    "standing",
    "warn_of_search",
    "workers_for",
]
