"""Compares each signature of a served translator or captioner with its task."""

import numpy as np

from zoo.serving.protocol import DEFAULT, SIGNATURES


def check_writer(task, ask, given, sources, targets, beam_size, n_best, tolerances):
    """The signatures give what the task does.

    Args:
        task: the task.
        ask: function `(signature, *inputs) -> arrays` of str and floats by name.
        given: the sources as the server is sent them.
        sources: the sources as the task takes them.
        targets: texts to score, of the first sources.
        beam_size, n_best: those of the signatures.
        tolerances: of scores, of weights and of the targets' scores.
    """
    (default, (_, outputs)), *_ = SIGNATURES[task.task_name].items()
    write, written = getattr(task, default), next(iter(outputs))
    options = {"beam_size": beam_size, "n_best": n_best, "return_details": True}
    several = write(sources, **options)
    # Of nothing to translate there is one translation.
    several = [
        rows if getattr(rows[0], "source_tokens", "an image") else rows[:1]
        for rows in several
    ]
    texts = [rows[0].text for rows in several]
    assert len(set(texts)) > 1
    of_scores, of_weights, of_targets = tolerances
    for signature in (DEFAULT, default, "align"):
        best = ask(signature, given)
        assert best[written].tolist() == texts
        scores = [rows[0].score for rows in several]
        np.testing.assert_allclose(best["score"], scores, **of_scores)
    assert ask("greedy", given)[written].tolist() == write(sources, beam_size=1)
    found = ask(f"{default}_n_best", given)
    columns = found[f"{written}s"], found["scores"], several
    for texts, scores, rows in zip(*columns, strict=True):
        missing = n_best - len(rows)
        assert texts.tolist() == [row.text for row in rows] + [""] * missing
        wanted = [row.score for row in rows] + [-1e9] * missing
        np.testing.assert_allclose(scores, wanted, **of_scores)
    found = ask("align", given)
    for place, (record, *_) in enumerate(several):
        weights = found["alignment"][place]
        wanted = np.zeros_like(weights)
        wanted[tuple(map(slice, record.alignment.shape))] = record.alignment
        np.testing.assert_allclose(weights, wanted, **of_weights)
        for name in {"tokens", "source_tokens"} & set(found):
            tokens, wanted = found[name][place].tolist(), getattr(record, name)
            assert tokens == [*wanted, *[""] * (len(tokens) - len(wanted))]
    count = len(targets)
    found = ask("score", given[:count], targets)["log_probability"]
    wanted = task.score(sources[:count], targets)
    np.testing.assert_allclose(found, wanted, **of_targets)
