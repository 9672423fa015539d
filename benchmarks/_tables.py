"""docs/benchmarks.md from the results."""

from __future__ import annotations

from typing import Any

OTHERS = (
    "## Other benchmarks",
    "",
    "| command | what it measures |",
    "|---|---|",
    "| `make untuned` | ranking without labels, 13 detectors on 19 sets ([page](untuned.md)) |",
    "| `python -m benchmarks.untuned --pool` | the same detectors on a pool of labelled tables (same page) |",
    "| `python -m benchmarks.everyday FOLDER` | errors planted in tables with empty cells ([page](everyday.md)) |",
    "| `python -m benchmarks.synthetic_cases` | simulated cases with a known answer, each with a goal |",
    "| `python -m benchmarks.untuned_explain` | how often explanations name a corrupted feature first |",
    "| `python -m benchmarks.command` | `oddatom detect` with its report, beside pandas and IsolationForest |",
    "| `python -m benchmarks.trimmed_pairs` | pairs that are trimmed although they should stay "
    "(0 of 936; [what is tried](mathematics.md#a-coupling-that-descends)) |",
    "| `python -m benchmarks.memory` | peak memory of fits and scoring beside its bounds |",
)


def render(results: dict[str, Any]) -> str:
    """The page, one section per benchmark that was run."""
    m = results["machine"]
    out = [
        "# Benchmarks",
        "",
        f"Made by `make bench` on {results['date']}: {m['cpu']}, {m['cores']} cores, Python {m['python']}, "
        + ", ".join(f"{k} {v}" for k, v in m["versions"].items())
        + ". Best of several, both sides in one run; only the ratios mean anything elsewhere. "
        "The raw figures are in `benchmarks/results.json`.",
        "",
    ]
    for name, section in (
        ("omp", _omp),
        ("fit", _fit),
        ("pairs", _pairs),
        ("kernels", _kernels),
        ("svm", _svm),
        ("growth", _growth),
        ("twins", twins_section),
    ):
        if name in results:
            out += [*section(results[name]), ""]
    return "\n".join([*out, *OTHERS]).rstrip() + "\n"


