"""The command line, from a file to the folder of results."""

from __future__ import annotations

import os
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from tests.cli.conftest import FILES, SEARCH, fit, rows, run

import pglearn
from pglearn.errors import OutputError
from pglearn.estimators.table_model import TableModel
from pglearn.files import whole_file
from pglearn.search import read_events


def printed(capsys):
    """What was printed, however the lines were broken."""
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture
def fitted(tmp_path):
    """Writes a table, fits it, and tells the folder of the results."""

    def run(frame, *options, **target):
        frame.to_csv(tmp_path / "t.csv", index=False)
        fit(tmp_path / "t.csv", tmp_path / "out", *options, **target)
        return tmp_path / "out"

    return run


# fit


def test_fit_leaves_four_files_that_cover_every_row_and_nothing_else(csv, out, capsys):
    fit(csv, out)
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert sorted(path.name for path in csv.parent.iterdir()) == ["flowers.csv", "out"]
    text, errors = capsys.readouterr()
    assert "Labelled 28 rows from 12 given labels of 2 classes" in text
    assert all(str(out / name) in text for name in FILES)
    assert errors == ""
    with np.load(out / "model.npz", allow_pickle=False) as model:
        assert str(model["target.name"]) == "kind"
        assert model["ensemble.classes"].tolist() == ["rose", "tulip"]
    predictions = pd.read_csv(out / "predictions.csv")
    assert list(predictions) == ["row", "label", "source", "confidence", "p(rose)", "p(tulip)"]
    assert predictions["row"].tolist() == list(range(40))
    assert predictions["source"].tolist() == ["given"] * 12 + ["predicted"] * 28
    assert (predictions["label"] == rows()[1]).mean() > 0.9
    np.testing.assert_allclose(predictions["p(rose)"] + predictions["p(tulip)"], 1, atol=2e-6)
    of_label = np.where(predictions["label"] == "rose", predictions["p(rose)"], predictions["p(tulip)"])
    np.testing.assert_array_equal(predictions["confidence"], of_label)


def test_a_given_label_stays_even_where_the_graph_disagrees(fitted, capsys):
    frame, _ = rows()
    frame.loc[0, "kind"] = "tulip"  # a rose among roses
    first = pd.read_csv(fitted(frame) / "predictions.csv").iloc[0]
    assert (first["label"], first["source"]) == ("tulip", "given")
    assert first["confidence"] < 0.5
    assert "The graph doubts 1 of the given labels, first rows 0: look again." in printed(capsys)


def test_a_second_fit_replaces_the_results_of_the_first(csv, out):
    fit(csv, out)
    first = (out / "predictions.csv").read_bytes(), (out / "feature_weights.csv").read_bytes()
    fit(csv, out, "--seed", "5")
    assert (out / "feature_weights.csv").read_bytes() != first[1]
    fit(csv, out, "--jobs", "2")
    assert ((out / "predictions.csv").read_bytes(), (out / "feature_weights.csv").read_bytes()) == first
    assert [event["event"] for event in read_events(out / "events.jsonl")].count("search_started") == 1


def test_options_reach_the_search(csv, out, capsys):
    options = {"--budget": 4, "--candidates": 3, "--rate": 3, "--loss": "ranking", "--validation": "kfold"}
    fit(csv, out, *(part for option in options.items() for part in option), "--views", "given", "components")
    started = read_events(out / "events.jsonl")[0]
    assert (started["budget"], started["candidates"], started["rounds"]) == (4, 3, 2)
    assert (started["points"], started["labelled"]) == (40, 12)
    model = TableModel.load(out / "model.npz").classifier
    assert (model.loss, model.validation, model.views) == ("ranking", "kfold", ("given", "components"))
    assert "Accuracy on hidden labels (kfold)" in printed(capsys)


@pytest.mark.parametrize(("shares", "less_of_roses"), [("none", False), ("rose=0.2,tulip=0.8", True)])
def test_class_shares_are_given_by_name(csv, out, shares, less_of_roses):
    fit(csv, out, "--class-prior", shares, "--views", "auto")
    model = TableModel.load(out / "model.npz").classifier
    assert (model.class_factors_[0] < model.class_factors_[1]) == less_of_roses
    assert model.get_params()["views"] == "auto"


