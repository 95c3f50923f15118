"""A client for a TensorFlow model server with zoo's models, over gRPC or REST."""

import math
import reprlib
import time
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from zoo.checks import above_zero, integer
from zoo.images import encode_images
from zoo.serving.protocol import (
    NO_SCORE,
    SIGNATURES,
    GRPCTransport,
    RESTTransport,
    ServingError,
    holds_numbers,
    takes_bytes,
)
from zoo.strings import check_texts, replace_surrogates

Texts = str | Iterable[str]
_FIRST_WAIT = 0.1  # seconds before the first retry; each later one waits twice as long


class Client:
    """Requests translations, texts, tags, captions and scores from a model server.

    Each method takes a str or a list of str, or images, and returns one result or a
    list of them. Long lists are sent in several requests. The server is not trusted:
    redirects and answers whose size, types or shapes do not fit the request are
    rejected.

    Args:
        address: `"localhost:8500"` for gRPC, `"http://localhost:8501"` for REST, which
            has TLS by `"https://…"`.
        model: name of the model.
        version: the model's version. Default: the newest.
        timeout: seconds for a request, its retries included; a long list is several
            requests.
        retries: how often to resend a request while the server is unavailable: after
            0.1 seconds, then 0.2, and so on within `timeout`.
        batch_size: texts or images per request. Servers refuse more than 512, and Ray's
            more than 8 MB.
        credentials: `grpc.ChannelCredentials` for gRPC over TLS; None for no TLS.

    Raises:
        ValueError: for a value out of range, or credentials with a REST address.
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
        model: str,
        version: int | None = None,
        timeout: float = 10.0,
        retries: int = 6,
        batch_size: int = 32,
        credentials: Any = None,
    ) -> None:
        integer("retries", retries, 0)
        integer("batch_size", batch_size, 1)
        above_zero("timeout", timeout)
        self.address, self.model, self.version = address, model, version
        self.timeout, self.retries, self.batch_size = timeout, retries, batch_size
        rest = address.startswith(("http://", "https://"))
        if rest and credentials is not None:
            raise ValueError(
                f"credentials are for gRPC; REST uses TLS by https. Received: {address}"
            )
        self._transport: RESTTransport | GRPCTransport = (
            RESTTransport(address) if rest else GRPCTransport(address, credentials)
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self._transport.close()

    # === Translators ===
    def translate(self, texts: Texts) -> Any:
        """Returns the best translation of each text: str."""
        return self._ask("translate", "translate", _best, texts)

    def greedy(self, texts: Texts) -> Any:
        """Returns the translation of greedy search, the fastest: str."""
        return self._ask("translate", "greedy", _best, texts)

    def translate_n_best(self, texts: Texts) -> Any:
        """Returns the best translations of each text: a list of `(str, score)`."""
        return self._ask("translate", "translate_n_best", _several, texts)

    def align(self, texts: Texts) -> Any:
        """Returns the alignment of each text's translation.

        Returns:
            A dict of `text`, `score`, `tokens`, `source_tokens` and `alignment`, a
            NumPy array of tokens × source tokens.
        """
        return self._ask("translate", "align", _aligned, texts)

    # === Captioners ===
    def caption(self, images: Any) -> Any:
        """Returns the best caption of each image: str.

        For a captioner's other signatures use `predict`.

        Args:
            images: one image, or a list of them: a path or the bytes of a file, both
                sent as they are, or a PIL image or an array as
                `zoo.models.ShowAttendTellCaptioner.caption` takes them, which Pillow
                makes a PNG of. All are in memory before the first is sent.

        Raises:
            TypeError, ValueError, FileNotFoundError, ImportError: as from the
                captioner's `caption`, before anything is sent.
            ServingError: INVALID_ARGUMENT for what is no image; from a batching model
                server also if an image of another request in the batch is none.
        """
        return self._ask("caption", "caption", _best, images)

    # === Other models ===
    def generate(self, texts: Texts) -> Any:
        """Returns each text with a language model's continuation: str."""
        return self._ask("generate", "generate", itemgetter("text"), texts)

    def score(self, texts: Texts, targets: Texts | None = None) -> Any:
        """Returns log-probabilities: float.

        Without `targets`, those of the texts under a language model; with them, those
        of the targets under a translator, given the texts as sources.
        """
        if targets is None:
            return self._ask("generate", "score", _log_probability, texts)
        if isinstance(texts, str) != isinstance(targets, str):
            raise TypeError(
                "texts and targets must both be a str, or both a list. "
                f"Received: {reprlib.repr(targets)}"
            )
        return self._ask("translate", "score", _log_probability, texts, targets)

    def tag(self, texts: Texts) -> Any:
        """Returns the words of each text and their tags: a list of `(word, tag)`."""
        return self._ask("tag", "tag", _tagged, texts)

    def classify(self, texts: Texts) -> Any:
        """Returns the most probable class of each text: str."""
        return self._ask("classify", "classify", itemgetter("class"), texts)

    # === Any signature ===
    def predict(
        self, inputs: dict[str, Iterable[Any]], signature: str = "serving_default"
    ) -> list[dict[str, Any]]:
        """Returns the raw outputs of a signature.

        Args:
            inputs: input name -> texts, or the bytes of files if the name ends in
                "_bytes"; all inputs need equally many.
            signature: name of the signature.

        Returns:
            A dict for each row: output name -> a str, a number or an array, padded as
            its batch was. Over REST the only output of a signature is named "output".

        Raises:
            ServingError: if the server gives no answer, or one that is not an array of
                strings or numbers for each row.
        """
        return self._predict(inputs, signature, {})

    def _ask(self, task, signature, read, *values):
        """Returns what `read` makes of each row of the outputs of a signature."""
        names, expected = SIGNATURES[task][signature]
        if takes_bytes(names[0]):
            contents, single = encode_images(*values)
            values = (contents,)
        elif single := isinstance(values[0], str):
            values = [[text] for text in values]
        rows = self._predict(dict(zip(names, values, strict=True)), signature, expected)
        try:
            results = [read(row) for row in rows]
        except ValueError as error:
            raise ServingError("INTERNAL", f"{self.address} {error}") from None
        return results[0] if single else results

    def _predict(self, inputs, signature, expected):
        """Returns `predict`'s rows, of the `expected` outputs if there are any."""
        spec = {"name": self.model, "signature_name": signature}
        spec |= {} if self.version is None else {"version": self.version}
        inputs = {name: _checked(values, name) for name, values in inputs.items()}
        counts = {name: len(values) for name, values in inputs.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"All inputs need equally many rows. Received: {counts}")
        rows, count = [], max(counts.values())
        for start in range(0, count, self.batch_size):
            size = min(self.batch_size, count - start)
            batch = {name: x[start : start + size] for name, x in inputs.items()}
            outputs = self._request(spec, batch)
            if len(expected) == len(outputs) == 1:  # REST leaves its name out
                outputs = dict(zip(expected, outputs.values(), strict=True))
            if not _fit(outputs, expected, size):
                found = {name: (str(x.dtype), x.shape) for name, x in outputs.items()}
                raise ServingError(
                    "INTERNAL",
                    f"{self.address} should answer {self.model}'s {signature} with "
                    f"{size} rows of {expected or 'outputs'}, received "
                    f"{reprlib.repr(found)}",
                )
            values = zip(*outputs.values(), strict=True)
            rows += [dict(zip(outputs, row, strict=True)) for row in values]
        return rows

    def _request(self, spec, inputs):
        """Returns the outputs by name, after as many retries as it takes."""
        deadline, wait = time.monotonic() + self.timeout, _FIRST_WAIT
        for left in range(self.retries, -1, -1):
            try:
                rest = deadline - time.monotonic()
                return self._transport.predict(spec, inputs, rest)
            except ServingError as error:
                late = time.monotonic() + wait >= deadline
                if error.code != "UNAVAILABLE" or late or not left:
                    text = f"{self.address}: {error.details[:500]}"
                    raise ServingError(error.code, text) from None
            time.sleep(wait)
            wait *= 2
        return None


