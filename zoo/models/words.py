"""The tasks that read words."""

from typing import Any

from zoo.backend import Shape, Tensor
from zoo.models.base import Presets, TaskMethods


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
