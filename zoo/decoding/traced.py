"""The steps of a search under torch, recorded once for each shape.

More than half of a step of greedy search is Keras's and Python's own work for each
operation, which a recorded step is without. It is recorded by `torch.jit.trace`, which
takes a fraction of the time of its successors, `torch.export` and `torch.compile`.
"""

import copy
import functools
import warnings
from collections.abc import Callable
from typing import Any

import keras
from keras import tree

from zoo.backend import Tensor
from zoo.decoding.beam_state import LOW, BeamState, Sentences, step
from zoo.decoding.compiled import kept
from zoo.decoding.ties import FEW, top_k


def can_trace(model: Any) -> bool:
    """Whether the steps of a search with a model can be recorded, under torch.

    Not those of an object of the user's own that has no Keras variables, nor with LoRA,
    whose sums are computed before a search.
    """
    if keras.backend.backend() != "torch":
        return False
    names = [variable.name for variable in getattr(model, "variables", ())]
    return bool(names) and not any(name.startswith("lora_") for name in names)


def run_traced(
    search: Any, model: Any, beam: BeamState, sentences: Sentences, steps: int
) -> BeamState:
    """Does what `Search.run` does.

    Args:
        search: a `BeamSearch`.
        model: one that `can_trace` accepts.
        beam: the state before the first step.
        sentences: the constants of the search.
        steps: the width of the result.
    """
    import torch

    with torch.no_grad():
        advance = _recorded(search, model, beam, sentences)
        while int(beam.step) < steps and bool((beam.live > LOW / 2).any()):
            after, tied = advance(beam)
            # Which of equal words comes first takes operations that depend on values.
            beam = step(search, model, beam, sentences) if tied else after
    return beam


def _recorded(search, model, beam, sentences):
    """Returns a function of a beam that returns the next one, and whether it has ties.

    What is recorded is kept with the model, and gets its weights anew.
    """
    import torch

    state, as_beam = _tensors(beam)
    constants, as_sentences = _tensors(sentences)
    variables = list(model.variables)
    weights = [variable.value.detach() for variable in variables]

    def advance(*inputs):
        rest = list(inputs[len(variables) :])
        before = as_beam(rest[: len(state)])
        quick, ties = copy.copy(search), []
        quick.top_k = functools.partial(_any_top_k, ties)
        mapping = list(zip(variables, inputs, strict=False))
        with keras.StatelessScope(state_mapping=mapping):
            after = step(quick, model, before, as_sentences(rest[len(state) :]))
        tied = torch.stack(ties).any() if ties else torch.tensor(False)
        return *_tensors(after)[0], tied

    def record(_):
        inputs = (*weights, *state, *constants)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated, and of what is constant here
            return torch.jit.trace(advance, inputs, check_trace=False)

    kinds = tuple((x.shape, x.dtype, x.device) for x in (*state, *constants))
    program = kept(model, ("step", search.key(), kinds), record)

    def run(beam):
        *after, tied = program(*weights, *_tensors(beam)[0], *constants)
        return as_beam(after), bool(tied)

    return run


def _tensors(structure: Any) -> tuple[list[Tensor], Callable[[Any], Any]]:
    """The tensors of a nested structure, and a function that puts others in it.

    What isn't a tensor stays as it is.
    """
    import torch

    flat = tree.flatten(structure)

    def replaced(tensors):
        left = iter(tensors)
        new = [next(left) if isinstance(x, torch.Tensor) else x for x in flat]
        return tree.pack_sequence_as(structure, new)

    return [x for x in flat if isinstance(x, torch.Tensor)], replaced


def _any_top_k(ties, values, k, floor):
    """`zoo.decoding.ties.top_k` in any order; appends whether it may be another one."""
    import torch

    if k == 1 or values.shape[-1] <= FEW:
        return top_k(values, k, floor)  # without a choice that depends on values
    # One more value shows whether the last one has an equal.
    largest, indices = torch.topk(values, min(k + 1, values.shape[-1]))
    equal = (largest[..., 1:] == largest[..., :-1]) & (largest[..., 1:] > floor)
    ties.append(equal.any())
    return largest[..., :k], indices[..., :k]