def _checked(values, name):
    """Returns the values of an input as a list of texts, or of bytes."""
    if not takes_bytes(name):
        return [replace_surrogates(text) for text in check_texts(values, name)]
    for value in values:
        if not isinstance(value, bytes):
            raise TypeError(f"{name} must be a list of bytes. Received: {value!r:.80}")
    return list(values)


# === Answers ===
def _fit(outputs, expected, size):
    """Returns whether outputs have `size` rows, and a signature's types and shapes."""
    if not outputs or any(x.shape[:1] != (size,) for x in outputs.values()):
        return False
    sizes: dict[str, int] = {}
    for name, dimensions in expected.items():
        array = outputs.get(name)
        if array is None or array.ndim > len(dimensions):
            return False
        # Lists of JSON show neither the type nor the dimensions below an empty one.
        numbers = array.dtype != object
        typed = array.ndim == len(dimensions) and numbers == holds_numbers(name)
        if array.size and not typed:
            return False
        for dimension, length in zip(dimensions, array.shape, strict=False):
            if sizes.setdefault(dimension, length) != length:
                return False
    return True


def _log_probability(row):
    return float(row["log_probability"])


def _several(row):
    """Returns the hypotheses that there are, pairs of text and score."""
    pairs = zip(row["translations"], map(float, row["scores"]), strict=True)
    found = [(x, y) for x, y in pairs if math.isfinite(y) and y > NO_SCORE]
    if not found:
        raise ValueError("found no text: its model's numbers are not finite")
    return found


def _best(row):
    text = row["translation" if "translation" in row else "caption"]
    return _several({"translations": [text], "scores": [row["score"]]})[0][0]


def _aligned(row):
    tokens, sources = _filled(row["tokens"]), _filled(row["source_tokens"])
    # JSON doesn't show how long the rows of nothing are.
    weights = row["alignment"].reshape(len(row["tokens"]), len(row["source_tokens"]))
    return {
        "text": _best(row),
        "score": float(row["score"]),
        "tokens": tokens,
        "source_tokens": sources,
        "alignment": weights[: len(tokens), : len(sources)],
    }


def _tagged(row):
    words, tags = _filled(row["words"]), _filled(row["tags"])
    if len(words) != len(tags):
        raise ValueError(f"gave {len(tags)} tags to {len(words)} words")
    return list(zip(words, tags, strict=True))


def _filled(strings):
    return [text for text in strings if text]
