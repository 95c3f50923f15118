"""Ctrl-C and SIGTERM: the step or validation ends and is saved, then the run ends."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received: int | None = None
_holding = False


class Interrupted(KeyboardInterrupt):
    """The run was asked to end.

    Attributes:
        exit_code: what a shell expects, 130 or 143.
    """

    def __init__(self, number: int):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.exit_code = 128 + number


@contextlib.contextmanager
def catching() -> Iterator[None]:
    """Turns the first SIGINT or SIGTERM into `Interrupted`; a second one kills.

    Nothing changes outside the main thread, where Python allows no handlers, or for a
    signal that is ignored, as under nohup.
    """
    global _received, _holding
    _received, _holding = None, False
    main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS if main}
    for number, handler in handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _handle)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _received, _holding = None, False


def hold() -> None:
    """Defers signals: `received` reports them, and `release` raises them."""
    global _holding
    _holding = True


def release() -> None:
    """Makes signals raise at once, as does one that was waiting."""
    global _holding
    _holding = False
    if _received is not None:
        raise Interrupted(_received)


def received() -> bool:
    """Returns whether a signal was received."""
    return _received is not None


def _handle(number, frame):
    global _received
    _received = number
    for each in _SIGNALS:  # a second signal ends the process at once
        if signal.getsignal(each) is _handle:
            signal.signal(each, signal.SIG_DFL)
    if not _holding:
        raise Interrupted(number)
    # Not by `print`, which may be what was interrupted.
    with contextlib.suppress(OSError):
        os.write(2, b"\nstopping once the state is saved; again to stop at once\n")
