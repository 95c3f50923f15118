"""A captioner as the explorer's local server runs it, and its pictures."""

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from zoo.explorer.options import Options
from zoo.explorer.searching import Searcher, Source
from zoo.images import check_shape, decode_image, encode_images
from zoo.run.captions import ACCURACY, examples

_EXAMPLES = 6  # pictures to try


class Captioner(Searcher):
    """A captioner whose steps can be looked at and changed.

    `run` takes the content of a picture's file. The places of the grid are named by row
    and column, from 1: "2,3".

    Args:
        task: a task of zoo.models that captions, with its preprocessor.
        info: its `zoo.explorer.info.model_info`.

    Raises:
        ValueError: if its images are neither grey nor RGB.

    Example:
        ```python
        task = zoo.load("show_attend_tell")
        captioner = Captioner(task, model_info(folder, "show_attend_tell"))
        captioner.run(Path("dog.jpg").read_bytes(), Options())["translations"][0]
        ```
    """

    def __init__(self, task: Any, info: dict[str, Any]) -> None:
        check_shape(task.preprocessor.image_shape)
        super().__init__(task, info)
        rows, columns = task.backbone.grid
        self._places = [f"{y + 1},{x + 1}" for y in range(rows) for x in range(columns)]

    def loaded(self) -> dict[str, Any]:
        """See `Explored.loaded`; with `Pictures` of explorer/src/engine/types.ts."""
        height, width, _ = self.preprocessor.image_shape
        return {
            **super().loaded(),
            "grid": list(self.task.backbone.grid),
            "size": [height, width],
            "examples": self._examples(),
        }

    def _examples(self):
        """Test pictures of the data that its card names, as data URLs.

        None without such a card, or where matplotlib, which draws formulas, is missing.
        """
        named = [corpus["name"] for corpus in self.info["card"].get("data", [])]
        data = next((name for name in named if name in ACCURACY), None)
        if data is None:
            return []
        try:
            drawn = [example.draw() for example in examples(data, _EXAMPLES, "test")]
        except ImportError:
            return []
        images, _ = self.preprocessor.images(drawn)
        return [_data_url(image) for image in images]

    def pieces(self, text: str) -> dict[str, Any]:
        """Raises a `ValueError`: a text is not what it reads."""
        raise ValueError("a captioner reads pictures. Received: a text")

    def sample(self) -> tuple[np.ndarray, int]:
        """See `Searcher.sample`."""
        rows, columns = self.task.backbone.grid
        image = np.zeros((1, *self.preprocessor.image_shape), "uint8")
        return image, rows * columns

    def run(
        self,
        source: Any,
        options: Options,
        between: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Captions a picture; see `Explored.run`.

        There is no coverage penalty, for not all of a picture need be attended to.
        """
        options = dataclasses.replace(options, coverage_penalty=0.0)
        return super().run(source, options, between)

    def picture(self, content: bytes) -> str:
        """Returns a picture as the model reads it, as a PNG's data URL.

        Args:
            content: that of its file.

        Raises:
            ValueError: if it is no PNG, JPEG or WebP, damaged or too large.
        """
        return _data_url(self._image(content))

    def read(self, source: Any) -> Source:
        """See `Searcher.read`."""
        image = self._image(source)[None]
        limit = self.preprocessor.target_length
        return Source(image, self._places, len(self._places), limit)

    def _image(self, content):
        """A file's picture as the model reads it, uint8 `(H, W, C)`."""
        images, _ = self.preprocessor.images(decode_image(content))
        return images[0]


def _data_url(image):
    """An image `(H, W, C)` as a PNG's data URL."""
    [content], _ = encode_images(image)
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
