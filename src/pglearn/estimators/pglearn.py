"""PGLearnClassifier: PG-learn as a scikit-learn classifier. Its parameters are fields of a dataclass."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pglearn import parameters
from pglearn.arrays import Array
from pglearn.ensemble import SELECTIONS, GraphEnsemble, Table, checked_prior, concluded
from pglearn.ensemble.suggestions import suggestions
from pglearn.estimators.base import TableClassifier
from pglearn.estimators.settings import Settings, propagation_of
from pglearn.files import plain
from pglearn.objective.searched import searched_problem
from pglearn.runtime.interrupts import first_interrupt
from pglearn.runtime.progress import progress_bar
from pglearn.search import Listener, Stream, history, search_results, warn_of_search
from pglearn.sections import Expectation, Section, Sections, read_model, write_sections

CLASSIFIER = Section(
    "classifier",
    1,
    parameters=Expectation("those of PGLearnClassifier by name", "record"),
    feature_names=Expectation("names of the features, where fit was given any", "texts", ("d",), optional=True),
)


@dataclass(kw_only=True, eq=False, repr=False)
class PGLearnClassifier(TableClassifier):
    """Labels the unlabelled rows of a table over a graph that is learned along the way.

    Labels spread over a k-nearest-neighbour graph of the rows. How much each feature counts in it, and k, are found by
    following the gradient of a leave-one-out loss on the given labels from many random starts, dropping the unpromising
    ones early (PG-learn: Wu, Zhao, Akoglu, CIKM 2018).

    Parameters
    ----------
    budget : int, default=7
        B, units of work that one candidate may use.
    unit_steps : int, default=2
        Gradient steps in a unit. The result is then the same on every run and for any `n_jobs`.
    unit_seconds : float, optional
        Measure units in seconds instead, as the paper does. Results then depend on the machine.
    n_candidates : int, default=16
        T, candidates alive at a time. With fewer than there are views, only the first views are searched.
    downsampling_rate : int, default=2
        r: at every elimination one of r candidates survives, and new ones are drawn in place of the others.
    k_range : (int, int), default=(5, 20)
        Range of k, the neighbours per row.
    bandwidth_range : (float, float), default=(0.1, 10.0)
        Range of the first bandwidths σ_m, in mean distances between rows. A feature's weight is a_m = 1/σ_m².
    loss : {"log", "ranking", "error", "power", "exponential", "entropy"}, default="log"
        What the search minimises on the labels it hides; the paper's is "ranking". "entropy" is the mean entropy of the
        rows that have no label, whatever they are labelled (MinEnt as the authors ran it; CPU engine only).
    validation : {"loo", "kfold", "holdout"}, default="loo"
        Which labels are hidden: each in turn (100 of them, if there are more), five folds, or one half of them.
    selection : {"ensemble", "best"}, default="ensemble"
        Answer with the mean of the ⌊T/r⌋ best candidates at the end, the best of each view first, or with the best
        alone.
    views : "auto" or list of str, default="auto"
        In which coordinates features are weighted; candidates are drawn in each in turn. "given": as they are.
        "components": their (half-whitened) principal components, at most 100. "shared" and "shared components": the
        same, starting with little of features that have nothing in common with any other. "linear": what a linear model
        predicts for each class (with `validation="loo"` and up to 2,000 labels). "auto" is these five, as far as the
        table has them; `views_` names them. "unit": rows divided by their length, for tables in which it is nuisance
        (lighting, exposure, the length of a text). Of a sparse X with more than 2,000 columns "auto" is the components,
        these divided by their length ("unit components"), and the linear model.
    scale : {"auto", True, False}, default="auto"
        Standardise the features first; "auto" does when their ranges differ by more than a factor of 20. Features of a
        sparse X are divided by their range instead, and "auto" makes TF-IDF of one that holds counts.
    alpha : float in (0, 1), default=0.99
        How much a row listens to its neighbours against its own label; α of scikit-learn's LabelSpreading.
    class_prior : {"auto", "labels"}, dict, array-like or None, default="auto"
        Shares of the classes in the table. Probabilities are multiplied by a factor per class, within [½, 2], that
        brings the classes to these shares. "labels" takes the shares among the labels; "auto" does so unless that would
        change more than an eighth of the answers; None leaves the predictions as they are. Give the shares if you know
        them, for instance because you labelled equally many rows of common and rare classes: {class: share}, or a list
        in the order of the sorted classes. They are then the probabilities of rows that no label reaches, too.
    engine : {"auto", "cpu", "torch"}, default="auto"
        What does the arithmetic. "torch" takes all candidates at once, on CUDA where there is a device; "auto" does so
        where there is one and the search is long enough to be worth it. `engine_` says which ran the search.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        How the CPU engine finds neighbours (torch finds them exactly). "auto" is exact below 10,000 rows, and
        approximate from there on (`neighbors_` says which): by lists of near rows, as many as a recall of 0.95 takes,
        measured on a sample. If it stays below, that is warned of. A table with more than 20,000 rows without a label
        is searched on 5,000 of these, the labels that are scored and 5,000 of the others, and then labelled as a whole,
        by all labels (`n_searched_`; docs/scaling.md). Either is logged (logger "pglearn", INFO).
    dtype : {"float32", "float64"}, default="float32"
        Precision of the search. In float32 a solve begins from that of the step before and ends with two digits, and
        neighbours are searched for at every second step; in float64, the paper's setting, every step is by itself. The
        labels are solved for in float64 in either case, but for a table that was searched on a part of its rows.
    device_memory : float, optional
        GiB of the device that the torch engine may use for working arrays; by default 60 % of what is free.
    n_jobs : int, optional
        Worker processes of the CPU engine, -1 for one per core, 1 for this process and one thread. By default threads
        of this process use its cores (as many as OMP_NUM_THREADS says, if it is set). The answer is the same.
    executor : concurrent.futures.Executor, Dask client, Spark session or str, optional
        Where candidates run. By default threads, or loky's processes if `n_jobs` is more than 1. "loky", "threads",
        "dask" and "spark" are `n_jobs` workers on this machine, "serial" is this process, whatever `n_jobs` says, and
        "ray" the cluster that this process is connected to by `ray.init()`. An address like "dask://host:8786",
        "ray://host:10001" or "spark://host:7077" is a cluster with workers of its own (docs/clusters.md).
    random_state : int, RandomState or None
        Seed of the draws and splits.
    verbose : int, optional
        1 shows a progress bar, 0 none. By default there is one in a terminal or notebook if the fit takes longer than a
        few seconds.
    max_time : float, optional
        Seconds after which a fit ends with the best found so far, those before it was resumed included: the search
        ends, and of a table that was searched on a part of its rows the answer is that of the members there are.
    checkpoint : str or path, optional
        A folder in which the search leaves its state as it goes. A fit of the same X, y and parameters goes on from
        there, and with `unit_steps` gives the same answer, bit for bit, as if it had never stopped. Anything else that
        the answer depends on is refused, another device too; needs a whole number as `random_state`. (Of the torch
        engine, `device_memory` says how many candidates are computed together, and so may change last bits.)

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The classes.
    transduction_ : ndarray of shape (n,)
        A label for every row.
    label_distributions_ : ndarray of shape (n, c)
        Probabilities of the classes for every row; with "ensemble" the mean over the members that reach the row,
        brought to the class shares of `class_prior`.
    confidence_ : ndarray of shape (n,)
        Probability of the most probable class, for every row.
    class_factors_ : ndarray of shape (c,)
        What `class_prior` multiplied the classes with.
    unreached_ : ndarray of bool, shape (n,)
        Rows that no label reaches. They have the class shares among the labels as probabilities, or those given.
    feature_weights_ : ndarray of shape (d,)
        The learned a_m, in units of the given features; with "ensemble" the mean over the members. Of weights that
        were learned for principal components it is the diagonal of their metric: what a feature counts by itself.
    n_neighbors_ : int
        The learned k, of the best member.
    graph_ : scipy.sparse.csr_matrix of shape (n, n)
        The symmetric weights W; with "ensemble" the mean over the members' graphs, each in its view. Of a table that
        was searched on a part of its rows it is the graph of the best member.
    views_ : list of str
        The views that were searched, by name.
    search_results_ : dict of arrays
        One row per configuration drawn: candidate, k, view, born, died, steps, loss, accuracy, converged, failure (why
        it ended early, if it did), recall (the lowest share of exact neighbours in one of its graphs), selected (for
        the answer).
    history_ : dict of arrays
        One row per evaluation: candidate, step, loss, accuracy.
    engine_ : str
        The engine that ran the search and where: "cpu", "torch on NVIDIA H200". It makes the graphs and labels of the
        answer, too, but those of up to 4,000 rows are made on the CPU in any case.
    neighbors_ : str
        Whether the neighbours in the graphs of the answer are "exact" or "approximate".
    n_searched_ : int
        Rows that the search looked at: all, or of a large table a sample (`neighbors`).
    stop_reason_ : str
        "finished", "interrupted" or "out of time".
    scaled_ : bool
        Whether features were standardised.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pglearn import PGLearnClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> shown = y.copy()
    >>> shown[20:50] = shown[70:100] = shown[120:] = -1          # unlabelled
    >>> model = PGLearnClassifier(budget=4, random_state=0).fit(X, shown)
    >>> bool((model.transduction_ == y).mean() > 0.9)
    True
    >>> model.predict(X[:2])
    array([0, 0])
    """

    budget: int = 7
    unit_steps: int = 2
    unit_seconds: float | None = None
    n_candidates: int = 16
    downsampling_rate: int = 2
    k_range: tuple[int, int] = (5, 20)
    bandwidth_range: tuple[float, float] = (0.1, 10.0)
    loss: str = "log"
    validation: str = "loo"
    selection: str = "ensemble"
    views: str | Sequence[str] = "auto"
    scale: str | bool = "auto"
    alpha: float = 0.99
    class_prior: Any = "auto"
    engine: str = "auto"
    neighbors: str = "auto"
    dtype: str = "float32"
    device_memory: float | None = None
    n_jobs: int | None = None
    executor: Any = None
    random_state: Any = None
    verbose: int | None = None
    max_time: float | None = None
    checkpoint: str | PathLike[str] | None = None
    _takes_sparse: ClassVar[bool] = True

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper's own setting: 32 candidates, 64 units, half of the labels held out, ranking loss, the best one."""
        setting = {
            "n_candidates": 32,
            "budget": 64,
            "unit_steps": 1,
            "validation": "holdout",
            "loss": "ranking",
            "selection": "best",
            "views": ["given"],
            "scale": False,
            "class_prior": None,
            "dtype": "float64",
        }
        return cls(**{**setting, **changes})

    @classmethod
    def fast(cls, **changes: Any) -> Self:
        """For the hurried: one candidate for each view. It takes half of the time, and loses about a point of accuracy
        (docs/lab/time.md)."""
        return cls(**{"n_candidates": 5, **changes})

    def fit(self, X: Any, y: Any, *, listeners: tuple[Listener, ...] = ()) -> Self:
        """Learn the graph and label every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Features, numbers without gaps (`pglearn.TableEncoder` makes them of any table). Sparse ones stay so, on the
            CPU engine (docs/scaling.md).
        y : array-like of shape (n,)
            Labels; -1, None or NaN where unlabelled.
        listeners : tuple of callables
            Called with every event of the search, a dict (`pglearn.search.events`).

        Notes
        -----
        Ctrl-C ends the search, not the program: the answer is then the best found so far, and a warning says so. A
        second Ctrl-C stops as usual.
        """
        begun = time.time()
        # Validate the parameters, X and y; scale the features; hide labels in folds.
        settings = Settings(self)
        scaling, problem = self._scaled_problem(X, y, settings.seed)
        # Make the views, and of a large table a sample to search on.
        shares = settings.class_shares(problem)
        views, searched = searched_problem(problem, settings.views(problem), self.dtype, settings.seed)
        table = Table(scaling, views, problem, is_sampled=searched.n < problem.n)
        # Choose what evaluates a graph: its loss and gradient in the search, its labels in the answer.
        search = settings.search(searched)
        engine = settings.engine(searched, search.evaluations)
        answering = settings.engine_of_answer(engine, table)
        with (
            settings.cores(),
            first_interrupt() as interrupt,
            settings.opened_checkpoint(table, engine) as checkpoint,
            progress_bar(self.verbose) as shown,
        ):
            # Search: Algorithm 2 of the paper over Algorithm 1.
            stream = (*shown, *listeners)
            with settings.pool(searched, engine) as pool:
                interrupt.calls(pool.stop)
                about = settings.about(table, searched, engine)
                result = search.run(pool, stream, checkpoint, begun, **about)
            # Answer: the chosen runs label all rows with all labels.
            chosen = SELECTIONS[self.selection](result.found, search.schedule.survivors)

            def is_over() -> bool:
                return interrupt.happened or result.is_out_of_time()

            emit = Stream(stream if table.is_sampled else (), result.events)
            ensemble, self.graph_, recalls = concluded(table, answering, chosen, shares, emit, is_over)
        self._publish(ensemble)
        self.search_results_ = search_results(result.candidates, recalls, self.views_, float(self.budget))
        self.history_ = history(result.candidates)
        self.engine_, self.neighbors_, self.n_searched_ = engine.name, answering.neighbours, searched.n
        self.stop_reason_ = result.reason
        if len(recalls) < len(chosen):
            self.stop_reason_ = "interrupted" if interrupt.happened else "out of time"
        warn_of_search(self.stop_reason_, result.candidates, chosen, recalls)
        return self

    def suggest(self, n: int = 10) -> Array:
        """Which rows to label next: positions of `n` unlabelled rows of the fitted table, the most useful first.

        A row is useful if its label would spread to many rows that are in doubt, over the graph of the best member.
        Rows that would settle the same doubt are not suggested together.
        """
        check_is_fitted(self)
        parameters.check_whole("n", n, least=1)
        return suggestions(self._ensemble, propagation_of(self), self.neighbors, n)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one .npz file (no pickle), complete or not at all."""
        write_sections(path, self.to_arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A model written by :meth:`save`: predicts the same."""
        return cls.from_arrays(read_model(path, CLASSIFIER))

    def _publish(self, ensemble: GraphEnsemble) -> None:
        super()._publish(ensemble)
        self.class_factors_ = ensemble.factors
        self.views_ = [view.name for view in ensemble.views]

    def to_arrays(self) -> dict[str, Array]:
        """All that prediction needs, without Python objects."""
        check_is_fitted(self)
        given = {name: plain(value) for name, value in self.get_params().items() if _is_plain(value)}
        given["checkpoint"] = None  # that of the search, not of the model
        prior = checked_prior(self.class_prior, self.classes_)
        given["class_prior"] = prior.tolist() if isinstance(prior, np.ndarray) else prior
        names = getattr(self, "feature_names_in_", None)
        return {**CLASSIFIER.arrays({"parameters": given, "feature_names": names}), **self._ensemble.to_arrays()}

    @classmethod
    def from_arrays(cls, state: dict[str, Array]) -> Self:
        """A model that predicts like the one :meth:`to_arrays` was called on, with its parameters and labels.

        What the search left behind (`graph_`, `search_results_`, `history_`, `n_searched_`,
        `engine_`, `neighbors_`, `stop_reason_`) is not stored.
        """
        model, file = cls(), Sections(state)
        stored = file.read(CLASSIFIER)
        file.require(set(stored["parameters"]) <= set(model.get_params()), "classifier.parameters has unknown names")
        parameters = {name: tuple(v) if isinstance(v, list) else v for name, v in stored["parameters"].items()}
        model.set_params(**parameters)._publish(GraphEnsemble.from_sections(file))
        model.n_features_in_ = len(model.feature_weights_)
        if stored["feature_names"] is not None:
            model.feature_names_in_ = np.array(stored["feature_names"], dtype=object)
        return model


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold a parameter: an executor, say, is not part of a model."""
    return value is None or isinstance(value, (bool, int, float, str, tuple, list, np.generic, np.ndarray))
