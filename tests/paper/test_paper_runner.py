"""The evaluation as a whole on small made-up sets: resumable after a kill, repeatable, the same in parallel."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from oddatom.cli import main
from oddatom.exceptions import DataSetUnavailable, OddAtomError
from oddatom.paper.base import DataSet, Run, Task
from oddatom.paper.journal import Journal

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")

DRIVER = """
import json, sys
from pathlib import Path
from test_paper_runner import FEW, evaluated
folder, output, jobs = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
evaluated(folder, output, jobs, lambda *counts: print(json.dumps(counts), flush=True), FEW)
"""
FEW = ("dl", "dpl", "kdl")
N = 160  # enough for BLAS to share a product among threads
METHODS = ("dl", "dpl", "kdl", "iforest", "ocsvm", "uniform_l21", "oddatom")


def made(folder):
    """A large and a small set, of few rows, as files with their checksums."""
    sets = {}
    for name, small, m in (("even", False, 4), ("odd", True, 5)):
        rng = np.random.RandomState(m)
        X = rng.gamma(2.0, size=(N, 2)) @ rng.uniform(size=(2, m)) + 0.05 * rng.normal(size=(N, m))
        y = np.zeros(N)
        y[::16] = 1
        X[::16] += rng.normal(0, 2, size=(N // 16, m))
        path = Path(folder) / f"{name}.mat"
        if not path.exists():
            scipy.io.savemat(path, {"X": X, "y": y[:, None]})
        names = ("kdl", "kdpl") if small else ("dl", "dpl")
        settings = {names[0]: {"beta": 0.05}, names[1]: {"beta": 0.05, "gamma": 0.05}}
        table = "small" if small else "max_ba"
        published = {(table, names[0], "ba"): 0.7, ("kfold", "dl", "ba"): 0.6, ("kfold", "iforest", "ba"): 0.6}
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sets[name] = DataSet(name, path.name, digest, m, N, N // 16, small, 2, 0.06, settings, published)
    return sets


def evaluated(folder, output, jobs=1, tell=lambda *counts: None, methods=METHODS, seed=0, **options):
    from oddatom.paper import datasets
    from oddatom.paper.evaluation import evaluate

    kept = dict(datasets.DATASETS)
    datasets.DATASETS.clear()
    datasets.DATASETS.update(options.pop("sets", None) or made(folder))
    try:
        return evaluate(
            output,
            effort="quick",
            names=None,
            method_names=methods,
            experiments=options.pop("experiments", None),
            views=options.pop("views", None),
            dictionaries=3,
            folder=str(folder),
            seed=seed,
            jobs=jobs,
            command="oddatom paper",
            machine="a machine",
            say=options.pop("say", lambda text: None),
            tell=tell,
        )
    finally:
        datasets.DATASETS.clear()
        datasets.DATASETS.update(kept)


def results(output):
    """Everything in the Parquet file that a clock has not touched."""
    return pd.read_parquet(output / "runs.parquet").drop(columns=["train_s", "test_s", "seconds"])


def of_few(folder):
    runs = results(folder / "out")
    return runs[runs["method"].isin(FEW)].reset_index(drop=True)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    index = evaluated(folder, folder / "out")
    return folder, index


def test_all_is_written(whole):
    folder, index = whole
    runs = results(folder / "out")
    assert (runs["error"] == "").all(), runs["error"].unique()
    assert set(runs["experiment"]) == {"whole", "kfold", "convergence", "beta", "outliers", "order"}
    assert set(runs["method"]) == set(METHODS)
    assert set(runs["view"]) == {"published", "converged", "unlabelled"}
    assert not runs.duplicated(["experiment", "view", "dataset", "method", "setting", "draw", "part"]).any()
    page = index.read_text()
    assert "oddatom paper" in page
    assert "<svg" in page
    tables = {path.stem for path in (folder / "out" / "tables").glob("*.md")}
    assert {"datasets", "max_ba", "tpr_tnr", "times", "small", "kfold", "unlabelled", "cells"} <= tables
    assert {path.stem for path in (folder / "out" / "figures").glob("*.svg")} >= {"convergence", "beta", "order"}


def test_measures_are_of_labels_and_scores(whole):
    folder, _ = whole
    runs = results(folder / "out").query("experiment == 'whole'")
    np.testing.assert_allclose(runs["ba"], (runs["tpr"] + runs["tnr"]) / 2)
    one = runs.query("method == 'iforest' and view == 'unlabelled'").iloc[0]
    from sklearn.ensemble import IsolationForest
    from sklearn.metrics import average_precision_score, roc_auc_score

    from oddatom.paper.planning import seed_of

    data = scipy.io.loadmat(folder / f"{one['dataset']}.mat")
    X, y = data["X"], data["y"].ravel()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    scores = -IsolationForest(random_state=seed_of(0, int(one["draw"]))).fit(Z).score_samples(Z)
    assert one["auroc"] == pytest.approx(roc_auc_score(y, scores))
    assert one["ap"] == pytest.approx(average_precision_score(y, scores))


FORMS = ("", ", multipliers", ", hinge", ", ball")


def lines_of(path):
    lines = [text for text in path.read_text().splitlines() if text.startswith("|")]
    return [[cell.strip() for cell in text.split("|")[1:-1]] for text in lines]


def test_the_tables_have_the_forms_of_the_coupling(whole, tmp_path):
    folder, _ = whole
    names = [f"{name}{form.replace(', ', '_')}" for name in ("dl", "kdl") for form in FORMS]
    options = {"experiments": ["whole", "convergence"], "views": ["converged", "unlabelled"]}
    evaluated(folder, tmp_path / "out", methods=names, **options)
    assert (results(tmp_path / "out")["error"] == "").all()
    held = {path.stem: lines_of(path) for path in (tmp_path / "out" / "tables").glob("*.md")}
    for table, label in (
        ("max_ba", "DL-OCSVM"),
        ("tpr_tnr", "DL-OCSVM"),
        ("times", "DL-OCSVM"),
        ("small", "KDL-OCSVM"),
    ):
        found = {row[1]: row[-1] for row in held[table][2:]}
        assert set(found) == {f"{label}{form}" for form in FORMS if "multipliers" not in form}, table
        assert "–" not in found.values(), table  # the column of exact solvers
    both = {f"{label}{form}" for label in ("DL-OCSVM", "KDL-OCSVM") for form in FORMS}
    assert {row[1] for row in held["unlabelled"][2:]} == both
    assert all(row[2] == "3" for row in held["unlabelled"][2:])
    assert {row[1] for row in held["coupling"][2:]} == {label for label in both if "multipliers" not in label}
    for row in held["coupling"][2:]:
        assert row[2:4] == ["3", "18"], row
        assert row[4] == "0" or "," not in row[1], row  # a fixed boundary never raises F + eta G
    assert {path.stem for path in (tmp_path / "out" / "figures").glob("*.svg")} == {"convergence", "coupling"}


def test_kfold_tests_the_best_of_its_folds(whole):
    folder, _ = whole
    runs = results(folder / "out").query("experiment == 'kfold' and method == 'dl' and view == 'published'")
    folds, test = runs[runs["part"] == "own:cv"], runs[runs["part"] == "own:test"]
    assert len(test) == 1
    assert test["draw"].iloc[0] == folds.loc[folds["ba"].idxmax(), "draw"]


def test_parallel_and_once_more_give_the_same(whole, tmp_path):
    folder, _ = whole
    evaluated(folder, tmp_path / "two", jobs=2, methods=FEW)
    pd.testing.assert_frame_equal(results(tmp_path / "two"), of_few(folder))


def test_another_seed_gives_something_else_and_is_kept_apart(whole, tmp_path):
    folder, _ = whole
    with pytest.raises(ValueError, match=r"seed 0 instead of 1.*another --output"):
        evaluated(folder, folder / "out", seed=1)
    evaluated(folder, tmp_path / "one", seed=1, methods=("dl",), experiments=["whole"])
    one, zero = results(tmp_path / "one"), results(folder / "out")
    zero = zero[(zero["method"] == "dl") & (zero["experiment"] == "whole")]
    assert len(one) == len(zero)
    assert not np.array_equal(one["auroc"], zero["auroc"], equal_nan=True)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL to send")
def test_killed_and_gone_on_with(whole, tmp_path):
    (folder, _), jobs, after = whole, 2, 30
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    words = [sys.executable, "-c", DRIVER, str(folder), str(tmp_path / "out"), str(jobs)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}, start_new_session=True
    )
    for line in process.stdout:
        if json.loads(line)[0] >= after:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    (before,) = in_journal(tmp_path / "out", "SELECT count(*) FROM runs")[0]
    assert before >= after - 1
    counts = []
    evaluated(folder, tmp_path / "out", tell=lambda *numbers: counts.append(numbers), methods=FEW)
    full = of_few(folder)
    assert counts[0][0] > before  # what was done is not done again
    assert len(counts) <= len(full) - before
    pd.testing.assert_frame_equal(results(tmp_path / "out"), full)


def test_views_can_be_chosen(whole, tmp_path):
    folder, _ = whole
    evaluated(folder, tmp_path / "out", methods=("dl",), views=["converged"])
    full = results(folder / "out")
    full = full[(full["method"] == "dl") & (full["view"] == "converged")].reset_index(drop=True)
    pd.testing.assert_frame_equal(results(tmp_path / "out"), full)


def test_a_failed_run_is_written_down_and_tried_again(whole, tmp_path, monkeypatch):
    folder, _ = whole
    from oddatom.paper.methods import iforest

    def broken(*args):
        raise RuntimeError("no trees today")

    said = []
    options = {"methods": ("iforest",), "experiments": ["whole"]}
    with monkeypatch.context() as patch:
        patch.setattr(type(iforest.METHOD), "fit", broken)
        evaluated(folder, tmp_path / "out", say=said.append, **options)
    runs = results(tmp_path / "out")
    assert runs["error"].str.contains(r"RuntimeError: no trees today \(test_paper_runner.py:\d+\)").all()
    assert any("failed" in line for line in said)
    evaluated(folder, tmp_path / "out", **options)
    assert (results(tmp_path / "out")["error"] == "").all()


def test_a_set_that_cannot_be_had_is_reported_and_left_out(whole, tmp_path):
    folder, _ = whole
    sets = made(folder)
    gone = DataSet("gone", "gone.mat", "0" * 64, 3, 9, 1, False, 2, 0.1, {}, {})
    said = []
    options = {"methods": ("iforest",), "experiments": ["whole"]}
    index = evaluated(folder, tmp_path / "out", sets={**sets, "gone": gone}, say=said.append, **options)
    assert any(line.startswith("gone is left out") for line in said)
    assert "gone" in index.read_text()
    assert set(results(tmp_path / "out")["dataset"]) == {"even", "odd"}
    with pytest.raises(DataSetUnavailable, match="none of the data sets"):
        evaluated(folder, tmp_path / "none", sets={"gone": gone}, **options)


def test_time_left_goes_by_runs_of_the_same_kind():
    from oddatom.paper.planning import Plan
    from oddatom.paper.runner import Clock

    data = DataSet("a", "a.mat", "", 10, 1000, 5, False, 2, 0.1, {}, {})
    clock = Clock(Plan([data], [], "quick"), n_jobs=2)
    tasks = [Task("whole", "published", "a", "dl", "{}", draw) for draw in range(5)]
    clock.start(tasks, 10)
    done, total, seconds = clock.after(Run(tasks[0], seconds=3.0))
    assert (done, total) == (6, 10)
    assert seconds == pytest.approx(4 * 3.0 / 2)


def task(draw):
    return Task("whole", "published", "a", "dl", "{}", draw)


def journal_of(folder, n, about=None):
    """Return the path of a closed journal of n runs."""
    journal = Journal(folder, about or {"seed": 0})
    journal.note_command("oddatom paper")
    for draw in range(n):
        journal.add(Run(task(draw), ba=0.5))
    journal.close()
    return folder / "runs.sqlite"


def in_journal(folder, *statements):
    """Run statements of SQL; return what the last one finds."""
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as database:
        found = [database.execute(statement).fetchall() for statement in statements]
        database.commit()
    return found[-1]


HALF_WRITTEN = """
import os, signal, sys
from pathlib import Path
from test_paper_runner import Journal, Run, task
journal = Journal(Path(sys.argv[1]), {"seed": 0})
for draw in range(100):
    journal.add(Run(task(draw), ba=0.5))
