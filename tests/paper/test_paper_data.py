"""The paper's data sets: what is written down of them, and that only the right rows are ever given."""

import csv
import hashlib
import io
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from oddatom.exceptions import DataSetUnavailable
from oddatom.paper import fetch
from oddatom.paper.datasets import DATASETS, find
from oddatom.paper.fetch import rows

pooch = pytest.importorskip("pooch", reason="needs the packages of the paper's evaluation")
h5py = pytest.importorskip("h5py", reason="needs the packages of the paper's evaluation")

SHARED = Path(__file__).parents[2].parent / "shared"
TABLES = SHARED / "paper/tables.csv"
REAL = Path(os.environ.get("ODDATOM_DATA") or SHARED / "data/odds")

RNG = np.random.default_rng(0)
X = RNG.integers(0, 200, size=(300, 7)).astype(np.uint8)
Y = np.arange(300) % 30 == 4  # 10 outliers


def mat(X=X, y=Y):
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, {"X": X, "y": y[:, None].astype(np.uint8)})
    return buffer.getvalue()


CONTENT = mat()
TOY = replace(
    DATASETS["glass"],
    name="toy",
    file="toy.mat",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    n_features=7,
    n_rows=300,
    n_outliers=10,
)
UNSIGNED = replace(TOY, sha256="")  # as speech is


def assert_toy(got):
    np.testing.assert_array_equal(got.X, X)
    np.testing.assert_array_equal(got.y, Y)
    assert got.X.dtype == np.float64
    assert got.X.flags.c_contiguous
    assert got.y.dtype == bool


def assert_refused(data, match, *args, **kwargs):
    """One line, which names the set and says what to do."""
    with pytest.raises(DataSetUnavailable, match=match) as caught:
        rows(data, *args, **kwargs)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"No data set {data.name}: ")
    assert "--data FOLDER" in message
    assert "ODDATOM_DATA" in message


# Fetching


