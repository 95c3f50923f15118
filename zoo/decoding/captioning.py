"""`Captioning`, the methods of a captioner that take images. Imports no Keras."""

from typing import Any

from zoo.decoding.batch_decoding import BatchDecoder, nest_results, search_ids
from zoo.decoding.records import Caption
from zoo.strings import read_texts
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
        if max_length is None:
            max_length = max(preprocessor.target_length, search.min_length)
        arrays, single = preprocessor.images(images)
        found = search_ids(self, arrays, search, max_length, batch_size)
        rows = [(i, ids, score) for i, best in enumerate(found) for ids, score in best]
        written = preprocessor.decode([ids for _, ids, _ in rows])
        if return_details:
            places, ids, scores = zip(*rows, strict=True) if rows else ((), (), ())
            given = [arrays[i] for i in places]
            written = self._records(given, ids, written, scores, batch_size)
        return nest_results(rows, written, len(arrays), n_best, single)

    def _record(self, source, ids, text, score, alignment, log_probs):
        weights = alignment[0].reshape(-1, *self.backbone.grid)
        pieces = self.preprocessor.pieces(ids)
        return Caption(text, score, pieces, source, weights, log_probs)

    def _read_pairs(self, images, captions):
        preprocessor = needed_preprocessor(self, "Reading a caption")
        arrays, single = preprocessor.images(images)
        texts, one = read_texts(captions, "captions")
        if len(texts) != len(arrays) or single != one:
            raise ValueError(
                "captions must be a str for one image, a list of as many for several. "
                f"Received: {len(arrays)} images and {len(texts)} captions"
            )
        return arrays, texts, preprocessor.encode_targets(texts), single
