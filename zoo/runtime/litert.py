"""Runs the folders of `zoo export --format litert` by LiteRT, without Keras.

    translator = zoo.runtime.litert.load("exports/litert/luong_local")
    translator.translate("A dog runs.")

It needs ai-edge-litert, sentencepiece, regex, lazy-loader and NumPy: neither Keras nor
one of its backends.
The graphs have fixed sizes, so sentences are computed one after another.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zoo.decoding.translating import Engine
from zoo.files import StrPath
from zoo.runtime.arrays import ArraySearch, trim
from zoo.runtime.captioner import Captioner
from zoo.runtime.graphs import Arrays, Graph, Graphs, check_names, load_version
from zoo.runtime.translator import Translator, alignments, scores
from zoo.runtime.words import Classifier, LanguageModel, Tagger
from zoo.serving.manifest import LITERT_FILE

__all__ = ["LiteRTTranslator", "load"]

INSTALL = 'pip install "attention-zoo[litert]"'


def load(path: StrPath, threads: int = 1) -> Any:
    """Loads an exported model.

    Args:
        path: a version's folder, such as `exports/litert/luong_local/1`, or that of the
            model, whose newest version is taken.
        threads: threads that one operation may use.

    Returns:
        A `LiteRTTranslator`, `LanguageModel`, `Tagger`, `Classifier` or `Captioner`, by
        the task of the exported model. It is not to be used by two threads at the same
        time.

    Raises:
        ValueError: for a folder that zoo didn't write, whose files are missing, cut
            short or altered, or whose format or task this version doesn't know.
        ImportError: without ai-edge-litert.

    Example:
        ```python
        translator = zoo.runtime.litert.load("exports/litert/luong_local")
        translator.translate("A dog runs.", beam_size=5, n_best=3)
        ```
    """
    return load_version(path, "litert", threads, _KINDS, _open)


def _open(manifest, files, threads, version):
    """Returns what `Buckets` takes; of other tasks, their graphs by name."""
    interpreter = _interpreter(files[LITERT_FILE], threads, version)

    def graph(key):
        described = manifest["graphs"][key]
        return LiteRTGraph(interpreter, key, described, f"{version}/{key}")

    buckets = [
        (
            bucket["source"],
            bucket["target"],
            {
                name: BySentence([graph(key) for key in keys])
                for name, keys in bucket["signatures"].items()
            },
        )
        for bucket in manifest["buckets"]
    ]
    if manifest["task"] == LiteRTTranslator.task_name:
        return buckets
    first = buckets[0][2]
    if manifest["task"] == Captioner.task_name:  # all images have one size
        return first
    graphs = {name: ByLength([x[name] for *_, x in buckets]) for name in first}
    if "start" in first:
        starts = [(room, x["start"].one) for _, room, x in buckets]
        return {**graphs, "start": FirstStates(starts)}
    return graphs


def _interpreter(content, threads, name):
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ModuleNotFoundError as error:
        raise ImportError(
            f"zoo.runtime.litert needs ai-edge-litert: {INSTALL}", name=error.name
        ) from None
    try:
        return Interpreter(model_content=content, num_threads=threads)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"LiteRT cannot load {name}: {error}") from error


# === Graphs ===
class LiteRTGraph:
    """One signature of a LiteRT file, called with and returning arrays by name.

    Args:
        interpreter: the file's interpreter.
        key: the signature's name.
        described: its inputs and outputs as in the manifest.
        name: what an error calls it.

    Raises:
        ValueError: if the file has no such signature, or its inputs and outputs are
            others than described.
    """

    def __init__(
        self, interpreter: Any, key: str, described: dict[str, Any], name: str
    ) -> None:
        self.described = described
        self._run = interpreter.get_signature_runner(key)
        self.inputs = list(self._run.get_input_details())
        outputs = list(self._run.get_output_details())
        check_names(name, (self.inputs, outputs), described)
        sizes = [tensor["shape"][0] for tensor in described["inputs"]]
        self.rows = max(sizes, default=1)

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs for those of the arrays that are inputs."""
        return self._run(**{name: arrays[name] for name in self.inputs})


