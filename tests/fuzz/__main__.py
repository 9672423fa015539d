"""Fuzz the table reader and the model loader: no input may end in anything but a good result or a documented error.

python -m tests.fuzz [--target csv|parquet|arrow|model] [--seconds S | --inputs N] [--seed K] [--keep FOLDER]

First the corpus is tried, then changes of its inputs, at random; one that gets an answer not had before is changed on.
It runs in a process of its own, under a limit of address space; the process is ended where an input takes a minute, and
another goes on after one that ended it. Inputs that fail are left in --keep, and belong into tests/fuzz/corpus.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
TARGETS = ("csv", "parquet", "arrow", "model")
MEMORY = 768 * 2**20  # beyond what the process takes before the first input
PATIENCE = 60  # seconds that an input may take
ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
MOST_KEPT = 400  # inputs that are changed on


def work(options: argparse.Namespace) -> None:
    """Try inputs in this process; the one at hand is in a file that outlives it."""
    import fuzz_targets

    fuzz_targets.silence()
    target = fuzz_targets.make_target(options.target)
    rng = random.Random(options.seed)
    known: set[str] = set()  # answers
    pool: list[fuzz_targets.Input] = []
    first = [] if options.go_on else [*target.kept, *target.seeds]
    target.warm()
    failures: dict[str, str] = {}
    for given in target.seeds:
        _attempt(target, given, options.folder, failures)
    limit_memory()
    tried, until = 0, time.monotonic() + options.seconds
    while (first or tried < options.inputs) and (first or time.monotonic() < until):
        given = first.pop(0) if first else target.change(rng, rng.choice(pool or target.seeds), pool or target.seeds)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        answer = _attempt(target, given, options.folder, failures)
        tried += 1
        if answer not in known and answer != "failed":
            known.add(answer)
            if len(given.content) < 2**15:
                pool.append(given)
                pool[:-MOST_KEPT] = []
        if tried % 200 == 0:
            _tell(options.folder, tried, known, failures)
    faulthandler.cancel_dump_traceback_later()
    _tell(options.folder, tried, known, failures)
    for k, given in enumerate(pool):
        (options.folder / f"answer{k}{given.ending}").write_bytes(given.content)


def _attempt(target, given, folder: Path, failures: dict[str, str]) -> str:
    path = folder / f"input{given.ending}"
    path.write_bytes(given.content)
    try:
        return target.attempt(path)
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        if what not in failures:
            failures[what] = _keep(folder, given.ending, given.content)
            print(f"{what}: {error}\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        return "failed"
    finally:
        path.unlink()


def _keep(folder: Path, ending: str, content: bytes) -> str:
    name = f"failed-{hashlib.sha256(content).hexdigest()[:12]}{ending}"
    (folder / name).write_bytes(content)
    return name


def _tell(folder: Path, tried: int, known: set[str], failures: dict[str, str]) -> None:
    (folder / "state.json").write_text(json.dumps({"tried": tried, "answers": sorted(known), "failures": failures}))


def limit_memory() -> None:
    """Let this process take MEMORY more than it has now."""
    try:
        import resource

        lines = Path("/proc/self/status").read_text().splitlines()
    except (ImportError, OSError):  # not Linux
        return
    size = 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmSize"))
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def supervise(target: str, options: argparse.Namespace) -> dict:
    """Run workers until the time or the inputs are used up; a worker that dies counts as a failure."""
    until, tried, runs = time.monotonic() + options.seconds, 0, 0
    answers: set[str] = set()
    failures: dict[str, str] = {}
    while runs == 0 or (tried < options.inputs and time.monotonic() < until and runs < 50):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command = [sys.executable, str(Path(__file__).parent), "--work", "--target", target]
            command += ["--folder", name, "--seed", str(options.seed + 1000 * runs)]
            command += ["--inputs", str(options.inputs - tried), "--seconds", str(until - time.monotonic())]
            command += ["--go-on"] if runs else []
            done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.PIPE, check=False)
            if done.stderr:
                print(done.stderr.decode(errors="replace")[-6000:], file=sys.stderr, flush=True)
            state = folder / "state.json"
            found = json.loads(state.read_text()) if state.exists() else {"tried": 0, "answers": [], "failures": {}}
            tried, runs = tried + found["tried"], runs + 1
            answers |= set(found["answers"])
            if done.returncode:
                for path in folder.glob("input.*"):
                    found["failures"][f"ended by {done.returncode}"] = _keep(
                        folder, "".join(path.suffixes), path.read_bytes()
                    )
                if not list(folder.glob("input.*")):
                    failures[f"could not start: {done.returncode}"] = ""
            failures |= found["failures"]
            for path in folder.glob("failed-*"):
                shutil.copy(path, options.keep / path.name)
            if options.answers:
                for path in folder.glob("answer*"):
                    shutil.copy(path, options.answers / f"{target}-{path.name}")
            if not done.returncode:
                break
    return {"target": target, "tried": tried, "answers": len(answers), "failures": failures}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS, default=None, help="default: all, one after the other")
    parser.add_argument("--seconds", type=float, default=None, help="in all")
    parser.add_argument("--inputs", type=int, default=None, help="of each target")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"), help="where inputs that fail are left")
    parser.add_argument("--answers", type=Path, default=None, help="where to leave an input for every answer")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--go-on", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seconds is None and options.inputs is None:
        options.seconds = 60.0
    options.seconds = float("inf") if options.seconds is None else options.seconds
    options.inputs = 10**12 if options.inputs is None else options.inputs
    if options.work:
        work(options)
        return 0
    options.keep.mkdir(parents=True, exist_ok=True)
    names = [options.target] if options.target else list(TARGETS)
    options.seconds /= len(names)
    results = [supervise(name, options) for name in names]
    for result in results:
        print(json.dumps(result), flush=True)
    return int(any(result["failures"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
