"""The sentence pairs of a translator's run: named corpora, or a user's own text."""

import shlex
from typing import Any

from zoo import data
from zoo.data.reversal import reversal_pairs
from zoo.data.store import tokenise
from zoo.presets.card import UNSTATED

VALIDATION_SENTENCES = 500  # of each set; they are decoded after each epoch
VOCABULARY_SENTENCES = 500_000  # of a user's text, from which the vocabulary is made
Ids = Any  # a list of lists of int, or a `zoo.data.RaggedIds`
Sets = dict[str, tuple[list[str], list[list[str]]]]


class NamedCorpora:
    """The corpora that a scale names, or sentences to reverse if it names none.

    Args:
        run: the `Run`, whose choices are a `Scale`.

    Attributes:
        languages: codes of source and target.
        validation, tests: name of each set to its `(sources, references)`.
        identity: dict of what a resumed run must share.
    """

    identity: dict[str, str] = {}

    def __init__(self, run: Any):
        self.scale = scale = run.settings
        self.languages = scale.source, scale.target
        self.validation: Sets = {}
        self.tests: Sets = {}
        if not scale.corpora:
            self.pairs = [(*reversal_pairs(scale.pairs, run.seed), 1)]
            for offset, sets in ((1, self.validation), (2, self.tests)):
                sources, targets = reversal_pairs(200, run.seed + offset)
                sets["generated"] = (sources, [[t] for t in targets])
            return
        self.pairs = []
        for name, repeats in scale.corpora:
            part, valid, test = (
                data.load(name, *self.languages, split, allow_newer=scale.allow_newer)
                for split in ("train", "valid", "test")
            )
            self.pairs.append((part.sources, part.targets, repeats))
            count = VALIDATION_SENTENCES
            self.validation[name] = (valid.sources[:count], valid.references[:count])
            self.tests[name] = (test.sources, test.references)

    def texts(self) -> list[str]:
        """Returns the sentences of both sides, for the vocabulary."""
        return [t for sources, targets, _ in self.pairs for t in sources + targets]

    def vocabulary_options(self, size: int) -> dict[str, Any]:
        """Returns further arguments of `train_tokenizer` for a vocabulary's size."""
        return {}

    def encode(self, preprocessor: Any, longest: int) -> tuple[Ids, Ids, int]:
        """Returns the ids of sources and targets, and how many pairs were left out.

        Args:
            preprocessor: of the translator.
            longest: pieces of a sentence; longer pairs are left out.
        """
        sources, targets, dropped = [], [], 0
        for source, target, repeats in self.pairs:
            source_ids = preprocessor.encode(source)
            target_ids = preprocessor.encode_targets(target)
            kept = [
                (s, t)
                for s, t in zip(source_ids, target_ids, strict=True)
                if _fits(len(s), len(t), longest)
            ]
            dropped += len(source_ids) - len(kept)
            for _ in range(repeats):
                sources += [s for s, _ in kept]
                targets += [t for _, t in kept]
        return sources, targets, dropped

    def card(self) -> dict[str, Any]:
        """Returns what a preset's card says of the data."""
        corpora = data.list_corpora()
        named = [{"name": c, "terms": corpora[c].terms} for c, _ in self.scale.corpora]
        return {"data": named}

    def tested(self, name: str, preset: str) -> tuple[str, str, str]:
        """Returns a test set's data and split, and the command that scores a preset."""
        split = data.list_corpora()[name].test_split
        return name, split, f"zoo evaluate {preset} --data {name} --split {split}"


class OwnPairs:
    """A user's own sentence pairs; see `NamedCorpora`, whose attributes it has.

    Without a test set, the held-out pairs that choose the best epoch are the test.

    Args:
        run: the `Run`, whose `text` is a `zoo.data.OwnPairs`.
    """

    def __init__(self, run: Any):
        self.run, self.text = run, run.text
        self.languages = self.text.languages
        self.identity = {"text": self.text.digest}
        valid, count = self.text.valid, VALIDATION_SENTENCES
        self.validation: Sets = {
            "valid": (valid.sources[:count], valid.references[:count])
        }
        self.tests: Sets = self.validation
        if test := self.text.test:
            self.tests = {"test": (test.sources, test.references)}

    def texts(self) -> list[str]:
        """See `NamedCorpora.texts`; a sample of much text."""
        return self.text.sample(VOCABULARY_SENTENCES)

    def vocabulary_options(self, size: int) -> dict[str, Any]:
        """See `NamedCorpora.vocabulary_options`.

        A vocabulary may come out smaller for little text, and where its characters
        would fill half of it, the rarest of them are unknown.
        """
        options: dict[str, Any] = {"hard_vocab_limit": False}
        if 2 * self.text.characters > size:
            options["character_coverage"] = 0.9995
        return options

    def encode(self, preprocessor: Any, longest: int) -> tuple[Ids, Ids, int]:
        """See `NamedCorpora.encode`; the ids are on disk, in the run's folder."""
        return tokenise(...)

    def card(self) -> dict[str, Any]:
        """See `NamedCorpora.card`."""
        names = ", ".join(self.text.names["train"])
        return {
            "data": [{"name": names, "terms": UNSTATED}],
            "license": UNSTATED,
            "intended_use": f"Text like that of its training: {names}.",
            "weaknesses": ["Anything unlike the text of its training."],
        }

    def tested(self, name: str, preset: str) -> tuple[str, str, str]:
        """See `NamedCorpora.tested`."""
        files = self.text.names.get(name) or ["SOURCES", "TARGETS"]
        return (
            ", ".join(files),
            name,
            shlex.join(["zoo", "evaluate", preset, "--test", *files]),
        )


def _fits(source, target, longest):
    return 0 < source <= longest and 0 < target < longest
