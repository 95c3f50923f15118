"""Small preset folders: one that only looks like a real one, and a working one."""

import json

from zoo.presets.pages import write_card

FACTS = {
    "name": "tiny",
    "title": "Tiny translator, English to German",
    "description": "Made by a test.",
    "equations": "Equation 1.",
    "intended_use": "Tests.",
    "weaknesses": ["Knows no words.", "Has no weights."],
    "license": "apache-2.0",
    "paper": {
        "title": "On Tiny Translators",
        "authors": "Ada Lovelace, Alan Turing",
        "year": 2015,
        "url": "https://example.org/tiny",
    },
    "architecture": "zoo.models.LuongTranslator",
    "task": "translate",
    "languages": ["en", "de"],
    "data": [{"name": "multi30k", "terms": "research use"}],
    "sizes": {"parameters": 1234567, "vocabulary": 20},
    "recipe": "zoo train tiny --scale tiny",
    "configuration": {"model": {"hidden_dim": 8}, "epochs": 2},
    "seed": 7,
    "commit": "0123abc",
    "date": "2026-11-21",
    "machine": "a laptop",
    "training_time": "3 s",
    "scores": [
        {
            "data": "multi30k",
            "split": "test_2016_flickr",
            "metric": "BLEU",
            "value": 12.345,
            "signature": "nrefs:1|case:mixed|tok:13a",
            "command": "zoo evaluate tiny --data multi30k --split test_2016_flickr",
        }
    ],
    "examples": [
        {"source": "A dog | runs", "reference": "Ein Hund", "output": "<unk>"}
    ],
    "speed": {
        "value": 51.7,
        "unit": "sentences/s",
        "machine": "2 CPU cores",
        "command": "python -m tools.presets.measure tiny",
    },
}


def make_preset(folder, **facts):
    """Writes a folder with KerasHub's file names, and its card."""
    (folder / "assets" / "tokenizer").mkdir(parents=True)
    for name in ("config.json", "task.json"):
        registered_name = "zoo>Luong" + "Translator" * (name == "task.json")
        content = {"registered_name": registered_name, "config": {}}
        (folder / name).write_text(json.dumps(content))
    (folder / "model.weights.h5").write_bytes(bytes(range(256)) * 8)
    (folder / "assets" / "tokenizer" / "vocabulary.spm").write_bytes(b"pieces")
    return write_card(folder, {**FACTS, **facts})


WORDS = "a dog cat runs sleeps ein hund die katze rennt".split()


def opinionated(texts, vocabulary_size, seed=5, source_length=128, **options):
    """An untrained model whose weights are large enough for it to have opinions."""
    import keras

    from zoo.models import Luong, LuongPreprocessor, LuongTranslator
    from zoo.text import Tokenizer, train_tokenizer

    keras.utils.set_random_seed(seed)
    sizes = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6}
    backbone = Luong(vocabulary_size, **sizes, initializer_range=1.0, **options)
    tokenizer = Tokenizer(proto=train_tokenizer(texts, vocabulary_size))
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer, source_length))


def save_translator(folder, seed=5, vocabulary_size=26):
    """Saves an `opinionated` model. Those of one vocabulary size have one tokenizer."""
    model = opinionated(WORDS, vocabulary_size, seed, source_length=40)
    model.save_to_preset(str(folder))
    return folder
