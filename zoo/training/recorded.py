"""Steps of training under torch, recorded once for each shape of a batch.

A third of a step on a CPU, and nearly all of it on a GPU, is Keras's, Python's and
torch's own work for each operation. `make_fx` writes down the operations of a step,
forward and backward; `torch.jit` or, on a GPU, a CUDA graph does them.
"""

import contextlib
import functools
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import keras
from keras import ops, tree

# Seconds of a shape's plain steps before it is recorded, about what that takes: what
# is over sooner loses nothing.
_SECONDS = {"cpu": 20.0, "cuda": 2.0}


def record_steps(model: Any, after: float | None = None) -> None:
    """Lets a model's `train_step` do recorded steps under torch.

    A step is recorded when those of its shape have taken long enough, and checked: on a
    CPU the loss and the gradients must be those of Keras's own step to the last bit, so
    that it makes no difference to a run whether it was resumed; on a GPU, whose kernels
    add up in any order, within 2 % of their norm. If they aren't, or something
    in the model can't be recorded, a warning says so, and Keras's own steps go on.

    Args:
        model: a built and compiled model without metrics other than its loss, whose
            optimizer does not scale the loss, trained in one process.
        after: seconds of a shape's plain steps, of which there is at least one, before
            it is recorded. Defaults to 20 on a CPU, 2 on a GPU.

    Example:
        >>> from zoo.models import Luong, LuongTranslator
        >>> from zoo.training import WithoutLogits
        >>> model = WithoutLogits(LuongTranslator(Luong(20, num_layers=1)))
        >>> record_steps(model)  # as `compile_for_training` does under torch
    """
    model.train_step = _Steps(model, after)


class _Steps:
    """The `train_step` of a model."""

    def __init__(self, model, after):
        self.model, self.after = model, after
        self.programs: dict[Any, Callable[..., Any]] = {}
        self.seconds: dict[Any, float] = {}
        self.graphs: list[Any] = []  # the CUDA graphs of the programs
        self.refused = False

    def __call__(self, data):
        import torch

        model = self.model
        flat = [None if x is None else ops.convert_to_tensor(x) for x in _flat(data)]
        tensors = [x for x in flat if x is not None]
        # A CUDA graph reads the weights where they were.
        places = tuple(v.value.data_ptr() for v in model.trainable_variables)
        key = places, *(x if x is None else (x.shape, x.dtype) for x in flat)
        if key not in self.programs and not self._record(key, data, tensors):
            began = time.perf_counter()
            logs = type(model).train_step(model, data)
            taken = time.perf_counter() - began
            self.seconds[key] = self.seconds.get(key, 0.0) + taken
            return logs
        with torch.no_grad():
            loss, *gradients = self.programs[key](tensors)
            for metric in model.metrics:
                if metric.name == "loss":
                    metric.update_state(loss, sample_weight=len(tensors[0]))
            model.optimizer.apply(gradients, list(model.trainable_variables))
        return model.get_metrics_result()

    def _record(self, key, data, tensors):
        """Records a step, if it is time to. Returns whether it did."""
        after = self.after
        if after is None:
            after = _SECONDS.get(tensors[0].device.type, math.inf)
        if self.refused or self.seconds.get(key, -1.0) < after:
            return False
        try:
            program = _record(self.model, data, tensors)
            if tensors[0].device.type != "cpu":
                program = _capture(program, tensors, self.graphs)
            self.programs[key] = program
        except Exception as error:  # a user's layer may raise any
            self.refused = True
            reason = " ".join(str(error).split())
            warnings.warn(
                "The steps of training are not recorded, which makes them slower: "
                f"{reason[:500]}",
                stacklevel=2,
            )
        return not self.refused


def _flat(data):
    return tree.flatten(data)


