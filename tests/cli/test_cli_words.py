"""Help, version and completion: short, quick, and complete."""

import shlex
import shutil
import subprocess
import sys

import pytest

from oddatom import __version__
from oddatom.cli.parser import SHELLS, make_parser

COMMANDS = ["detect", "fit", "score", "explain", "report", "update", "inspect", "demo", "paper", "completion"]


def test_help_fits_a_screen(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ended = run("--help")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert len(lines) <= 24  # and a prompt
    assert max(map(len, lines)) <= 80
    assert all(f"    {command}" in ended.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_commands(run, command):
    ended = run(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"usage: oddatom {command}")


def test_python_m(run):
    done = subprocess.run([sys.executable, "-m", "oddatom", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: oddatom COMMAND")


def test_version(run):
    assert run("--version") == (0, f"oddatom {__version__}\n", "")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from oddatom.cli import main; assert main(['--help']) == 0; assert main(['detect', '-h']) == 0; "
        "assert main(['completion', 'bash']) == 0; "
        "assert not {'numpy', 'sklearn', 'pyarrow', 'numba', 'matplotlib', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def options_of(command):
    parser = make_parser()._subparsers._group_actions[0].choices[command]
    return {option for action in parser._actions for option in action.option_strings}


@pytest.fixture
def offered(run, tmp_path):
    """Return a function of words that says what bash offers for the last of them in a folder with a few files."""
    script = run("completion", "bash").out
    (tmp_path / "my folder").mkdir()
    for name in ("my data.csv", "wine.csv", "wine.oddatom"):
        (tmp_path / name).touch()

    def offered(*words):
        set_words = f"COMP_WORDS=({shlex.join(['oddatom', *words])}); COMP_CWORD={len(words)}"
        code = f"{script}\n{set_words}; _shtab_oddatom; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return set(done.stdout.splitlines()) - {""}

    return offered


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")


@needs_bash
def test_bash_completes_commands_and_options(offered):
    assert offered("") == set(COMMANDS)
    assert offered("de") == {"detect", "demo"}
    for command in COMMANDS:
        assert offered(command, "-") == options_of(command)
    assert offered("detect", "my data.csv", "--thre") == {"--threshold", "--threads"}


@needs_bash
def test_bash_completes_choices(offered):
    assert offered("detect", "x.csv", "--detector", "k") == {"kdl", "kdpl"}
    assert offered("score", "--format", "") == {"csv", "tsv", "parquet", "arrow"}
    assert offered("completion", "") == set(SHELLS)


@needs_bash
def test_bash_completes_files_where_a_path_is_expected(offered):
    everything = {"my data.csv", "my folder", "wine.csv", "wine.oddatom"}
    for words in (["detect"], ["score"], ["score", "wine.oddatom"], ["inspect"], ["fit", "-m"], ["detect", "--report"]):
        assert offered(*words, "") == everything, words
        assert offered(*words, "wine.c") == {"wine.csv"}, words
    assert offered("detect", "--quiet", "--detector", "dl", "wine.o") == {"wine.oddatom"}
    assert offered("demo", "--output", "") == offered("paper", "--data", "") == {"my folder"}
    assert offered("detect", "--columns", "") == set()


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_are_scripts(run, shell, tmp_path):
    ended = run("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert all(option.lstrip("-") in ended.out for command in COMMANDS for option in options_of(command))
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(ended.out)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_completion_without_shtab(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    ended = run("completion", "bash")
    assert ended.code == 1
    assert ended.line() == "oddatom: this command needs shtab, which is not installed: pip install 'oddatom[cli]'."
