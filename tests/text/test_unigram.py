"""SentencePiece's training in a child process."""

import os
import signal
import subprocess
import sys
import time

import pytest

from zoo.text import train_tokenizer, unigram

TEXTS = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze schläft"]


def test_a_child_gives_the_same_model(monkeypatch):
    here = train_tokenizer(TEXTS, vocabulary_size=28)
    monkeypatch.setattr(unigram, "_HERE", 0)
    assert train_tokenizer(TEXTS, vocabulary_size=28) == here
    with pytest.raises(ValueError, match="vocabulary_size must be at most 29"):
        train_tokenizer(TEXTS, vocabulary_size=500)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(tmp_path, number):
    # Half an hour of training. The parent alone gets the signal, as from `kill`.
    program = """
import signal, sys
sys.path.append(sys.argv[1])  # without the package, which imports Keras
import unigram
signal.signal(signal.SIGTERM, signal.default_int_handler)
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
    assert child.returncode and "KeyboardInterrupt" in error
