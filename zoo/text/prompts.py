"""A language model's text to ids and back, without Keras."""

from collections.abc import Sequence

import numpy as np

from zoo.checks import integer
from zoo.ids import END_ID, PAD_ID
from zoo.text.rows import cut_rows, pad_rows
from zoo.text.vocabulary import SPECIAL_WORDS, WordText


class PromptText(WordText):
    """The methods of a language model's preprocessor that need no tensors.

    Attributes:
        tokenizer: see `WordText`.
        sequence_length: the default maximum length of `generate`.
    """

    sequence_length: int

    def prompts(
        self, texts: Sequence[str], sequence_length: int | None = None
    ) -> dict[str, np.ndarray]:
        """Returns `token_ids` int32 and `padding_mask` bool, `(B, sequence_length)`.

        The ids are the end token of the previous text and the words; the mask is true
        where they are. Longer texts are cut, with one warning.

        Raises:
            ValueError: for a length below 2.
        """
        length = self.sequence_length if sequence_length is None else sequence_length
        integer("max_length", length, 2)
        rows = [[END_ID, *row] for row in cut_rows(self.encode(texts), length - 1)]
        sizes = np.array([len(row) for row in rows], "int32")
        mask = np.arange(length)[None] < sizes[:, None]
        return {"token_ids": pad_rows(rows, length), "padding_mask": mask}

    def written(self, ids: Sequence[int], mask: Sequence[bool]) -> str:
        """Returns the text of a row's words where the mask is true."""
        first, unknown = len(SPECIAL_WORDS), self.tokenizer.unk_token_id
        written = [i for i, counts in zip(ids, mask, strict=True) if counts]
        words = [i for i in written if i >= first or i == unknown]
        return self.tokenizer.detokenize(words)


def lay_out(
    rows: Sequence[Sequence[int]], streams: int, length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Lays out one text, sentence after sentence, as streams that are read in parallel.

    Args:
        rows: word ids of each sentence; an end token is appended to each.
        streams: number of streams, all of one length.
        length: the streams' length is a multiple of it.

    Returns:
        `(inputs, labels)`, int32 `(streams, n)`: the words to read and those that
        follow them, padded with 0.

    Raises:
        ValueError: without rows.

    Example:
        >>> inputs, labels = lay_out([[4, 5, 6], [7, 8]], streams=2, length=4)
        >>> inputs.tolist(), labels.tolist()
        ([[3, 4, 5, 6], [3, 7, 8, 0]], [[4, 5, 6, 3], [7, 8, 3, 0]])
    """
    text = [word for row in rows for word in [*row, END_ID]]
    if not text:
        raise ValueError("There must be a sentence. Received: no rows")
    columns = -(-len(text) // streams)

    def shaped(ids):
        ids = np.array(ids, "int32")
        ids = np.pad(ids, (0, streams * columns - len(ids)), constant_values=PAD_ID)
        more = -columns % length
        return np.pad(ids.reshape(streams, columns), ((0, 0), (0, more)))

    return shaped([END_ID, *text[:-1]]), shaped(text)
