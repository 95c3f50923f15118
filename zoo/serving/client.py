"""A client for a TensorFlow model server with zoo's models, over gRPC or REST."""

import functools
import math
import reprlib
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from zoo.checks import integer
from zoo.images import encode_images
from zoo.serving.answers import OUTPUTS, fits, in_requests, most_bytes
from zoo.serving.protocol import takes_bytes
from zoo.serving.transport import GRPCTransport, RESTTransport, ServingError
from zoo.strings import check_texts, describe, replace_surrogates

__all__ = ["Client", "ServingError"]

Texts = str | Iterable[str]
_FIRST_WAIT = 0.1  # seconds before the first retry; each later one waits twice as long
_NO_SCORE = -1e9  # of a missing hypothesis


class Client:
    """Requests translations, texts, tags, captions and scores from a model server.

    Each method takes a str or a list of str, or images, and returns one result or a
    list of them. Long lists are sent in several requests. The server is not trusted:
    redirects and answers whose size, types or shapes do not fit the request are
    rejected.

    Args:
        address: `"localhost:8500"` for gRPC, `"http://localhost:8501"` for REST.
        model: name of the model; None if each call names it.
        version: the model's version. Default: the newest.
        label: label of the version, such as "stable", instead of `version`.
        timeout: seconds for a request, including its retries and the whole answer; a
            long list is several requests, one after another.
        retries: how often to resend a request while the server is unavailable: after
            0.1 seconds, then 0.2, and so on within `timeout`.
        batch_size: texts or images per request, fewer above 4 MiB. A batching server
            rejects more than its `max_batch_size` (512 with `zoo serve`) with
            INVALID_ARGUMENT.
        credentials: `grpc.ChannelCredentials` for gRPC over TLS; None for no TLS.

    Raises:
        ValueError: for a value out of range, an invalid REST address, or both a version
            and a label.
        ImportError: if the package for the address is missing.
        ServingError: from every method, if the server gives no answer, an error, or an
            answer that does not fit the request, or if the model finds no translation
            because its numbers are not finite.

    Example:
        ```python
        with zoo.serving.Client("localhost:8500", "luong_local") as client:
            client.translate(["A dog runs.", "Two men sit."])
        ```
    """

    def __init__(
        self,
        address: str,
        model: str | None = None,
        version: int | None = None,
        label: str | None = None,
        timeout: float = 10.0,
        retries: int = 6,
        batch_size: int = 32,
        credentials: Any = None,
    ) -> None:
        if version is not None and label is not None:
            raise ValueError(
                "A version or a label may be given, not both. "
                f"Received: version={version!r}, label={label!r}"
            )
        integer("retries", retries, 0)
        integer("batch_size", batch_size, 1)
        if not timeout > 0:
            raise ValueError(f"`timeout` must be above 0. Received: {timeout!r}")
        self.address, self.model = address, model
        self.version, self.label = version, label
        self.timeout, self.retries, self.batch_size = timeout, retries, batch_size
        self._transport: RESTTransport | GRPCTransport
        if address.startswith(("http://", "https://")):
            self._transport = RESTTransport(address)
        else:
            self._transport = GRPCTransport(address, credentials)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    # === Translators ===
    def translate(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the best translation of each text: str."""
        return self._ask("translate", texts, self._translation, model)

    def greedy(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the translation of greedy search, the fastest: str."""
        return self._ask("greedy", texts, self._translation, model)

    def translate_n_best(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the best translations of each text: a list of `(str, score)`."""
        read = functools.partial(self._several, "translations")
        return self._ask("translate_n_best", texts, read, model)

    def align(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the alignment of each text's translation.

        Returns:
            A dict of `text`, `score`, `tokens`, `source_tokens` and `alignment`, a
            NumPy array of tokens × source tokens.
        """

        def read(row):
            tokens, source = _filled(row["tokens"]), _filled(row["source_tokens"])
            padded = len(row["tokens"]), len(row["source_tokens"])
            alignment = np.array(row["alignment"]).reshape(padded)
            return {
                "text": self._translation(row),
                "score": float(row["score"]),
                "tokens": tokens,
                "source_tokens": source,
                "alignment": alignment[: len(tokens), : len(source)],
            }

        return self._ask("align", texts, read, model)

    def _translation(self, row):
        return self._best("translation", row)

    # === Captioners ===
    def caption(self, images: Any, model: str | None = None) -> Any:
        """Returns the best caption of each image: str.

        For a captioner's signatures `greedy` and `score` use `predict`.

        Args:
            images: one image, or a list of them: a path or the bytes of a file, both
                sent as they are, or a PIL image or an array as
                `zoo.models.ShowAttendTellCaptioner.caption` takes them, which Pillow
                makes a PNG of. All are in memory before the first is sent.
            model: the model's name. Default: the client's.

        Raises:
            TypeError, ValueError, FileNotFoundError, ImportError: as from the
                captioner's `caption`, before anything is sent.
            ServingError: INVALID_ARGUMENT for what is no image; from a batching model
                server also if an image of another request in the batch is none.
        """
        read = functools.partial(self._best, "caption")
        return self._ask_images("caption", images, read, model)

    def caption_n_best(self, images: Any, model: str | None = None) -> Any:
        """Returns the best captions of each image: a list of `(str, score)`."""
        read = functools.partial(self._several, "captions")
        return self._ask_images("caption_n_best", images, read, model)

    def align_caption(self, images: Any, model: str | None = None) -> Any:
        """Returns the attention of each image's caption.

        Returns:
            A dict of `text`, `score`, `tokens`, and `alignment`, a NumPy array of
            tokens × rows × columns of the grid of places.
        """

        def read(row):
            tokens = _filled(row["tokens"])
            return {
                "text": self._best("caption", row),
                "score": float(row["score"]),
                "tokens": tokens,
                "alignment": np.array(row["alignment"])[: len(tokens)],
            }

        return self._ask_images("align", images, read, model, "align_caption")

    # === Hypotheses ===
    def _best(self, name, row):
        return row[name] if _exists(row["score"]) else self._nothing()

    def _several(self, name, row):
        pairs = zip(row[name], row["scores"], strict=True)
        found = [(text, float(score)) for text, score in pairs if _exists(score)]
        return found or self._nothing()

    def _nothing(self):
        raise ServingError(
            "INTERNAL",
            f"{self.address} found no text: its model's numbers are not finite",
        )

    # === Other models ===
    def generate(self, texts: Texts, model: str | None = None) -> Any:
        """Returns each text with a language model's continuation: str."""
        return self._ask("generate", texts, _only, model)

    def score(
        self, texts: Texts, targets: Texts | None = None, model: str | None = None
    ) -> Any:
        """Returns log-probabilities: float.

        Without `targets`, those of the texts under a language model; with them, those
        of the targets under a translator, given the texts as sources.
        """
        return self._ask("score", texts, lambda row: float(_only(row)), model, targets)

    def tag(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the words of each text and their tags: a list of `(word, tag)`."""

        def read(row):
            words, tags = _filled(row["words"]), _filled(row["tags"])
            if len(words) != len(tags):
                raise ServingError(
                    "INTERNAL",
                    f"{self.address} should give each word a tag, received "
                    f"{len(words)} words and {len(tags)} tags",
                )
            return list(zip(words, tags, strict=True))

        return self._ask("tag", texts, read, model)

    def classify(self, texts: Texts, model: str | None = None) -> Any:
        """Returns the most probable class of each text: str."""
        return self._ask("classify", texts, lambda row: row["class"], model)

    # === Any signature ===
    def predict(
        self,
        inputs: dict[str, Iterable[Any]],
        signature: str = "serving_default",
        model: str | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the raw outputs of a signature.

        Args:
            inputs: input name -> texts, or the bytes of files if the name ends in
                "_bytes"; all inputs need equally many.
            signature: name of the signature.
            model: name of the model. Default: the client's.

        Returns:
            A dict for each row: output name -> a str, a number or an array, padded as
            its batch was. Over REST the only output of a signature is named "output".

        Raises:
            ServingError: if the server gives no answer, or one that is not an array of
                strings or numbers for each row.
        """
        return self._predict(inputs, signature, model)

    def _predict(self, inputs, signature, model, expected=None):
        """`predict`, with the entry of `OUTPUTS` that the answer must fit."""
        model = self.model if model is None else model
        if not model:
            raise ValueError(
                "A model must be named, by the argument `model` of the client or the "
                f"call. Received: {model!r}"
            )
        inputs = {name: _texts(texts, name) for name, texts in inputs.items()}
        counts = {name: len(texts) for name, texts in inputs.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(
                f"All inputs must have equally many texts. Received: {counts}"
            )
        rows = []
        for batch in in_requests(inputs, self.batch_size):
            [size] = {len(values) for values in batch.values()}
            most = most_bytes(batch, expected)
            outputs = self._request(model, signature, batch, most)
            self._check(outputs, expected, size, f"{model}'s {signature}")
            rows += [
                {name: output.values[row] for name, output in outputs.items()}
                for row in range(size)
            ]
        return rows

    def _ask(self, signature, texts, read, model, targets=None):
        inputs, single = {"text": texts}, isinstance(texts, str)
        if targets is not None:
            if isinstance(targets, str) != single:
                raise TypeError(
                    "texts and targets must both be a str, or both a list. "
                    f"Received: {reprlib.repr(targets)}"
                )
            inputs = {"source": texts, "target": targets}
        if single:
            inputs = {name: [text] for name, text in inputs.items()}
        rows = self._predict(inputs, signature, model, OUTPUTS[signature])
        results = [read(row) for row in rows]
        return results[0] if single else results

    def _ask_images(self, signature, images, read, model, like=None):
        contents, single = encode_images(images)
        expected = OUTPUTS[like or signature]
        rows = self._predict({"image_bytes": contents}, signature, model, expected)
        results = [read(row) for row in rows]
        return results[0] if single else results

    def _check(self, outputs, expected, size, name):
        """Raises a `ServingError` for outputs that do not fit `size` texts."""
        rows = bool(outputs) and all(o.shape[:1] == (size,) for o in outputs.values())
        if rows and (expected is None or fits(outputs, expected)):
            return
        description = "outputs"
        if expected is not None:
            parts = [
                f"{key} {kind} ({', '.join(d)})" for key, (kind, d) in expected.items()
            ]
            description = "; ".join(parts).strip()
        received = {key: (o.kind, o.shape) for key, o in outputs.items()}
        raise ServingError(
            "INTERNAL",
            f"{self.address} should answer {name} with {size} rows of {description}, "
            f"received {reprlib.repr(received)}",
        )

    def _request(self, model, signature, inputs, most):
        deadline = time.monotonic() + self.timeout
        place = {"version": self.version, "label": self.label}
        for attempt in range(self.retries + 1):
            left = deadline - time.monotonic()
            if left <= 0:
                raise ServingError(
                    "DEADLINE_EXCEEDED",
                    f"{self.address} gave no answer within {self.timeout} s",
                )
            try:
                return self._transport.predict(
                    model, signature, inputs, most, left, **place
                )
            except ServingError as error:
                wait = _FIRST_WAIT * 2**attempt
                late = time.monotonic() + wait >= deadline
                if error.code != "UNAVAILABLE" or attempt == self.retries or late:
                    raise
            time.sleep(wait)
        return None


def _texts(texts, name):
    """Returns the texts of an input, or bytes: always a list."""
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be a list of str. Received: {describe(texts)}")
    if takes_bytes(name):
        texts = list(texts)
        if wrong := [value for value in texts if not isinstance(value, bytes)]:
            raise TypeError(
                f"{name} must be a list of bytes. Received: {describe(wrong[0])}"
            )
        return texts
    return [replace_surrogates(text) for text in check_texts(texts, name)]


def _exists(score):
    return math.isfinite(score) and score > _NO_SCORE


def _filled(strings):
    return [text for text in strings if text]


def _only(row):
    [value] = row.values()
    return value
