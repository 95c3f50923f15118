"""Language models, taggers and classifiers of exported graphs."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from zoo.checks import above_zero, positive
from zoo.decoding.labels import Classifying, Tagging, softmax
from zoo.decoding.score import Scoring
from zoo.ids import END_ID
from zoo.serving.runtime.onnx_sessions import Arrays, Graph, StepGraphs
from zoo.strings import check_texts
from zoo.text.vocabulary import WORDS_FILE, PromptText, WordText, WordVocabulary
from zoo.text.word_splitting import TAGGER_FILE, TaggingText


# === Text ===
class Words(WordVocabulary):
    """A `zoo.text.WordTokenizer`.

    Args:
        content: its file's content.
        lowercase: whether a word that is not in the vocabulary is read in lower case.
    """

    def __init__(self, content: bytes, lowercase: bool) -> None:
        self.lowercase = lowercase
        self.read_vocabulary(content)


@dataclasses.dataclass
class WordsPreprocessor(WordText):
    """A `zoo.text.SentimentPreprocessor` for classification alone."""

    tokenizer: Words


@dataclasses.dataclass
class PromptPreprocessor(PromptText):
    """A `zoo.text.WordPreprocessor` for writing and scoring; see the base class."""

    tokenizer: Words
    sequence_length: int


class TaggingPreprocessor(TaggingText):
    """A `zoo.text.TaggerPreprocessor` for tagging alone.

    Args:
        content: its file's content.
        word_length: maximum characters read of a word.
    """

    def __init__(self, content: bytes, word_length: int) -> None:
        self.word_length = word_length
        self.read_vocabularies(content)


# === Language models ===
class LanguageModelGraphs(StepGraphs):
    """The graphs `start`, `step` and `read` of a language model.

    Args:
        graphs: the graphs by name.
        cell: the kind of the recurrent cell.

    Raises:
        KeyError: if one is missing.
    """

    def __init__(self, graphs: dict[str, Graph], cell: str) -> None:
        super().__init__(graphs, "read")
        self.cell = cell

    def read(
        self, token_ids: np.ndarray, labels: np.ndarray, states: Arrays | None
    ) -> tuple[np.ndarray, Arrays]:
        """See `zoo.decoding.score.Scoring.segment`."""
        if states is None:
            states = self._first_states(len(token_ids))
        outputs = self.graphs["read"](
            {"token_ids": token_ids, "labels": labels, **states}
        )
        return outputs["sums"], {name: outputs[f"new_{name}"] for name in states}

    def _first_states(self, rows):
        return {
            tensor["name"]: np.zeros((rows, *tensor["shape"][1:]), tensor["dtype"])
            for tensor in self.graphs["read"].described["inputs"]
            if tensor["name"] not in ("token_ids", "labels")
        }


class LanguageModel(Scoring):
    """A language model without Keras, from `load`.

    `score` and `perplexity` are those of a `zoo.models.RecurrentCausalLM`, and so is
    `generate`, but for the draws: those of Keras depend on its backend.

    Args:
        backbone: the graphs.
        preprocessor: the preprocessor.
    """

    task_name = "generate"

    def __init__(
        self, backbone: LanguageModelGraphs, preprocessor: PromptPreprocessor
    ) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "LanguageModel":
        """Makes it of a version's graphs, files and manifest."""
        settings = manifest["settings"]
        words = Words(files[WORDS_FILE], settings["lowercase"])
        preprocessor = PromptPreprocessor(words, settings["sequence_length"])
        return cls(LanguageModelGraphs(graphs, settings["cell"]), preprocessor)

    def segment(
        self, inputs: np.ndarray, labels: np.ndarray, states: Any = None
    ) -> tuple[np.ndarray, Any]:
        """See `zoo.decoding.score.Scoring.segment`."""
        return self.backbone.read(inputs, labels, states)

    def generate(
        self,
        texts: str | list[str],
        max_length: int | None = None,
        batch_size: int = 64,
        top_k: int | None = None,
        top_p: float | None = None,
        temperature: float | None = None,
        seed: Any = None,
    ) -> Any:
        """Continues texts, each with the most probable word at each step, or a draw.

        With `top_k`, `top_p` or `temperature` words are drawn from their probabilities,
        as by KerasHub's `TopKSampler`, `TopPSampler` and `RandomSampler`.

        Args:
            texts: a str, or a list of str. "" starts a text. One that leaves no room
                within `max_length` is cut, with a warning.
            max_length: maximum words of a result plus one. Default: the preset's.
            batch_size: texts continued together. It never changes a result.
            top_k: draw from so many most probable words.
            top_p: draw from the fewest most probable words whose probabilities sum to
                more than this. With `top_k` too, of those.
            temperature: divisor of the logits before. Default 1.
            seed: of the draws, an int, or a `numpy.random.Generator`, which goes on
                from call to call. Default: other draws each time.

        Returns:
            The text with its continuation: a str for a str, a list for a list.

        Raises:
            TypeError: for a text that is not a str; the message gives its position.
            ValueError: for a `max_length` below 2, a batch size or `top_k` that is not
                a positive integer, a `top_p` outside (0, 1], or a temperature that is
                not above 0.
        """
        positive("batch_size", batch_size)
        choose = _chooser(top_k, top_p, temperature)
        prompts = self.preprocessor.prompts(check_texts(texts), max_length)
        count = len(prompts["token_ids"])
        # A stream of numbers for each text, whatever the others of its batch are.
        streams = np.random.default_rng(seed).spawn(count)
        written = []
        for first in range(0, count, batch_size):
            part = slice(first, first + batch_size)
            ids, mask = (prompts[x][part] for x in ("token_ids", "padding_mask"))
            rows = self._continue(ids, mask, choose, streams[part])
            written += [self.preprocessor.written(*row) for row in rows]
        return written[0] if isinstance(texts, str) else written

    def _continue(self, ids, given, choose, streams):
        """Fills `(B, T)` ids up where they are not given; yields rows and their masks.

        A row ends with its first end token that is not given.
        """
        (rows, length), ids = ids.shape, ids.copy()
        state = self.backbone.begin(length, {"batch": np.array(rows, "int32")})
        for place in range(1, length):
            outputs, state = self.backbone.advance(ids[:, place - 1], state, {})
            words = choose(outputs["logits"], streams)
            ids[:, place] = np.where(given[:, place], ids[:, place], words)
            ended = ~given[:, : place + 1] & (ids[:, : place + 1] == END_ID)
            if ended.any(axis=1).all():
                break
        ended = np.cumsum(~given & (ids == END_ID), axis=1) > 0
        return zip(ids.tolist(), (~ended).tolist(), strict=True)


