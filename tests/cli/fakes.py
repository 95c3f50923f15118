"""Stand-ins for presets, models and input in the tests of the commands."""

import io
import sys
import types
from pathlib import Path

from zoo import presets
from zoo.cli import main
from zoo.presets import registry


class FakeTask:
    """Translates by upper-casing; remembers how it was called."""

    task_name = "translate"

    def __init__(self):
        self.calls = []

    def translate(self, texts, n_best=1, return_details=False, **options):
        assert texts and all(text.strip() for text in texts)
        self.calls.append({"texts": texts, "n_best": n_best, **options})
        if not return_details:
            return [text.upper() for text in texts]
        records = [[self.record(text, n) for n in range(n_best)] for text in texts]
        return records if n_best > 1 else [found[0] for found in records]

    def record(self, text, rank):
        source = text.split()
        target = text.upper().split()
        return types.SimpleNamespace(
            text=" ".join(target) + "!" * rank,
            score=-0.5 - rank,
            tokens=target,
            source_tokens=source,
            alignment=[[float(i == j) for i in source] for j in source],
        )


def load(monkeypatch, make):
    """Every name is a preset's, which has no card and loads as what `make` gives."""
    monkeypatch.setattr(presets, "find", lambda name: Path(name))
    monkeypatch.setattr(registry, "load", lambda name: make())


def give_stdin(monkeypatch, content):
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
    )


def translate(*arguments):
    return main(["translate", "fake", *map(str, arguments)])


def failing(error):
    """A function that raises, whatever it is given."""

    def fail(*_, **__):
        raise error

    return fail
