"""`Captioning`, the methods of a captioner that take images. Imports no Keras."""

from typing import Any

from zoo.checks import positive
from zoo.decoding.batch_decoding import (
    BatchDecoder,
    align_ids,
    check_max_length,
    nest_results,
    score_ids,
    search_ids,
    total,
)
from zoo.decoding.records import Caption
from zoo.strings import check_texts, plain_texts
from zoo.text.translation_arrays import needed_preprocessor


class Captioning(BatchDecoder):
    """The methods of a captioner that take images."""

    def caption(
        self,
        images: Any,
        beam_size: int = 5,
        length_penalty: float = 1.0,
        n_best: int = 1,
        max_length: int | None = None,
        return_details: bool = False,
        batch_size: int = 32,
        length_normalization: str = "gnmt",
        min_length: int = 0,
    ) -> Any:
        """Describes images.

        Args:
            images: one image, or a list of them: a path, a PIL image, or an array
                `(height, width)` or `(height, width, channels)`, of integers from 0 to
                255 or of floats from 0 to 1, grey or RGB. An array with an axis before
                these holds several. Of an image of another size the largest middle part
                of the model's proportions is scaled to it; what is transparent is
                white.
            beam_size: hypotheses kept in beam search; 1 is greedy search.
            length_penalty: α of the length normalization; 0 disables it.
            n_best: captions per image.
            max_length: maximum pieces of a caption, the end token included. Default:
                the preprocessor's `target_length`.
            return_details: whether to return records instead of strings.
            batch_size: images read together. It never changes a result.
            length_normalization: "gnmt" or "plain"; see `Translator.translate`.
            min_length: minimum pieces of a caption, the end token included.

        Returns:
            A str for one image, a list for several; with `n_best` > 1, a list of at
            most `n_best` of them per image, best first. With details,
            `zoo.decoding.Caption` records, whose `plot()` lays the attention over the
            image, word by word.

        Raises:
            TypeError: for what is no image; the message gives its position.
            ValueError: for an image of another shape or range, an option out of range,
                or without a preprocessor.
            FileNotFoundError: if a file is not there.
            ImportError: without Pillow, for a file or an image of another size.
        """
        preprocessor = needed_preprocessor(self, "`caption`")
        search = self.search_class(
            beam_size,
            length_penalty,
            n_best=n_best,
            length_normalization=length_normalization,
            min_length=min_length,
        )
        positive("batch_size", batch_size)
        if max_length is None:
            max_length = max(preprocessor.target_length, search.min_length)
        check_max_length(search, max_length)
        arrays, single = preprocessor.images(images)
        found = search_ids(self, arrays, search, max_length, batch_size)
        rows = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
        written = preprocessor.decode([ids for _, ids, _ in rows])
        if return_details:
            written = self._records(
                [arrays[i] for i, *_ in rows],
                [ids for _, ids, _ in rows],
                written,
                [score for *_, score in rows],
                batch_size,
            )
        return nest_results(rows, written, len(arrays), n_best, single)

    def _records(self, images, ids, texts, scores, batch_size, log_probs=None):
        """A `Caption` for each image and row of ids."""
        alignments = align_ids(self, images, ids, batch_size)
        grid, pieces = self.backbone.grid, self.preprocessor.pieces
        return [
            Caption(text, score, pieces(row), image, weights.reshape(-1, *grid), given)
            for text, score, row, image, (weights, *_), given in zip(
                texts,
                scores,
                ids,
                images,
                alignments,
                log_probs or [None] * len(ids),
                strict=True,
            )
        ]

    def score(
        self, images: Any, captions: Any, per_token: bool = False, batch_size: int = 32
    ) -> Any:
        """Computes the log-probability of given captions, log P(caption | image).

        The end token counts.

        Args:
            images: see `caption`.
            captions: a str for one image, or a list of as many str.
            per_token: whether to return the tokens' log-probabilities instead of their
                sum.
            batch_size: images read together. It never changes a result.

        Returns:
            A float for one image, a list of floats for several. Per token, arrays
            `(tokens + 1,)` instead of floats, the end token's last.

        Raises:
            TypeError, FileNotFoundError, ImportError: see `caption`.
            ValueError: see `caption`, and for another number of captions than images.
        """
        arrays, _, ids, single = self._given(images, captions)
        rows = score_ids(self, arrays, ids, batch_size)
        scores = rows if per_token else [total(row) for row in rows]
        return scores[0] if single else scores

    def align(self, images: Any, captions: Any, batch_size: int = 32) -> Any:
        """Computes the attention while the model reads given captions.

        It takes the arguments of `score`, and raises the same errors.

        Returns:
            A `zoo.decoding.Caption` for one image, a list of them for several, with the
            log-probability as the score.
        """
        arrays, texts, ids, single = self._given(images, captions)
        log_probs = score_ids(self, arrays, ids, batch_size)
        scores = [total(row) for row in log_probs]
        records = self._records(arrays, ids, texts, scores, batch_size, log_probs)
        return records[0] if single else records

    def _given(self, images, captions):
        preprocessor = needed_preprocessor(self, "Reading a caption")
        arrays, single = preprocessor.images(images)
        captions = plain_texts(captions)
        texts = check_texts(captions, "captions")
        if len(texts) != len(arrays) or single != isinstance(captions, str):
            raise ValueError(
                "captions must be a str for one image, a list of as many for several. "
                f"Received: {len(arrays)} images and {len(texts)} captions"
            )
        return arrays, texts, preprocessor.encode_targets(texts), single
