"""Wrong use gets one line that says what to do, an exit code, and no file."""

import os

import pyarrow as pa
import pytest
from cli_tables import N_ROWS, write_csv

import oddatom.cli.learning
from oddatom import LinearOneClassSVM, OddAtomDetector, load, make_detector, save
from oddatom.model_io import jsontext
from oddatom.table import open_table


@pytest.fixture
def fails(run, tmp_path):
    """Assert that a command fails in one line, which is returned, and leaves the folder as it was."""

    def fails(*words, code=1):
        before = sorted(os.walk(tmp_path))
        ended = run(*words)
        assert (ended.code, ended.out) == (code, "")
        assert sorted(os.walk(tmp_path)) == before
        return ended.line()

    return fails


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty. Pass a table with a header line and rows."),
        (b"\n\n", "is empty. Pass"),
        (b"a,b\n", "has a header and no rows. Pass"),
        (b"a,b\n1,2\n", "the table has one row: there is nothing to compare it with. Pass at least two."),
        (b"PAR1 and more", "is no csv table but a parquet file. Name it .parquet, or pass --format parquet."),
        (b"PK\x03\x04....", "a zip file or a spreadsheet"),
        (b"\0\1\2\3" * 99, "is not a table: it holds binary data."),
        ("a,b\n1,2\n".encode("utf-16-le"), "is not UTF-8 but looks like UTF-16. Pass --encoding utf-16-le."),
        ("a,b\n1,2\n".encode("utf-16-be"), "is not UTF-8 but looks like UTF-16. Pass --encoding utf-16-be."),
        (b"a,b\n1,\xe9\n", "is not UTF-8. Pass its encoding, for instance --encoding latin-1"),
        (b"a,b\n1,2\n3\n4,5\n", "has 1 cell instead of 2 in line 3. Mend it, or pass --delimiter"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "has a quote that opens, in line 3, and never closes. Close it or remove it."),
        (b"a,b\n,\n,\n,\n", "No column of the table can be used"),
        (b"id,key\n" + b"".join(b"u%d,v%d\n" % (k, k) for k in range(40)), "Name those to use in --columns"),
    ],
)
def test_what_is_not_a_table(fails, tmp_path, content, said):
    (tmp_path / "data.csv").write_bytes(content)
    line = fails("detect", tmp_path / "data.csv")
    assert line.startswith("oddatom: ")
    assert said in line


def test_no_such_file_a_folder_no_extension_a_damaged_file(fails, tmp_path):
    assert "does not exist. Check the path" in fails("detect", tmp_path / "none.csv")
    assert "is a folder. Pass one file." in fails("detect", tmp_path)
    (tmp_path / "data").write_text("a,b\n1,2\n")
    assert "Rename it or pass --format." in fails("detect", tmp_path / "data")
    (tmp_path / "data.parquet").write_bytes(b"PAR1 cut off")
    assert "cut off, damaged or something else" in fails("detect", tmp_path / "data.parquet")


@pytest.mark.parametrize("option", ["--columns", "--ignore", "--id"])
def test_unknown_columns(fails, table, option):
    line = fails("detect", table, option, "size,height")
    assert f"{option} must name columns of the table. Got 'height' instead. It has 'id', 'size'," in line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--threshold", "0"], "a share of rows above 0 and up to 0.5"),
        (["--threshold", "0.51"], "a share of rows above 0 and up to 0.5"),
        (["--threshold", "nan"], "Got 'nan' instead"),
        (["--threshold", "fdr=1"], "fdr=Q with Q between 0 and 1"),
        (["--threshold", "fdr="], "Got 'fdr=' instead"),
        (["--threshold", "often"], "Got 'often' instead"),
        (["--seed", "-1"], "argument --seed: must be a whole number from 0 to 4294967295. Got '-1' instead"),
        (["--seed", "4294967296"], "from 0 to 4294967295"),
        (["--threads", "0"], "argument --threads: must be a whole number above 0. Got '0' instead"),
        (["--top", "3", "--all"], "argument --all: not allowed with argument --top"),
        (["--by", ""], "argument --by: must name columns. Got '' instead"),
        (["--top", "few"], "argument --top: must be a whole number above 0. Got 'few' instead"),
        (["--detector", "svm"], "invalid choice: 'svm' (choose from"),
        (["--format", "xlsx"], "invalid choice: 'xlsx'"),
        (["--report", "-"], "argument --report: must be a file"),
        (["--nonsense\n\x1b[31m"], r"unrecognized arguments: --nonsense\x0a\x1b[31m"),
        (["--json", "-o", "-"], "--json and the rows both go to standard output. Pass -o FILE"),
        (["-o", "same.csv", "--report", "same.csv"], "two results go to the same file"),
    ],
)
def test_wrong_words_end_with_2(fails, table, words, said):
    assert said in fails("detect", table, *words, code=2)


