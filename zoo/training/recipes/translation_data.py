"""The sentence pairs of a translator's run: named corpora, or a user's own text."""

from functools import partial
from typing import Any

from zoo import data
from zoo.data.generated.toy_text import reversal_pairs
from zoo.data.store import tokenise
from zoo.training.card_metadata import of_corpora
from zoo.training.config import ConfigurationError

VALIDATION_SENTENCES = 500  # of each set; they are decoded after each epoch
UNLIMITED = 10**9  # pieces of a text, which is then not cut
VOCABULARY_SENTENCES = 500_000  # of a user's text, from which the vocabulary is made
Ids = Any  # a list of lists of int, or a `zoo.data.store.RaggedIds`
Sets = dict[str, tuple[list[str], list[list[str]]]]


class NamedCorpora:
    """The corpora that a scale names, or sentences to reverse if it names none.

    Attributes:
        languages: codes of source and target.
        validation, tests: name of each set to its `(sources, references)`. The name of
            a part in one of several languages ends in its code, as "dates de".
        card: what a preset's card says of the data.
    """

    def __init__(self, run: Any):
        scale, known = run.settings, data.list_corpora()
        self.languages = scale.source, scale.target
        self.validation: Sets = {}
        self.tests: Sets = {}
        self.pairs: list[tuple[list[str], list[str], int]] = []
        for name, _ in scale.corpora:
            if name not in known:
                raise ConfigurationError(
                    f"corpora: known are {', '.join(known)}. Received: {name!r}"
                )
        for name, repeats in scale.corpora:
            self._load(name, repeats, scale)
        if not scale.corpora:
            self.pairs = [(*reversal_pairs(scale.pairs, run.seed), 1)]
            for offset, sets in ((1, self.validation), (2, self.tests)):
                sources, targets = reversal_pairs(200, run.seed + offset)
                sets["generated"] = (sources, [[t] for t in targets])
        corpora = [known[name] for name, _ in scale.corpora]
        self.card = of_corpora(*corpora) if corpora else {}

    def _load(self, name, repeats, scale):
        train, valid, test = (
            data.load(name, *self.languages, split, allow_newer=scale.allow_newer)
            for split in ("train", "valid", "test")
        )
        self.pairs.append((train.sources, train.targets, repeats))
        self.validation[name] = _as_set(valid, VALIDATION_SENTENCES)
        self.tests[name] = _as_set(test)
        # What reads several languages is scored on each of them, too.
        several = scale.source == "mul"
        for language in data.list_corpora()[name].parts if several else ():
            test = data.load(name, language, scale.target, "test")
            self.tests[f"{name} {language}"] = _as_set(test)

    def texts(self) -> list[str]:
        """Returns the sentences of both sides, for the vocabulary."""
        return [t for sources, targets, _ in self.pairs for t in sources + targets]

    def vocabulary_options(self, texts: list[str]) -> dict[str, Any]:
        """Returns further arguments of `train_tokenizer` for its texts."""
        return {}

    def encode(self, preprocessor: Any, longest: int) -> tuple[Ids, Ids, int]:
        """Returns the ids of sources and targets, and how many pairs were too long."""
        sources, targets, dropped = [], [], 0
        for source, target, repeats in self.pairs:
            rows = preprocessor.encode(source), preprocessor.encode_targets(target)
            pairs = list(zip(*rows, strict=True))
            kept = [(s, t) for s, t in pairs if _fits(len(s), len(t), longest)]
            dropped += len(pairs) - len(kept)
            sources += [s for s, _ in kept] * repeats
            targets += [t for _, t in kept] * repeats
        return sources, targets, dropped


class UserPairs:
    """A user's own sentence pairs; see `NamedCorpora`, whose attributes it has.

    Without a test set, the pairs that choose the best epoch are the test, too.
    """

    card: dict[str, Any] = {}  # the run adds what it says of own text

    def __init__(self, run: Any):
        self.text = run.text
        self.languages = self.text.languages
        self.validation = {"valid": _as_set(self.text.valid, VALIDATION_SENTENCES)}
        name = "valid" if self.text.test is None else "test"
        self.tests = {name: _as_set(getattr(self.text, name))}

    def texts(self) -> list[str]:
        """See `NamedCorpora.texts`; a sample of much text."""
        return self.text.sample(VOCABULARY_SENTENCES)

    def vocabulary_options(self, texts: list[str]) -> dict[str, Any]:
        """See `NamedCorpora.vocabulary_options`.

        A vocabulary may come out smaller for little text. It has the characters that
        are not in the sample, too.
        """
        missing = set(self.text.characters).difference(*texts)
        return {"hard_vocab_limit": False, "required_chars": "".join(sorted(missing))}

    def encode(self, preprocessor: Any, longest: int) -> tuple[Ids, Ids, int]:
        """See `NamedCorpora.encode`."""
        train = self.text.train
        sources, targets = (
            tokenise(texts, partial(encode, length=UNLIMITED))
            for texts, encode in (
                (train.sources, preprocessor.encode),
                (train.targets, preprocessor.encode_targets),
            )
        )
        kept = _fits(sources.lengths, targets.lengths, longest)
        return sources[kept], targets[kept], int((~kept).sum())


def _as_set(pairs, count=None):
    """The first `count` sources and their references; all of them for None."""
    return pairs.sources[:count], pairs.references[:count]


def _fits(source, target, longest):
    """Whether a pair of these lengths is trained on; of arrays, which pairs are."""
    return (source > 0) & (source <= longest) & (target > 0) & (target < longest)
