"""docs/from_tfa.md: its program gives what the old one gave; its table is complete."""

import importlib
import re
from operator import attrgetter
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.harness import ROOT, close

PAGE = Path(ROOT, "docs", "from_tfa.md").read_text("utf-8")
RECORDED = Path(ROOT, "tests", "presets", "tfa", "luong.npz")
# `tensorflow_addons.seq2seq.__init__` of release 0.21.
NAMES = """
    AttentionMechanism AttentionWrapper AttentionWrapperState BahdanauAttention
    BahdanauMonotonicAttention LuongAttention LuongMonotonicAttention hardmax
    monotonic_attention safe_cumprod BasicDecoder BasicDecoderOutput BeamSearchDecoder
    BeamSearchDecoderOutput BeamSearchDecoderState FinalBeamSearchDecoderOutput
    gather_tree gather_tree_from_array tile_batch BaseDecoder Decoder dynamic_decode
    SequenceLoss sequence_loss CustomSampler GreedyEmbeddingSampler InferenceSampler
    SampleEmbeddingSampler Sampler ScheduledEmbeddingTrainingSampler
    ScheduledOutputTrainingSampler TrainingSampler
""".split()


@pytest.mark.once
def test_the_program_runs_and_loads_what_the_old_one_learned(monkeypatch):
    pytest.importorskip("tensorflow", reason="which reads the checkpoint")
    monkeypatch.chdir(ROOT)
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "docs/from_tfa.md", "exec"), scope)
    with np.load(RECORDED) as file:
        old = {k: file[k] for k in file}
    program, source = scope["program"], old["source"]
    logits, alignments = program((source, old["target"][:, :-1]))
    close(logits, old["logits"])
    close(alignments, old["alignments"], atol=1e-5, rtol=0)
    limits = np.full(5, 11)
    ids, scores = scope["beam"](program, source, limits)
    same_words(np.asarray(ids)[:, 0], old["beam"][:, 0])
    close(scores[:, 0], old["scores"][:, 0], atol=1e-4)


def same_words(new, old):
    """tfa repeats the end token where zoo has the padding."""
    assert len(new) == len(old)
    for one, other in zip(new, old, strict=True):
        words = one[one != 0]
        assert words[-1] == 2
        padded = np.append(words, np.full(len(other), 2))[: len(other)]
        np.testing.assert_array_equal(padded, other)


MODULES = [
    importlib.import_module(f"zoo.{name}")
    for name in ("decoding", "layers", "models", "presets", "training")
]


def classes(text):
    """The names of classes in the code of a text, without modules and arguments."""
    codes = re.findall(r"`([^`]+)`", text)
    return [x for code in codes for x in re.findall(r"\b[A-Z]\w+", code)]


def in_zoo(name):
    return any(hasattr(module, name) for module in MODULES)


@pytest.mark.backend_free
def test_the_table_has_every_class_and_a_counterpart():
    table = PAGE.split("## Class by class")[1].split("## ")[0].split("\n\n")[1]
    rows = [row.split("|")[1:3] for row in table.splitlines()[2:]]
    counterparts = {
        name: right for left, right in rows for name in re.findall(r"`(\w+)", left)
    }
    assert not set(NAMES) - set(counterparts)
    for name in NAMES:
        right = counterparts[name]
        said = re.search("missing|not needed|internal", right)
        assert said or any(map(in_zoo, classes(right))), (name, right)


@pytest.mark.backend_free
def test_what_the_page_names_exists():
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    paths = set(re.findall(r"`zoo((?:\.\w+)+)", prose))
    assert len(paths) > 3
    for path in paths:
        module, *names = path[1:].split(".")
        attrgetter(".".join(names))(importlib.import_module(f"zoo.{module}"))
    others = {"False", "True", "Checkpoint", "InvalidArgumentError", "ImportError"}
    for name in set(classes(prose)) - set(NAMES) - others:
        assert in_zoo(name) or hasattr(keras.layers, name), name
