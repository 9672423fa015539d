"""Text from data made visible: nothing in it hides or turns the text around it. The templates escape it."""

from __future__ import annotations

import unicodedata

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


def cut(value: object, length: int) -> str:
    """Return visible text of at most `length` characters, the last of them … where some are left out."""
    text = visible(str(value)[: length + 1])
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"
