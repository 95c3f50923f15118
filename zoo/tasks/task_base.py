"""The base classes of the tasks: text in, text out."""

from pathlib import Path
from typing import Any

from keras import ops

from zoo.backend import Shape, Tensor
from zoo.models.backbone import Presets
from zoo.strings import plain_texts
from zoo.tasks.fitting import Fitting

TASKS = ("translate", "generate", "tag", "classify", "caption")


def until_stop(
    token_ids: Tensor, generated: Tensor, stop_token_ids: list[int] | None
) -> Tensor:
    """Marks each row's tokens up to and including its first stop token: bool `(B, T)`.

    Args:
        token_ids: int `(B, T)`.
        generated: bool `(B, T)`, false on the prompt, in which nothing stops.
        stop_token_ids: list of int, or None for no stop.
    """
    if stop_token_ids is None:
        return ops.ones_like(generated)
    stops = ops.convert_to_tensor(list(stop_token_ids), dtype="int32")
    stopped = ops.any(ops.equal(token_ids[..., None], stops), axis=-1)
    stopped = ops.cast(ops.logical_and(stopped, generated), "int32")
    return ops.equal(ops.cumsum(stopped, axis=1) - stopped, 0)


class _NoTextMethod(AttributeError):
    """Names the presets that have a method, but only where the message is shown.

    `hasattr` then reads no preset's card.
    """

    def __str__(self):
        from zoo.presets.registry import cannot  # presets stand on tasks

        return cannot(*self.args)


class TaskMethods(Fitting):
    """The methods that all tasks have."""

    def __getattr__(self, name):
        if name in TASKS:
            raise _NoTextMethod(f"a {type(self).__name__}", name)
        # Under PyTorch a layer's parts are found this way; elsewhere the error is that
        # of the attribute, or of the property, that was asked for.
        if getter := getattr(super(), "__getattr__", None):
            return getter(name)
        return object.__getattribute__(self, name)

    def export_savedmodel(self, path: str, warmup: bool = True, **limits: Any) -> Path:
        """Writes the next version of this model for TensorFlow Serving.

        Text in, text out: see `zoo.serving.export_savedmodel`.

        Args:
            path: str or path, the model's folder, such as `"exports/luong_local"`.
            warmup: whether requests are put into it that the server runs first; they
                need tensorflow-serving-api.
            **limits: arguments of `zoo.serving.Limits`, such as `beam_size`.

        Returns:
            `pathlib.Path` of the version's folder, such as `exports/luong_local/1`.

        Raises:
            ValueError: for a limit that the task does not have, or without a
                preprocessor.
            RuntimeError: under another backend than TensorFlow's.
            ImportError: if a package is missing.
        """
        from zoo.serving.export.savedmodel import export_savedmodel  # stands on tasks

        return export_savedmodel(self, path, warmup=warmup, **limits)


class Generating:
    """`generate` of a task of text."""

    def generate(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """KerasHub's `generate`, of texts in any form that `translate` takes."""
        if self.preprocessor is not None:
            inputs = plain_texts(inputs)
        return super().generate(inputs, *args, **kwargs)


class TextTask(TaskMethods, Presets):
    """A backbone and a preprocessor that turns text into arrays."""

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        return self.backbone(inputs, training=training)


class WordTask(TextTask):
    """A `TextTask` whose preprocessor's tokenizer is a `zoo.text.WordTokenizer`."""

    def __init__(self, backbone: Any, preprocessor: Any = None, **kwargs: Any) -> None:
        # Before any attribute: layers set earlier are not tracked under torch.
        super().__init__(**kwargs)
        self.check_vocabulary(backbone, preprocessor)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.build(None)

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        task = super()._from_folder(folder, **kwargs)
        # Once more: the vocabulary is read last of all.
        task.check_vocabulary(task.backbone, task.preprocessor)
        return task

    def check_vocabulary(self, backbone: Any, preprocessor: Any) -> Any:
        """A model reads the ids of its tokenizer, no fewer and no more."""
        tokenizer = getattr(preprocessor, "tokenizer", None)
        if tokenizer is None or tokenizer.empty:
            return  # before a preset's files are read
        size = tokenizer.vocabulary_size()
        if backbone.vocabulary_size != size:
            raise ValueError(
                "The backbone's `vocabulary_size` must be that of the tokenizer, "
                f"{size}. Received: vocabulary_size={backbone.vocabulary_size}"
            )