class BySentence:
    """Runs graphs of fixed sizes for any number of sentences and rows.

    Sentences are computed one after another, their rows in parts.

    Args:
        graphs: graphs that differ in their `rows` for a sentence, of which the first
            has 1.
    """

    def __init__(self, graphs: Sequence[Any]) -> None:
        self.one, self.several = graphs[0], graphs[-1]
        self.described = self.one.described

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs for those of the arrays that are inputs."""
        arrays = {name: arrays[name] for name in self.one.inputs}
        count = min(map(len, arrays.values()))  # sentences
        parts = [
            part
            for i in range(count)
            for part in self._sentence(
                {
                    name: x[len(x) // count * i : len(x) // count * (i + 1)]
                    for name, x in arrays.items()
                }
            )
        ]
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([x[name] for x in parts]) for name in parts[0]}

    def _sentence(self, arrays):
        """Yields the outputs for parts of the rows of one sentence."""
        rows = max(map(len, arrays.values()))
        graph = self.one if rows == 1 else self.several
        for first in range(0, rows, graph.rows):
            count = min(graph.rows, rows - first)
            outputs = graph(
                {
                    name: _filled(x[first : first + count], graph.rows)
                    if len(x) == rows
                    else x
                    for name, x in arrays.items()
                }
            )
            yield {name: x[:count] for name, x in outputs.items()}


def _filled(array, rows):
    """Returns an array with `rows` rows, by repeating those that it has."""
    if len(array) == rows:
        return array
    return np.resize(array, (rows, *array.shape[1:]))


class ByLength:
    """Runs graphs for texts of fixed lengths for texts of any length.

    Ids are padded with 0 to the size of the first graph that has room for them.

    Args:
        graphs: graphs that differ in the sizes of their inputs, ascending.
    """

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self.described = graphs[0].described
        self._graphs = graphs

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the outputs for those of the arrays that are inputs.

        Raises:
            ValueError: if no graph has room for them.
        """
        names = [tensor["name"] for tensor in self.described["inputs"]]
        found = {name: _without_padding(arrays[name]) for name in names}
        for graph in self._graphs:
            more = {
                x["name"]: np.subtract(x["shape"][1:], found[x["name"]].shape[1:])
                for x in graph.described["inputs"]
            }
            if all((sizes >= 0).all() for sizes in more.values()):
                return graph(
                    {
                        name: np.pad(x, [(0, 0), *((0, size) for size in more[name])])
                        for name, x in found.items()
                    }
                )
        room, wide = (
            [list(shape[1:]) for shape in shapes]
            for shapes in (
                [x["shape"] for x in graph.described["inputs"]],
                [x.shape for x in found.values()],
            )
        )
        raise ValueError(
            f"This export has room for inputs of {room} a text. Received: {wide}"
        )


def _without_padding(array):
    """Leaves out the columns of ids, (B, T, ...), that hold padding alone."""
    if array.ndim < 2 or array.dtype.kind != "i":
        return array
    real = array.any(axis=tuple(set(range(array.ndim)) - {1}))
    return array[:, : 1 + np.flatnonzero(real).max(initial=0)]


class FirstStates:
    """The graphs `start` of a language model, as one for any number of texts.

    Args:
        graphs: pairs, ascending, of the most steps of which a state has room (None
            where it doesn't grow), and of the graph.
    """

    described: dict[str, Any] = {"inputs": [], "outputs": []}

    def __init__(self, graphs: Sequence[tuple[int | None, Graph]]) -> None:
        self._graphs = graphs

    def __call__(self, arrays: Arrays) -> Arrays:
        """Returns the states of `batch` texts with room for `length` steps.

        Raises:
            ValueError: if no graph has room for so many.
        """
        batch, length = int(arrays["batch"]), int(arrays["length"])
        for room, graph in self._graphs:
            if room is None or length <= room:
                return {n: np.repeat(x, batch, axis=0) for n, x in graph({}).items()}
        raise ValueError(
            f"This export has room for a `max_length` of {room}. Received: {length}"
        )