class Server:
    """Answers every request with `content`; `cut` makes it close the connection after half of that."""

    def __init__(self):
        self.content, self.cut, self.status, self.asked = CONTENT, False, 200, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(outer.content)))
                self.end_headers()
                self.wfile.write(outer.content[: len(outer.content) // 2] if outer.cut else outer.content)

            def log_message(self, *args):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/data/"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("ODDATOM_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(pooch, "os_cache", lambda project: tmp_path / "caches" / project)
    monkeypatch.setattr(fetch, "PAUSE_S", 0.0)
    return tmp_path / "caches/oddatom/odds"


@pytest.fixture
def told():
    """What pooch logs; its logger belongs to no family, so that `caplog` does not hear it."""
    logger, text = pooch.get_logger(), io.StringIO()
    handler, level = logging.StreamHandler(text), logger.level
    logger.addHandler(handler)
    yield text.getvalue
    logger.removeHandler(handler)
    assert logger.level == level


def kept(cache):
    """Every file under the cache, hidden and temporary ones too."""
    return sorted(path.name for path in cache.rglob("*")) if cache.exists() else []


def test_a_set_is_fetched_once_and_kept(server, cache, told):
    assert_toy(rows(TOY, base_url=server.url))
    assert server.asked == ["/data/toy.mat"]
    assert kept(cache) == ["toy.mat"]
    assert (cache / "toy.mat").read_bytes() == CONTENT
    assert_toy(rows(TOY, base_url=server.url))
    assert len(server.asked) == 1
    assert told() == ""


def test_without_a_checksum_too(server, cache, told):
    for _ in range(2):
        assert_toy(rows(UNSIGNED, base_url=server.url))
    assert len(server.asked) == 1
    assert kept(cache) == ["toy.mat"]
    assert told() == ""


def test_a_wrong_checksum_is_refused(server, cache):
    server.content = mat(X + 1)
    got = hashlib.sha256(server.content).hexdigest()
    assert_refused(TOY, f"toy.mat.*{TOY.sha256}.*{got}", base_url=server.url)
    assert kept(cache) == []
    assert len(server.asked) == 1  # another attempt would bring the same
    server.content = CONTENT
    assert_toy(rows(TOY, base_url=server.url))


@pytest.mark.parametrize("data", [TOY, UNSIGNED], ids=["checksum", "no checksum"])
def test_a_cut_connection(server, cache, data):
    server.cut = True
    assert_refused(data, "toy.mat cannot be fetched", base_url=server.url)
    assert kept(cache) == []
    assert len(server.asked) == fetch.ATTEMPTS
    server.cut = False
    assert_toy(rows(data, base_url=server.url))


def test_a_second_attempt_may_succeed(server, monkeypatch):
    server.cut = True
    monkeypatch.setattr(fetch.time, "sleep", lambda seconds: setattr(server, "cut", False))
    assert_toy(rows(TOY, base_url=server.url))
    assert len(server.asked) == 2


def test_nothing_refused_stays_where_no_checksum_guards(server, cache):
    server.content = CONTENT[: len(CONTENT) // 2]  # a server that lies about the length
    assert_refused(UNSIGNED, r"toy.mat cannot be read as a \.mat file", base_url=server.url)
    assert kept(cache) == []
    server.content = mat(X[:, 1:])
    assert_refused(UNSIGNED, r"\(300, 7, 10, 300\) and are \(300, 6, 10, 300\)", base_url=server.url)
    assert kept(cache) == []
    server.content = CONTENT
    assert_toy(rows(UNSIGNED, base_url=server.url))


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (503, fetch.ATTEMPTS)])
def test_a_server_that_has_no_file(server, cache, status, requests):
    server.status = status
    assert_refused(UNSIGNED, f"the server answered {status}", base_url=server.url)
    assert kept(cache) == []
    assert len(server.asked) == requests


def test_a_damaged_file_in_the_cache_is_fetched_again(server, cache):
    rows(TOY, base_url=server.url)
    (cache / "toy.mat").write_bytes(CONTENT[:-9])
    assert_toy(rows(TOY, base_url=server.url))
    assert len(server.asked) == 2


def test_no_server(cache):
    with socket.socket() as bound:  # a port that nobody listens on
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/"
        assert_refused(TOY, f"{re.escape(url)}toy.mat cannot be fetched .*ConnectionError", base_url=url)
    assert kept(cache) == []


def test_a_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "caches").write_text("a file where the folder should be")
    assert_refused(TOY, "toy.mat cannot be kept", base_url=server.url)


def test_a_server_that_falls_silent(server, monkeypatch):
    asked = []

    def get(url, *, timeout, **options):
        asked.append(timeout)
        raise fetch.import_module("requests").ReadTimeout

    monkeypatch.setattr("requests.get", get)
    assert_refused(TOY, "ReadTimeout", base_url=server.url)
    assert asked == [fetch.TIMEOUT_S] * fetch.ATTEMPTS
    assert max(fetch.TIMEOUT_S) <= 60


# A local folder


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "local"
    folder.mkdir()
    (folder / "toy.mat").write_bytes(CONTENT)
    return folder


def test_a_local_folder(folder, server, cache):
    assert_toy(rows(TOY, folder, base_url=server.url))
    assert_toy(rows(TOY, str(folder), base_url=server.url))
    assert server.asked == []
    assert kept(cache) == []


def test_the_environment_names_a_folder(folder, server, tmp_path, monkeypatch):
    monkeypatch.setenv("ODDATOM_DATA", str(folder))
    assert_toy(rows(TOY, base_url=server.url))
    assert server.asked == []
    assert_refused(TOY, f"there is no file {re.escape(str(tmp_path))}.toy.mat", tmp_path)  # the argument goes first
    monkeypatch.setenv("ODDATOM_DATA", "")
    assert_toy(rows(TOY, base_url=server.url))
    assert len(server.asked) == 1


