"""The text that every system of `tools.bench.train` and `tools.bench.decode` reads."""

import collections

SPECIALS, VOCABULARY = 4, 6000  # pad, unknown, start, end among the words of a side
SOURCES = 1000  # to translate


def choose_words(lines, size):
    """The `size` most frequent words, those of equal frequency by the alphabet."""
    counts = collections.Counter(word for line in lines for word in line.split())
    return sorted(counts, key=lambda word: (-counts[word], word))[:size]


def write_data(folder):
    """Writes the text and the vocabularies. Returns what is worth printing."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from zoo import data

    folder.mkdir(parents=True, exist_ok=True)
    tokenize = Tokenizer13a()
    facts = {}
    train = data.load("multi30k", "en", "de", "train")
    valid = data.load("multi30k", "en", "de", "valid")
    pairs = {
        "train": (train.sources, train.targets),
        "valid": (valid.sources[:64], valid.targets[:64]),
    }
    for split, sides in pairs.items():
        sides = [[tokenize(text) for text in side] for side in sides]
        kept = [pair for pair in zip(*sides, strict=True) if all(pair)]
        sides = dict(zip(("source", "target"), zip(*kept, strict=True), strict=True))
        for side, lines in sides.items():
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{split}.{side}").write_text(text, encoding="utf-8")
            if split == "train":
                words = choose_words(lines, VOCABULARY - SPECIALS)
                text = "".join(f"{word}\n" for word in words)
                (folder / f"vocabulary.{side}").write_text(text, encoding="utf-8")
                count = sum(len(line.split()) for line in lines)
                # The end token counts on the side that is written.
                facts[side] = count / len(lines) + (side == "target")
        if split == "train":
            facts["pairs"] = len(kept)
    return facts


def write_test(folder):
    """Writes the sentences to translate, and as many lines for peers that want a
    target."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from zoo import data

    pairs = data.load("multi30k", "en", "de", "test_2016_flickr")
    tokenize = Tokenizer13a()
    text = "".join(f"{tokenize(line)}\n" for line in pairs.sources[:SOURCES])
    for side in ("source", "target"):
        (folder / f"test.{side}").write_text(text, encoding="utf-8")
