"""SentencePiece's training in a child process."""

import os
import re
import signal
import subprocess
import sys
import time

import pytest

from zoo.text import train_tokenizer, unigram

pytestmark = pytest.mark.backend_free

TEXTS = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze schläft"]


def test_a_child_gives_the_same_model(monkeypatch, capsys):
    here = train_tokenizer(TEXTS, vocabulary_size=28)
    monkeypatch.setattr(unigram, "_HERE", 0)
    monkeypatch.setattr(unigram, "_TELL", 0.01)
    assert train_tokenizer(TEXTS, vocabulary_size=28) == here
    lines = capsys.readouterr().err.splitlines()
    told = re.compile(r"training the vocabulary: \d+ s so far")
    assert lines and all(map(told.fullmatch, lines))
    with pytest.raises(ValueError, match="vocabulary_size must be at most 29"):
        train_tokenizer(TEXTS, vocabulary_size=500)


def test_errors_of_a_child_are_those_of_this_process(monkeypatch):
    monkeypatch.setattr(unigram, "_HERE", 0)
    with pytest.raises(ValueError, match="nonsense"):
        train_tokenizer(TEXTS, vocabulary_size=28, nonsense=1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(ChildProcessError, match="ended with code 1"):
        train_tokenizer(TEXTS, vocabulary_size=28)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(number):
    # Half an hour of training. The parent alone gets the signal, as from `kill`, and
    # has no handler for it but Python's own (none where a shell's background job, and
    # so its children, ignore SIGINT).
    program = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.append(sys.argv[1])  # without the package, which imports Keras
import unigram
print("begins", flush=True)
unigram.train(["dog " * 500_000], vocab_size=7, max_sentence_length=4_000_000)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program, os.path.dirname(unigram.__file__)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "begins\n"
    time.sleep(1)
    child.send_signal(number)
    # Its standard error is the training's as well: it is closed when both have ended.
    _, error = child.communicate(timeout=20)
    assert child.returncode == -number
    assert ("KeyboardInterrupt" in error) == (number == signal.SIGINT)
