"""Limits that are set at export, for all requests."""

import dataclasses

from zoo.checks import positive
from zoo.decoding.beam import BeamSearch


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of an exported model.

    Args:
        max_source_length: maximum input length, in pieces with the end token, or in
            words; longer inputs are cut. Default: the preprocessor's `source_length`
            for a translator, otherwise 256 words.
        max_length: maximum output length. For a translator in pieces with the end
            token, by default twice the source's pieces plus 10; targets to score are
            cut to it too (by default to the preprocessor's `target_length`). For a
            language model in words with the prompt, by default the preprocessor's
            `sequence_length`.
        beam_size: beam size of a translator.
        length_penalty: see `zoo.decoding.BeamSearch`.
        coverage_penalty: see `zoo.decoding.BeamSearch`.
        n_best: translations that `translate_n_best` returns. Default: `beam_size`.

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
    n_best: int = None  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        for name in ("max_source_length", "max_length"):
            value = getattr(self, name)
            if value is not None and positive(name, value) < 2:
                raise ValueError(f"`{name}` must be at least 2. Received: {value}")
        if self.n_best is None:
            object.__setattr__(self, "n_best", self.beam_size)
        self.search(self.beam_size, self.n_best)

    def search(self, beam_size: int, n_best: int) -> BeamSearch:
        """Returns a `BeamSearch` with these penalties."""
        return BeamSearch(
            beam_size,
            length_penalty=self.length_penalty,
            coverage_penalty=self.coverage_penalty,
            n_best=n_best,
        )