def test_no_command_and_an_unknown_one(fails):
    assert fails(code=2) == "oddatom: the following arguments are required: COMMAND. See oddatom --help."
    assert fails("guess", code=2).endswith("See oddatom --help.")
    assert fails("fit", "x.csv", code=2).endswith("required: -m/--model. See oddatom fit --help.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--encoding", "klingon"], "--encoding must be a text encoding that Python knows. Got 'klingon' instead"),
        (["--encoding", "rot13"], "--encoding must be a text encoding that Python knows. Got 'rot13' instead"),
        (["--encoding", "hex"], "--encoding must be a text encoding that Python knows. Got 'hex' instead"),
        (["--delimiter", "ab"], "--delimiter must be one ASCII character"),
    ],
)
def test_wrong_options_of_a_file(fails, table, words, said):
    assert said in fails("detect", table, *words)


@pytest.mark.parametrize("option", ["-o", "--report", "-m"])
def test_places_are_checked_before_any_work(fails, table, tmp_path, monkeypatch, option):
    monkeypatch.setattr(oddatom.cli.learning, "new_detector", lambda options: pytest.fail("worked first"))
    line = fails("detect", table, option, tmp_path / "none" / "x.csv")
    assert f"there is no folder '{tmp_path / 'none'}' to write in. Make it, or choose another place." in line
    assert "is a folder. Name a file in it." in fails("detect", table, option, tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "may not be written in. Choose another place." in fails("detect", table, option, tmp_path / "x.csv")


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "data.csv", "-m", "data.csv"],
        ["detect", "data.csv", "-o", "data.csv"],
        ["detect", "data.csv", "--report", "./data.csv"],
        ["detect", "data.csv", "-m", "link.csv"],
        ["detect", "link.csv", "-o", "data.csv"],
        ["score", "m.oddatom", "data.csv", "-o", "data.csv"],
        ["score", "m.oddatom", "data.csv", "-o", "m.oddatom"],
        ["report", "m.oddatom", "data.csv", "-o", "data.csv"],
        ["report", "m.oddatom", "data.csv", "-o", "m.oddatom"],
    ],
)
def test_what_is_read_is_not_written_over(fails, table, model, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(oddatom.cli.learning, "new_detector", lambda options: pytest.fail("worked first"))
    (tmp_path / "link.csv").symlink_to(table)
    (tmp_path / "m.oddatom").write_bytes(model.read_bytes())
    before = table.read_bytes()
    assert "is read, and would be written over. Choose another name for the result." in fails(*words, code=2)
    assert table.read_bytes() == before
    assert (tmp_path / "m.oddatom").read_bytes() == model.read_bytes()


def test_batches_beyond_reason(fails, table, model):
    line = fails("score", model, table, "--batch", 9999999999999999999, code=2)
    assert "argument --batch: must be a whole number from 1 to 2147483647. Got" in line


def test_types_that_a_format_lacks_are_found_before_the_fit(fails, run, tmp_path, monkeypatch, model, table):
    rows = open_table(table).read()
    kinds, places = pa.array([0] * N_ROWS, pa.int8()), pa.array(range(N_ROWS), pa.int32())
    rows = rows.append_column("odd", pa.UnionArray.from_dense(kinds, places, [places]))
    with pa.ipc.new_file(tmp_path / "t.arrow", rows.schema) as sink:
        sink.write_table(rows)
    for command in (["score", model], ["detect"]):
        assert run(*command, tmp_path / "t.arrow", "-o", tmp_path / f"{command[0]}.arrow", "-q").code == 0
        with monkeypatch.context() as patch:
            patch.setattr(oddatom.cli.learning, "new_detector", lambda options: pytest.fail("worked first"))
            patch.setattr(OddAtomDetector, "score_samples", lambda self, X: pytest.fail("worked first"))
            line = fails(*command, tmp_path / "t.arrow", "-o", tmp_path / "t.parquet")
        assert "t.parquet' cannot hold the columns 'odd' (dense_union" in line
        assert line.endswith("Name a .csv file, which holds them as text.")


def test_models_too_large_for_a_file_are_found_before_the_fit(fails, run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(jsontext, "MAX_BYTES", 2000)
    monkeypatch.setattr(OddAtomDetector, "fit", lambda self, X: pytest.fail("fitted first"))
    ended = run("fit", table, "-m", tmp_path / "m.oddatom", "--max-levels", 2)
    assert ended.code == 1
    assert ended.err.splitlines()[-1].startswith("oddatom: Cannot save this model: its description has ")
    assert ended.err.endswith(
        "2,000 is the most. The text columns with most values are 'colour' (3): leave them out with --ignore.\n"
    )


def test_outputs_without_a_known_extension(fails, table, model, tmp_path):
    for words in (["detect", table], ["score", model, table]):
        assert fails(*words, "-o", tmp_path / "x.xyz").endswith("text also as .gz). Rename it.")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk(fails, table, model):
    assert "No space left on device. Check the folder and the space left." in fails(
        "score", model, table, "-o", "/dev/full", "-q"
    )


@pytest.mark.parametrize("command", ["score", "explain", "report"])
def test_wrong_models(fails, table, model, tmp_path, columns, command):
    assert "There is no file" in fails(command, tmp_path / "none.oddatom", table)
    assert "it is no model file" in fails(command, table, table)
    save(load(model).detector_, tmp_path / "alone.oddatom")
    assert "holds OddAtomDetector, which takes numbers, not tables. Use a model that `oddatom fit` wrote" in fails(
        command, tmp_path / "alone.oddatom", table
    )
    other = write_csv(tmp_path / "other.csv", {"a": ["1", "2"], "b": ["1", "2"]})
    line = fails(command, model, other)
    assert "The table has none of the columns that the model was fitted on ('size', 'weight'," in line
    assert "It has 'a', 'b'." in line


def test_a_model_that_the_command_line_does_not_know(fails, table, tmp_path):
    pipeline = make_detector(LinearOneClassSVM()).fit(open_table(table).read())
    save(pipeline, tmp_path / "linear.oddatom")
    line = fails("score", tmp_path / "linear.oddatom", table)
    assert "holds LinearOneClassSVM, which the command line does not know. Use a model that `oddatom fit` wrote" in line


def test_inspect_wrong_models(fails, table, tmp_path):
    assert "it is no model file" in fails("inspect", table)
    assert "There is no file" in fails("inspect", tmp_path / "none")


def test_rows_beyond_the_end(fails, table, model):
    line = fails("explain", model, table, "--row", 5, "--row", N_ROWS + 1)
    assert line == f"oddatom: there is no row {N_ROWS + 1}: the table has {N_ROWS} rows. The first is --row 1."
    assert "must be a whole number above 0" in fails("explain", model, table, "--row", 0, code=2)
    assert "not allowed with argument" in fails("explain", model, table, "--row", 1, "--top", 2, code=2)


def test_ctrl_c_and_lack_of_memory(run, table, tmp_path, monkeypatch):
    def stop(error):
        def learn(self, source, order=None):
            raise error

        monkeypatch.setattr(OddAtomDetector, "_learn", learn)
        ended = run("detect", table, "-q")
        assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]
        return ended.code, ended.line()

    assert stop(KeyboardInterrupt()) == (130, "oddatom: interrupted; no file is half written.")
    loading = ImportError("initialization failed")  # of a library that Ctrl-C met while it was loaded
    loading.__cause__ = KeyboardInterrupt()
    assert stop(loading) == (130, "oddatom: interrupted; no file is half written.")
    naming = RuntimeError("Error calling __set_name__")  # what Python before 3.12 makes of Ctrl-C in it
    naming.__cause__ = KeyboardInterrupt()
    assert stop(naming) == (130, "oddatom: interrupted; no file is half written.")
    cleaning = AttributeError("half loaded")  # an error while Ctrl-C is handled
    cleaning.__context__ = ImportError("initialization failed")
    cleaning.__context__.__cause__ = KeyboardInterrupt()
    assert stop(cleaning) == (130, "oddatom: interrupted; no file is half written.")
    code, line = stop(MemoryError())
    assert code == 1
    assert line.startswith("oddatom: out of memory: use fewer columns")


def test_without_what_a_report_needs(fails, run, table, monkeypatch):
    monkeypatch.setattr("oddatom.cli.reporting.find_spec", lambda name: None)
    assert "a report needs jinja2: pip install 'oddatom[report]', or pass --no-report" in fails("detect", table)
    assert run("detect", table, "--no-report", "-q").code == 0


def test_a_bug_is_not_hidden(table, run, monkeypatch):
    def learn(self, source, order=None):
        raise TypeError("a bug")

    monkeypatch.setattr(OddAtomDetector, "_learn", learn)
    with pytest.raises(TypeError, match="a bug"):
        run("detect", table, "--no-report")


def test_large_seeds_and_small_shares_work(run, table):
    assert run("detect", table, "--seed", 2**32 - 1, "--threshold", "0.5", "--no-report", "-q").code == 0
