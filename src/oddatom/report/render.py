"""The whole document, and how it gets to disk: never half a file, never more than 2 MB, never a request."""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path

from oddatom import __version__
from oddatom._atomic import write_atomic
from oddatom.report import sections
from oddatom.report.escape import safe
from oddatom.report.limits import LEVELS, MOST_BYTES, Limits
from oddatom.report.records import ReportContent

SECTIONS = (
    ("scores", "Scores", sections.scores),
    ("top-rows", "The oddest rows", sections.top),
    ("atoms", "What odd rows have in common", sections.atoms),
    ("row-map", "Map of the rows", sections.row_map),
    ("data", "The data", sections.data),
    ("fit", "How the fit went", sections.convergence),
    ("use", "Use the model", sections.how_to),
    ("notes", "Notes", sections.warnings),
)


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
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = safe(content.title, limits.words)
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in SECTIONS)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-heading"><h2 id="{name}-heading">{heading}</h2>'
        f"{build(content, limits)}</section>"
        for name, heading, build in SECTIONS
    )
    about = " · ".join(safe(text, limits.words) for text in (content.data.file_name, content.data.when) if text)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f'<meta name="generator" content="oddatom {__version__}"><title>{title}</title>'
        f'<link rel="icon" href="data:,"><style>{style}</style></head>\n<body>'
        '<a class="skip" href="#main">Skip to the report</a>'
        f'<header><p class="about">{about}</p><h1>{title}</h1>{sections.summary(content, limits)}</header>'
        f'<nav aria-label="Sections"><ol>{links}</ol></nav>'
        f'<main id="main" tabindex="-1">{body}</main>'
        f"<footer>Made by oddatom {__version__}. This file loads nothing and sends nothing.</footer>"
        f"<script>{script}</script></body></html>\n"
    )
