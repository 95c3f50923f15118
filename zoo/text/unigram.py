"""SentencePiece's training, in this process or a child.

Nothing interrupts its C++ code, so training on much text runs in a child process, which
ends with this one. The child runs this file on its own, without Keras.
"""

import ctypes
import io
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

_HERE = 1_000_000  # characters, which take a second or two
_TELL = 15.0  # seconds between two progress lines


def train(texts: Sequence[str], **settings: Any) -> bytes:
    """Trains a model, with arguments of `sentencepiece.SentencePieceTrainer.train`.

    Raises:
        RuntimeError: from SentencePiece.
        ChildProcessError: if the child ended otherwise, such as killed by the system.
    """
    # SentencePiece leaves out longer texts, by default those over 4192 bytes. The model
    # contains the number, so it must depend on the texts alone.
    longest = max(10, max(len(text.encode()) for text in texts))
    settings = {"max_sentence_length": longest, **settings}
    if sum(map(len, texts)) <= _HERE:
        return _train(texts, settings)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-P", __file__, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as child:
        try:
            answer, errors = _answer(child, pickle.dumps((texts, settings)))
        except BaseException:  # Ctrl-C, or what a signal's handler raises
            child.kill()
            raise
    if child.returncode:
        raise ChildProcessError(
            f"SentencePiece's training ended with code {child.returncode}: "
            f"{errors.decode(errors='replace')[-500:]}"
        )
    answer = pickle.loads(answer)
    if isinstance(answer, Exception):
        raise answer
    return answer


def _answer(child, question):
    """Waits for a child, reporting the elapsed time; returns its stdout and stderr."""
    began = time.monotonic()
    while True:
        try:
            return child.communicate(question, timeout=_TELL)
        except subprocess.TimeoutExpired:
            question = None  # it has been sent
            seconds = time.monotonic() - began
            text = f"training the vocabulary: {seconds:.0f} s so far"
            print(text, file=sys.stderr, flush=True)


def _train(texts, settings):
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, **settings
    )
    return model.getvalue()


def _main():
    _end_with(int(sys.argv[1]))
    texts, settings = pickle.load(sys.stdin.buffer)
    try:
        answer = _train(texts, settings)
    except Exception as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


def _end_with(parent):
    """Makes the system kill this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            sys.exit("the parent has ended")


if __name__ == "__main__":
    _main()