journal._sql("PRAGMA cache_size = 1")  # pages go to the file before the transaction ends
journal._sql("BEGIN")
for draw in range(300):
    journal.add(Run(task(draw), ba=0.25))
os.kill(os.getpid(), signal.SIGKILL)
"""
OPEN = """
import sys
from pathlib import Path
from oddatom.paper.journal import Journal
journal = Journal(Path(sys.argv[1]), {"seed": 0})
print("open", flush=True)
sys.stdin.read()
"""


def child(code, folder, **options):
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    words, environment = [sys.executable, "-c", code, str(folder)], {**os.environ, "PYTHONPATH": path}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options}
    return subprocess.Popen(words, text=True, env=environment, **pipes)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL to send")
def test_a_kill_in_the_middle_of_a_write_loses_that_write_alone(tmp_path):
    process = child(HALF_WRITTEN, tmp_path)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / "runs.sqlite").stat().st_size > 100_000  # half of the write is in the file
    journal = Journal(tmp_path, {"seed": 0})
    assert journal.done() == {task(draw).place for draw in range(100)}
    journal.add(Run(task(100), ba=0.25))
    journal.close()
    again = Journal(tmp_path, {"seed": 0})
    assert [record["ba"] for record in again.runs.values()] == [0.5] * 100 + [0.25]
    again.leave()


@pytest.mark.parametrize("damage", ["not a journal", "cut off", "a bad page"])
def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path, damage):
    path = journal_of(tmp_path, 100)
    content = path.read_bytes()
    spoilt = {
        "not a journal": b"these are no runs\n" * 300,
        "cut off": content[: len(content) // 2],
        "a bad page": content[:4096] + b"\xff" * (len(content) - 4096),
    }[damage]
    path.write_bytes(spoilt)
    kept = (tmp_path / "runs.parquet").read_bytes()
    with pytest.raises(OSError, match=r"runs.sqlite' cannot be used: .*remove the file to go on from runs.parquet"):
        Journal(tmp_path, {"seed": 0})
    assert (path.read_bytes(), (tmp_path / "runs.parquet").read_bytes()) == (spoilt, kept)
    path.unlink()
    journal = Journal(tmp_path, {"seed": 0})
    assert len(journal.runs) == 100
    journal.leave()


def test_a_full_disk_is_one_line(tmp_path):
    journal = Journal(tmp_path, {"seed": 0})
    journal._sql("PRAGMA max_page_count = 1")  # as good as a full disk to SQLite
    run = Run(task(0), extra={"long": "x" * 100_000})
    with pytest.raises(OSError, match=r"runs.sqlite' cannot be used: database or disk is full\. Check the space left"):
        journal.add(run)
    journal.leave()


def test_a_journal_of_an_earlier_version_is_refused(tmp_path):
    journal_of(tmp_path, 2)
    (tmp_path / "runs.sqlite").unlink()
    (tmp_path / "runs.jsonl").write_text('{"about": {"seed": 0}}\n')
    with pytest.raises(ValueError, match=r"runs.jsonl' is the journal of an earlier version\. Remove it to go on from"):
        Journal(tmp_path, {"seed": 0})
    assert {path.name for path in tmp_path.iterdir()} == {"runs.jsonl", "runs.parquet"}


@pytest.mark.parametrize("n_left", [0, 1, 3])
def test_runs_that_the_parquet_file_alone_has_are_taken_in(tmp_path, n_left):
    journal_of(tmp_path, 5)
    in_journal(tmp_path, f"DELETE FROM runs WHERE rowid > {n_left}", "DELETE FROM commands")
    journal = Journal(tmp_path, {"seed": 0})
    assert (len(journal.runs), journal.commands) == (5, ["oddatom paper"])
    journal.leave()
    (tmp_path / "runs.parquet").unlink()
    again = Journal(tmp_path, {"seed": 0})
    assert (len(again.runs), again.commands) == (5, ["oddatom paper"])
    again.leave()


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    table = pa.Table.from_pydict({"experiment": ["whole"], "extra": ["{}"]}).replace_schema_metadata(
        {b"about": b'{"seed": 0}'}
    )
    pa.parquet.write_table(table, tmp_path / "runs.parquet")
    with pytest.raises(OddAtomError, match=r"runs.parquet' holds something other than runs") as caught:
        Journal(tmp_path, {"seed": 0})
    assert (caught.value.parameter, caught.value.value) == ("output", str(tmp_path / "runs.parquet"))
    assert caught.value.advice == "Choose another --output."
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


def test_of_two_runs_in_one_place_the_journals_is_kept(tmp_path):
    journal_of(tmp_path, 2)
    journal = Journal(tmp_path, {"seed": 0})
    journal.add(Run(task(1), ba=0.75))
    journal.leave()  # killed before the Parquet file
    again = Journal(tmp_path, {"seed": 0})
    assert sorted(record["ba"] for record in again.runs.values()) == [0.5, 0.75]
    again.leave()


def test_a_folder_is_one_programs_at_a_time(tmp_path):
    journal = Journal(tmp_path, {"seed": 0})
    with pytest.raises(ValueError, match="another program is writing"):
        Journal(tmp_path, {"seed": 0})
    journal.close()
    process = child(OPEN, tmp_path)
    assert process.stdout.readline() == "open\n"
    with pytest.raises(ValueError, match="another program is writing"):
        Journal(tmp_path, {"seed": 0})
    process.kill()
    process.communicate()
    Journal(tmp_path, {"seed": 0}).close()


def test_results_are_of_all_commands_of_a_folder(whole, tmp_path):
    folder, _ = whole
    for method in ("iforest", "lof"):
        evaluated(folder, tmp_path / "out", methods=[method], experiments=["whole"], views=["published"])
    page = (tmp_path / "out" / "index.html").read_text()
    assert "IForest" in page
    assert "LOF" in page


@pytest.mark.parametrize(
    "options",
    [
        {"methods": ["iforest"], "views": ["converged"]},
        {"methods": ["iforest"], "experiments": ["beta"]},
        {"methods": []},
        {"views": []},
    ],
)
def test_nothing_to_run_is_an_error(whole, tmp_path, options):
    with pytest.raises(LookupError, match=r"nothing to run|there is no"):
        evaluated(whole[0], tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_data_that_is_not_there(whole, tmp_path, capsys):
    assert main(["paper", "-o", str(tmp_path / "out"), "--data", str(tmp_path / "nowhere")]) == 1
    said = capsys.readouterr().err
    assert "there is no folder" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_parquet_file_alone_can_be_gone_on_with(whole, tmp_path):
    folder, _ = whole
    (tmp_path / "out").mkdir()
    shutil.copyfile(folder / "out" / "runs.parquet", tmp_path / "out" / "runs.parquet")
    counts = []
    evaluated(folder, tmp_path / "out", tell=lambda *numbers: counts.append(numbers))
    assert counts == []
    pd.testing.assert_frame_equal(results(tmp_path / "out"), results(folder / "out"))
    with pytest.raises(ValueError, match="seed 0 instead of 1"):
        Journal(tmp_path / "out", {"oddatom": "0", "seed": 1})


@pytest.mark.parametrize("option", ["datasets", "methods", "experiments", "views"])
def test_unknown_names_are_wrong_use(option, tmp_path, capsys):
    assert main(["paper", f"--{option}", "nope", "-o", str(tmp_path / "out"), "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "'nope'. Choose from " in said
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_how_to_follow(whole, tmp_path, monkeypatch, capsys):
    from oddatom.paper import datasets, evaluation

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "DATASETS", made(whole[0]))
    monkeypatch.setattr(evaluation, "run_all", interrupted)
    words = ["paper", "--datasets", "even", "--methods", "dl", "-o", str(tmp_path / "out"), "--data", str(whole[0])]
    assert main(words) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert (tmp_path / "out" / "runs.parquet").exists()


PROGRAM = """
import sys
from test_paper_runner import made
from oddatom.cli import main
from oddatom.paper import datasets
datasets.DATASETS.clear()
datasets.DATASETS.update(made(sys.argv[1]))
sys.argv = ["oddatom", "paper", "--data", sys.argv[1], "-o", sys.argv[1] + "/stopped", "--jobs", "2"]
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals there")
def test_a_program_that_is_stopped_writes_its_runs(tmp_path):
    journal = tmp_path / "stopped" / "runs.sqlite"
    process = child(PROGRAM, tmp_path, stderr=subprocess.PIPE)
    while not journal.exists() or journal.stat().st_size < 30_000:  # a few runs are there
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    assert process.returncode == 128 + signal.SIGTERM, said
    assert said.endswith("the same command goes on from there\noddatom: stopped; no file is half written.\n")
    assert len(results(tmp_path / "stopped")) > 0


