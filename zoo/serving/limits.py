"""The limits set at export, once for all requests."""

import dataclasses

from zoo.checks import positive
from zoo.decoding.beam import BeamSearch


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of an exported model.

    Args:
        max_source_length: longest input in pieces, its end token included, or words;
            what is longer is cut. Default None: the preprocessor's `source_length` of a
            translator, and 256 words for what reads words.
        max_length: longest output. Of a translator in pieces, the end token included;
            default None, twice the source's pieces plus 10. Of a language model in
            words, the prompt included; default None, the preprocessor's
            `sequence_length`. A target to score is cut to it too (default None: the
            preprocessor's `target_length`).
        beam_size: of a translator's search. Default 5.
        length_penalty: see `zoo.decoding.BeamSearch`. Default 1.
        coverage_penalty: likewise. Default 0.
        n_best: translations that `translate_n_best` gives. Default None: `beam_size`.

    Raises:
        ValueError: for a value out of range.

    Example:
        >>> Limits(beam_size=3).n_best
        3
    """

    max_source_length: int | None = None
    max_length: int | None = None
    beam_size: int = 5
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    n_best: int | None = None

    def __post_init__(self):
        for name in ("max_source_length", "max_length"):
            value = getattr(self, name)
            if value is not None and positive(name, value) < 2:
                raise ValueError(f"`{name}` must be at least 2. Received: {value}")
        if self.n_best is None:
            object.__setattr__(self, "n_best", self.beam_size)
        self.search(self.beam_size, self.n_best)

    def search(self, beam_size, n_best):
        """A `BeamSearch` with these penalties."""
        return BeamSearch(
            beam_size,
            length_penalty=self.length_penalty,
            coverage_penalty=self.coverage_penalty,
            n_best=n_best,
        )