def test_the_options_of_help_are_the_defaults_of_the_estimator(capsys):
    with pytest.raises(SystemExit):
        run("fit", "--help")
    text = printed(capsys)
    model = pglearn.PGLearnClassifier()
    for words in (
        f"units of work per candidate (default {model.budget})",
        f"alive at a time (default {model.n_candidates})",
        f"one of R survives (default {model.downsampling_rate})",
        *(f"{name} (default)" for name in (model.validation, model.loss, model.selection, model.views)),
    ):
        assert words in text


# Tables


def test_a_mixed_table_has_weights_per_original_column_and_is_predicted_like_it(tmp_path, fitted, capsys):
    frame, _ = rows()
    frame.insert(0, "with gaps", np.where(np.isin(np.arange(40), [5, 17]), np.nan, np.arange(40.0)))
    frame.insert(1, "colour", pd.Series(np.array(["red", "blue", None], dtype=object)[np.arange(40) % 3]))
    frame.insert(2, "planted", [f"2024-0{1 + i % 5}-01" for i in range(40)])
    out = fitted(frame)
    weights = pd.read_csv(out / "feature_weights.csv")
    assert list(weights) == ["column", "weight", "share"]
    assert sorted(weights["column"]) == ["colour", "height", "planted", "width", "with gaps"]
    assert weights["share"].sum() == pytest.approx(1)
    assert weights["share"].is_monotonic_decreasing
    assert (weights["weight"] >= 0).all()
    assert "take the median of their column: 'with gaps' (2)." in printed(capsys)
    frame.drop(columns="kind").assign(colour="green").to_parquet(tmp_path / "new.parquet")
    assert run("predict", out, tmp_path / "new.parquet", "-o", tmp_path / "labels.csv") == 0
    assert set(pd.read_csv(tmp_path / "labels.csv")["label"]) == {"rose", "tulip"}


# predict


def test_predict_gives_what_the_estimator_gives_to_a_file_or_the_terminal(csv, results, tmp_path, capsys):
    assert run("predict", results, csv, "-o", tmp_path / "one.csv") == 0
    assert run("predict", results / "model.npz", csv, "-o", tmp_path / "deep" / "er" / "two.csv") == 0
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "deep" / "er" / "two.csv").read_bytes()
    assert "Labels of 40 rows" in capsys.readouterr().out
    rows()[0][["width", "height"]].assign(extra="x").to_csv(tmp_path / "other.csv", index=False)
    for table in (csv, tmp_path / "other.csv"):  # neither the target nor the order of columns matters
        assert run("predict", results, table) == 0
        assert capsys.readouterr().out == (tmp_path / "one.csv").read_text()
    predicted = pd.read_csv(tmp_path / "one.csv")
    assert list(predicted) == ["row", "label", "confidence", "p(rose)", "p(tulip)"]
    assert (predicted["label"] == pd.read_csv(results / "predictions.csv")["label"]).mean() > 0.9
    expected = TableModel.load(results / "model.npz").predict_proba(rows()[0].drop(columns="kind"))
    np.testing.assert_allclose(predicted[["p(rose)", "p(tulip)"]].to_numpy(), expected, atol=1e-6)


def test_levels_and_labels_keep_their_leading_zeros(tmp_path, fitted):
    frame, kinds = rows()
    level = np.where(np.arange(40) == 39, "A1", np.where(kinds == "rose", "01", "02"))
    out = fitted(frame.assign(kind=frame["kind"].map({"rose": "01", "tulip": "02"}), level=level))
    assert set(pd.read_csv(out / "predictions.csv", dtype=str)["label"]) == {"01", "02"}
    (tmp_path / "two.csv").write_text("height,width,level,kind\n2,0,01,\n2,0,02,-1\n")
    (tmp_path / "three.csv").write_text("height,width,level,kind\n2,0,01,\n2,0,02,01\n2,0,A1,\n")
    for name in ("two", "three"):
        assert run("predict", out, tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}_labels.csv") == 0
    two, three = (pd.read_csv(tmp_path / f"{name}_labels.csv", dtype=str) for name in ("two", "three"))
    pd.testing.assert_frame_equal(two, three[:2])
    assert two["p(01)"][0] != two["p(01)"][1]