def _record(model, data, tensors):
    """Returns a function of a batch's tensors, which returns loss and gradients."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    trained = list(model.trainable_variables)
    variables = [*trained, *model.non_trainable_variables]
    places = [x is not None for x in _flat(data)]

    def differentiate(values, tensors):
        left = iter(tensors)
        batch = [next(left) if given else None for given in places]
        batch = tree.pack_sequence_as(data, batch)
        x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
        mapping = list(zip(variables, values, strict=True))
        with keras.StatelessScope(state_mapping=mapping) as scope:
            outputs = model(x, training=True)
            loss = model.compute_loss(x, y, outputs, weights, training=True)
        if any(scope.get_current_value(v) is not value for v, value in mapping):
            raise ValueError("it changes variables that are not trained")
        return loss, *torch.autograd.grad(loss, values[: len(trained)])

    values = [variable.value.detach() for variable in variables]
    for value in values[: len(trained)]:
        value.requires_grad_()
    device = tensors[0].device
    with _same_random_numbers(device):
        wanted = differentiate(values, tensors)
    with _same_random_numbers(device):
        recorded = make_fx(differentiate)(values, tensors)
    _fold_constants(recorded)
    perform = recorded
    if device.type == "cpu":
        with _same_random_numbers(device):
            perform = _script(recorded, values, tensors)

    def program(tensors):
        return perform([v.value.detach() for v in variables], tensors)

    for _ in range(2):  # the second shows whether the first changed a constant
        with _same_random_numbers(device), torch.no_grad():
            found = program(tensors)
    if not all(map(_are_equal, found, wanted)):
        raise ValueError("what was recorded gives other gradients")
    return program


@contextlib.contextmanager
def _same_random_numbers(device):
    """Context whose random numbers are drawn again after it."""
    import torch

    with torch.random.fork_rng([] if device.type == "cpu" else [device]):
        yield


def _are_equal(found, wanted):
    """Whether two tensors are equal, on a GPU but for what half precision rounds."""
    import torch

    if wanted.device.type == "cpu":
        return found.allclose(wanted, rtol=0.0, atol=0.0, equal_nan=True)
    wanted = wanted.detach()
    return bool(torch.norm(found - wanted) <= 0.02 * torch.norm(wanted))


def _fold_constants(module):
    """Makes the tensors of Python's numbers once, not at every step."""
    import torch

    aten = torch.ops.aten
    makers = {aten.lift_fresh_copy.default, aten.scalar_tensor.default}
    makers.add(aten._to_copy.default)
    constants = {}
    for node in list(module.graph.nodes):
        if node.op == "get_attr":
            constants[node] = getattr(module, node.target)
        elif node.target in makers and all(
            x in constants for x in node.all_input_nodes
        ):
            arguments = torch.fx.node.map_arg((node.args, node.kwargs), constants.get)
            value = node.target(*arguments[0], **arguments[1])
            name = f"constant_{len(constants)}"
            module.register_buffer(name, value)
            with module.graph.inserting_before(node):
                constant = module.graph.get_attr(name)
            constants[constant] = value
            node.replace_all_uses_with(constant)
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()


def _script(module, values, tensors):
    """The recorded step without Python's own work for each operation."""
    import torch

    count = len(values)

    def flat(*inputs):
        return tuple(module(inputs[:count], inputs[count:]))

    # What torch would optimize are products, with other last bits.
    plain = functools.partial(torch.jit.optimized_execution, False)
    with warnings.catch_warnings(), torch.no_grad(), plain():
        warnings.simplefilter("ignore")  # deprecation, and shapes made constants
        try:
            script = torch.jit.trace(flat, (*values, *tensors), check_trace=False)
        except RuntimeError:  # it knows no lists of truth values, as layer norms have
            return module

    def perform(values, tensors):
        with plain():
            return script(*values, *tensors)

    return perform


def _capture(program, tensors, graphs):
    """Captures a recorded step as a CUDA graph, which is added to `graphs`.

    They share their memory: the results of one are used before another one runs.
    """
    import torch

    device = tensors[0].device
    inputs = [tensor.clone() for tensor in tensors]
    stream = torch.cuda.Stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    mode = torch.cuda.get_sync_debug_mode()
    with _same_random_numbers(device), torch.cuda.stream(stream), torch.no_grad():
        # No graph can wait for the GPU, and a capture that fails spoils the random
        # generator: such an operation is found before.
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(3):
                program(inputs)
        finally:
            torch.cuda.set_sync_debug_mode(mode)
    torch.cuda.current_stream(device).wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    pool = graphs[0].pool() if graphs else None
    with torch.cuda.graph(graph, pool=pool), torch.no_grad():
        outputs = program(inputs)
    graphs.append(graph)

    def run(tensors):
        for place, tensor in zip(inputs, tensors, strict=True):
            place.copy_(tensor)
        graph.replay()
        return outputs

    return run
