"""SentencePiece's training in a thread."""

import os
import signal
import subprocess
import sys
import time

import pytest

from zoo.text import train_tokenizer, unigram

pytestmark = pytest.mark.backend_free

TEXTS = ["a dog runs", "ein hund rennt", "a cat sleeps", "die katze schläft"]


def test_errors_are_raised_here():
    with pytest.raises(ValueError, match="nonsense"):
        train_tokenizer(TEXTS, vocabulary_size=28, nonsense=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(number):
    # Half an hour of training. A background job's children have no handler of SIGINT.
    program = """
import signal, sys
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: sys.exit(number))
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
    child.communicate(timeout=20)
    assert child.returncode == number
