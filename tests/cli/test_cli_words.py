"""Help, version and completion: short, quick, and complete."""

import shutil
import subprocess
import sys

import pytest

from oddatom import __version__
from oddatom.cli.parser import make_parser

COMMANDS = ["detect", "fit", "score", "explain", "report", "inspect", "demo", "paper", "completion"]


def test_help_fits_a_screen(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ended = run("--help")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert len(lines) <= 23  # and a prompt
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
    return {option for action in parser._actions for option in action.option_strings if option.startswith("--")}


def complete(script, *words):
    """Return what bash offers for the last word."""
    line = " ".join(f"'{word}'" for word in words)
    code = f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _oddatom; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return set(done.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completion(run):
    script = run("completion", "bash").out
    assert complete(script, "oddatom", "") == set(COMMANDS)
    assert complete(script, "oddatom", "de") == {"detect", "demo"}
    for command in COMMANDS:
        assert complete(script, "oddatom", command, "-") == options_of(command)
    assert complete(script, "oddatom", "detect", "my data.csv", "--thre") == {"--threshold", "--threads"}
    assert complete(script, "oddatom", "detect", "x.csv", "--detector", "k") == {"kdl", "kdpl"}
    assert complete(script, "oddatom", "score", "--format", "") == {"csv", "tsv", "parquet", "arrow"}
    assert complete(script, "oddatom", "completion", "") == {"bash", "zsh", "fish", "--help"}
    assert complete(script, "oddatom", "detect", "da") == set()  # then bash offers files
    assert "complete -o default -F _oddatom oddatom" in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_scripts(run, shell, tmp_path):
    ended = run("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert all(option[2:] in ended.out for command in COMMANDS for option in options_of(command))
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(ended.out)
    subprocess.run([shell, "-n", tmp_path / "script"], check=True)
