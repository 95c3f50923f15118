"""The steps of a search under torch, recorded once for each shape.

A recorded step is without Keras's and Python's own work for each operation, about a
third of a step of greedy search on a CPU. It is recorded by `torch.jit.trace`: torch
calls that deprecated, but `make_fx` took longer and its steps were no faster.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

import keras
from keras import tree

from zoo.backend import Tensor, trace
from zoo.decoding.beam_state import LOW, BeamState, Sentences, keep, step
from zoo.decoding.compiled import kept
from zoo.decoding.ties import FEW, any_top_k, top_k


def can_trace(model: Any) -> bool:
    """Returns whether the steps of a search with a model can be recorded.

    Only torch records them. Those of a user's own object without Keras variables are
    not recorded, nor those of a model with LoRA, whose sums are computed before a
    search.
    """
    if keras.backend.backend() != "torch":
        return False
    variables = getattr(model, "variables", ())
    return bool(variables) and all(
        isinstance(variable, keras.Variable) and not variable.name.startswith("lora_")
        for variable in variables
    )


def run_traced(
    search: Any, model: Any, beam: BeamState, sentences: Sentences, steps: int
) -> BeamState:
    """Does what `Search.run` does; sentences that are done leave the batch.

    They leave when a quarter of it is left, so that there are few shapes to record.

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
        places = torch.arange(len(beam.live), device=beam.live.device)
        done_ids, done = beam.done_ids.clone(), beam.done.clone()
        can_leave = _rows_of_sentences(sentences.memory, len(places))
        for _ in range(steps):
            live = (beam.live > LOW / 2).any(dim=1)
            count = int(live.sum())
            if not count:
                break
            height = len(live) // 4
            if can_leave and count <= height:
                done_ids[places], done[places] = beam.done_ids, beam.done
                chosen = live.logical_not().to(torch.int8).argsort(stable=True)[:height]
                beam, sentences = keep(search, chosen, beam, sentences)
                places = places[chosen]
                advance = _recorded(search, model, beam, sentences)
            after, tied = advance(beam)
            # Putting equal words in order takes operations that depend on values.
            beam = step(search, model, beam, sentences) if tied else after
        done_ids[places], done[places] = beam.done_ids, beam.done
    return beam._replace(done_ids=done_ids, done=done)


def _rows_of_sentences(memory, count):
    """Whether each tensor of a memory has a row for each sentence."""
    import torch

    return all(
        isinstance(x, torch.Tensor) and x.ndim and len(x) == count
        for x in tree.flatten(memory)
    )


def _recorded(search, model, beam, sentences):
    """Returns a function of a beam that returns the next one, and whether words tied.

    The recorded program is kept with the model and takes the weights as arguments.
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
        return trace(advance, *weights, *state, *constants)

    # What isn't a tensor, such as None, is part of what is recorded.
    kinds = tuple(
        (x.shape, x.dtype, x.device) if isinstance(x, torch.Tensor) else repr(x)
        for x in tree.flatten((beam, sentences, weights))
    )
    program = kept(model, ("step", search.key(), kinds), record)

    # The executor's optimizations cost as much as ten steps and gain nothing on a CPU.
    optimize = beam.live.device.type != "cpu"

    def run(beam):
        with torch.jit.optimized_execution(optimize):
            *after, tied = program(*weights, *_tensors(beam)[0], *constants)
        return as_beam(after), bool(tied)

    return run


def _tensors(structure: Any) -> tuple[list[Tensor], Callable[[Any], Any]]:
    """Returns a structure's tensors, and a function that puts others in their places.

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
    """`zoo.decoding.ties.top_k`; where its order depends on ties, appends if any."""
    if k == 1 or values.shape[-1] <= FEW:
        return top_k(values, k, floor)  # without a choice that depends on values
    largest, indices, tied = any_top_k(values, k, floor)
    ties.append(tied)
    return largest, indices
