"""docs/from_tfa.md: its program runs and gives what the old one gave; its table names
every class of tfa.seq2seq, and what zoo has."""

import re
from pathlib import Path

import numpy as np
import pytest

import zoo
from tests.harness import ROOT, close

PAGE = Path(ROOT, "docs", "from_tfa.md").read_text("utf-8")
RECORDED = Path(ROOT, "tests", "presets", "tfa", "recorded.npz")
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


def test_the_program_runs_and_loads_what_the_old_one_learned(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    scope = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 2
    exec(compile(blocks[0], "docs/from_tfa.md", "exec"), scope)
    losses = scope["history"].history["loss"]
    assert losses[-1] < losses[0] - 0.2
    assert str(losses) in capsys.readouterr().out
    exec(compile(blocks[1], "docs/from_tfa.md", "exec"), scope)

    with np.load(RECORDED) as file:
        old = {
            k.removeprefix("luong/"): file[k] for k in file if k.startswith("luong/")
        }
    program, source, limits = scope["program"], old["source"], scope["limits"]
    logits, alignments = program.read(source, old["target"][:, :-1])
    close(logits, old["logits"])
    close(alignments, old["alignments"], atol=1e-5, rtol=0)
    greedy, _ = scope["greedy"](program, source, limits)
    same_words(np.asarray(greedy)[:, 0], old["greedy"])
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


@pytest.mark.backend_free
def test_the_table_has_every_class():
    table = PAGE.split("## Class by class")[1].split("## ")[0]
    first = re.findall(r"^\| ([^|]*) \|", table, re.MULTILINE)
    named = {name for cell in first for name in re.findall(r"`(\w+)", cell)}
    assert not set(NAMES) - named
    for row in re.findall(r"^\| [`…].*", table, re.MULTILINE)[1:]:
        counterpart = row.split("|")[2]
        assert len(counterpart.strip()) > 10, row


@pytest.mark.backend_free
def test_what_the_table_names_exists():
    import importlib

    for module, name in re.findall(r"`zoo\.(\w+)\.(\w+)", PAGE):
        assert hasattr(importlib.import_module(f"zoo.{module}"), name), name
    for name in re.findall(r"`(\w*(?:Attention|Decoder|Cell))\b", PAGE):
        assert hasattr(zoo.layers, name) or name in NAMES or name in ("LSTMCell",), name
