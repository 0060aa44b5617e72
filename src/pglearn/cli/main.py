"""The command line: parse, call, print."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from pglearn.errors import InputError, PGLearnError, printable

if TYPE_CHECKING:  # `pglearn --help` should not wait for what it does not need
    from pglearn.cli.command_file import Command
    from pglearn.search import Event


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the `pglearn` command; returns the exit code."""
    options = _parser().parse_args(arguments)
    options.given = list(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, _terminated)
    try:
        code: int = options.command(options)
        return code
    except PGLearnError as error:
        print(f"pglearn: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        from pglearn.cli.command_file import FOLDER, NAME

        output = getattr(options, "output", None)
        begun = output is not None and (output / FOLDER / NAME).is_file()
        how_to_go_on = f" pglearn resume {output} goes on with the search." if begun else ""
        print(f"pglearn: stopped by Ctrl-C before there was an answer.{how_to_go_on}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader (head, say) has gone
        return 141


def _terminated(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)  # so that workers and temporary files are cleaned up


def _parser() -> argparse.ArgumentParser:
    from pglearn import __version__

    parser = argparse.ArgumentParser(
        prog="pglearn", description="Label the unlabelled rows of a table over a graph that is learned along the way."
    )
    parser.add_argument("--version", action="version", version=f"pglearn {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    fit = commands.add_parser("fit", help="label the rows of a table whose target is blank")
    fit.add_argument("table", type=Path, help="a .csv, .tsv, .parquet or .npz file")
    fit.add_argument("--target", required=True, help="the column of labels; rows where it is blank are labelled")
    fit.add_argument("-o", "--output", type=Path, required=True, help="folder for the results")
    fit.set_defaults(command=_fit)

    demo = commands.add_parser("demo", help="label scikit-learn's digits from 10 %% of the labels")
    demo.add_argument("-o", "--output", type=Path, default=Path("pglearn-demo"), help="folder for the results")
    demo.set_defaults(command=_fit, table=None, target=None)

    for command in (fit, demo):
        _add_search_options(command)

    resume = commands.add_parser("resume", help="go on with a search that was stopped or killed")
    resume.add_argument("output", type=Path, help="the folder that `pglearn fit -o` or `pglearn demo` wrote to")
    resume.add_argument("--table", type=Path, help="where the table is now, if it was moved")
    resume.add_argument("--max-time", type=float, metavar="SECONDS", help="of the whole search, with what was used")
    resume.add_argument("--jobs", type=int, dest="n_jobs", metavar="N", help="processes of the cpu engine")
    _add_cluster_option(resume)
    resume.add_argument("--quiet", action="store_true", help="no progress bar")
    resume.set_defaults(command=_resume)

    predict = commands.add_parser("predict", help="label the rows of a new table with a fitted model")
    predict.add_argument("model", type=Path, help="the folder that `pglearn fit -o` wrote, or its model.npz")
    predict.add_argument("table", type=Path, help="a table with the same columns")
    predict.add_argument("-o", "--output", type=Path, help="a .csv file; by default the labels are printed")
    predict.set_defaults(command=_predict)

    reproduce = commands.add_parser("reproduce", help="run the paper's experiments again")
    _add_reproduce_options(reproduce)
    reproduce.set_defaults(command=_reproduce)
    return parser


def _add_search_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("search")
    group.add_argument("--budget", type=int, metavar="B", help="units of work per candidate (default 7)")
    group.add_argument("--candidates", type=int, dest="n_candidates", metavar="T", help="alive at a time (default 16)")
    group.add_argument("--rate", type=int, dest="downsampling_rate", metavar="R", help="one of R survives (default 2)")
    group.add_argument("--validation", metavar="NAME", help="loo (default), kfold or holdout")
    group.add_argument("--loss", metavar="NAME", help="log (default), ranking, error, power, exponential or entropy")
    group.add_argument("--selection", metavar="NAME", help="ensemble (default) or best")
    views = (
        "auto (default), or some of given, components, shared, 'shared components', linear, unit and 'unit components'"
    )
    group.add_argument("--views", nargs="+", metavar="NAME", help=views)
    shares = "class shares of the table: auto (default), labels (those of the labels), none, or yes=0.1,no=0.9"
    group.add_argument("--class-prior", metavar="SHARES", help=shares)
    group.add_argument("--engine", metavar="NAME", help="auto (default), cpu or torch")
    group.add_argument("--neighbors", metavar="NAME", help="auto (default), exact or approximate")
    group.add_argument("--max-time", type=float, metavar="SECONDS", help="end the search after this long")
    group.add_argument(
        "--jobs", type=int, dest="n_jobs", metavar="N", help="processes of the cpu engine (default: threads, all cores)"
    )
    _add_cluster_option(group)
    group.add_argument("--seed", type=int, default=0, dest="random_state", metavar="N", help="random seed (default 0)")
    group.add_argument("--quiet", action="store_true", help="no progress bar")


def _add_cluster_option(command: argparse._ActionsContainer) -> None:
    where = "dask://host:8786, ray://host:10001 or spark://host:7077; here: loky (default), threads, dask, spark"
    command.add_argument("--cluster", dest="executor", metavar="WHERE", help=where)


def _add_reproduce_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("experiment", choices=("table2", "table3", "table4", "figures"), help="of the paper")
    command.add_argument("--data", type=Path, metavar="FOLDER", help="the data sets (default: PGLEARN_DATA)")
    command.add_argument(
        "-o", "--output", type=Path, default=Path("pglearn-reproduction"), help="folder for the results"
    )
    command.add_argument("--quick", action="store_true", help="two splits (figures: one), short budgets: minutes")
    command.add_argument("--no-run", action="store_true", help="show what the rows have, without another fit")
    group = command.add_argument_group("what is compared")
    group.add_argument("--methods", nargs="+", metavar="NAME", help="PG-learn, MinEnt, … (default: all)")
    group.add_argument("--method-file", nargs="+", type=Path, default=[], metavar="FILE", help="your own, in Python")
    group.add_argument("--sets", nargs="+", metavar="NAME", help="coil, usps, mnist, umist, yale (default: all)")
    group.add_argument("--splits", type=int, metavar="N", help="the first N published splits (default 10)")
    shares = "of labels: table3 and figure 4 any (default: all), table4, other figures one (default 20, figure 3: 10)"
    group.add_argument("--percents", nargs="+", type=int, metavar="P", help=shares)
    group.add_argument("--noise", metavar="KIND", help="table4: uniform (default, as the authors ran it) or normal")
    group.add_argument("--only", nargs="+", metavar="FIGURE", help="figures: 1, 3, 4, 5a, 5b, 6 (default: all)")
    budget = command.add_argument_group("budget, the same for every method")
    budget.add_argument("--budget", type=int, metavar="B", help="units per candidate")
    budget.add_argument("--candidates", type=int, metavar="T", help="candidates; other methods get B·T units")
    budget.add_argument("--unit-steps", type=int, metavar="N", help="units of so many steps: the same on every machine")
    budget.add_argument("--unit-seconds", type=float, metavar="S", help="units of seconds, as in the paper (default)")
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="fits side by side (default 1)")
    command.add_argument("--quiet", action="store_true", help="no progress bar")


def _class_shares(text: str) -> str | dict[str, float] | None:
    """`--class-prior`: a name, "none", or shares like yes=0.1,no=0.9."""
    if "=" not in text:
        return None if text == "none" else text
    try:
        pairs = [part.rsplit("=", 1) for part in text.split(",")]
        return {name.strip(): float(share) for name, share in pairs}
    except ValueError as error:
        raise InputError(f"--class-prior {text} is no list of shares: write it like yes=0.1,no=0.9.") from error


def _fit(options: argparse.Namespace) -> int:
    from pglearn.cli.command_file import Command

    table = None if options.table is None else str(options.table.resolve())
    return _run(Command(table, options.target, _given(options)), options)


def _resume(options: argparse.Namespace) -> int:
    from pglearn.cli.command_file import Command

    command = Command.read(options.output)
    if command.table is None and options.table is not None:
        raise InputError(f"{options.output} is of pglearn demo, which brings its own table: leave out --table.")
    table = command.table if options.table is None else str(options.table)
    return _run(replace(command, table=table, options=command.options | _given(options)), options)


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options of the search that were given: they are called like the parameters of the classifier."""
    from pglearn import PGLearnClassifier

    parameters = PGLearnClassifier().get_params()
    return {name: value for name, value in vars(options).items() if value is not None and name in parameters}


def _run(command: Command, options: argparse.Namespace) -> int:
    """The search of a command, begun or gone on with: fit, write the four files and print the summary."""
    from pglearn import PGLearnClassifier
    from pglearn.cli import command_file, demo
    from pglearn.cli.outputs import FILES, labelled_rows, print_summary
    from pglearn.estimators.table_model import TableModel
    from pglearn.files import refuse_replacing, writable_folder
    from pglearn.search import EventLog
    from pglearn.tables.frames import write_table
    from pglearn.tables.read import read_table, split_target

    if command.table is None or command.target is None:
        target, (features, labels, digits) = "digit", demo.digits()
    else:
        target, digits = command.target, None
        refuse_replacing(Path(command.table), *(options.output / name for name in FILES))
        features, labels = split_target(read_table(Path(command.table), target), target)
    given = dict(command.options)
    if given.get("views") == ["auto"]:
        del given["views"]
    if "class_prior" in given:
        given["class_prior"] = _class_shares(given["class_prior"])
    folder = writable_folder(options.output, *FILES)
    classifier = PGLearnClassifier(verbose=not options.quiet, checkpoint=folder / command_file.FOLDER, **given)

    def on_first(event: Event) -> None:
        if event["event"] == "search_started":  # not before: the folder may hold another search
            command.write(folder)
        if event["event"] == "search_resumed":
            at = min(event["round"] + 1, event["rounds"])
            print(f"pglearn: going on with round {at} of {event['rounds']} in {folder}.", file=sys.stderr)

    with EventLog(folder / "events.jsonl") as log, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The search was interrupted")  # the summary says it
        model = TableModel.fitted(features, labels, target, classifier, listeners=(on_first, log))
    weights = model.weights(features)
    rows = labelled_rows(model.classifier, labels)
    write_table(rows, folder / "predictions.csv")
    write_table(weights, folder / "feature_weights.csv")
    model.save(folder / "model.npz")
    if classifier.stop_reason_ == "finished":
        command_file.remove(folder)
    print_summary(model, rows, weights, folder)
    if digits is not None:
        demo.show(features, labels, digits, classifier.transduction_)
    return 0


def _predict(options: argparse.Namespace) -> int:
    from pglearn.cli.outputs import rows_of_labels
    from pglearn.estimators.table_model import TableModel
    from pglearn.files import refuse_replacing, writable_folder
    from pglearn.tables.frames import write_table
    from pglearn.tables.read import read_table

    if options.output is not None:
        refuse_replacing(options.table, options.output)
    path = options.model / "model.npz" if options.model.is_dir() else options.model
    model = TableModel.load(path)
    table = read_table(options.table, model.target, as_text=model.encoder.category_columns_)
    if options.output is not None:
        writable_folder(options.output.parent, options.output.name)
    probabilities = model.predict_proba(table)
    rows = rows_of_labels(model.classifier.classes_, probabilities.argmax(axis=1), probabilities)
    if options.output is None:
        rows.to_csv(sys.stdout, index=False)
    else:
        write_table(rows, options.output)
        print(f"Labels of {len(rows)} rows: {options.output}")
    return 0


def _reproduce(options: argparse.Namespace) -> int:
    from pglearn.paper.command import reproduce

    return reproduce(options)
