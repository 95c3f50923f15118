"""Steps of training under torch, traced once for each shape of a batch.

A third of a step on a CPU, and nearly all of it on a GPU, is Keras's, Python's and
torch's own work for each operation. `make_fx` writes down the operations of a step,
forward and backward; on a CPU `torch.jit` does them (or, where it can't trace the
step, the program that `make_fx` made), on a GPU a CUDA graph.
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

from zoo.backend import trace
from zoo.training.fit.checkpoint import get_generator, set_generator

# Seconds of plain steps per shape before tracing, at least the time of so many, roughly
# what it costs: shorter runs pay nothing. Steps on other devices are not traced.
_SECONDS, _STEPS = {"cpu": 20.0, "cuda": 2.0}, 25

# In TorchScript, because `torch.jit.trace` can't record a list of booleans.
_LAYER_NORM = """
def gradient(upstream, x, mean, rstd, scale, shift):
    return torch.ops.aten.native_layer_norm_backward(
        upstream, x, [x.size(-1)], mean, rstd, scale, shift, [True, True, True])
"""


def trace_steps(model: Any, after: float | None = None) -> None:
    """Traces a model's training steps under torch, once for each shape of a batch.

    A step is traced when those of its shape have taken `after` seconds (20 on a CPU, 2
    on a GPU, at least 25 times the last step's). At the next batch of the shape the
    trace is compared with the plain step: on a CPU the loss, the gradients and the
    random numbers after it must be the same to the last bit, so that it makes no
    difference to a run whether it was resumed; on a GPU, whose kernels add up in any
    order, the loss within 0.1 %, the gradients within 2 % of their norm. If they
    aren't, or something in the model can't be traced, a warning says so, and Keras's
    own steps go on; without a warning in a model with metrics, a scaled loss,
    `run_eagerly` or `jit_compile`, or a training step of its own.

    Like a compiled function, a trace keeps the Python values that it read, such as a
    rate of dropout: compile the model again after changing one. A branch on a value
    that is read outside torch is noticed only if the next batch takes another path.
    """
    model.train_step = _Steps(model, after)


class _Steps:
    """The `train_step` of a model."""

    def __init__(self, model, after):
        self.model, self.after = model, after
        self._reset(None)

    def _reset(self, key, off=False):
        self.key, self.off = key, off
        self.seconds: dict[Any, float] = {}  # of a shape's plain steps
        self.programs: dict[Any, Callable[..., Any]] = {}
        self.graphs: list[Any] = []  # the CUDA graphs of the programs

    def __call__(self, data):
        # Keras makes another training function of a model that is compiled again.
        if self.model.train_function is not self.key:
            self._reset(self.model.train_function)
        flat = tree.flatten(data)
        tensors = [ops.convert_to_tensor(x) for x in flat if x is not None]
        shape = (*(x is None for x in flat), *((x.shape, x.dtype) for x in tensors))
        if shape in self.programs:
            return self._apply(tensors, *self.programs[shape](tensors))
        began = time.perf_counter()
        logs = type(self.model).train_step(self.model, data)
        taken = time.perf_counter() - began
        self.seconds[shape] = self.seconds.get(shape, 0.0) + taken
        cost = max(_SECONDS.get(tensors[0].device.type, math.inf), _STEPS * taken)
        after = cost if self.after is None else self.after
        if self.seconds[shape] >= after and not self.off:
            self.off = set(logs) != {"loss"} or not _is_plain(self.model)
            if not self.off:
                with self._refusing():
                    programs = _trace(self.model, data, tensors)
                    check = functools.partial(self._check, shape, *programs)
                    self.programs[shape] = check  # at the next batch
        return logs

    @contextlib.contextmanager
    def _refusing(self):
        """Context whose errors are a warning, and the end of tracing."""
        try:
            yield
        except Exception as error:  # a user's layer may raise any
            self._reset(self.key, off=True)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            warnings.warn(
                "The steps of training are not traced, which makes them slower: "
                f"{reason[:500]}",
                stacklevel=4,
            )

    def _check(self, shape, program, plain, tensors):
        """Gives the plain step's results, and compares the traced one's with them."""
        import torch

        device, before = tensors[0].device, get_generator()
        wanted, after = plain(tensors), get_generator()
        self.model.zero_grad()  # Keras's last step left its own
        del self.programs[shape]
        with self._refusing():
            with _same_random_numbers(device), torch.no_grad():
                for _ in range(2):  # the second shows if the first changed a constant
                    set_generator(before)
                    found = program(tensors)
                drawn = get_generator()
            if drawn != after:
                raise ValueError("the trace draws other random numbers")
            if not all(map(_are_equal, found, wanted)):
                raise ValueError("the trace gives other gradients")
            del found  # its memory, too
            if device.type != "cpu":
                program = _capture(program, tensors, self.graphs)
            self.programs[shape] = program
        return wanted

    def _apply(self, tensors, loss, *gradients):
        """Does the rest of Keras's step."""
        import torch

        model = self.model
        with torch.no_grad():
            for metric in model.metrics:
                if metric.name == "loss":
                    metric.update_state(loss, sample_weight=len(tensors[0]))
            model.optimizer.apply(gradients, list(model.trainable_variables))
        return model.get_metrics_result()


def _is_plain(model):
    """Whether a model's steps are Keras's, neither compiled nor of a scaled loss."""
    names, optimizer = ("train_step", "compute_metrics"), model.optimizer
    own = any(getattr(type(model), x) is not getattr(keras.Model, x) for x in names)
    other = own or isinstance(optimizer, keras.optimizers.LossScaleOptimizer)
    other = other or optimizer.loss_scale_factor is not None
    return not (other or model.run_eagerly or model.jit_compile)


def _trace(model, data, tensors):
    """Two functions from a batch's tensors to loss and gradients: traced and plain."""
    import torch
    from torch._guards import TracingContext, tracing
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    trained = len(model.trainable_variables)
    variables = [*model.trainable_variables, *model.non_trainable_variables]
    given = [x is not None for x in tree.flatten(data)]

    def differentiate(values, tensors):
        left = iter(tensors)
        batch = [next(left) if one else None for one in given]
        batch = tree.pack_sequence_as(data, batch)
        x, y, weights = keras.utils.unpack_x_y_sample_weight(batch)
        mapping = list(zip(variables, values, strict=True))
        scope = keras.StatelessScope(state_mapping=mapping, collect_losses=True)
        with scope:
            outputs = model(x, training=True)
            loss = model.compute_loss(x, y, outputs, weights, training=True)
        before = {id(variable): value for variable, value in mapping}
        if any(before.get(key) is not x for key, x in scope.state_mapping.items()):
            raise ValueError("it changes variables that are not trained")
        return loss, *torch.autograd.grad(loss, values[:trained])

    def plain(tensors):
        loss, *gradients = differentiate(_values(variables, trained), tensors)
        return loss.detach(), *gradients

    device = tensors[0].device
    values = _values(variables, trained)
    # Shared: otherwise `make_fx` makes one for each operation, which takes 9 of 22 s.
    fake = FakeTensorMode(allow_fallback_kernels=True)
    with _same_random_numbers(device), tracing(TracingContext(fake)):
        program = make_fx(differentiate)(values, tensors)
    _fold_constants(program)
    if device.type == "cpu":
        with _same_random_numbers(device):
            program = _script(program, values, tensors)
    return lambda tensors: program(_values(variables), tensors), plain


def _values(variables, trained=0):
    """The variables' tensors; of the first `trained`, gradients can be taken."""
    places = enumerate(variables)
    return [x.value.detach().requires_grad_(i < trained) for i, x in places]


def _same_random_numbers(device):
    """Context whose random numbers are drawn again after it."""
    import torch

    return torch.random.fork_rng([] if device.type == "cpu" else [device])


def _are_equal(found, wanted):
    """Whether two tensors are equal, or on a GPU, which rounds in any order, nearly."""
    import torch

    if wanted.device.type == "cpu":
        return found.allclose(wanted, rtol=0.0, atol=0.0, equal_nan=True)
    share = 0.02 if wanted.ndim else 0.001
    return bool(torch.norm(found - wanted) <= share * torch.norm(wanted))


def _fold_constants(module):
    """Makes the tensors of Python's numbers once, not at every step."""
    import torch

    aten = torch.ops.aten
    makers = {aten.lift_fresh_copy.default, aten.scalar_tensor.default}
    makers.add(aten._to_copy.default)
    values = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            values[node] = getattr(module, node.target)
        elif node.target in makers and values.keys() >= set(node.all_input_nodes):
            arguments = torch.fx.node.map_arg((node.args, node.kwargs), values.get)
            values[node] = node.target(*arguments[0], **arguments[1])
            name = f"constant_{len(values)}"
            module.register_buffer(name, values[node])
            node.op, node.target, node.args, node.kwargs = "get_attr", name, (), {}
    module.graph.eliminate_dead_code()
    module.recompile()


@functools.cache
def _layer_norm_unit():
    import torch

    return torch.jit.CompilationUnit(_LAYER_NORM)  # no traced program keeps it alive


def _script(module, values, tensors):
    """The traced step without Python's own work for each operation."""
    import torch

    count = len(values)

    def gradient(*tensors):
        return _layer_norm_unit().gradient(*tensors)

    for node in module.graph.nodes:
        if node.target is torch.ops.aten.native_layer_norm_backward.default:
            upstream, x, shape, *others, wanted = node.args
            if len(shape) == 1 and all(wanted):
                node.target = gradient
                node.args = (upstream, x, *others)
    module.recompile()

    def flat(*inputs):
        return tuple(module(inputs[:count], inputs[count:]))

    # Optimizing changes the last bits of products.
    plain = functools.partial(torch.jit.optimized_execution, False)
    with torch.no_grad(), plain():
        try:
            script = trace(flat, *values, *tensors)
        except RuntimeError:  # of a convolution, or of a norm partly frozen
            return module

    def perform(values, tensors):
        with plain():
            return script(*values, *tensors)

    return perform


def _capture(program, tensors, graphs):
    """Captures a traced step as a CUDA graph, which is added to `graphs`.

    They share their memory, so results must be used before the next replay. While one
    is captured, no other thread may wait for the GPU.
    """
    import torch

    device = tensors[0].device
    inputs = [tensor.clone() for tensor in tensors]
    stream, current = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    stream.wait_stream(current)
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
            current.wait_stream(stream)  # a failed step's tensors may still be read
    graph = torch.cuda.CUDAGraph()
    pool = graphs[0].pool() if graphs else None
    capture = torch.cuda.graph(graph, pool, capture_error_mode="thread_local")
    with capture, torch.no_grad():
        outputs = program(inputs)
    graphs.append(graph)

    def run(tensors):
        for place, tensor in zip(inputs, tensors, strict=True):
            place.copy_(tensor)
        graph.replay()
        return outputs

    run.program = program  # keeps its constants, which the graph reads where they are
    return run
