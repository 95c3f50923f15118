"""Exports a task as ONNX graphs, which `zoo.runtime.onnx` runs without Keras."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import tree

import zoo
from zoo.backend import Tensor
from zoo.checks import one_of
from zoo.files import StrPath
from zoo.serving.folder import require_onnx, write_version
from zoo.serving.manifest import write_manifest
from zoo.serving.onnx_graphs import QUANTIZE, Function, Spec, specs_of, write_graphs
from zoo.text.translation import needed_preprocessor


def export_onnx(
    task: Any,
    path: StrPath,
    quantize: str | None = None,
    preset: str | None = None,
    card: dict[str, Any] | None = None,
) -> Path:
    """Writes the next version of a task as ONNX graphs.

    The folder `path/N` has the task's graphs, whose batches and lengths are dynamic,
    its vocabulary, and `manifest.json`: names, dtypes and shapes of inputs and outputs,
    settings, the preset's card, and the sha256 of each file. The graphs are:

    - of a translator `encode`, `start` and `step` of the contract
      (`zoo.models.Seq2SeqBackbone`), with local attention also `window` for its p_t and
      windows;
    - of a language model `start` and `step`, which write, and `read`, which scores;
    - of a tagger `tag`, of a classifier `classify`.

    In shapes B is the number of sentences, R a multiple of it (K hypotheses each), S
    the source's length, T that of another sequence, L the room for what is written.

    Args:
        task: a translator, language model, tagger or classifier of `zoo.models` with
            its preprocessor, float32, under the TensorFlow backend.
        path: the model's folder.
        quantize: "int8" for the weights of products and word vectors, with activations
            quantized as they come, "float16" for weights and computation; inputs and
            outputs stay float32.
        preset: as in `zoo.serving.export_savedmodel`.
        card: the preset's card, if any.

    Returns:
        The version's folder.

    Raises:
        TypeError: for another task.
        ValueError: for another precision, quantization, or one that ONNX Runtime cannot
            convert the model to (float16 of an LSTMN or a language model), for a model
            with an operation that ONNX lacks (hard attention), without a preprocessor,
            or for a folder with versions of another format.
        RuntimeError: under another backend; `zoo export` selects TensorFlow itself.
        ImportError: if a package is missing; the message names the extra.

    Example:
        ```python
        model = zoo.load("luong_local")
        zoo.serving.export_onnx(model, "exports/onnx/luong_local")
        ```
    """
    kind = _KINDS.get(getattr(task, "task_name", ""))
    if kind is None:
        raise TypeError(
            "What is exported to ONNX must be a Translator, RecurrentCausalLM, "
            "BiRNNTagger or SentimentClassifier of zoo.models. "
            f"Received: {type(task).__name__}"
        )
    needed_preprocessor(task, "An export")
    if quantize is not None:
        one_of("quantize", quantize, QUANTIZE)
    require_onnx()
    if keras.backend.backend() != "tensorflow":
        raise RuntimeError(
            "ONNX graphs are written under the TensorFlow backend. Save the model with "
            "save_to_preset and run `zoo export FOLDER --format onnx`, which selects "
            f"it itself. Received: KERAS_BACKEND={keras.backend.backend()}"
        )
    dtypes = {keras.backend.standardize_dtype(v.dtype) for v in task.backbone.weights}
    if not dtypes <= {"float32"}:
        raise ValueError(
            "The exported model must be float32; `quantize` makes the graphs smaller. "
            f"Received: {sorted(dtypes)}"
        )
    name, model = Path(path).name, kind(task)

    def write(part):
        graphs = write_graphs(model.functions(), part, quantize)
        model.vocabulary.save_assets(str(part))
        described = {
            "name": name,
            "preset": preset,
            "task": task.task_name,
            "architecture": type(task).__name__,
            "parameters": task.count_params(),
            "quantize": quantize,
            **model.described,
            "graphs": graphs,
            "packages": package_versions(),
            "card": card,
        }
        write_manifest(part, described)

    return write_version(path, "saved_model.pb", write)


def package_versions() -> dict[str, str]:
    """Returns the versions of the packages that write graphs."""
    import onnx
    import tensorflow as tf
    import tf2onnx

    packages = {"keras": keras, "tensorflow": tf, "tf2onnx": tf2onnx, "onnx": onnx}
    return {
        "zoo": zoo.__version__,
        **{name: package.__version__ for name, package in packages.items()},
    }


# === Tasks ===


class TranslatorFunctions:
    """The contract of a `Seq2SeqBackbone` as functions of flat lists of tensors.

    Args:
        task: a `zoo.models.Translator`.

    Attributes:
        vocabulary: the object that writes the vocabulary's file.
        described: what the manifest says of this task alone.
    """

    def __init__(self, task: Any) -> None:
        self.backbone, preprocessor = task.backbone, task.preprocessor
        self.vocabulary = preprocessor.tokenizer
        settings = ("source_length", "target_length", "source_end")
        state = self.backbone.window_state
        self.described = {
            "settings": {name: getattr(preprocessor, name) for name in settings},
            "window_state": None if state is None else f"state.{state}",
        }
        sizes = {"": (2, 5, 11), "B": (3, 5, 11), "S": (2, 7, 11), "L": (2, 5, 13)}
        found = {letter: self._run(*size) for letter, size in sizes.items()}
        self.memory_like, self.state_like = found[""]
        self.memory = specs_of("memory", [found[x][0] for x in sizes], "BSL")
        self.state = specs_of("state", [found[x][1] for x in sizes], "RSL")

    def _run(self, batch, length, room):
        memory = self.backbone.encode(np.full((batch, length), 7, "int32"))
        return memory, self.backbone.start_for(memory, room)

    def functions(self) -> dict[str, Function]:
        """Name -> `Function`."""
        names = [spec[0] for spec in self.memory]
        states = [spec[0] for spec in self.state]
        source: Spec = ("source_ids", ("B", "S"), "int32")
        length: Spec = ("length", (), "int32")
        tokens: Spec = ("token_ids", ("R",), "int32")
        functions = {
            "encode": Function(self.backbone.encode, [source], names),
            "start": Function(self.start, [length, *self.memory], states),
            "step": Function(
                self.step,
                [tokens, *self.state, *self.memory],
                ["logits", "weights", *(f"new_{name}" for name in states)],
            ),
        }
        place = self.backbone.window_state
        if place is not None:
            size = self.state[place][1][-1]
            functions["window"] = Function(
                self.backbone.attention_window,
                [("hidden", ("B", "T", size), "float32"), ("mask", ("B", "S"), "bool")],
                ["focus", "windows"],
            )
        return functions

    def start(self, length: Tensor, *memory: Tensor) -> Any:
        """`start_for` of flat arguments."""
        memory = tree.pack_sequence_as(self.memory_like, memory)
        return self.backbone.start_for(memory, length)

    def step(self, token_ids: Tensor, *leaves: Tensor) -> Any:
        """The backbone's `step` of flat arguments: logits, weights, state."""
        logits, state, weights = self.backbone.step(token_ids, *self.packed(leaves))
        return logits, weights, state

    def packed(self, leaves: Sequence[Tensor]) -> tuple[Any, Any]:
        """Returns state and memory in the backbone's structures."""
        count = len(self.state)
        return (
            tree.pack_sequence_as(self.state_like, leaves[:count]),
            tree.pack_sequence_as(self.memory_like, leaves[count:]),
        )


