"""Runs the folders of `zoo export --format onnx` by ONNX Runtime, without Keras.

    translator = zoo.serving.runtime.onnx.load("exports/onnx/luong_local")
    translator.translate("A dog runs.")

It needs onnxruntime, sentencepiece, regex, lazy-loader and NumPy: neither Keras nor one
of its backends.
"""

import functools
from typing import Any

from zoo.backend import usable_cores
from zoo.checks import positive
from zoo.decoding.batches import in_threads
from zoo.files import StrPath
from zoo.serving.export.manifest import MANIFEST, newest, read_version
from zoo.serving.runtime.onnx_captioner import Captioner
from zoo.serving.runtime.onnx_sessions import Arrays
from zoo.serving.runtime.onnx_translator import Translator
from zoo.serving.runtime.onnx_words import Classifier, LanguageModel, Tagger

__all__ = ["Captioner", "Classifier", "LanguageModel", "Tagger", "Translator", "load"]

INSTALL = 'pip install "attention-zoo[onnx]"'


def load(path: StrPath, threads: int = 1, workers: int | None = None) -> Any:
    """Loads an exported model.

    Args:
        path: a version's folder, such as `exports/onnx/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use. One is fastest for models of the
            bundled presets' size, whose products are too small for more.
        workers: batches that a translator or captioner reads at a time, each in a
            thread. Default: one for each core that the process may use, shared out
            between `threads`.

    Returns:
        A `Translator`, `LanguageModel`, `Tagger`, `Classifier` or `Captioner`, by the
        task of the exported model.

    Raises:
        ValueError: for a folder that zoo didn't write, whose files are missing, cut
            short or altered, or whose format or task this version doesn't know.
        ImportError: without onnxruntime.

    Example:
        ```python
        translator = zoo.serving.runtime.onnx.load("exports/onnx/luong_local")
        translator.translate("A dog runs.", beam_size=5, n_best=3)
        ```
    """
    positive("threads", threads)
    if workers is None:
        workers = max(1, usable_cores() // threads)
    positive("workers", workers)
    version = newest(path)
    manifest, files = read_version(version)
    kinds = {kind.task_name: kind for kind in _KINDS}
    if manifest["task"] not in kinds:
        raise ValueError(
            f"{version} should hold a model of the tasks {list(kinds)}. "
            f"Received: {manifest['task']!r}"
        )
    try:
        graphs = {
            name: OnnxGraph(
                files[f"{name}.onnx"], described, threads, f"{version}/{name}"
            )
            for name, described in manifest["graphs"].items()
        }
        model: Any = kinds[manifest["task"]].of(graphs, files, manifest)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{version / MANIFEST} is damaged: {error}") from error
    if isinstance(model, (Translator, Captioner)):
        model.engine = model.engine._replace(map=functools.partial(in_threads, workers))
    return model


_KINDS: Any = (Translator, LanguageModel, Tagger, Classifier, Captioner)


class OnnxGraph:
    """One ONNX graph, called with and returning arrays by name.

    Args:
        content: the bytes of its file.
        described: its inputs and outputs as in the manifest.
        threads: see `load`.
        name: what an error calls it.

    Raises:
        ValueError: if ONNX Runtime can't load it, or its inputs and outputs are others
            than described.
    """

    def __init__(
        self, content: bytes, described: dict[str, Any], threads: int, name: str
    ) -> None:
        try:
            import onnxruntime
        except ModuleNotFoundError as error:
            raise ImportError(
                f"zoo.serving.runtime.onnx needs onnxruntime: {INSTALL}",
                name=error.name,
            ) from None
        self.described = described
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors
        try:
            self._session = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # of a dozen classes without a common one
            raise ValueError(f"ONNX Runtime cannot load {name}: {error}") from error
        self.inputs = [tensor.name for tensor in self._session.get_inputs()]
        self.outputs = [tensor.name for tensor in self._session.get_outputs()]
        expected = [[x["name"] for x in described[k]] for k in ("inputs", "outputs")]
        if [self.inputs, self.outputs] != expected:
            raise ValueError(
                f"{name} should have the inputs and outputs {expected}. "
                f"Received: {[self.inputs, self.outputs]}"
            )

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs for those of the arrays that are inputs."""
        outputs = self._session.run(None, {name: arrays[name] for name in self.inputs})
        return dict(zip(self.outputs, outputs, strict=True))
