"""Text from data made harmless: nothing in it runs, ends a tag, hides, or turns the text around it."""

from __future__ import annotations

import html
import json
import unicodedata
from typing import Any

_JOINERS = "\u200c\u200d"  # invisible, but scripts and emoji need them
_HIDDEN = {"Cf", "Zl", "Zp"}


def visible(value: object) -> str:
    """Return the text with control characters and bidirectional marks spelled out, such as ␀ and ⟨U+202E⟩."""
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    category = unicodedata.category(character)
    if category == "Cs":  # half of a pair: no encoding has it
        return "\ufffd"
    if category == "Cc" or (category in _HIDDEN and character not in _JOINERS):
        return f"⟨U+{code:04X}⟩"
    return character


def cut(text: str, length: int) -> str:
    """Return at most `length` characters, the last of them … where some are left out."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def safe(value: object, length: int = 300) -> str:
    """Return what may stand in HTML, between tags or in a quoted attribute: visible, cut, escaped."""
    text = str(value)
    return html.escape(cut(visible(cut(text, length + 1)), length), quote=True)


def script_json(value: Any) -> str:
    r"""Return JSON that may stand in a script element: <, >, &, U+2028 and U+2029 are written as \u escapes."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
