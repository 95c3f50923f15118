"""Ctrl-C and SIGTERM: the step that runs is finished and saved, then the run ends."""

import contextlib
import os
import signal
import threading

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received = None
_holding = False


class Interrupted(KeyboardInterrupt):
    """The run was asked to end; `exit_code` is what a shell expects: 130 or 143."""

    def __init__(self, number):
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.exit_code = 128 + number


@contextlib.contextmanager
def catching():
    """Turns the first SIGINT or SIGTERM into `Interrupted`; a second one kills.

    Outside the main thread, where Python allows no handlers, nothing changes; nor does
    a signal that is ignored, as under nohup.
    """
    global _received, _holding
    _received, _holding = None, False
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _received, _holding = None, False


def hold():
    """From here on a signal is only noted, for `received` to tell."""
    global _holding
    _holding = True


def release():
    """From here on a signal raises at once; so does one that was noted."""
    global _holding
    _holding = False
    if _received is not None:
        raise Interrupted(_received)


def received():
    """Whether a signal was noted."""
    return _received is not None


def _handle(number, frame):
    global _received
    _received = number
    for each in _SIGNALS:  # a second one ends the process, whatever it is doing
        if signal.getsignal(each) is _handle:
            signal.signal(each, signal.SIG_DFL)
    if not _holding:
        raise Interrupted(number)
    # Not `print`: it may be what was interrupted.
    with contextlib.suppress(OSError):
        os.write(2, b"\nstopping after this step; again to stop at once\n")
