"""Whoever ends the program, by kill or by closing the terminal, leaves no half of a file."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

GRACE = 1.0  # seconds after which a program that a signal does not reach is ended
MOMENT = 0.01  # seconds until a signal that was dropped in a finaliser is sent again
_NAMES = ("SIGTERM", "SIGHUP")  # the latter is not everywhere


class Stopped(BaseException):
    """A signal asks the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Turn signals that would end the program at once into `Stopped`; those that are ignored (nohup) stay so.

    Where they, or Ctrl-C, find it outside Python, waiting for input that does not come, nothing can be raised: then a
    thread removes what is half written and ends it. Where they find it in a finaliser, Python drops what is raised:
    then the signal is sent again.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield  # other threads may not set handlers
        return
    usual = {getattr(signal, name): signal.SIG_DFL for name in _NAMES if hasattr(signal, name)}
    handlers: dict[int, Any] = {**usual, signal.SIGINT: signal.default_int_handler}
    handlers = {number: handler for number, handler in handlers.items() if signal.getsignal(number) == handler}
    own, taken, hook = os.getpid(), threading.Event(), sys.unraisablehook

    def stop(number: int, frame: Any) -> None:
        if os.getpid() != own:  # a child that was forked
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        taken.set()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        for other in handlers.keys() & usual.keys():
            signal.signal(other, signal.SIG_IGN)  # once is enough
        raise Stopped(number)

    def dropped(what: Any) -> None:
        number = getattr(what.exc_value, "signal", signal.SIGINT)
        ours = os.getpid() == own and isinstance(what.exc_value, KeyboardInterrupt | Stopped)
        if not ours or number not in handlers:
            hook(what)
            return
        taken.clear()
        threading.Thread(target=_send, args=(number, taken), daemon=True).start()
        signal.signal(number, stop)  # last, and from here on it may come

    heard, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        threading.Thread(target=_watch, args=(heard, set(handlers), taken), daemon=True).start()
        sys.unraisablehook = dropped
        for number in handlers:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        taken.set()
        sys.unraisablehook = hook
        signal.set_wakeup_fd(before)
        os.close(told)


def leave(code: int) -> NoReturn:
    """End the program at once: threads that wait for input would hold it up."""
    os._exit(code)


def _watch(heard: int, numbers: set[int], taken: threading.Event) -> None:
    """Wait for a signal; end the program where it does not get there."""
    with open(heard, "rb", buffering=0) as pipe:
        while number := pipe.read(1):
            if number[0] in numbers and not taken.wait(GRACE):
                from oddatom._atomic import discard_all

                discard_all()
                what = b"interrupted" if number[0] == signal.SIGINT else b"stopped"
                with contextlib.suppress(OSError):  # the terminal may be gone
                    os.write(2, b"oddatom: " + what + b"; no file is half written.\n")
                leave(128 + number[0])


def _send(number: int, taken: threading.Event) -> None:
    """Send a signal again in a moment, unless another has been taken or the command is over by then."""
    if not taken.wait(MOMENT):
        os.kill(os.getpid(), number)


def _forget() -> None:
    """Let the signals of a child that was forked not be heard here."""
    with contextlib.suppress(ValueError):  # not the main thread
        signal.set_wakeup_fd(-1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
