"""SentencePiece's training, which Ctrl-C ends."""

import io
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any


def train(texts: Sequence[str], **settings: Any) -> bytes:
    """Trains a model, with arguments of `sentencepiece.SentencePieceTrainer.train`.

    Nothing interrupts its C++ code, so it runs in a thread that ends with the process.

    Raises:
        RuntimeError: from SentencePiece.
    """
    # SentencePiece leaves out longer texts, by default those over 4192 bytes. The model
    # contains the number, so it must depend on the texts alone.
    longest = max(10, max(len(text.encode()) for text in texts))
    settings = {"max_sentence_length": longest, **settings}
    trained: Future[bytes] = Future()

    def work():
        try:
            trained.set_result(_train(texts, settings))
        except Exception as error:
            trained.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return trained.result()


def _train(texts, settings):
    import sentencepiece  # recipes, which are light, import this file

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts), model_writer=model, **settings
    )
    return model.getvalue()
