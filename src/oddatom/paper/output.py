"""The results on disk: every table and figure by itself, and all of them on one page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from oddatom._atomic import write_atomic
from oddatom.paper.context import Context
from oddatom.paper.figures import FIGURES, TITLES, Drawing, render
from oddatom.paper.tables import TABLES, Table
from oddatom.paper.tables._table import markdown
from oddatom.report.escape import safe

TITLE = "The paper's evaluation"
_LONGEST = 4000  # characters of a command or a caption
_LINE = "\n"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_STYLE = """
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.5rem 4rem; background: #fff; color: #20242a;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; overflow-wrap: break-word; }
h1, h2 { line-height: 1.2; letter-spacing: -.01em; } section { margin-top: 3rem; } a { color: #0b5394; }
code, pre { font: .85rem/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre { margin: .6rem 0; padding: .5rem .8rem; background: #f3f2ee; white-space: pre-wrap; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; }
dt, .notes, figcaption { color: #5c6570; } dd { margin: 0; min-width: 0; } .notes, figcaption { font-size: .9rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
caption { position: absolute; clip-path: inset(50%); }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; }
thead th { vertical-align: bottom; border-bottom: 2px solid #999; } tbody th { font-weight: 400; }
tbody tr + tr.start > * { border-top: 1px solid #d5d5d5; } th.r, td.r { text-align: right; } .again { color: #767676; }
td, tbody th { white-space: nowrap; } td:last-child { white-space: normal; }
figure { margin: 0; } figure svg { width: 100%; height: auto; }
"""


class _Part(NamedTuple):
    """One section of the page."""

    name: str
    title: str
    html: str
    markdown: str


def write_results(folder: str | os.PathLike[str], runs: pd.DataFrame, context: Context) -> list[Path]:
    """Write tables (Markdown and HTML), figures (SVG), `index.html` and `results.md`; each file whole or not at all.

    A table or a figure that has no runs is not written, and what an earlier call left of it is removed.

    Parameters
    ----------
    folder : path
        Made where it is not there.
    runs : DataFrame
        With the columns `base.COLUMNS`.
    context : Context

    Returns
    -------
    list of Path
        What was written.
    """
    root = Path(folder)
    for name in ("tables", "figures"):
        (root / name).mkdir(parents=True, exist_ok=True)
    tables = {name: build(runs, context) for name, build in TABLES.items()}
    drawings = {name: render(draw, runs, context) for name, draw in FIGURES.items()}
    texts: dict[Path, str | None] = {}
    parts = []
    for name, table in tables.items():
        part = None if table is None else _table_part(name, table, context)
        texts[root / "tables" / f"{name}.md"] = part and f"# {markdown(part.title)}\n\n{part.markdown}\n"
        texts[root / "tables" / f"{name}.html"] = part and _page(part.title, part.html)
        parts += [part] if part else []
    for name, drawing in drawings.items():
        texts[root / "figures" / f"{name}.svg"] = drawing and drawing.svg
        parts += [_figure_part(name, drawing, context)] if drawing else []
    texts[root / "results.md"] = _results(parts, runs, context)
    texts[root / "index.html"] = _index(parts, runs, context)
    for path, text in texts.items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, text.encode())
    return [path for path, text in texts.items() if text is not None]


def _table_part(name: str, table: Table, context: Context) -> _Part:
    html = f"{table.to_html()}{_made_by(context)}"
    text = f"{table.to_markdown(title=False)}\n{_made_by_markdown(context)}"
    return _Part(f"table-{name}", table.title, html, text)


def _figure_part(name: str, drawing: Drawing, context: Context) -> _Part:
    svg = inline(drawing.svg, f"figure-{name}", drawing.caption)
    caption = safe(drawing.caption, _LONGEST)
    return _Part(
        f"figure-{name}",
        TITLES[name],
        f"<figure>{svg}<figcaption>{caption}</figcaption></figure>{_made_by(context)}",
        f"![{markdown(drawing.caption)}](figures/{name}.svg)\n\n{markdown(drawing.caption)}\n\n"
        f"{_made_by_markdown(context)}",
    )


def inline(svg: str, name: str, label: str) -> str:
    """Return an SVG file's text as an element of a page that has others: named, its ids its own, nothing loaded."""
    text = svg[svg.index("<svg") :]
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", text)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    text = re.sub(r">\s+<", "><", text).strip()
    view = re.search(r'viewBox="[^"]+"', text)
    head = f'<svg role="img" {view.group() if view else ""} aria-labelledby="{name}-title">'
    return f'{head}<title id="{name}-title">{safe(label, _LONGEST)}</title>{text[text.index(">") + 1 :]}'


def _facts(runs: pd.DataFrame, context: Context) -> list[tuple[str, str]]:
    failed = int((runs["error"].fillna("").astype(str) != "").sum())
    return [
        ("Command", _commands(context)[0] if len(_commands(context)) == 1 else "those under each table and figure"),
        ("Machine", context.machine),
        ("Effort", context.effort),
        ("Seed", f"{context.seed}"),
        ("Runs", f"{len(runs)}, of which {failed} failed"),
        ("Data sets", ", ".join(data.name for data in context.datasets)),
        *((f"{name}: not to be had", reason) for name, reason in context.missing.items()),
    ]


def _index(parts: list[_Part], runs: pd.DataFrame, context: Context) -> str:
    facts = "".join(
        f"<dt>{safe(name, _LONGEST)}</dt><dd>{safe(value, _LONGEST)}</dd>" for name, value in _facts(runs, context)
    )
    links = "".join(f'<li><a href="#{part.name}">{safe(part.title, _LONGEST)}</a></li>' for part in parts)
    sections = "".join(
        f'<section id="{part.name}"><h2>{safe(part.title, _LONGEST)}</h2>{part.html}</section>' for part in parts
    )
    return _page(TITLE, f'<dl>{facts}</dl><nav aria-label="Tables and figures"><ol>{links}</ol></nav>{sections}')


def _results(parts: list[_Part], runs: pd.DataFrame, context: Context) -> str:
    facts = "\n".join(f"- {markdown(name)}: {markdown(value)}" for name, value in _facts(runs, context))
    sections = "\n\n".join(f"## {markdown(part.title)}\n\n{part.markdown}" for part in parts)
    return f"# {TITLE}\n\n{facts}\n\n{sections}\n"


def _page(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{safe(title, _LONGEST)}</title><link rel="icon" href="data:,"><style>{_STYLE}</style></head>\n'
        f"<body><main><h1>{safe(title, _LONGEST)}</h1>{body}</main></body></html>\n"
    )


def _commands(context: Context) -> list[str]:
    return [" ".join(line.split()) for line in context.command.splitlines()]


def _made_by(context: Context) -> str:
    return f"<pre><code>{_LINE.join(safe(command, _LONGEST) for command in _commands(context))}</code></pre>"


def _made_by_markdown(context: Context) -> str:
    """Return the command as a code block, fenced by more backticks than it has."""
    command = "\n".join(_commands(context))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}"
