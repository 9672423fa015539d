"""The whole document, and how it gets to disk: never half a file, never more than 2 MB, never a request."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path

from oddatom import __version__
from oddatom._atomic import write_atomic
from oddatom.report import figures, sections, time_figures
from oddatom.report.environment import environment
from oddatom.report.limits import LEVELS, MOST_BYTES, Limits
from oddatom.report.numbers import score_writer
from oddatom.report.records import ReportContent
from oddatom.report.top_rows import BARS, top_rows


def render_report(content: ReportContent) -> str:
    """Return the report as one HTML document, the same for the same content.

    It is at most 2 MB: where the content asks for more, fewer rows and columns and shorter cells are shown, and the
    report says so. It loads nothing, and its content security policy lets nothing run but its own script.

    Parameters
    ----------
    content : ReportContent
    """
    for limits in LEVELS:
        document = _document(content, limits)
        if len(document.encode()) <= MOST_BYTES:
            break
    return document


def write_report(path: str | os.PathLike[str], content: ReportContent) -> Path:
    """Write the report to a file, at once: a reader sees the old file or the new one, and an error leaves the old one.

    Parameters
    ----------
    path : path
        Its folder must exist.
    content : ReportContent
    """
    write_atomic(path, render_report(content).encode())
    return Path(path)


def _document(content: ReportContent, limits: Limits) -> str:
    style, script = (files(__package__).joinpath(name).read_text("utf-8") for name in ("style.css", "script.js"))
    return (
        environment("oddatom.report")
        .get_template("report.html")
        .render(
            content=content,
            limits=limits,
            version=__version__,
            style=style,
            script=script,
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            scores=sections.scores(content),
            over_time=sections.over_time(content, limits),
            write_score=score_writer(content.scores),
            odd_columns=sections.odd_columns(content),
            top=top_rows(content, limits),
            bars=BARS,
            row_map=sections.row_map(content, limits),
            map_size=(figures.MAP_WIDTH, figures.MAP_HEIGHT),
            plot_size=(time_figures.WIDTH, time_figures.HEIGHT),
            curves=sections.curves(content, limits),
        )
    )
