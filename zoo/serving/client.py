"""A client for a TensorFlow model server with zoo's models, over gRPC or REST."""

import asyncio
import base64
import functools
import itertools
import json
import os
import threading
import time
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

import numpy as np

from zoo.checks import above_zero, integer, need_packages
from zoo.images import encode_images
from zoo.serving.protocol import (
    MAX_ANSWER_BYTES,
    NO_SCORE,
    SIGNATURES,
    ServingError,
    check_outputs,
    read_body,
    read_tensor,
    write_tensor,
)
from zoo.strings import check_texts, replace_surrogates

Texts = str | Iterable[str]
_FIRST_WAIT = 0.1  # seconds before the first retry; each later one waits twice as long


class Client:
    """Requests translations, texts, tags and captions from a model server.

    Each method takes a str or a list of str, or images, and returns one result or a
    list of them; `predict` is for the other signatures. Long lists are sent in several
    requests. The server is not trusted: redirects and answers whose size, types or
    shapes do not fit the request are rejected.

    Args:
        address: `"localhost:8500"` for gRPC, `"http://localhost:8501"` for REST, which
            has TLS by `"https://…"`.
        model: name of the model.
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
        timeout: float = 10.0,
        retries: int = 6,
        batch_size: int = 32,
        credentials: Any = None,
    ) -> None:
        integer("retries", retries, 0)
        integer("batch_size", batch_size, 1)
        above_zero("timeout", timeout)
        self.address, self.model = address, model
        self.timeout, self.retries, self.batch_size = timeout, retries, batch_size
        rest = address.startswith(("http://", "https://"))
        if rest and credentials is not None:
            raise ValueError(
                f"credentials are for gRPC; REST uses TLS by https. Received: {address}"
            )
        self._transport = _REST(address) if rest else _GRPC(address, credentials)

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
        contents, single = encode_images(images)
        captions = self._ask("caption", "caption", _best, contents)
        return captions[0] if single else captions

    # === Other models ===
    def generate(self, texts: Texts) -> Any:
        """Returns each text with a language model's continuation: str."""
        return self._ask("generate", "generate", itemgetter("text"), texts)

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
        """Returns the raw outputs of any signature, as greedy translations or scores.

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
        return self._rows(signature, inputs, {})

    def _ask(self, task, signature, read, values):
        """Returns what `read` makes of each row of the outputs of a signature."""
        (name,), expected = SIGNATURES[task][signature]
        results = [read(row) for row in self._rows(signature, {name: values}, expected)]
        return results[0] if isinstance(values, str) else results

    def _rows(self, signature, inputs, expected):
        """Returns `predict`'s rows, of the `expected` outputs if there are any."""
        inputs = {name: _checked(values, name) for name, values in inputs.items()}
        counts = {name: len(values) for name, values in inputs.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"All inputs need equally many rows. Received: {counts}")
        rows, count = [], max(counts.values())
        for start in range(0, count, self.batch_size):
            size = min(self.batch_size, count - start)
            batch = {name: x[start : start + size] for name, x in inputs.items()}
            outputs = self._request(signature, batch, expected, size)
            rows += [{name: x[i] for name, x in outputs.items()} for i in range(size)]
        return rows

    def _request(self, signature, inputs, expected, size):
        """Returns the outputs by name, after as many retries as it takes."""
        deadline = time.monotonic() + self.timeout
        for attempt in itertools.count():
            wait = _FIRST_WAIT * 2**attempt
            try:
                left = deadline - time.monotonic()
                outputs = self._transport.predict(self.model, signature, inputs, left)
                return check_outputs(outputs, expected, size)
            except (ValueError, OverflowError) as error:  # of what was answered
                raise ServingError("INTERNAL", f"{self.address}: {error}") from None
            except ServingError as error:
                late = time.monotonic() + wait >= deadline
                if error.code != "UNAVAILABLE" or late or attempt == self.retries:
                    text = f"{self.address}: {error.details[:500]}"
                    raise ServingError(error.code, text) from None
            time.sleep(wait)
        return None


def _checked(values, name):
    """Returns the values of an input as a list of texts, or of bytes."""
    if not name.endswith("_bytes"):
        return [replace_surrogates(text) for text in check_texts(values, name)]
    for value in values:
        if not isinstance(value, bytes):
            raise TypeError(f"{name} must be a list of bytes. Received: {value!r:.80}")
    return list(values)


