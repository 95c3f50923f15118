"""The text that every system of `tools.bench.train` and `tools.bench.decode` reads."""

import collections

SPECIALS, VOCABULARY = 4, 6000  # pad, unknown, start, end among the words of a side
SOURCES = 1000  # to translate


def choose_words(lines, size):
    """The `size` most frequent words, those of equal frequency by the alphabet."""
    counts = collections.Counter(word for line in lines for word in line.split())
    return sorted(counts, key=lambda word: (-counts[word], word))[:size]


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_data(folder):
    """Writes the training text in words (13a), the first lines again as a validation
    text that peers ask for, and the vocabularies. Returns what is worth printing."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from zoo import data

    folder.mkdir(parents=True, exist_ok=True)
    tokenize, pairs = Tokenizer13a(), data.load("multi30k", "en", "de", "train")
    sides = [list(map(tokenize, side)) for side in (pairs.sources, pairs.targets)]
    kept = [pair for pair in zip(*sides, strict=True) if all(pair)]
    facts = {"pairs": len(kept)}
    for side, lines in zip(("source", "target"), zip(*kept, strict=True), strict=True):
        write_lines(folder / f"train.{side}", lines)
        write_lines(folder / f"valid.{side}", lines[:64])
        words = choose_words(lines, VOCABULARY - SPECIALS)
        write_lines(folder / f"vocabulary.{side}", words)
        count = sum(len(line.split()) for line in lines)
        # The end token counts on the side that is written.
        facts[side] = count / len(lines) + (side == "target")
    return facts


def write_test(folder):
    """Writes the sentences to translate: as they are, in words (13a), and as many lines
    for peers that want a target."""
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    from zoo import data

    pairs = data.load("multi30k", "en", "de", "test_2016_flickr")
    lines = list(pairs.sources[:SOURCES])
    write_lines(folder / "test.text", lines)
    for side in ("source", "target"):
        write_lines(folder / f"test.{side}", map(Tokenizer13a(), lines))
