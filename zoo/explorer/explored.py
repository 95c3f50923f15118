"""A model as the explorer's local server runs it."""

import time
from collections.abc import Callable
from typing import Any

from zoo.explorer.options import Options


class Explored:
    """Base class of models that the page shows.

    Args:
        task: a task of zoo.models with its preprocessor.
        info: its `zoo.explorer.info.model_info`.

    Attributes:
        vocabulary: the pieces that can be forced, in the order of their ids.
    """

    vocabulary: Any = ()

    def __init__(self, task: Any, info: dict[str, Any]) -> None:
        self.task, self.info = task, info
        self.preprocessor = task.preprocessor

    def loaded(self) -> dict[str, Any]:
        """Returns what the page gets when the model is loaded."""
        return {"info": self.info, "pieces": self.vocabulary}

    def pieces(self, text: str) -> dict[str, Any]:
        """Returns the ids and pieces of a text."""
        raise NotImplementedError

    def run(
        self,
        source: Any,
        options: Options,
        between: Callable[[], object] = lambda: None,
    ) -> dict[str, Any]:
        """Runs the model: `Result` of explorer/src/engine/types.ts.

        Args:
            source: a text; the content of a picture's file for a captioner.
            options: the options of a search.
            between: called before each step; what it raises ends the run.
        """
        raise NotImplementedError


def result_of(
    translations: list[dict[str, Any]],
    steps: list[dict[str, Any]],
    nodes: list[dict[str, Any]],
    begun: float,
) -> dict[str, Any]:
    """Returns `Result` of explorer/src/engine/types.ts, timed from `begun` on."""
    return {
        "translations": translations,
        "steps": steps,
        "tree": nodes,
        "milliseconds": 1000 * (time.perf_counter() - begun),
    }
