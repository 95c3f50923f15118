"""Hochreiter & Schmidhuber 1997: the paper's tests of an LSTM's memory.

    python recipes/lstm_tasks.py --scale tiny|small|paper

tiny:  the adding problem with 20 steps, under two minutes.
small: the adding problem with 100 steps, temporal order (6a), embedded Reber grammar.
paper: the same and temporal order with three symbols (6b); the adding problem of 500
       steps is `--set length=500`.

The nets have the paper's cells and their number, its g, h and initial gate biases, and
no forget gate (`--set forget_gate=true` for that of Gers et al. 2000). Deviations: each
cell has its own gates instead of a block's, which don't see other gates, so that there
are fewer weights; gradients are not truncated; Adam on batches instead of online
gradient descent; a linear output unit for the adding problem and a softmax for classes
instead of logistic ones. The criteria are the paper's:

adding:   training stops when the mean error of 2,000 fresh sequences is below 0.01 and
          |error| < 0.04 for each of them. The test has 2,560 more.
order:    |error| < 0.3 for each output unit, and a mean error below 0.1.
reber:    at every step of all 256 training and 256 test strings, the units of the
          possible next symbols are the most active.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np

import zoo
from zoo.training import Optimizer, Recipe, at_least


class Net(NamedTuple):
    """The paper's net for a task."""

    units: int  # its cells
    limit: float  # r of U(-r, r), from which the weights start
    # Initial ones of its input gates (for "reber", output gates), block by block.
    biases: tuple[float, ...]
    batch_size: int = 20  # ours


NETS = {
    "adding": Net(4, 0.1, (-3.0, -6.0)),
    "order": Net(4, 0.1, (-2.0, -4.0)),
    "order_3": Net(6, 0.1, (-2.0, -4.0, -6.0)),
    "reber": Net(6, 0.2, (-1.0, -2.0, -3.0), batch_size=4),
}
FRESH, TEST, STRINGS = 2000, 2560, 256
_TRAIN, _VALID, _TEST = 1, 2, 3  # parts of the seeds, so that the data differ
REBER, ORDER = "BTPSXVE", "EBabcdXY"
# State of the Reber grammar -> symbol -> next state; both symbols are equally likely.
_GRAPH = {
    1: {"T": 2, "P": 3},
    2: {"S": 2, "X": 4},
    3: {"T": 3, "V": 5},
    4: {"X": 3, "S": 6},
    5: {"P": 4, "V": 6},
}
_END = 6


@dataclasses.dataclass(frozen=True)
class Settings:
    """The choices of a run.

    Attributes:
        tasks: which of `NETS` to learn.
        length: T of the adding problem; temporal order has 100 steps.
        units: number of cells, instead of that of the paper's nets.
        forget_gate: whether the cells have forget gates.
        sequences: number of sequences drawn for an epoch.
        epochs: maximum number of epochs.
    """

    epochs: int
    optimizer: Optimizer
    tasks: tuple[str, ...] = ("adding", "order", "reber")
    length: int = 100
    units: int | None = None
    forget_gate: bool = False
    sequences: int = 2000

    def __post_init__(self):
        at_least(self, epochs=1, length=20, units=1, sequences=1)
        if not self.tasks or set(self.tasks) - set(NETS):
            raise ValueError(
                f"`tasks` must be of {list(NETS)}. Received: {list(self.tasks)}"
            )