def test_a_fault_inside_is_not_called_wrong_use(whole, tmp_path, monkeypatch):
    from oddatom.paper import datasets, evaluation

    def broken(*arguments):
        raise KeyError("inside")

    monkeypatch.setattr(datasets, "DATASETS", made(whole[0]))
    monkeypatch.setattr(evaluation, "run_all", broken)
    with pytest.raises(KeyError, match="inside"):
        main(["paper", "--datasets", "even", "--methods", "dl", "-o", str(tmp_path / "out"), "--data", str(whole[0])])


def test_help_names_what_can_be_chosen(capsys):
    from oddatom.paper.datasets import DATASETS
    from oddatom.paper.experiments import EXPERIMENTS
    from oddatom.paper.methods import METHODS

    assert main(["paper", "--help"]) == 0
    words = set(capsys.readouterr().out.replace(",", " ").split())
    assert {*DATASETS, *METHODS, *EXPERIMENTS} <= words
    assert main(["paper", "-o", ""]) == 2
    assert "must be a folder" in capsys.readouterr().err


def test_no_data_is_one_line(tmp_path, capsys):
    assert main(["paper", "--datasets", "glass", "-o", str(tmp_path / "out"), "--data", str(tmp_path)]) == 1
    assert "--data" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_journal_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "runs.sqlite").mkdir()
    with pytest.raises(OSError, match=r"runs\.sqlite' cannot be opened: .*Choose another --output"):
        Journal(tmp_path, {"seed": 0})