def test_a_home_folder(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))
    assert_toy(rows(TOY, "~/local"))


def test_a_missing_file_is_not_fetched(folder, server):
    (folder / "toy.mat").unlink()
    assert_refused(TOY, f"there is no file {re.escape(str(folder / 'toy.mat'))}", folder, base_url=server.url)
    assert_refused(TOY, "there is no file", folder / "nowhere", base_url=server.url)
    (folder / "toy.mat").mkdir()
    assert_refused(TOY, "toy.mat cannot be read", folder, base_url=server.url)
    assert server.asked == []


def test_a_changed_file_is_refused_and_left_alone(folder):
    changed = mat(X + 1)
    (folder / "toy.mat").write_bytes(changed)
    got = hashlib.sha256(changed).hexdigest()
    assert_refused(TOY, f"toy.mat is another file: .* should be {TOY.sha256} and is {got}", folder)
    np.testing.assert_array_equal(rows(UNSIGNED, folder).X, X + 1.0)
    (folder / "toy.mat").write_bytes(b"no .mat file\n" * 20)
    assert_refused(UNSIGNED, "cannot be read", folder)
    assert (folder / "toy.mat").exists()


@pytest.mark.parametrize("number", ["n_rows", "n_features", "n_outliers"])
def test_wrong_numbers_are_refused(folder, number):
    right = getattr(TOY, number)
    for data in (TOY, UNSIGNED):
        assert_refused(replace(data, **{number: right + 1}), f"another file: .*should be .*{right + 1}", folder)


def test_labels_of_other_rows_are_refused(folder):
    (folder / "toy.mat").write_bytes(mat(y=Y[:-1]))
    assert_refused(UNSIGNED, r"are \(300, 7, 10, 299\)", folder)


@pytest.mark.parametrize("userblock", [0, 512])
def test_matlab_7_3(folder, userblock):
    with h5py.File(folder / "toy.mat", "w", userblock_size=userblock) as file:
        file["X"] = X.T  # as MATLAB stores it
        file["y"] = Y[None].astype(float)
    if userblock:
        with (folder / "toy.mat").open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file".ljust(userblock, b"\0"))
    assert_toy(rows(UNSIGNED, folder))


def test_a_file_without_labels(folder):
    scipy.io.savemat(folder / "toy.mat", {"X": X})
    assert_refused(UNSIGNED, "cannot be read as a .mat file with X and y", folder)


@pytest.mark.parametrize("missing", ["pooch", "h5py"])
def test_missing_packages(folder, monkeypatch, missing):
    with h5py.File(folder / "toy.mat", "w") as file:
        file["X"], file["y"] = X.T, Y[None].astype(float)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=rf"{missing}: pip install 'oddatom\[paper\]'"):
        rows(UNSIGNED, folder if missing == "h5py" else None, base_url="http://127.0.0.1:9/")


def test_a_plain_file_needs_neither_package(folder, monkeypatch):
    for name in ("pooch", "h5py", "requests"):
        monkeypatch.setitem(sys.modules, name, None)
    assert_toy(rows(TOY, folder))
    code = "import sys; sys.modules |= dict.fromkeys(['pooch', 'h5py', 'requests']); import oddatom.paper.fetch"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_reason_of_many_lines_becomes_one(folder, monkeypatch):
    def loadmat(*args, **options):
        raise ValueError("one\n  two")

    monkeypatch.setattr(scipy.io, "loadmat", loadmat)
    assert_refused(TOY, r"\(one two\)", folder)


# What is written down


def test_order_and_names():
    assert list(DATASETS) == [
        *("satellite", "shuttle", "pendigits", "speech", "mnist"),
        *("cardio", "glass", "thyroid", "vowels", "wbc", "lympho"),
    ]
    for name, data in DATASETS.items():
        assert (data.name, data.file) == (name, f"{name}.mat")
        assert find(name) is data


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r"'cadrio'.*satellite, .*cardio, .*lympho"):
        find("cadrio")