def _chooser(top_k, top_p, temperature):
    """Returns a function of logits `(B, V)` and B generators to the words to write."""
    if top_k is not None:
        positive("top_k", top_k)
    if top_p is not None and above_zero("top_p", top_p) > 1:
        raise ValueError(f"`top_p` must be in (0, 1]. Received: top_p={top_p!r}")
    if temperature is not None:
        above_zero("temperature", temperature)
    if top_k is top_p is temperature is None:
        return lambda logits, streams: logits.argmax(-1)

    def choose(logits, streams):
        logits = logits.astype("float64") / (temperature or 1.0)
        order = np.argsort(-logits, axis=-1, kind="stable")[:, :top_k]
        chances = np.take_along_axis(softmax(logits), order, axis=-1)
        before = np.cumsum(chances, axis=-1) - chances  # of more probable words
        chances *= before <= (1 if top_p is None else top_p)
        sums = np.cumsum(chances, axis=-1)
        drawn = [[stream.random()] for stream in streams] * sums[:, -1:]
        places = (sums <= drawn).sum(axis=-1, keepdims=True)
        last = (chances > 0).sum(axis=-1, keepdims=True) - 1  # if rounding went over
        return np.take_along_axis(order, np.minimum(places, last), axis=-1)[:, 0]

    return choose


# === Labels ===
class LabelGraph(NamedTuple):
    """The graph of a tagger or classifier, and what it chooses from.

    Attributes:
        graph: the graph; it gives `logits`.
        classes: the names of a classifier's classes.
    """

    graph: Graph
    classes: list[str]


class Tagger(Tagging):
    """A tagger without Keras, from `load`.

    `tag` is that of a `zoo.models.BiRNNTagger`.

    Args:
        backbone: the graph.
        preprocessor: the preprocessor.
    """

    task_name = "tag"

    def __init__(self, backbone: LabelGraph, preprocessor: TaggingPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "Tagger":
        """Makes it of a version's graphs, files and manifest."""
        preprocessor = TaggingPreprocessor(files[TAGGER_FILE], **manifest["settings"])
        return cls(LabelGraph(graphs["tag"], []), preprocessor)

    def logits(self, inputs: Arrays) -> np.ndarray:
        """See `zoo.decoding.labels.Labelling.logits`."""
        return self.backbone.graph(inputs)["logits"]


class Classifier(Classifying):
    """A classifier without Keras, from `load`.

    `classify` is that of a `zoo.models.SentimentClassifier`.

    Args:
        backbone: the graph and the classes.
        preprocessor: the preprocessor.
    """

    task_name = "classify"

    def __init__(self, backbone: LabelGraph, preprocessor: WordsPreprocessor) -> None:
        self.backbone, self.preprocessor = backbone, preprocessor

    @classmethod
    def of(cls, graphs: Any, files: Any, manifest: Any) -> "Classifier":
        """Makes it of a version's graphs, files and manifest."""
        settings = manifest["settings"]
        words = Words(files[WORDS_FILE], settings["lowercase"])
        graph = LabelGraph(graphs["classify"], settings["classes"])
        return cls(graph, WordsPreprocessor(words))

    def logits(self, inputs: Arrays) -> np.ndarray:
        """See `zoo.decoding.labels.Labelling.logits`."""
        return self.backbone.graph(inputs)["logits"]