class _LanguageModel:
    """The functions of a `RecurrentCausalLM`: words of its own, and given ones."""

    def __init__(self, task):
        self.task, self.backbone = task, task.backbone
        self.vocabulary = task.preprocessor.tokenizer
        self.described = {
            "settings": {
                "lowercase": self.vocabulary.lowercase,
                "sequence_length": task.preprocessor.sequence_length,
                "cell": self.backbone.cell,
            }
        }
        start = self.backbone.start
        states = [start(*sizes) for sizes in ((2, 11), (3, 11), (2, 13))]
        carries = [self.backbone.initial_states(size) for size in (2, 3)]
        self.state_like, self.carry_like = states[0], carries[0]
        self.state = specs_of("state", states, "BL")
        self.carry = specs_of("carry", carries, "B")

    def functions(self):
        """Name -> `Function`."""
        states = [spec[0] for spec in self.state]
        batch, length = (("batch", (), "int32"), ("length", (), "int32"))
        tokens: Spec = ("token_ids", ("B",), "int32")
        rows = [(name, ("B", "T"), "int32") for name in ("token_ids", "labels")]
        return {
            "start": Function(self.backbone.start, [batch, length], states),
            "step": Function(
                self.step,
                [tokens, *self.state],
                ["logits", *(f"new_{name}" for name in states)],
            ),
            "read": Function(
                self.read,
                [*rows, *self.carry],
                ["sums", *(f"new_{spec[0]}" for spec in self.carry)],
            ),
        }

    def step(self, token_ids, *leaves):
        states = tree.pack_sequence_as(self.state_like, leaves)
        return self.task.next_word(token_ids, states)

    def read(self, token_ids, labels, *leaves):
        states = tree.pack_sequence_as(self.carry_like, leaves)
        return self.task.label_sums(token_ids, labels, states)


class _Tagger:
    """The function of a `BiRNNTagger`."""

    def __init__(self, task):
        self.backbone, self.vocabulary = task.backbone, task.preprocessor
        self.described = {"settings": {"word_length": self.vocabulary.word_length}}

    def functions(self):
        """Name -> `Function`."""
        words: Spec = ("word_ids", ("B", "T"), "int32")
        shape = ("B", "T", self.vocabulary.word_length)
        inputs = [words, ("character_ids", shape, "int32")]
        return {"tag": Function(self.tag, inputs, ["logits"])}

    def tag(self, word_ids, character_ids):
        inputs = {"word_ids": word_ids, "character_ids": character_ids}
        return self.backbone(inputs)


class _Classifier:
    """The function of a `SentimentClassifier`."""

    def __init__(self, task):
        self.backbone, self.vocabulary = task.backbone, task.preprocessor.tokenizer
        self.described = {
            "settings": {
                "lowercase": self.vocabulary.lowercase,
                "classes": self.backbone.classes,
            }
        }

    def functions(self):
        """Name -> `Function`."""
        tokens: Spec = ("token_ids", ("B", "T"), "int32")
        return {"classify": Function(self.classify, [tokens], ["logits"])}

    def classify(self, token_ids):
        return self.backbone({"token_ids": token_ids})


_KINDS = {
    "translate": TranslatorFunctions,
    "generate": _LanguageModel,
    "tag": _Tagger,
    "classify": _Classifier,
}
