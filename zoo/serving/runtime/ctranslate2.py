"""Runs the folders of `zoo export --format ctranslate2`, without Keras.

It needs ctranslate2, sentencepiece, regex, lazy-loader and NumPy.
"""

import json
from typing import Any

import numpy as np

from zoo.decoding.beam_state import LOW, length_norm
from zoo.decoding.search import Search
from zoo.decoding.translating import Translating
from zoo.ids import END_ID
from zoo.serving.export.manifest import TOKENIZER
from zoo.serving.protocol import need_packages
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
        names = "coverage_penalty", "min_length", "banned_ids", "no_repeat_ngram_size"
        _refuse(name.removesuffix("_ids") for name in names if getattr(self, name))

    def find(
        self, model: Engine, source: Any, limits: Any, steps: int, prefix: Any = None
    ) -> Any:
        """See `Search.find`."""
        _refuse(["prefix"] if prefix is not None else [])
        if (longest := limits.max()) > model.positions:
            raise ValueError(
                f"`max_length` must be at most {model.positions}, for which the model "
                f"has positions. Received: {longest}"
            )
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
        """Returns pairs of score and ids for each source, best first."""
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
        token_ids = {piece: i for i, piece in enumerate(model.pieces)}
        log_probs: list[dict[tuple[int, ...], Any]] = [{} for _ in sources]
        for result, own in zip(results, log_probs, strict=True):
            for pieces, score in zip(result.hypotheses, result.scores, strict=True):
                ids = tuple(token_ids[piece] for piece in pieces)
                if ids[-1] == END_ID:
                    own[ids] = score * len(ids)  # CTranslate2 divides by the length
                else:  # at the limit, where it takes the end token
                    own[(*ids[: limit - 1], END_ID)] = None
        open_ = [
            (i, x) for i, own in enumerate(log_probs) for x in own if own[x] is None
        ]
        rows = [sources[i] for i, _ in open_], [list(ids[:-1]) for _, ids in open_]
        for (i, ids), values in zip(open_, model.log_probs(*rows), strict=True):
            log_probs[i][ids] = float(values.sum())
        return [
            sorted(map(self._ranked, own.items()), reverse=True) for own in log_probs
        ]

    def _ranked(self, hypothesis):
        """Returns s(Y, X) = log P(Y|X) / lp(Y), and Y."""
        ids, log_prob = hypothesis
        return log_prob / length_norm(self, len(ids), self.length_penalty), ids


def _refuse(names):
    if names := list(names):
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
        results = self.backbone(
            "translate_batch",
            _rows(source),
            [row[1:] for row in _rows(target_ids)],
            beam_size=1,
            max_decoding_length=target_ids.shape[1],
            return_attention=True,
        )
        return [[np.array(result.attention[0]) for result in results]]


def _rows(ids):
    """Returns the rows that have ids, without padding."""
    rows = (np.trim_zeros(row, "b").tolist() for row in ids)
    return [row for row in rows if row]
