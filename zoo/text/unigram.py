"""SentencePiece's training, here or in a process of its own.

The training is C++ that nothing interrupts, so that of much text runs in a child
process, which ends with this one. The child runs this file by itself, without Keras.
"""

import io
import pickle
import subprocess
import sys

import sentencepiece

_HERE = 1_000_000  # characters that are trained on in a second or two


def train(texts, **settings):
    """Trains a model.

    Args:
        texts: list of str.
        **settings: further arguments of `sentencepiece.SentencePieceTrainer.train`.

    Returns:
        bytes: the model.

    Raises:
        RuntimeError: what SentencePiece says.
    """
    if sum(map(len, texts)) <= _HERE:
        return _train(texts, settings)
    command = [sys.executable, "-P", __file__]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes) as child:
        try:
            model, error = child.communicate(pickle.dumps((texts, settings)))
        except BaseException:  # Ctrl-C, or what a signal's handler raises
            child.kill()
            raise
    if child.returncode:
        raise RuntimeError(error.decode(errors="replace") or f"rc {child.returncode}")
    return model


def _train(texts, settings):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, **settings
    )
    return model.getvalue()


def _main():
    texts, settings = pickle.load(sys.stdin.buffer)
    try:
        sys.stdout.buffer.write(_train(texts, settings))
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main()
