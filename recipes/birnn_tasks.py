"""Schuster & Paliwal 1997, section III: what nets of one and of two directions learn.

    python recipes/birnn_tasks.py --scale tiny|small|paper

Regression and classification of the paper's artificial data, a weighted sum of the 10
frames before t and the 20 frames from t on: RNN-FOR and RNN-BACK with several delays,
MERGE of both, the bidirectional net (BRNN), and nets that see a window of frames (MLP).
The results have each net's error and the least possible error of any net that sees the
same frames.

tiny:  RNN-FOR and RNN-BACK without delay, their MERGE, BRNN; under two minutes.
small: all nets, five delays. paper: the same on the paper's 10,000 frames with its
       RPROP, 200 cycles (one run, not 100).

Deviations: tiny and small train on more frames with Adam. Sequences are 129 frames long
instead of one of 10,000, and frames whose window leaves the sequence are not counted.
"""

import dataclasses

import numpy as np

import zoo
from zoo.training import Optimizer, Recipe, at_least

TASKS = ("regression", "classification")
LEFT, RIGHT = 10, 20
# w_d of y(t) = sum over d of w_d x(t + d), for d = -10 … 19.
_PLACES = np.arange(-LEFT, RIGHT)
WEIGHTS = np.where(
    _PLACES < 0,
    (1 - np.abs(_PLACES) / LEFT) / LEFT,
    (1 - np.abs(_PLACES) / RIGHT) / RIGHT,
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The choices of a run.

    Attributes:
        sequences, length: training data; `test_sequences` are for the scores.
        hidden_dim: units of each chain of the BRNN, and of an MLP.
        one_sided_dim: units of a net of one chain.
        delays: frames by which the outputs of such nets are delayed.
        windows: (first, last) frame that each MLP sees, relative to t.
    """

    epochs: int
    optimizer: Optimizer
    sequences: int
    batch_size: int = 20
    length: int = 129
    test_sequences: int = 2000
    hidden_dim: int = 12
    one_sided_dim: int = 18
    delays: tuple[int, ...] = (0, 2, 5, 10, 15)
    windows: tuple[tuple[int, int], ...] = ((-10, 19), (-5, 10), (-2, 2))

    def __post_init__(self):
        at_least(self, epochs=1, sequences=1, batch_size=1, length=30)
        at_least(self, test_sequences=1, hidden_dim=1, one_sided_dim=1)


# === Data ===
def triangle_sums(count, length, seed):
    """Generates the paper's data: noise weighted by an asymmetric triangle.

        y(t) = 1/10 sum_{d=-10..-1} x(t+d) (1 - |d|/10)
             + 1/20 sum_{d=0..19}   x(t+d) (1 - |d|/20)

    with x uniform in (0, 1) (section III).

    Returns:
        `(x, y, inside)`: float32 `(count, length, 1)`, float32 `(count, length)` and
        bool `(count, length)`, true for frames whose window lies within the sequence.
    """
    x = np.random.default_rng(seed).uniform(size=(count, length))
    steps = np.arange(length)
    inside = (steps >= LEFT) & (steps < length - RIGHT + 1)
    inside = np.tile(inside, (count, 1))
    return x[..., None].astype("float32"), best_guess(x).astype("float32"), inside


def best_guess(x, first=-LEFT, last=RIGHT - 1):
    """Computes the mean of y(t) given only x(t + d) for first <= d <= last.

    This is the guess of least squared error. Since the rest of y is symmetric about its
    mean, guess > 0.5 is also the class of least error. Invisible frames, and those
    beyond the sequence, count as 0.5.
    """
    padded = np.pad(x, ((0, 0), (LEFT, RIGHT - 1)), constant_values=0.5)
    windows = np.lib.stride_tricks.sliding_window_view(padded, LEFT + RIGHT, axis=1)
    seen = np.where(_sees(first, last), WEIGHTS, 0)
    return windows @ seen + 0.5 * (WEIGHTS.sum() - seen.sum())


def irreducible_error(first=-LEFT, last=RIGHT - 1):
    """Computes the least mean squared error given x(t + d) for first <= d <= last.

    Each invisible frame is independent of the visible ones and costs its squared weight
    times 1/12, the variance of a number that is uniform in (0, 1).
    """
    unseen = np.where(_sees(first, last), 0, WEIGHTS)
    return float(np.sum(unseen**2) * (1 / 12))


def _sees(first, last):
    return (_PLACES >= first) & (_PLACES <= last)


class Data:
    """Training, validation and test data of one task: (x, y, frames that count)."""

    def __init__(self, task, run):
        settings, self.classes = run.settings, task == "classification"
        tests, self.parts = settings.test_sequences, []
        for part, count in enumerate((settings.sequences, tests // 4, tests)):
            x, y, inside = triangle_sums(count, settings.length, (run.seed, part))
            y = (y > 0.5).astype("int32") if self.classes else y
            self.parts.append((x, y, inside))

    def prior(self):
        """The average output, with which the biases start as in the paper."""
        _, y, inside = self.parts[0]
        mean = y[inside].mean()
        return np.log([1 - mean, mean]) if self.classes else np.array([mean])

    def error(self, outputs, part):
        """Mean squared error, or the share of wrong classes."""
        _, y, inside = self.parts[part]
        guess = outputs.argmax(-1) if self.classes else outputs[..., 0]
        wrong = guess != y if self.classes else (guess - y) ** 2
        return float(wrong[inside].mean())

    def limit(self, first, last):
        """The least possible test error of a net that sees these frames."""
        guess = best_guess(self.parts[2][0][..., 0], first, last)[..., None]
        if self.classes:
            guess = np.concatenate([0.5 - guess, guess - 0.5], axis=-1)
        return self.error(guess, 2)


# === Nets ===
def _nets(settings, outputs):
    """Yields name, function that makes the net, and visible frames of each net."""
    import keras

    def chains(**options):
        return lambda: zoo.models.BiRNN(1, outputs, **options)

    def window(first, last):
        return lambda: keras.Sequential(
            [
                keras.Input((settings.length, 1)),
                keras.layers.ZeroPadding1D((-first, last)),
                keras.layers.Conv1D(
                    settings.hidden_dim, last - first + 1, activation="tanh"
                ),
                keras.layers.Dense(outputs),
            ]
        )

    size = settings.one_sided_dim
    for t in settings.delays:
        forward = chains(direction="forward", delay=t, hidden_dim=size)
        yield f"for_{t}", forward, (-10, t)
        backward = chains(direction="backward", delay=t, hidden_dim=size)
        yield f"back_{t}", backward, (-t, 19)
    for first, last in settings.windows:
        yield f"mlp_{-first}_{last}", window(first, last), (first, last)
    yield "brnn", chains(hidden_dim=settings.hidden_dim), (-10, 19)


def _merge(classes, one, other):
    """MERGE: the mean of two nets; for classes the geometric mean of probabilities."""
    if not classes:
        return (one + other) / 2
    logs = [x - np.logaddexp.reduce(x, axis=-1, keepdims=True) for x in (one, other)]
    return sum(logs) / 2  # not normalised: the decisions are the same


def _learn(task, run):
    """Trains all nets for one task: name -> error, limit and parameters."""
    import keras

    data, outputs, results = Data(task, run), {}, {}
    (x, y, inside), settings = data.parts[0], run.settings
    train = x, y[..., None], inside.astype("float32")
    batches = zoo.training.ArrayBatches(train, settings.batch_size, run.seed)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    for name, make, sees in _nets(settings, 2 if data.classes else 1):
        net = make()
        net.layers[-1].bias.assign(data.prior())

        def validate(net):
            guess = net.predict(data.parts[1][0], batch_size=250, verbose=0)
            return {"val_error": data.error(guess, 1)}

        run.fit(
            net,
            batches,
            loss=loss if data.classes else "mse",
            validate=validate,
            monitor=zoo.training.Monitor("val_error", "min"),
            name=f"{task}_{name}",
        )
        outputs[name] = net.predict(data.parts[2][0], batch_size=250, verbose=0)
        results[name] = {
            "error": data.error(outputs[name], 2),
            "limit": data.limit(*sees),
            "parameters": net.count_params(),
        }
    for delay in settings.delays:
        pair = [outputs[f"{name}_{delay}"] for name in ("for", "back")]
        error = data.error(_merge(data.classes, *pair), 2)
        results[f"merge_{delay}"] = {"error": error}
    return results


def _run(run):
    results = {task: _learn(task, run) for task in TASKS}
    results["limits"] = {
        "forward": irreducible_error(last=0),
        "backward": irreducible_error(first=0),
    }
    for task in TASKS:
        run.say(f"{task}: error (least possible for the frames that the net sees)")
        for name, scores in results[task].items():
            limit = f"{scores['limit']:.6f}" if "limit" in scores else "-"
            run.say(f"  {name:12} {scores['error']:.6f}  ({limit})")
    return results


ADAM = Optimizer("adam", 1e-2, "linear", warmup=50, clip=1.0)
RECIPE = Recipe(
    name="birnn_tasks",
    file=__file__,
    scales={
        "tiny": Settings(12, ADAM, sequences=400, delays=(0,), windows=()),
        "small": Settings(60, ADAM, sequences=1000),
        # A batch of all sequences: a cycle is one update.
        "paper": Settings(200, Optimizer("rprop", 1e-2), 100, batch_size=100),
    },
    train=_run,
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
