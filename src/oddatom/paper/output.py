"""The results on disk: every table and figure by itself, and all of them on one page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from oddatom._atomic import write_atomic
from oddatom.paper.context import Context
from oddatom.paper.figures import FIGURES, TITLES, Drawing, render
from oddatom.paper.tables import TABLES, Table
from oddatom.paper.tables._table import LONGEST, markdown
from oddatom.report.environment import environment
from oddatom.report.figures import InlineSvg

TITLE = "The paper's evaluation"


class _Part(NamedTuple):
    """One section of the page: a table, or a drawing with its caption."""

    name: str
    title: str
    markdown: str
    table: Table | None = None
    drawing: InlineSvg | None = None
    caption: str = ""


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
        texts[root / "tables" / f"{name}.html"] = part and _page("page.html", [part], context, title=part.title)
        parts += [part] if part else []
    for name, drawing in drawings.items():
        texts[root / "figures" / f"{name}.svg"] = drawing and drawing.svg
        parts += [_figure_part(name, drawing, context)] if drawing else []
    texts[root / "results.md"] = _results(parts, runs, context)
    texts[root / "index.html"] = _page("index.html", parts, context, title=TITLE, facts=_facts(runs, context))
    for path, text in texts.items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, text.encode())
    return [path for path, text in texts.items() if text is not None]


def _table_part(name: str, table: Table, context: Context) -> _Part:
    text = f"{table.to_markdown(title=False)}\n{_made_by_markdown(context)}"
    return _Part(f"table-{name}", table.title, text, table=table)


def _figure_part(name: str, drawing: Drawing, context: Context) -> _Part:
    caption = markdown(drawing.caption)
    text = f"![{caption}](figures/{name}.svg)\n\n{caption}\n\n{_made_by_markdown(context)}"
    part = f"figure-{name}"
    return _Part(part, TITLES[name], text, drawing=inline(drawing.svg, part), caption=drawing.caption)


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


def _results(parts: list[_Part], runs: pd.DataFrame, context: Context) -> str:
    facts = "\n".join(f"- {markdown(name)}: {markdown(value)}" for name, value in _facts(runs, context))
    sections = "\n\n".join(f"## {markdown(part.title)}\n\n{part.markdown}" for part in parts)
    return f"# {TITLE}\n\n{facts}\n\n{sections}\n"


def _page(template: str, parts: list[_Part], context: Context, **values: Any) -> str:
    page = environment("oddatom.paper").get_template(template)
    return page.render(parts=parts, commands=_commands(context), longest=LONGEST, **values)


def _commands(context: Context) -> list[str]:
    return [" ".join(line.split()) for line in context.command.splitlines()]


def _made_by_markdown(context: Context) -> str:
    """Return the command as a code block, fenced by more backticks than it has."""
    command = "\n".join(_commands(context))
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    return f"{fence}sh\n{command}\n{fence}"


def inline(svg: str, name: str) -> InlineSvg:
    """Return an SVG file's text for a page that has others: no ids but those it uses, and those begin with its name."""
    text = re.sub(r">\s+<", "><", svg[svg.index("<svg") :])
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in used else "", text)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    head, body = text.split(">", 1)
    return InlineSvg(name, re.findall(r'viewBox="([^"]+)"', head)[0], body.strip().removesuffix("</svg>"))
