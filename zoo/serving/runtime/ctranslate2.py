"""Runs the folders of `zoo export --format ctranslate2`, without Keras.

It needs ctranslate2, sentencepiece, regex, lazy-loader and NumPy.
"""

import json
from typing import Any

import numpy as np

from zoo.checks import need_packages
from zoo.decoding.beam_state import LOW, length_norm
from zoo.decoding.search import Search
from zoo.decoding.translating import Translating
from zoo.ids import END_ID
from zoo.serving.export.manifest import TOKENIZER
from zoo.serving.runtime.pieces import Pieces, PiecesPreprocessor

# Hypotheses to finish, over the beam size. With 1 CTranslate2 ends a search while
# better ones are unfinished.
_PATIENCE = 2


class Engine:
    """CTranslate2's translator, whose methods take rows of ids."""

    def __init__(self, files: Any, positions: int, threads: int, workers: int) -> None:
        need_packages("zoo.serving.runtime", "ctranslate2", "ctranslate2")
        import ctranslate2

        self.positions = positions  # of the longest target
        self.pieces = json.loads(files["shared_vocabulary.json"])
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        try:
            self._model = ctranslate2.Translator(
                "zoo", intra_threads=threads, inter_threads=workers, files=files
            )
        except RuntimeError as error:
            raise ValueError(f"no model of CTranslate2: {error}") from error

    def __call__(self, method: str, *rows: Any, **options: Any) -> Any:
        """Returns the results of `method` for sources, and perhaps targets."""
        words = [[[self.pieces[i] for i in ids] for ids in part] for part in rows]
        return getattr(self._model, method)(*words, max_input_length=0, **options)

    def log_probs(self, sources: Any, targets: Any) -> list[np.ndarray]:
        """Returns the log-probabilities of targets and their end tokens."""
        results = self("score_batch", sources, targets)
        return [np.array(result.log_probs, "float32") for result in results]


class EngineSearch(Search):
    """Beam search by CTranslate2.

    Finished hypotheses leave their places to others, unlike in `BeamSearch`, so that it
    may find better ones.
    """

    ops = np

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _refuse(
            coverage_penalty=self.coverage_penalty,
            min_length=self.min_length,
            banned=self.banned_ids,
            no_repeat_ngram_size=self.no_repeat_ngram_size,
        )

    def find(
        self, model: Engine, source: Any, limits: Any, steps: int, prefix: Any = None
    ) -> Any:
        """See `Search.find`."""
        _refuse(prefix=prefix is not None, max_length=limits.max() > model.positions)
        ids = np.zeros((len(limits), self.n_best, steps), "int32")
        scores = np.full(ids.shape[:2], LOW, "float32")
        for limit in sorted(set(limits.tolist())):
            places = np.flatnonzero(limits == limit)
            found = self._hypotheses(model, _rows(source[places]), limit)
            for place, hypotheses in zip(places, found, strict=True):
                for k, (score, row) in enumerate(hypotheses[: self.n_best]):
                    ids[place, k, : len(row)], scores[place, k] = row, score
        return ids, scores

    def _hypotheses(self, model, sources, limit):
        """Yields pairs of score and ids for each source, best first."""
        patience = _PATIENCE if self.beam_size > 1 else 1
        results = model(
            "translate_batch",
            sources,
            beam_size=self.beam_size,
            patience=patience,
            num_hypotheses=self.beam_size * patience,
            min_decoding_length=0,
            max_decoding_length=max(limit - 1, 1),
            return_scores=True,
            return_end_token=True,
        )
        for source, result in zip(sources, results, strict=True):
            rows = [tuple(model.ids[x] for x in pieces) for pieces in result.hypotheses]
            pairs = zip(rows, result.scores, strict=True)  # the mean of a row's
            totals = {row: mean * len(row) for row, mean in pairs if row[-1] == END_ID}
            # At the limit CTranslate2 stops without the end token, whose score counts.
            cut = [list(row[: limit - 1]) for row in rows if row not in totals]
            log_probs = model.log_probs([source] * len(cut), cut)
            for row, values in zip(cut, log_probs, strict=True):
                totals[*row, END_ID] = float(values.sum())
            norms = (length_norm(self, len(row), self.length_penalty) for row in totals)
            scores = (x / norm for x, norm in zip(totals.values(), norms, strict=True))
            yield sorted(zip(scores, totals, strict=True), reverse=True)


def _refuse(**options):
    if names := [name for name, value in options.items() if value]:
        raise ValueError(
            "CTranslate2 has no equal of some options; Keras and ONNX Runtime have. "
            f"Received: {', '.join(names)}"
        )


class Translator(Translating):
    """A Transformer without Keras, from `zoo.serving.runtime.load`.

    It has the text methods of a `zoo.models.Translator`, with a beam, `n_best`,
    `length_penalty`, `max_length` and `replace_unknown`, but no other constraints.
    """

    task_name = "translate"
    search_class = EngineSearch

    def __init__(self, files: Any, manifest: Any, threads: int, workers: int) -> None:
        pieces = Pieces(files[TOKENIZER])
        self.preprocessor = PiecesPreprocessor(pieces, **manifest["settings"])
        self.backbone = Engine(files, manifest["positions"], threads, workers)

    def label_log_probs(self, source: Any, target_ids: Any, labels: Any) -> list[Any]:
        """See `KerasDecoder.label_log_probs`; padding has no row."""
        targets = [row[:-1] for row in _rows(labels)]
        return [self.backbone.log_probs(_rows(source), targets)]

    def target_alignments(self, source: Any, target_ids: Any, labels: Any) -> list[Any]:
        """See `KerasDecoder.target_alignments`; padding has no row."""
        targets = [row[1:] for row in _rows(target_ids)]
        results = self.backbone(
            "translate_batch",
            _rows(source),
            targets,
            beam_size=1,
            max_decoding_length=1 + max(map(len, targets)),
            return_attention=True,
        )
        return [[np.array(result.attention[0]) for result in results]]


def _rows(ids):
    """Returns the rows that have ids, without padding."""
    rows = (np.trim_zeros(row, "b").tolist() for row in ids)
    return [row for row in rows if row]