def test_the_files_at_the_authors():
    assert re.fullmatch(r"https://.*/iulianhiji/AD-DL-OCSVM/[0-9a-f]{40}/data/", fetch.REPOSITORY)
    assert [name for name, data in DATASETS.items() if not re.fullmatch("[0-9a-f]{64}", data.sha256)] == ["speech"]
    assert len({data.sha256 for data in DATASETS.values()}) == len(DATASETS)


@pytest.mark.parametrize("data", DATASETS.values(), ids=DATASETS)
def test_figures_agree_among_themselves(data):
    published = data.published
    assert len(published) == (3 + 5 if data.small else 3 + 6 + 12 + 11 + 5)
    assert set(data.settings) == ({"kdl", "kdpl"} if data.small else {"dl", "dpl"})
    assert data.nu == pytest.approx(data.n_outliers / data.n_rows, abs=1e-3)
    for (table, method, _), value in published.items():
        if table == "max_ba":  # printed to four digits, the rates to three
            rates = [published["tpr_tnr", method, measure] for measure in ("tpr", "tnr")]
            assert value == pytest.approx(np.mean(rates), abs=5.6e-4)


TABLE = {
    "datasets": "datasets",
    "newrealresults": "max_ba",
    "newrealresults_tpr_tnr": "tpr_tnr",
    "train_test_time": "times",
    "smallerd_db_results": "small",
    "KFold_results": "kfold",
}
METHOD = {
    "": "",
    "DL-OCSVM": "dl",
    "DPL-OCSVM": "dpl",
    "KDL-OCSVM": "kdl",
    "OC-SVM": "ocsvm",
    "LOF": "lof",
    "IForest": "iforest",
    "AE": "autoencoder",
}
MEASURE = {"max BA": "ba", "test BA": "ba", "TPR": "tpr", "TNR": "tnr", "train s": "train_s", "test s": "test_s"}


@pytest.mark.skipif(not TABLES.exists(), reason="needs shared/paper beside the checkout")
def test_figures_are_those_of_the_paper():
    published = {name: {} for name in DATASETS}
    others = {name: {} for name in DATASETS}
    with TABLES.open() as file:
        for line in csv.DictReader(file):
            table, method, metric, value = line["table"], line["method"], line["metric"], float(line["value"])
            if metric in ("sparsity", "beta", "gamma", "nu"):
                others[line["dataset"]][method.lower(), metric] = value
            else:
                published[line["dataset"]][TABLE[table], METHOD[method], MEASURE.get(metric, metric)] = value
    for name, data in DATASETS.items():
        assert data.published == published[name], name
        got = {("", "sparsity"): data.sparsity, ("all", "nu"): data.nu}
        got |= {(method, key): value for method, setting in data.settings.items() for key, value in setting.items()}
        assert got == others[name], name


def test_the_paper_misprints_one_size():
    printed = {name: data.published["datasets", "", "samples"] for name, data in DATASETS.items()}
    assert {name for name, data in DATASETS.items() if data.n_rows != printed[name]} == {"wbc"}
    for data in DATASETS.values():
        assert data.published["datasets", "", "features"] == data.n_features
        assert data.published["datasets", "", "outliers"] == data.n_outliers


@pytest.mark.parametrize("data", DATASETS.values(), ids=DATASETS)
def test_real_sets(data):
    if not (REAL / data.file).exists():
        pytest.skip(f"needs {data.file} of ODDS: ODDATOM_DATA, or shared/data/odds beside the checkout")
    got = rows(data, REAL)
    assert got.X.shape == (data.n_rows, data.n_features)
    assert got.y.shape == (data.n_rows,)
    assert got.y.sum() == data.n_outliers
    assert np.isfinite(got.X).all()
    assert got.X.flags.c_contiguous