class Buckets:
    """The graphs of a translator for several lengths of the source.

    Args:
        buckets: triples, ascending, of the source's length, of the most steps of which
            a state has room (None where it doesn't grow), and of graphs by name.
        window_state: see `zoo.runtime.graphs.Graphs`.

    Raises:
        KeyError: if a graph is missing.
    """

    def __init__(
        self,
        buckets: Sequence[tuple[int, int | None, dict[str, Graph]]],
        window_state: str | None = None,
    ) -> None:
        self.window_state = window_state
        self._buckets = [
            (source, target, Graphs(graphs, window_state))
            for source, target, graphs in buckets
        ]

    @property
    def room(self) -> int | None:
        """The most steps of a target; None if there is no limit."""
        return self._buckets[-1][1]

    def fit(self, source_ids: np.ndarray, length: int) -> tuple[Graphs, np.ndarray]:
        """Chooses the smallest graphs for `(B, S)` ids and a target of `length` steps.

        Returns:
            The graphs, and the ids padded to their length.

        Raises:
            ValueError: if there are none so large.
        """
        width = source_ids.shape[1]
        for source, target, graphs in self._buckets:
            if width <= source and (target is None or length <= target):
                return graphs, np.pad(source_ids, [(0, 0), (0, source - width)])
        source, target, _ = self._buckets[-1]
        room = f" and {target} steps of a target" if target else ""
        raise ValueError(
            f"This export has room for {source} pieces of a source{room}. "
            f"Received: {width} pieces, {length} steps"
        )

    def read(self, source_ids: np.ndarray, target_ids: np.ndarray) -> Iterator[Any]:
        """See `zoo.runtime.graphs.Graphs.read`."""
        graphs, source_ids = self.fit(source_ids, target_ids.shape[1])
        return graphs.read(source_ids, target_ids)

    def windows(self, hidden: np.ndarray, source_ids: np.ndarray) -> list[np.ndarray]:
        """See `zoo.runtime.graphs.Graphs.windows`."""
        graphs, source_ids = self.fit(source_ids, 1)
        batch, length, size = hidden.shape
        rows = hidden.reshape(-1, size)
        position = np.tile(np.arange(length, dtype="int32"), batch)
        return [
            x.reshape(batch, length, *x.shape[1:])
            for x in graphs.windows(rows, source_ids, position=position)
        ]


class BucketSearch(ArraySearch):
    """The search with the graphs of a model that fit the batch."""

    def __call__(
        self,
        model: Any,
        source_ids: np.ndarray,
        limits: np.ndarray | None = None,
        steps: int | None = None,
        *rest: Any,
        **options: Any,
    ) -> Any:
        """See `Search.__call__`."""
        if steps is None and limits is not None:
            steps = int(np.max(limits, initial=1))
        room = model.backbone.room
        if room and steps and limits is not None and steps > room:
            prefix, *others = rest or [None]
            if prefix is not None and (longest := trim(prefix).shape[1]) >= room:
                raise ValueError(
                    f"A prefix must leave room among the {room} steps of this export. "
                    f"Received: one of {longest} pieces"
                )
            rest = (None if prefix is None else prefix[:, :room], *others)
            limits, steps = np.minimum(limits, room), room
        graphs, source_ids = model.backbone.fit(np.asarray(source_ids), steps or 1)
        return super().__call__(graphs, source_ids, limits, steps, *rest, **options)


class LiteRTTranslator(Translator):
    """A translator by LiteRT, from `load`.

    It has the text methods of a `zoo.models.Translator`, `translate`, `score`, `align`
    and `perplexity`, with their arguments, defaults and results. A source is cut, with
    a warning, to the longest bucket. Where a state grows with the target (the
    Transformer's and the LSTMN's) no translation is longer than the last bucket's room,
    twice its source plus 10; longer prefixes and given translations are a ValueError.

    Args:
        backbone: the graphs.
        preprocessor: the preprocessor.
    """

    engine = Engine(BucketSearch, scores, alignments)
    backbone_cls = Buckets


_KINDS = (LiteRTTranslator, LanguageModel, Tagger, Classifier, Captioner)
