"""Sessions at a prompt in a pseudo-terminal."""

import codecs
import contextlib
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pty")

pytestmark = pytest.mark.once

HOME = Path(__file__).parents[2]
# Makes standard input the terminal from which Ctrl-C comes, and heeds it: a job in a
# shell's background does not.
TAKE_TERMINAL = """
import fcntl, signal, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
# Answers by upper-casing, without a model.
UPPER = """
import sys, time
from zoo.cli import common, prompt

def work(chunk):
    (line, place), = chunk
    if line == "bad":
        raise ValueError("a bad line")
    if line == "slow":
        print("sleeping", flush=True)
        time.sleep(60)
    yield f"{place}: {line.upper()}"

sys.exit(common.exit_code(lambda: prompt.answer_typed_lines(work)))
"""


class Session:
    """A process in a terminal, and what it has shown there."""

    def __init__(self, code, *arguments, cache):
        import pty

        self.terminal, end = pty.openpty()
        environment = {
            **os.environ,
            "ZOO_CACHE_DIR": str(cache),
            "PYTHONPATH": str(HOME),
            "PYTHONUTF8": "1",
            "TERM": "dumb",
            "INPUTRC": os.devnull,
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL + code, *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env=environment,
            start_new_session=True,
        )
        os.close(end)
        self.unread = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def comes(self, text, seconds):
        """Whether a text is shown in a time."""
        deadline = time.monotonic() + seconds
        while text not in self.unread:
            left = deadline - time.monotonic()
            if not select.select([self.terminal], [], [], max(left, 0))[0]:
                return False
            read = b""
            with contextlib.suppress(OSError):  # the process has ended
                read = os.read(self.terminal, 4096)
            if not read:
                return False
            self.unread += self.decoder.decode(read).replace("\r", "")
        return True

    def until(self, text):
        """Returns what is shown up to a text, which has to come."""
        assert self.comes(text, 60), f"no {text!r} in {self.unread!r}"
        before, _, self.unread = self.unread.partition(text)
        return before

    def interrupt(self):
        """Types Ctrl-C until there is a new prompt: Python overlooks one that comes
        while readline draws."""
        for _ in range(30):
            self.type("\x03")
            if self.comes("> ", 2):
                return
        pytest.fail("thirty Ctrl-C were overlooked")

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def ask(self, line):
        """Types a line at the prompt; returns what is shown until the next one."""
        self.until("> ")
        self.type(f"{line}\n")
        self.until("\n")  # the echo
        shown = self.until("\n> ")
        self.unread = f"> {self.unread}"
        return shown

    def end(self, keys="\x04"):
        self.until("> ")
        self.type(keys)
        return self.process.wait(timeout=60)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.terminal)


@pytest.fixture
def session(tmp_path):
    with contextlib.ExitStack() as stack:

        def begin(code, *arguments):
            begun = Session(code, *arguments, cache=tmp_path / "cache")
            stack.callback(begun.close)
            return begun

        yield begin


def test_each_line_is_answered(session):
    prompt = session(UPPER)
    assert "zoo: type a line" in prompt.until("\n")
    assert prompt.ask("a dog") == "line 1: A DOG"
    assert "Ctrl-C drops the line" in prompt.ask(":help")
    assert prompt.ask(":)") == "line 2: :)"
    assert prompt.ask("bad") == "zoo: error: a bad line"
    assert prompt.ask(" ü ") == "line 4: Ü"
    assert prompt.end() == 0


def test_interrupts_drop_the_line(session):
    prompt = session(UPPER)
    prompt.until("> ")
    prompt.type("half a li")
    prompt.until("half a li")
    prompt.interrupt()
    assert prompt.ask("a dog") == "line 1: A DOG"
    prompt.until("> ")
    prompt.type("slow\n")
    prompt.until("sleeping")
    prompt.interrupt()
    assert prompt.ask("a cat") == "line 3: A CAT"
    assert prompt.end() == 0


def test_the_history_outlives_the_prompt(session, tmp_path):
    pytest.importorskip("readline")
    history = tmp_path / "cache" / "history"
    first = session(UPPER)
    first.ask("a dog runs")
    assert first.end(":quit\n") == 0
    assert history.read_text().splitlines() == ["a dog runs", ":quit"]
    assert history.stat().st_mode & 0o077 == 0

    again = session(UPPER)
    again.until("> ")
    again.type("\x10\x10")  # Ctrl-P, as the key Up
    again.until("a dog runs")
    again.type("\n")
    again.until("line 1: A DOG RUNS")
    assert again.end() == 0
