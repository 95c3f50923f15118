"""The Open Inference Protocol by KServe: its model and repository classes for ours."""

import asyncio
import contextlib
import re
import struct
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from zoo.servers.batching import Refusal
from zoo.servers.models import ServedModel
from zoo.servers.rest import read_values, served_model
from zoo.servers.signatures import DEFAULT
from zoo.serving.protocol import takes_bytes


@contextlib.contextmanager
def _no_arguments() -> Iterator[None]:
    """Hides this process's arguments from kserve, which parses them when imported."""
    kept, sys.argv[1:] = sys.argv[1:], []
    try:
        yield
    finally:
        sys.argv[1:] = kept


with _no_arguments():
    import grpc
    from grpc_interceptor.exceptions import GrpcException
    from kserve import InferOutput, InferResponse, Model
    from kserve.protocol.model_repository_extension import ModelRepositoryExtension

_DATATYPES = {"text": "BYTES", "number": "FP32"}
_VERSIONED = re.compile(r"(/v2/models/[^/]+)/versions/([^/]+)(/infer|/ready|)")
_named: ContextVar[str] = ContextVar("_named", default="")  # the version of a path


class Refused(GrpcException):
    """A `Refusal` that KServe's servers understand."""

    def __init__(self, refusal: Refusal) -> None:
        code = getattr(grpc.StatusCode, refusal.code)
        super().__init__(status_code=code, details=str(refusal))
        self.code = refusal.code


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turns a `Refusal` into a `Refused`."""
    try:
        yield
    except Refusal as refusal:
        raise Refused(refusal) from None


class VersionPaths:
    """ASGI middleware for v2 paths with `/versions/N`, which KServe answers with 501.

    KServe gets the path without it; `OpenModel` takes the version.

    Args:
        app: the application.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """See ASGI: https://asgi.readthedocs.io/en/latest/specs/www.html."""
        found = _VERSIONED.fullmatch(scope.get("path", ""))
        if not found:
            await self.app(scope, receive, send)
            return
        path, version, verb = found.groups()
        token = _named.set(version)
        try:
            await self.app({**scope, "path": path + verb}, receive, send)
        finally:
            _named.reset(token)


class OpenModel(Model):
    """A served model behind KServe's endpoints.

    A request may have the parameters `signature_name`, `version` and `label`; over gRPC
    the version may also stand in its field, over REST in the path (`VersionPaths`).
    """

    def __init__(self, model: ServedModel) -> None:
        super().__init__(model.name)
        self.model, self.ready = model, True

    async def healthy(self) -> bool:
        """Returns whether requests are answered.

        Raises:
            Refused: if the path names a version that is not served.
        """
        if _named.get():
            self._default()
        return self.ready

    def get_input_types(self) -> list[dict[str, Any]]:
        """Returns the inputs of the default signature."""
        names = self._default().inputs
        return [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in names]

    def get_output_types(self) -> list[dict[str, Any]]:
        """Returns the outputs of the default signature."""
        return [
            {"name": name, "datatype": _DATATYPES[kind], "shape": [-1] * rank}
            for name, (kind, rank) in self._default().outputs.items()
        ]

    def _default(self):
        with _refusals():
            return self.model.signature(DEFAULT, self._number())

    def _number(self, version=None, label=None):
        """Returns the version that a request names. Default: the newest."""
        if _named.get() and (version or label):
            raise Refusal(
                "INVALID_ARGUMENT",
                "the path names the version already: leave out `version` and `label`",
            )
        version = _named.get() or version
        if version and not re.fullmatch(r"\d{1,18}", str(version)):
            raise Refusal(
                "INVALID_ARGUMENT", f"a version is a number, received {version!r}"
            )
        return self.model.find(int(version) if version else None, label)

    async def predict(
        self, payload: Any, headers: Any = None, response_headers: Any = None
    ) -> InferResponse:
        """Answers an `InferRequest`."""
        with _refusals():
            return await self._answer(payload)

    async def _answer(self, request):
        given = {key: _plain(x) for key, x in (request.parameters or {}).items()}
        version = given.get("version") or request.model_version
        number = self._number(version, given.get("label"))
        signature = self.model.signature(given.get("signature_name"), number)
        inputs = {tensor.name: _values(tensor) for tensor in request.inputs}
        outputs = await self.model.answer(signature, inputs)
        tensors = [
            InferOutput(
                name,
                list(array.shape),
                _DATATYPES[signature.outputs[name][0]],
                array.ravel().tolist(),
            )
            for name, array in outputs.items()
        ]
        return InferResponse(
            request.id or "",
            self.name,
            tensors,
            model_version=str(number),
            use_binary_outputs=request.use_binary_outputs,
            requested_outputs=request.request_outputs,
        )


def _plain(parameter):
    """Returns the value of a parameter; gRPC's are messages."""
    if not hasattr(parameter, "WhichOneof"):
        return parameter
    kind = parameter.WhichOneof("parameter_choice")
    return getattr(parameter, kind) if kind else None


def _values(tensor):
    """Returns the values of an input of the shape `(B,)` or `(B, 1)`.

    In JSON, those of an input that `takes_bytes` are strings in base64.
    """
    expected = f"{tensor.name} must be BYTES of the shape (B,) or (B, 1)"
    shape = list(tensor.shape)
    fits = len(shape) == 1 or shape[1:] == [1]
    if tensor.datatype != "BYTES" or not fits or shape[0] < 0:
        received = f"received {tensor.datatype} of {shape}"
        raise Refusal("INVALID_ARGUMENT", f"{expected}, {received}")
    try:
        values = tensor.as_numpy().ravel().tolist()
    except (TypeError, ValueError, struct.error) as error:
        raise Refusal("INVALID_ARGUMENT", f"{expected}: {error}") from None
    if takes_bytes(tensor.name):
        values = [{"b64": x} if isinstance(x, str) else x for x in values]
    return read_values(values, tensor.name)


class FolderRepository(ModelRepositoryExtension):
    """The model repository extension: the folders decide what is served."""

    def __init__(self, registry: Any, models: Mapping[str, ServedModel]) -> None:
        super().__init__(registry)
        self._models = models

    async def load(self, model_name: str) -> dict[str, Any]:
        """Takes over at once what has changed in the model's folder."""
        with _refusals():
            model = served_model(self._models, model_name)
        await asyncio.to_thread(model.refresh)
        return {"name": model_name, "load": True}

    async def unload(self, model_name: str) -> dict[str, Any]:
        """Refuses."""
        text = "a model is served as long as its folder has a version"
        raise Refused(Refusal("UNIMPLEMENTED", text))