def test_a_reader_that_goes_away_is_no_error_to_speak_of(csv, results):
    command = [sys.executable, "-m", "pglearn", "predict", str(results), str(csv)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141  # what a shell says of a program that wrote to a closed pipe


# What a person reads


def test_a_search_out_of_time_says_so_and_its_progress_bar_goes_to_stderr(csv, out, capsys):
    assert run("fit", csv, "--target", "kind", "-o", out, *SEARCH[:-1], "--max-time", "0.000001") == 0
    text, progress = capsys.readouterr()
    assert "The search was out of time: this is the best found so far." in " ".join(text.split())
    assert "round" in progress
    assert "round" not in text
    assert len(pd.read_csv(out / "predictions.csv")) == 40


def test_rows_that_no_label_reaches_are_counted(fitted, capsys):
    frame, _ = rows(50)
    frame.loc[20:, ["height", "width"]] += 1e4
    predictions = pd.read_csv(fitted(frame) / "predictions.csv")
    assert (predictions["source"][20:] == "unreached").all()
    assert "No label reaches 30 of the rows; they have the class shares. Label a row" in printed(capsys)


ESCAPES = "x\x1b]0;owned\x07\x1b[2J"
STRANGE = ["[bold]x[/]", "=1+1", "[/]", "<b>&amp;</b>", ":smile:", "[link=http://a.b]c", "\\", "größe", ESCAPES]


def test_strange_names_are_printed_as_they_are_and_are_no_commands_to_the_terminal(tmp_path, capsys):
    frame, _ = rows()
    noise = pd.DataFrame(np.random.default_rng(0).normal(size=(40, len(STRANGE))), columns=STRANGE)
    classes = frame["kind"].map({"rose": "[bold]r[/]", "tulip": "=1+1"})
    out, table = tmp_path / "[red]:smile:", tmp_path / "t.csv"
    noise.assign(**{"[bold]y[/]": classes}).to_csv(table, index=False)
    fit(table, out, target="[bold]y[/]")
    assert sorted(pd.read_csv(out / "feature_weights.csv")["column"]) == sorted(STRANGE)
    assert set(pd.read_csv(out / "predictions.csv")["label"]) == {"[bold]r[/]", "=1+1"}
    frame.assign(kind=[ESCAPES] * 4 + [None] * 36).to_csv(table, index=False)
    assert run("fit", table, "--target", "kind", "-o", out, *SEARCH) == 2
    text, told = capsys.readouterr()
    shown = "x\\x1b]0;owned\\x07\\x1b[2J"
    assert f"Only one class is labelled ({shown})" in told
    assert [name for name in [*STRANGE[:7], "größe", shown, "[red]:smile:"] if name not in text] == []
    assert not {"\x1b", "\x07"} & set(text + told)


# The other commands


@pytest.mark.parametrize("command", [[], ["fit"], ["predict"], ["demo"], ["resume"], ["reproduce"]], ids=" ".join)
def test_help(capsys, command):
    with pytest.raises(SystemExit) as exit:
        run(*command, "--help")
    assert exit.value.code == 0
    assert " ".join(["usage: pglearn", *command]) in capsys.readouterr().out


def test_the_demonstration(tmp_path, capsys):
    assert run("demo", "-o", tmp_path / "demo", "--budget", "2", "--candidates", "2", "--jobs", "1", "--quiet") == 0
    text = capsys.readouterr().out
    assert "hidden labels" in text
    assert "LabelSpreading" in text
    assert float(text.split("pglearn  ")[1].split()[0]) > 0.9
    assert len(pd.read_csv(tmp_path / "demo" / "predictions.csv")) == 1797
    assert len(pd.read_csv(tmp_path / "demo" / "feature_weights.csv")) == 64


def test_a_file_keeps_its_place_behind_a_link_and_a_pipe_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OutputError, match="not an ordinary file"), whole_file(tmp_path / "pipe"):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
    with whole_file(tmp_path / "link.txt") as file:
        file.write(b"new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"
