import math

import numpy as np
import pytest
from keras import ops

from tests.harness import by_hand
from zoo.analysis.evaluation import corpus_scores
from zoo.training.fit.validation import Validation, epoch_line


@pytest.fixture(scope="module")
def sets(sentences):
    sources, targets = sentences
    return {
        "first": (sources[:7], [[t] for t in targets[:7]]),
        "second": (sources[7:12], [[t, t[::-1]] for t in targets[7:12]]),
    }


@pytest.fixture(scope="module")
def validation(translator, sets):
    return Validation(translator, sets, samples=2)


@pytest.mark.once
def test_perplexity_is_that_of_the_labels(validation, translator, sets):
    logs = {}
    validation.on_epoch_end(0, logs)
    preprocessor = translator.preprocessor
    begin, step = by_hand(translator, width=40)
    total = count = 0
    for sources, references in sets.values():
        for source, (target, *_) in zip(sources, references, strict=True):
            (labels,) = preprocessor.encode_targets([target])
            memory, state = begin(*preprocessor.encode([source]))
            for read, label in zip([2, *labels], [*labels, 3], strict=True):
                logits, state, _ = step(read, state, memory)
                logits = ops.convert_to_numpy(logits)[0].astype("float64")
                total += np.log(np.exp(logits).sum()) - logits[label]
                count += 1
    assert logs["val_perplexity"] == pytest.approx(math.exp(total / count), rel=1e-3)


def test_bleu_is_that_of_greedy_translations(validation, translator, sets, capsys):
    """And no weight changes."""
    logs = {"loss": 1.0}
    before = [ops.convert_to_numpy(v) for v in translator.variables]
    validation.on_epoch_end(4, logs)
    shown = capsys.readouterr().err
    perplexity, bleu = logs["val_perplexity"], logs["val_bleu"]
    line = f"epoch 5  loss 1  perplexity {perplexity:.4g}  greedy BLEU {bleu:.4g}\n"
    assert line in shown
    scores = []
    for name, (sources, references) in sets.items():
        texts = translator.translate(sources, beam_size=1, length_penalty=0.0)
        bleu, chrf = (x["score"] for x in corpus_scores(texts, references).values())
        scores.append(bleu)
        assert logs[f"val_bleu_{name}"] == pytest.approx(bleu, abs=1e-3)
        assert logs[f"val_chrf_{name}"] == pytest.approx(chrf, abs=1e-3)
        assert f"  {sources[1]}  →  {texts[1]}\n" in shown
        assert f"  {sources[2]}  →" not in shown
    assert logs["val_bleu"] == pytest.approx(sum(scores) / 2, abs=1e-3)
    for old, new in zip(before, translator.variables, strict=True):
        np.testing.assert_array_equal(old, ops.convert_to_numpy(new))


def test_the_line_of_an_epoch():
    for logs, told in (
        ((2, 3, {"seconds": 60.0, "val_chrf": 3.0}), "epoch 3/3  BLEU 38.66"),
        ((0, None, {"loss": 0.5}), "epoch 1  loss 0.5  BLEU 38.66"),
    ):
        assert epoch_line(*logs, {"BLEU": 38.658}) == told
