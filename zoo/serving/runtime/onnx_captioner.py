"""A captioner of exported graphs."""

from collections.abc import Sequence
from typing import Any

from zoo.decoding.captioning import Captioning
from zoo.decoding.translating import Engine
from zoo.serving.export.manifest import TOKENIZER
from zoo.serving.runtime.arrays import ArraySearch
from zoo.serving.runtime.denormaliser import ImagesPreprocessor, Pieces
from zoo.serving.runtime.onnx_sessions import Graph, Graphs
from zoo.serving.runtime.onnx_translator import alignments, scores


class ImageGraphs(Graphs):
    """The graphs of a captioner.

    Args:
        graphs: `encode`, `start` and `step`.
        grid: rows and columns of the places that it attends to.

    Raises:
        KeyError: if a graph is missing.
    """

    def __init__(self, graphs: dict[str, Graph], grid: Sequence[int]) -> None:
        super().__init__(graphs)
        self.grid = tuple(grid)


class Captioner(Captioning):
    """A captioner without Keras, from `load`.

    `caption`, `score` and `align` are those of a `zoo.models.ShowAttendTellCaptioner`,
    with their arguments, defaults and results. Image files, and images of another size
    than the model's, need Pillow.

    Args:
        backbone: the graphs.
        preprocessor: the preprocessor.
    """

    task_name = "caption"
    engine = Engine(ArraySearch, scores, alignments)

    def __init__(self, backbone: ImageGraphs, preprocessor: ImagesPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "Captioner":
        """Makes it of a version's graphs, files and manifest."""
        pieces, image = Pieces(files[TOKENIZER]), manifest["image"]
        shape = tuple(image["shape"])
        preprocessor = ImagesPreprocessor(pieces, shape, **manifest["settings"])
        return cls(ImageGraphs(graphs, image["grid"]), preprocessor)