# === Transports ===
class _GRPC:
    """PredictionService over gRPC."""

    def __init__(self, address, credentials):
        need_packages("gRPC", "serving", "grpc", "tensorflow_serving")
        import grpc
        from tensorflow_serving.apis import prediction_service_pb2_grpc

        options = [
            ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
            # The limit is for received bytes; compressed, they may hide gigabytes.
            ("grpc.compression_enabled_algorithms_bitset", 1),
            ("grpc.per_message_decompression", 0),
            # Spreads requests over several servers behind one name.
            ("grpc.lb_policy_name", "round_robin"),
            # The defaults are a second or more, in which each retry fails unsent.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        if credentials is None:
            channel = grpc.insecure_channel(address, options)
        else:
            channel = grpc.secure_channel(address, credentials, options)
        self.close = channel.close
        self._stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)

    def predict(self, model, signature, inputs, timeout):
        """Returns outputs by name, or raises a ServingError, or a ValueError."""
        import grpc
        from tensorflow_serving.apis import predict_pb2

        request = predict_pb2.PredictRequest()
        request.model_spec.name = model
        request.model_spec.signature_name = signature
        for name, values in inputs.items():
            write_tensor(np.array(values, object), request.inputs[name])
        try:
            answer = self._stub.Predict(request, timeout=timeout)
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            # Ray's for a replica that died or is lost. Models only read, so the request
            # can be sent again.
            lost = code == "INTERNAL" and details.startswith("The actor ")
            raise ServingError("UNAVAILABLE" if lost else code, details) from None
        return {name: read_tensor(tensor) for name, tensor in answer.outputs.items()}


class _REST:
    """The REST API at a URL, with tensors in columns."""

    def __init__(self, address):
        import httpx2

        # Compression would hide the size. The timeouts of httpx2 are for each wait, of
        # which a server may cause many.
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        self._client = httpx2.AsyncClient(headers=headers, timeout=None)
        self._loop = _loop(os.getpid())
        self._url = f"{address.rstrip('/')}/v1/models/"

    def close(self):
        asyncio.run_coroutine_threadsafe(self._client.aclose(), self._loop)

    def predict(self, model, signature, inputs, timeout):
        """As `_GRPC.predict`."""
        import httpx2

        body = {"signature_name": signature, "inputs": inputs}
        encode = lambda image: {"b64": base64.b64encode(image).decode()}  # noqa: E731
        content = json.dumps(body, ensure_ascii=False, default=encode).encode()
        post = self._post(f"{self._url}{model}:predict", content, timeout)
        call = asyncio.run_coroutine_threadsafe(post, self._loop)
        try:  # after a fork nothing runs the loop
            return read_body(*call.result(timeout))
        except TimeoutError:
            raise ServingError("DEADLINE_EXCEEDED", "no answer in time") from None
        except (httpx2.TransportError, httpx2.InvalidURL, ExceptionGroup) as error:
            raise ServingError("UNAVAILABLE", str(error)) from None

    async def _post(self, url, content, timeout):
        """Returns the status and body of an answer, which is read within bounds."""
        body = bytearray()
        stream = self._client.stream("POST", url, content=content)
        async with asyncio.timeout(timeout), stream as answer:
            async for piece in answer.aiter_raw():
                body += piece
                if len(body) > MAX_ANSWER_BYTES:
                    text = f"expected at most {MAX_ANSWER_BYTES:,} bytes, received more"
                    raise ServingError("RESOURCE_EXHAUSTED", text)
        return answer.status_code, bytes(body)


@functools.cache
def _loop(process):
    """Returns the event loop of a process's REST clients, which runs in a thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


# === Results ===
def _best(row):
    if not row["score"] > NO_SCORE:  # -1e9 or NaN
        text = "there is no text: the model's numbers are not finite"
        raise ServingError("INTERNAL", text)
    return row["translation" if "translation" in row else "caption"]


def _aligned(row):
    tokens, sources = (list(filter(None, row[x])) for x in ("tokens", "source_tokens"))
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
    return [pair for pair in zip(row["words"], row["tags"], strict=True) if pair[0]]
