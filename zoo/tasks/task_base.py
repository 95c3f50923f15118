"""The base classes of the tasks: text in, text out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras import ops

from zoo.backend import Shape, Tensor
from zoo.decoding.beam import BeamSearch
from zoo.models.backbone import Presets
from zoo.strings import plain_texts
from zoo.tasks.fitting import TextFitMixin


class TextTask(TextFitMixin, Presets):
    """The base of all tasks: a backbone, and a preprocessor of text into arrays.

    Args:
        backbone: the model.
        preprocessor: what turns text into arrays, or None to work on arrays.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.
    """

    def __init__(
        self, backbone: Any, preprocessor: Any = None, _layers: Any = (), **kwargs: Any
    ) -> None:
        # Before any attribute: layers set earlier are not tracked under torch.
        super().__init__(**kwargs)
        self.backbone = backbone
        self.preprocessor = preprocessor
        for name, layers in dict(_layers).items():  # before `build`, which ends it
            setattr(self, name, layers)
        self.check_sizes()
        self.build(None)

    @classmethod
    def _from_folder(cls, folder: Any, **kwargs: Any) -> Any:
        task = super()._from_folder(folder, **kwargs)
        task.check_sizes()  # once more: vocabularies are read last of all
        return task

    def check_sizes(self) -> None:
        """A model reads and writes the ids of its vocabularies, no fewer and no more.

        Raises:
            ValueError: for a backbone of another size.
        """
        for name, size in self.vocabulary_sizes().items():
            received = getattr(self.backbone, name, None)
            if received not in (None, size):
                raise ValueError(
                    f"The backbone's `{name}` must be that of the preprocessor's "
                    f"vocabulary, {size}. "
                    f"Received: {name}={received}"
                )

    def vocabulary_sizes(self) -> dict[str, int]:
        """Returns the sizes that the backbone must have, by its attributes' names.

        There are none without a preprocessor, or before a preset's files are read.
        """
        tokenizer = getattr(self.preprocessor, "tokenizer", None)
        if tokenizer is None or tokenizer.empty:
            return {}
        names = "vocabulary_size", "target_vocabulary_size"
        return dict.fromkeys(names, tokenizer.vocabulary_size())

    def build(self, input_shape: Shape | None = None) -> None:
        self.built = True

    def call(self, inputs: Tensor, training: bool = False) -> Any:
        return self.backbone(inputs, training=training)

    def export_savedmodel(self, path: str, **limits: Any) -> Path:
        """Writes the next version of this model for TensorFlow Serving.

        Text in, text out: see `zoo.serving.export_savedmodel`.

        Args:
            path: str or path, the model's folder, such as `"exports/luong_local"`.
            **limits: of all requests, such as `beam_size`.

        Returns:
            `pathlib.Path` of the version's folder, such as `exports/luong_local/1`.

        Raises:
            ValueError: for a limit that the task does not have, or out of range, or
                without a preprocessor.
            RuntimeError: under another backend than TensorFlow's.
            ImportError: if a package is missing.
        """
        from zoo.serving.export.savedmodel import export_savedmodel  # stands on tasks

        return export_savedmodel(self, path, **limits)


class Generating:
    """`generate` of a task of text."""

    def compile(self, *args: Any, sampler: Any = "greedy", **kwargs: Any) -> None:
        """KerasHub's `compile`; `generate` is greedy by default.

        Raises:
            ValueError: for a `zoo.decoding.BeamSearch`: `translate` searches.
        """
        if isinstance(sampler, BeamSearch):
            raise ValueError(
                "`sampler` must be a KerasHub sampler or its name; a translator's "
                f"`translate` searches by a beam. Received: sampler={sampler!r}"
            )
        super().compile(*args, sampler=sampler, **kwargs)

    def generate(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """KerasHub's `generate`, of texts in any form that `translate` takes."""
        if self.preprocessor is not None:
            inputs = plain_texts(inputs)
        return super().generate(inputs, *args, **kwargs)

    def sample(
        self,
        step: Callable[[Tensor, Any], tuple[Tensor, Any]],
        prompt: Tensor,
        given: Tensor,
        state: Any,
        stop_token_ids: list[int] | None,
    ) -> tuple[Tensor, Tensor]:
        """Continues prompts by the sampler that `compile` was given.

        Args:
            step: function of ids `(B,)` and a state that returns logits and the state.
            prompt: int `(B, T)`.
            given: bool `(B, T)`, true where the prompt's ids are.
            state: before the first step.
            stop_token_ids: ids that end a text; None for none.

        Returns:
            Ids `(B, T)`, and which of them are up to a row's first stop token behind
            its prompt, that one included.
        """

        def next_token(prompt, state, index):
            rows = ops.shape(prompt)[0]
            last = ops.slice(prompt, [0, index - 1], [rows, 1])[:, 0]
            logits, state = step(last, state)
            return logits, None, state

        token_ids = self.sampler(
            next=next_token,
            prompt=prompt,
            cache=state,
            index=1,
            mask=given,
            stop_token_ids=stop_token_ids or None,  # it takes no empty list
            model=self,
        )
        if not stop_token_ids:
            return token_ids, ops.ones_like(given)
        stops = ops.convert_to_tensor(list(stop_token_ids), dtype="int32")
        stopped = ops.any(ops.equal(token_ids[..., None], stops), axis=-1)
        stopped = ops.logical_and(stopped, ops.logical_not(given))
        stopped = ops.cast(stopped, "int32")
        return token_ids, ops.equal(ops.cumsum(stopped, axis=1) - stopped, 0)