# === Data ===
# Sequences are padded with zeros to one width and come with a mask. What is drawn
# depends on a seed, which may be whatever `numpy.random.default_rng` accepts.
def adding(count: int, length: int, seed: Any) -> tuple[dict[str, Any], Any]:
    """Generates experiment 4, the adding problem (section 5.4).

    A step is a value, uniform in [-1, 1], and a marker: 1 on two steps, -1 on the first
    and last one, otherwise 0. One of the first ten steps is marked, then one of the
    first `length / 2 - 1` unmarked ones; if the very first is marked, its value is 0.
    There are `length` to `length + length / 10` steps. The target is
    0.5 + (X1 + X2) / 4, for the marked values X1 and X2.

    Returns:
        `({"inputs", "mask"}, targets)`: float32 `(count, W, 2)`, bool `(count, W)` and
        float32 `(count, 1)`; W is `length + length // 10`.
    """
    rng, rows = np.random.default_rng(seed), np.arange(count)
    lengths, mask = _lengths(rng, count, length)
    values = rng.uniform(-1, 1, mask.shape)
    first = rng.integers(0, 10, count)
    second = rng.integers(0, length // 2 - 1, count)
    second += second >= first  # counts unmarked steps only
    marked = np.zeros(mask.shape, bool)
    marked[rows, first] = marked[rows, second] = True
    values[:, 0] = np.where(marked[:, 0], 0, values[:, 0])
    markers = np.zeros(mask.shape)
    markers[:, 0] = markers[rows, lengths - 1] = -1
    markers[marked] = 1
    inputs = np.stack([values, markers], -1) * mask[..., None]
    targets = 0.5 + (values * marked).sum(1, keepdims=True) / 4
    return {"inputs": inputs.astype("float32"), "mask": mask}, targets.astype("float32")


def temporal_order(
    count: int, length: int, seed: Any, relevant: int
) -> tuple[dict[str, Any], Any]:
    """Generates experiment 6, temporal order (section 5.6).

    A sequence is one-hot symbols in the order of `ORDER`: E first, B last, and between
    them random ones of a, b, c and d, except for X or Y in two (6a) or three (6b)
    `relevant` places. The class is their sequence: XX, XY, YX, YY, or XXX to YYY. At
    `length` 100 there are 100 to 110 steps, and the places lie in 10-20 and 50-60, or
    in 10-20, 33-43 and 66-76; other lengths are in proportion.

    Returns:
        `({"inputs", "mask"}, classes)`: float32 `(count, W, 8)`, bool `(count, W)` and
        int32 `(count,)`.
    """
    rng, rows = np.random.default_rng(seed), np.arange(count)
    lengths, mask = _lengths(rng, count, length)
    symbols = rng.integers(2, 6, mask.shape)
    symbols[:, 0], symbols[rows, lengths - 1] = ORDER.index("E"), ORDER.index("B")
    classes = np.zeros(count, "int32")
    for start in (0.1, 0.5) if relevant == 2 else (0.1, 0.33, 0.66):
        low = round(start * length)
        place = rng.integers(low, low + length // 10, count, endpoint=True)
        is_y = rng.integers(0, 2, count)
        symbols[rows, place] = ORDER.index("X") + is_y
        classes = 2 * classes + is_y.astype("int32")
    return {"inputs": _one_hot(symbols, len(ORDER), mask), "mask": mask}, classes


def reber_strings(count: int, seed: Any) -> list[str]:
    """Generates distinct strings of the embedded Reber grammar (section 5.1).

    A string is B, then T or P, a string of the Reber grammar, the same T or P, and E.
    """
    rng = np.random.default_rng(seed)
    strings: dict[str, bool] = {}  # in order
    while len(strings) < count:
        kind = "TP"[rng.integers(2)]
        strings[f"B{kind}{_reber_string(rng)}{kind}E"] = True
    return list(strings)


def reber_arrays(strings: list[str]) -> tuple[dict[str, Any], Any, Any]:
    """Encodes strings of the embedded Reber grammar for next-symbol prediction.

    Returns:
        `({"inputs", "mask"}, labels, possible)`: float32 `(N, W, 7)`, all symbols but
        the last, one-hot in the order of `REBER`; bool `(N, W)`; int32 `(N, W)`, the
        next symbols; and bool `(N, W, 7)`, all symbols that may come next.
    """
    width = max(map(len, strings)) - 1
    symbols = np.zeros((len(strings), width), "int32")
    labels, mask = symbols.copy(), np.zeros(symbols.shape, bool)
    possible = np.zeros((*symbols.shape, len(REBER)), bool)
    for row, text in enumerate(strings):
        ids = [REBER.index(symbol) for symbol in text]
        steps = len(ids) - 1
        symbols[row, :steps], labels[row, :steps] = ids[:-1], ids[1:]
        mask[row, :steps] = True
        for step, allowed in enumerate(_next_symbols(text)):
            possible[row, step, [REBER.index(symbol) for symbol in allowed]] = True
    x = {"inputs": _one_hot(symbols, len(REBER), mask), "mask": mask}
    return x, labels, possible


def _reber_string(rng):
    state, text = 1, "B"
    while state != _END:
        symbol = sorted(_GRAPH[state])[rng.integers(2)]
        text, state = text + symbol, _GRAPH[state][symbol]
    return text + "E"


def _next_symbols(text):
    """The symbols that may follow each one but the last."""
    symbols, state = ["TP", "B"], 1
    for symbol in text[3:-3]:
        symbols.append("".join(_GRAPH[state]))
        state = _GRAPH[state][symbol]
    return [*symbols, "E", text[1], "E"]


def _lengths(rng, count, length):
    """The length of each sequence, and the mask."""
    longest = length + length // 10
    lengths = rng.integers(length, longest, count, endpoint=True)
    return lengths, np.arange(longest)[None] < lengths[:, None]


def _one_hot(symbols, size, mask):
    return (np.eye(size)[symbols] * mask[..., None]).astype("float32")


# === Nets ===
def make_model(settings: Settings, task: str, inputs: int, outputs: int) -> Any:
    """Makes an LSTM with an output layer.

    The output layer reads the last state of a sequence, for "reber" that of each step.
    """
    import keras

    from zoo.layers import RecurrentStack, logistic_1, logistic_2

    net = NETS[task]
    units = settings.units or net.units
    uniform = keras.initializers.RandomUniform(-net.limit, net.limit)
    blocks = [i % len(net.biases) for i in range(units)]
    biases = [[0.0] * units for _ in range(4 if settings.forget_gate else 3)]
    biases[-1 if task == "reber" else 0] = [net.biases[i] for i in blocks]
    if settings.forget_gate:  # Gers et al.: 0.5, 1.0, … block by block
        biases[1] = [0.5 * (1 + i) for i in blocks]
    x = keras.Input((None, inputs), name="inputs")
    mask = keras.Input((None,), dtype="bool", name="mask")
    every, states = RecurrentStack(
        units,
        kernel_initializer=uniform,
        bias_initializer=keras.initializers.Constant(sum(biases, [])),
        cell_options={
            "forget_gate": settings.forget_gate,
            "activation": logistic_2,
            "output_activation": logistic_1,
        },
    )(x, mask=mask)
    read = every if task == "reber" else states[-1][0]
    layer = keras.layers.Dense(
        outputs,
        activation=None if task == "adding" else "softmax",
        kernel_initializer=uniform,
    )
    return keras.Model({"inputs": x, "mask": mask}, layer(read))


def count_wrong(errors: Any, limit: float) -> int:
    """Returns how many sequences have an output unit that is off by the limit."""
    return int((~(errors < limit)).any(1).sum())  # NaN is wrong


def are_right(outputs: Any, possible: Any, mask: Any) -> Any:
    """Returns for each string whether it is right at every step.

    It is if the units of all possible next symbols are more active than the others.
    """
    least = np.where(possible, outputs, np.inf).min(-1)
    most = np.where(possible, -np.inf, outputs).max(-1)
    return ((least > most) | ~mask).all(1)


def _until(run, solved, sequences):
    """Whether the task was solved, and after how many sequences."""
    seen = (run.loop.checkpoint.best_epoch + 1) * sequences
    return {"solved": bool(solved), "sequences": seen if solved else None}


def adding_and_order(run: Any, task: str) -> dict[str, Any]:
    """Trains on fresh sequences until the paper's criterion is met, then tests."""
    settings = run.settings
    if task == "adding":
        loss, sizes, limit, mean = "mse", (2, 1), 0.04, 0.01

        def draw(count, *seed):
            return adding(count, settings.length, (run.seed, *seed))
    else:
        relevant = 3 if task == "order_3" else 2
        loss, sizes = "sparse_categorical_crossentropy", (8, 2**relevant)
        limit, mean = 0.3, 0.1

        def draw(count, *seed):
            seed = (run.seed, *seed)
            return temporal_order(count, 100, seed, relevant)

    def errors(model, count, *seed):
        """The error of each output unit: `(count, units)`."""
        x, y = draw(count, *seed)
        y = y if task == "adding" else np.eye(sizes[1])[y]
        return np.abs(model.predict(x, batch_size=500, verbose=0) - y)

    def validate(model):
        fresh = errors(model, FRESH, _VALID, batches.epoch)
        wrong = count_wrong(fresh, limit)
        return {
            "val_error": fresh.mean(),
            "val_wrong": wrong,
            "val_unsolved": wrong + (not fresh.mean() < mean),
        }

    model = make_model(settings, task, *sizes)
    batches = zoo.training.ArrayBatches(
        lambda epoch: draw(settings.sequences, _TRAIN, epoch), NETS[task].batch_size
    )
    monitor = zoo.training.Monitor("val_unsolved", "min", goal=0)
    unsolved = run.fit(model, batches, loss, validate, monitor, name=task)
    test = errors(model, TEST, _TEST)
    return {
        "wrong": count_wrong(test, limit),
        "of": TEST,
        "mean_error": float(test.mean()),
        **_until(run, unsolved == 0, settings.sequences),
    }


def reber(run: Any, task: str) -> dict[str, Any]:
    """Trains on 256 strings until all of them, and 256 others, are right."""
    settings = run.settings
    strings = reber_strings(2 * STRINGS, run.seed)
    x, labels, possible = reber_arrays(strings)
    weights = x["mask"].astype("float32")

    def right(model):
        outputs = model.predict(x, batch_size=STRINGS, verbose=0)
        strings = are_right(outputs, possible, x["mask"])
        return float(strings[:STRINGS].mean()), float(strings[STRINGS:].mean())

    def validate(model):
        train, test = right(model)
        return {"train_right": train, "test_right": test, "right": (train + test) / 2}

    model = make_model(settings, task, len(REBER), len(REBER))
    train = {name: array[:STRINGS] for name, array in x.items()}
    train = train, labels[:STRINGS], weights[:STRINGS]
    batches = zoo.training.ArrayBatches(train, NETS[task].batch_size, run.seed)
    loss = "sparse_categorical_crossentropy"
    # As many sequences as the other tasks see.
    epochs = max(1, settings.epochs * settings.sequences // STRINGS)
    monitor = zoo.training.Monitor("right", "max", goal=1.0)
    share = run.fit(model, batches, loss, validate, monitor, epochs=epochs, name=task)
    train_right, test_right = right(model)
    return {
        "train_right": train_right,
        "test_right": test_right,
        **_until(run, share == 1, STRINGS),
    }


def work(run: Any) -> dict[str, Any]:
    """Learns each task and returns the results."""
    results = {}
    for task in run.settings.tasks:
        results[task] = (reber if task == "reber" else adding_and_order)(run, task)
        run.say(f"{task}: {results[task]}")
    return results


ADAM = Optimizer("adam", 1e-2, clip=1.0)
RECIPE = Recipe(
    "lstm_tasks",
    {
        "tiny": Settings(30, ADAM, tasks=("adding",), length=20),
        "small": Settings(200, ADAM),
        "paper": Settings(1000, ADAM, tasks=tuple(NETS)),
    },
    work,
    __file__,
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
