"""Where an axis has its ticks, and what they say: numbers, and dates from year 1 to 9999."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from oddatom.context.clock import DAY, HOUR, MINUTE, SECOND

DATES = (-62_135_596_800e6, 253_402_300_800e6)  # years 1 to 9999, in microseconds since 1970
MONDAY = int(4 * DAY)  # the first one since 1970
LONGEST = 8  # characters of a number
_STEPS = [
    *(int(k * 10.0**p) for p in range(6) for k in (1, 2, 5)),
    *(int(k * SECOND) for k in (1, 2, 5, 10, 15, 30)),
    *(int(k * MINUTE) for k in (1, 2, 5, 10, 15, 30)),
    *(int(k * HOUR) for k in (1, 2, 3, 6, 12)),
    *(int(k * DAY) for k in (1, 2, 4, 7, 14)),
]
_MONTHS = [1, 2, 3, 6, *(12 * k * 10**p for p in range(5) for k in (1, 2, 5))]


class Tick(NamedTuple):
    """A tick: where it is, what it says, and below that the day, or day and minute; "" where it needs none."""

    value: float
    text: str
    day: str = ""


def parts(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return where values lie between two ends, from 0 to 1; 0.5 where the ends are one. Halves do not overflow."""
    width = high / 2 - low / 2
    if not width > 0.0:
        return np.full(np.shape(values), 0.5)
    return np.clip((np.asarray(values) / 2 - low / 2) / width, 0.0, 1.0)


def number_ticks(low: float, high: float, most: int) -> list[Tick]:
    """Return ticks at round numbers, at most so many; those that would say the same as the one before are left out."""
    half = high / 2 - low / 2
    if not half > 0.0:
        return [Tick(low, _short([low], 6)[0])]
    power = float(10.0 ** max(np.floor(np.log10(half) + np.log10(2.0 / most)), -320.0))
    for step in (power, 2 * power, 5 * power, 10 * power, 20 * power):
        first, last = np.ceil(low / step), np.floor(high / step)
        if last - first < most:
            break
    values = [float(first + k) * float(step) for k in range(int(last - first) + 1)]
    largest = max((abs(value) for value in values), default=0.0)
    digits = max(int(np.floor(np.log10(largest)) - np.floor(np.log10(step))) + 1, 1) if largest > 0.0 else 1
    texts = _short(values, digits)
    return [Tick(v, t) for k, (v, t) in enumerate(zip(values, texts, strict=True)) if k == 0 or t != texts[k - 1]]


def _short(values: list[float], digits: int) -> list[str]:
    """Return numbers as text, with so many digits at most, fewer where they would be too long."""
    texts = [write_number(value, digits) for value in values]
    return texts if digits == 1 or max(map(len, texts), default=0) <= LONGEST else _short(values, digits - 1)


def write_number(value: float, digits: int) -> str:
    """Return a number with so many digits at most, a true minus sign, and commas between thousands."""
    head, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    plain = value == 0.0 or -4 <= power < 6
    text = f"{value:,.{max(digits - 1 - power, 0)}f}" if plain else head
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return (text if plain else f"{text}e{power}").replace("-", "−")


def date_ticks(low: float, high: float, most: int, spare: bool = False) -> list[Tick]:
    """Return ticks at round times, at most so many. The day is said where it is another than that of the tick before.

    Parameters
    ----------
    low, high : float
        Microseconds since 1970, within `DATES`.
    most : int
        At least 2.
    spare : bool
        Whether every second tick is hidden where there is little room; the others then say the day by themselves.
    """
    if not high > low:
        return [Tick(low, time_text(low, True))]
    first, last = int(np.ceil(low)), int(np.floor(high))
    for step in _STEPS:
        offset = MONDAY if step % (7 * int(DAY)) == 0 else 0
        begin = -((offset - first) // step)
        if (last - offset) // step - begin < most:
            found = [offset + k * step for k in range(begin, (last - offset) // step + 1)]
            if found:
                return list(_say_times(found, step, spare))
    months = [int(_date(one).astype("datetime64[M]").astype(np.int64)) for one in (first, last)]
    from_month = months[0] if _first_of(months[0]) >= low else months[0] + 1
    for step in _MONTHS:
        since_year_0 = 1970 * 12
        begin = -(-(from_month + since_year_0) // step)
        end = (months[1] + since_year_0) // step
        if end - begin < most:
            found = [k * step - since_year_0 for k in range(begin, end + 1)]
            said = 4 if step >= 12 else 7  # characters: the year, or the month too
            return [Tick(_first_of(m), str(np.datetime64(m, "M"))[:said]) for m in found]
    return []


def _say_times(times: list[int], step: int, spare: bool) -> Iterator[Tick]:
    """Yield ticks that are less than a month apart."""
    texts = [str(np.datetime_as_string(_date(time), "us")) for time in times]
    if step >= DAY:
        yield from (Tick(float(time), text[:10]) for time, text in zip(times, texts, strict=True))
        return
    # "03:00" and the day below, "03:00:15", or "15.25" with day, hour and minute below
    begin, end = (17, 26 - _zeros(step)) if step < SECOND else (11, 19 if step < MINUTE else 16)
    below = [text[: begin - 1].replace("T", " ") for text in texts]
    for k, (time, text) in enumerate(zip(times, texts, strict=True)):
        before = below[k - 2 if spare and k % 2 == 0 else k - 1] if k else ""
        yield Tick(float(time), text[begin:end], "" if below[k] == before else below[k])


def _zeros(step: int) -> int:
    """Return how many of the six digits of a second's parts are not needed."""
    return len(str(step)) - len(str(step).rstrip("0"))


def time_text(time: float, dates: bool) -> str:
    """Return a time as text: "2024-01-21 03:00", with seconds where there are some, or a counter's number."""
    if not dates:
        return f"{time:,.0f}".replace("-", "−") if time == round(time) and abs(time) < 1e15 else f"{time:.15g}"
    text = str(np.datetime_as_string(_date(time), "us")).replace("T", " ").rstrip("0").removesuffix(".")
    return text.removesuffix(":00")


def _date(time: float) -> np.datetime64:
    return np.datetime64(round(time), "us")


def _first_of(month: int) -> float:
    return float(np.datetime64(month, "M").astype("datetime64[us]").astype(np.int64))
