"""Where candidates run: any `concurrent.futures.Executor`, and a handle by which its workers find the problem.

A round is: submit what is missing, take results as they complete, and if workers died make a new executor and submit
again only what is missing. Work goes out in parts of a stint, the longest first.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, replace
from queue import Empty
from typing import TypeAlias

from pglearn.engine import Engine
from pglearn.errors import WorkerError
from pglearn.problem import Problem
from pglearn.search.candidate import Candidate
from pglearn.search.dealing import TRIES, Dealing, Losses, OnPart, Outcome, Work
from pglearn.search.gradient import Descent, Stint, advance
from pglearn.search.handle import Handle, InMemory
from pglearn.search.limits import one_thread
from pglearn.search.workers import Here, Workers, starting
from pglearn.threads import at_most

WORKER_DIED = "its worker died again and again, most likely for lack of memory"
PART = 8  # steps that a worker takes before it is dealt again
LOOK_SECONDS = 1.0  # between two looks at whether to wait on
GRACE_SECONDS = 5.0  # that workers have after a stop, beyond what a step takes
PART_SECONDS = 15.0  # that it takes, if stints are in seconds

OnLoss: TypeAlias = Callable[[list[int], str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """What every candidate of a search is run with."""

    engine: Engine
    descent: Descent


def run_task(task: Task, handle: Handle, candidates: list[Candidate], stint: Stint) -> list[Candidate]:
    """A stint of some candidates, side by side, in whatever worker this is: one of several, with a thread each."""
    with at_most(1):
        return run_here(task, handle, candidates, stint)


def run_here(task: Task, handle: Handle, candidates: list[Candidate], stint: Stint) -> list[Candidate]:
    """The same where nothing else runs meanwhile: compiled loops may use all cores."""
    candidates = [candidate.copy() for candidate in candidates]  # those of the search stay as the round began
    with handle.undisturbed(), one_thread():
        return advance(task.engine, handle.problem(), candidates, task.descent, stint, handle.stopped)


class Pool:
    """Runs candidates on an executor, or in this process where there is none."""

    def __init__(self, problem: Problem, task: Task, workers: Workers) -> None:
        self._problem = problem
        self._task = task
        self._workers = workers
        self._cleanup = ExitStack()
        self._anybody_came_back = False
        self._guilty = 0
        self._step_seconds = 0.0  # the longest that was heard of
        self._begun = time.monotonic()
        self.on_loss: OnLoss = lambda candidates, reason: None
        """Told who was under way on workers that died, and what is known of why."""

    def __enter__(self) -> Pool:
        self._cleanup.callback(self._workers.close)
        try:
            self._handle = self._workers.handle(self._problem)
        except BaseException:
            self._cleanup.close()
            raise
        self._cleanup.callback(self._handle.close)
        self._cleanup.callback(self._handle.stop)  # tasks still running after an error return soon
        self._cleanup.enter_context(one_thread())
        return self

    def __exit__(self, *_: object) -> None:
        self._cleanup.close()

    def stop(self) -> None:
        self._handle.stop()

    @property
    def stopped(self) -> bool:
        return self._handle.stopped()

    def look_at(self, candidate: Candidate) -> Candidate:
        """Evaluate one candidate here and now, stopped or not."""
        (candidate,) = run_here(self._task, InMemory(self._problem), [candidate], Stint(steps=0))
        return candidate

    def run(self, candidates: Sequence[Candidate], stint: Stint, on_part: OnPart | None = None) -> Iterator[Candidate]:
        """The candidates after their stint, as they come in.

        Several workers are dealt the longest runs first, and long ones in parts, so that all come to the end of the
        round together. Where a stint is cut makes no difference to where it leads.
        """
        order = list(candidates) if isinstance(self._workers, Here) else longest_first(candidates)
        waiting = deque((group, stint) for group in self._groups(order))
        return self.stream(lambda: waiting.popleft() if waiting else None, on_part, at_once=len(waiting))

    def stream(
        self, work: Callable[[], Work | None], on_part: OnPart | None = None, at_once: int | None = None
    ) -> Iterator[Candidate]:
        """Candidates as they come in, workers that are free being given what `work` names next.

        Where it names nothing, the others are waited for and it is asked again; it is over when nothing is under way.
        What was under way on workers that died is given to others; if they die too, to one after another, and whoever
        kills a worker that has nothing else to do comes in with that as its failure. Stints are run in parts, after
        each of which `on_part` is told where its candidates stand, unless they are yielded.
        """
        dealing = Dealing(work, self._is_up, on_part)
        executor = None
        while True:
            if dealing.is_over:
                yield from dealing.left()
                if not dealing.is_under_way:
                    return
            else:
                executor = self._workers.executor()
            if executor is None:
                yield from self._run_here(dealing, in_parts=on_part is not None)
                return
            losses = self._send(executor, dealing, at_once or self._workers.at_once)
            if not dealing.is_under_way and losses.executor is None:
                return
            for outcome in self._outcomes(executor, dealing, losses):
                if outcome is None:
                    yield from dealing.given_up()
                    return
                yield from self._came_in(outcome, dealing, losses)
            yield from self._after(losses)

    def _run_here(self, dealing: Dealing, in_parts: bool) -> Iterator[Candidate]:
        """All of it, in this process."""
        for work in dealing.due(at_once=1):
            group, stint = work
            part = _part(group, stint) if in_parts else stint
            yield from dealing.ran(work, run_here(self._task, self._handle, group, part))

    def _send(self, executor: Executor, dealing: Dealing, at_once: int) -> Losses:
        """Give workers that are free what is due, and say whether the executor was found dead by that."""
        for work in dealing.due(at_once):
            group, stint = work
            try:
                with self._sending(executor):
                    outcome = executor.submit(run_task, self._task, self._handle, group, _part(group, stint))
                dealing.sent(work, outcome)
            except RuntimeError as error:  # broken, or shut down
                dealing.not_sent(work)
                return Losses(executor=error)
        return Losses()

    @staticmethod
    def _sending(executor: Executor) -> AbstractContextManager[None]:
        """In which a task is sent, and an executor of processes may start one."""
        if isinstance(executor, ThreadPoolExecutor):
            return nullcontext()
        return starting()  # to set Ctrl-C aside takes as long as to send a task to a thread

    def _outcomes(self, executor: Executor, dealing: Dealing, losses: Losses) -> Iterator[Outcome | None]:
        """The next, those that are done by then, and all of an executor that died; None if they are to be given up."""
        while dealing.is_under_way:
            yield self._next(executor, dealing)
            if losses.executor is None and not dealing.more_is_done:
                return

    def _next(self, executor: Executor, dealing: Dealing) -> Outcome | None:
        """The next that is done. None after a stop or the deadline, if it takes much longer than a step: then those
        that are under way wait for workers that do not come, or are with some that are gone."""
        # Threads cannot get lost, and are waited for at the end of the search anyway.
        timeout = None if type(executor) is ThreadPoolExecutor else LOOK_SECONDS
        since, patience = None, 0.0
        while True:
            with suppress(Empty):
                return dealing.next_done(timeout)
            if not dealing.time_is_up:
                continue
            now = time.monotonic()
            if since is None:
                since, patience = now, GRACE_SECONDS + 2 * (self._step_seconds or now - self._begun)
            if now - since > patience:
                return None

    def _came_in(self, outcome: Outcome, dealing: Dealing, losses: Losses) -> list[Candidate]:
        """The candidates of an outcome that have come to the end of their stint."""
        work = dealing.taken(outcome)
        try:
            group = outcome.result()
        except BrokenExecutor as error:
            return dealing.lost(work, error, losses)
        self._step_seconds = max([self._step_seconds, *map(step_seconds, group)])
        self._anybody_came_back = True
        return dealing.ran(work, group)

    def _after(self, losses: Losses) -> list[Candidate]:
        """Tell of them and see to a new executor; those that are guilty come in."""
        if losses.candidates:
            self.on_loss(sorted(losses.candidates), losses.reason)
        if losses.executor is not None:
            self._workers.broken(losses.executor)
        return self._failed(losses.guilty)

    def _failed(self, guilty: list[Candidate]) -> list[Candidate]:
        """Candidates whose worker has died each time, the last time with nothing else under way."""
        self._guilty += len(guilty)
        if self._guilty >= TRIES and not self._anybody_came_back:
            raise WorkerError(
                "Workers died with every candidate that they were given, most likely for lack of memory: use fewer of "
                "them (n_jobs=1) or a smaller table."
            )
        return [replace(candidate.copy(), failure=WORKER_DIED) for candidate in guilty]

    def _is_up(self, stint: Stint) -> bool:
        return self.stopped or (stint.deadline is not None and time.time() >= stint.deadline)

    def _groups(self, candidates: Sequence[Candidate]) -> list[list[Candidate]]:
        size = self._task.engine.together or len(candidates)
        return [list(candidates[start : start + size]) for start in range(0, len(candidates), size)]


def _part(group: list[Candidate], stint: Stint) -> Stint:
    return stint.part(group, PART, PART_SECONDS)


def step_seconds(candidate: Candidate) -> float:
    return candidate.seconds / len(candidate.history) if candidate.history else 0.0


def longest_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """By what an evaluation has taken so far; a newborn is taken to be like the others of its view, and has one
    evaluation more to come."""
    seconds: defaultdict[int, float] = defaultdict(float)
    evaluations: Counter[int] = Counter()
    for candidate in candidates:
        seconds[candidate.view] += candidate.seconds
        evaluations[candidate.view] += len(candidate.history)

    def expected(candidate: Candidate) -> tuple[bool, bool, float]:
        of_view = seconds[candidate.view] / max(evaluations[candidate.view], 1)
        own = step_seconds(candidate) if candidate.history else of_view
        return candidate.finished, candidate.started, -own

    return sorted(candidates, key=expected)