def command_section(r: dict[str, Any]) -> list[str]:
    """The section of `benchmarks/command.py`, which is run by itself."""
    figures, m = r["figures"], r["machine"]
    lines = [
        "## The command",
        "",
        f"`python -m benchmarks.command`, {r['date']}, {m['cpu']}, {m['cores']} cores: `oddatom detect` with its "
        "report, beside a script that reads the csv with pandas, makes 0/1 columns of text and fits and scores "
        "scikit-learn's IsolationForest. Whole processes, best of several in turn.",
        "",
        "| table | rows × columns | oddatom, s | script, s | ratio | peak, MB | script, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, f in figures.items():
        if "ratio" in f:
            t, peak = f["seconds"], f["peak MB"]
            lines.append(
                f"| {name} | {f['rows']:,} × {f['columns']} | {t['oddatom']:.2f} | {t['script']:.2f} "
                f"| {f['ratio']:.2f} | {peak['oddatom']:.0f} | {peak['script']:.0f} |"
            )
    first = figures["first run"]
    return [
        *lines,
        "",
        f"Goal for connections: a ratio of 1.0. The very first run, which compiles, takes {first['compiling']:.1f} s "
        "more on the small table.",
        "",
    ]


def replace_section(page: str, section: list[str]) -> str:
    """Return a page with one section in the place of that of the same title, or before the last one."""
    head, *parts = page.split("\n## ")
    text = "\n".join(section).removeprefix("## ").rstrip() + "\n"
    title = text.split("\n")[0]
    places = [k for k, part in enumerate(parts) if part.split("\n")[0] == title]
    parts[places[0] if places else -1 : (places[0] + 1) if places else len(parts) - 1] = [text]
    return "\n## ".join([head, *parts])


def _omp(r: dict[str, Any]) -> list[str]:
    return ["## Batch-OMP", "", "50,000 signals, 64 features, 128 atoms, 8 non-zeros, two threads.", "", *_rows(r)]


def _rows(r: dict[str, Any]) -> list[str]:
    lines = ["| figure | value |", "|---|---|"]
    flat: dict[str, Any] = {}
    for key, value in r.items():
        flat |= {f"{key}: {k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value}
    for key, value in flat.items():
        lines.append(
            f"| {key.replace('_', ' ')} | {value:.4g} |" if isinstance(value, float) else f"| {key} | {value} |"
        )
    return lines


def _fit(r: dict[str, Any]) -> list[str]:
    lines = [
        "## Whole fits",
        "",
        "`DLOCSVM.fit` at the paper's settings over `IsolationForest(n_estimators=100).fit` on the same rows.",
        "",
        "| set | rows × features | oddatom, ms | IsolationForest, ms | ratio | goal | the authors' program, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, x in r.items():
        t = x["seconds"]
        lines.append(
            f"| {name} | {x['rows']:,} × {x['features']} | {1e3 * t['oddatom']:.0f} | {1e3 * t['iforest']:.0f} "
            f"| {x['over_iforest']:.2f} | ≤ {x['limit']:g} | {1e3 * x['published_program_seconds']:.0f} |"
        )
    lines += ["", "The last column was measured on another machine of this kind, two cores."]
    return lines


def _pairs(r: dict[str, Any]) -> list[str]:
    lines = [
        "## Dictionary pairs",
        "",
        "`DPLOCSVM.fit` over `DLOCSVM.fit`, each at the paper's settings for it, on the same rows.",
        "",
        "| set | rows × features | atoms left | DPL, ms | DL, ms | ratio | goal | KKT | the authors' program, ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, x in r["fits"].items():
        t, theirs = x["seconds"], x["published_program_seconds"]
        published = "" if theirs is None else f"{1e3 * theirs:.0f} ({theirs / t['dpl']:.0f} ×)"
        lines.append(
            f"| {name} | {x['rows']:,} × {x['features']} | {x['active_atoms']} | {1e3 * t['dpl']:.0f} "
            f"| {1e3 * t['dl']:.0f} | {x['over_dl']:.2f} | ≤ {x['limit']:g} | {x['kkt']:.0e} "
            f"| {published} |"
        )
    lines += ["", "The last column was measured on another machine of this kind, two cores.", ""]
    x = r["scoring"]
    return [
        *lines,
        f"`score_samples` of {x['rows']:,} × {x['features']} rows takes {1e3 * x['seconds']['score_samples']:.0f} ms: "
        f"{x['over_product']:.2f} × `Y @ W.T` with {x['atoms']} atoms (goal ≤ {x['limit']:g}), "
        f"{x['over_vector']:.2f} × `Y @ w`; {x['rows_per_second'] / 1e6:.0f} million rows/s.",
    ]


def _kernels(r: dict[str, Any]) -> list[str]:
    lines = [
        "## Kernels",
        "",
        'Exact fits at the paper\'s settings (rbf, gamma "scale", six sweeps) beside one '
        '`OneClassSVM(kernel="rbf").fit`, which learns no dictionary.',
        "",
        "| set | rows × features | rank | KDLOCSVM, s | KDPLOCSVM, s | OneClassSVM, s |",
        "|---|---|---|---|---|---|",
    ]
    for name, x in r["small_sets"].items():
        t = x["seconds"]
        lines.append(
            f"| {name} | {x['rows']:,} × {x['features']} | {x['rank']} | {t['kdl']:.2f} | {t['kdpl']:.2f} "
            f"| {t['ocsvm']:.3f} |"
        )
    lines += [
        "",
        "Goal for thyroid: under 3 s.",
        "",
        "Nyström, 10 features, 256 landmarks, `KDLOCSVM`; the peak is what the fit adds to a process with the data.",
        "",
        "| rows | fit, s | scoring, s | peak, MB | a matrix of all pairs, MB |",
        "|---|---|---|---|---|",
    ]
    for n, x in r["nystroem"].items():
        lines.append(
            f"| {int(n):,} | {x['fit']:.2f} | {x['score']:.2f} | {x['peak_mb']:.0f} | {8 * int(n) ** 2 / 2**20:.0f} |"
        )
    return [
        *lines,
        "",
        f"From first to last the fit takes {r['growth']:.1f} times as long (goal ≤ {r['growth_limit']:g}).",
    ]


def _svm(r: dict[str, Any]) -> list[str]:
    lines = [
        "## One-class SVM",
        "",
        "On the codes of the last sweep, unit-RMS rows. Objectives are the primal values of each solver's plane with "
        "its best offset; lower is better. libsvm at its default tolerance and LIBLINEAR `-s 21 -e 1e-4`, timed once.",
        "",
        "| codes | rows × atoms | ours, ms | libsvm, ms | LIBLINEAR, ms | libsvm / ours "
        "| objective: ours | libsvm | LIBLINEAR | gap |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, x in r["real_codes"].items():
        t, o = x["seconds"], x["objective"]
        lines.append(
            f"| {name} | {x['rows']:,} × {x['columns']} | {1e3 * t['ours']:.1f} | {1e3 * t['libsvm']:.0f} "
            f"| {1e3 * t['liblinear']:.0f} | {x['libsvm_over_ours']:.0f} | {o['ours']:.9f} | {o['libsvm']:.9f} "
            f"| {o['liblinear']:.9f} | {x['gap']:.0e} |"
        )
    lines += ["", "| problem | seconds |", "|---|---|"]
    for name, x in r["large"].items():
        lines.append(f"| {name} | {x['seconds']:.3f} |")
    for sweeps, t in r["shuttle_by_sweep_seconds"].items():
        lines.append(f"| shuttle after {sweeps} sweeps | {t:.3f} |")
    if "ball_over_plane" in r:
        lines += [
            "",
            f"`SVDD` takes {r['ball_over_plane']:.1f} times as long as `LinearOneClassSVM` on 100,000 × 20 normal "
            f"rows, and {r['tied_ball_over_plane']:.1f} times on as many of 0 and 1: with ties many rows lie on "
            "the ball.",
        ]
    return lines


def _growth(r: dict[str, Any]) -> list[str]:
    return [
        "## Growth and scoring",
        "",
        "`DLOCSVM.paper()` on 10 features, all cores. Peak memory is what the fit adds to a process with the data.",
        "",
        *_rows(r),
    ]


def twins_section(r: dict[str, Any]) -> list[str]:
    """Return the section of `benchmarks.twins`, which prints it too."""
    lines = [
        "## Numba twins",
        "",
        "`python -m benchmarks.twins`: every formula that has a numba twin, beside its twin, on NumPy arrays of "
        f"{r['rows']:,} rows × {r['features']} features, {r['chunk']:,} rows a call, CPU time of one thread. "
        "`ensemble.row_parts.formula_parts` is the formulas of `ensemble/parts`, its twin the fused kernel.",
        "",
        "| formula | formula, ms | twin, ms | twin / formula |",
        "|---|---|---|---|",
    ]
    for name, x in r["twins"].items():
        t = x["seconds"]
        lines.append(f"| `{name}` | {1e3 * t['formula']:.1f} | {1e3 * t['twin']:.1f} | {x['ratio']:.2f} |")
    return lines
