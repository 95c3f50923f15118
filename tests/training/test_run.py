import dataclasses
import json
import re

import keras
import numpy as np
import pytest

import zoo
from tests.training.small_run import read_arrays, read_log
from zoo.cli import main
from zoo.training import ArrayBatches, Monitor, Optimizer, Recipe, at_least
from zoo.training.config import read_configuration

pytestmark = pytest.mark.once  # test_translation.py resumes under each backend


@dataclasses.dataclass(frozen=True)
class Settings:
    epochs: int = 3
    optimizer: Optimizer = Optimizer("adam", 0.05, clip=1.0)
    model: dict[str, int] = dataclasses.field(default_factory=lambda: {"units": 8})
    names: tuple[str, ...] = ("one", "two")
    patience: int | None = None

    def __post_init__(self):
        at_least(self, epochs=1)


class Killed(Exception):
    pass


class Work:
    """Trains two small nets with dropout, one after another; may be killed."""

    def __init__(self, killed_at=None, scores=None, mode="min", goal=None):
        self.killed_at, self.scores, self.mode = killed_at, scores, mode
        self.goal = goal
        self.calls, self.weights = 0, []

    def __call__(self, run):
        self.run = run
        x = np.random.default_rng(run.seed).normal(size=(40, 3)).astype("float32")
        y = x @ np.array([[1.0], [-2.0], [0.5]], "float32")
        found = {}
        for name in run.settings.names:
            self.model = keras.Sequential(
                [
                    keras.Input((3,)),
                    keras.layers.Dense(**run.settings.model, activation="tanh"),
                    keras.layers.Dropout(0.2),
                    keras.layers.Dense(1),
                ]
            )
            best = run.fit(
                self.model,
                ArrayBatches((x, y), batch_size=8, seed=run.seed),
                loss="mse",
                validate=lambda model: self.validate(model, x, y),
                monitor=Monitor("val_mse", self.mode, goal=self.goal),
                name=name,
            )
            found[name] = {"best": best, "again": self.mse(self.model, x, y)}
        return found

    def mse(self, model, x, y):
        return float(np.mean((model.predict(x, verbose=0) - y) ** 2))

    def validate(self, model, x, y):
        self.calls += 1
        if self.calls == self.killed_at:
            raise Killed
        self.weights.append([np.array(w) for w in model.get_weights()])
        value = self.scores[self.calls - 1] if self.scores else self.mse(model, x, y)
        return {"val_mse": value}


def make(work, **settings):
    scales = {name: Settings(**settings) for name in ("tiny", "small", "paper")}
    return Recipe("mine", scales, work, __file__)


def read(folder):
    """Results that a seed repeats."""
    folders = [path.parent for path in sorted(folder.rglob("log.csv"))]
    logs = {path.name: read_log(path) for path in folders}
    arrays = [array for path in folders for array in read_arrays(path).values()]
    return json.loads((folder / "results.json").read_text()), logs, arrays


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    assert make(Work()).main(["--output", str(folder), "--seed", "5"]) == 0
    return folder


def test_it_trains_and_leaves_the_best_weights(straight):
    results, logs, _ = read(straight)
    assert list(logs) == ["one", "two"]
    assert {path.name for path in (straight / "models" / "one").iterdir()} == {
        "best.weights.h5",
        "checkpoint.npz",
        "log.csv",
    }
    for name, rows in logs.items():
        values = [float(row["val_mse"]) for row in rows]
        assert len(values) == 3 and values[-1] < values[0]
        assert results[name]["best"] == pytest.approx(min(values))
        assert results[name]["again"] == pytest.approx(min(values), rel=1e-5)
    # Of two models no one has the other's weights or order of batches.
    assert logs["one"][0]["loss"] != logs["two"][0]["loss"]


@pytest.mark.parametrize("killed_at", [2, 4])
def test_killed_it_ends_as_if_nothing_had_been(straight, tmp_path, killed_at):
    options = ["--output", str(tmp_path), "--seed", "5"]
    with pytest.raises(Killed):
        make(Work(killed_at)).main(options)
    assert make(Work()).main(["--resume", str(tmp_path)]) == 0
    (found, logs, arrays), expected = read(tmp_path), read(straight)
    assert (found, logs) == expected[:2]
    for array, other in zip(arrays, expected[2], strict=True):
        np.testing.assert_array_equal(array, other)
    told = read_configuration(tmp_path)
    assert told["arguments"].items() >= {"scale": "tiny", "seed": 5}.items()
    assert told["hyper_parameters"]["optimizer"]["learning_rate"] == 0.05


@pytest.mark.parametrize(
    ("mode", "best", "patience", "goal", "epochs"),
    [
        ("max", 1, None, None, 5),
        ("min", 2, None, None, 5),
        ("max", 1, 2, None, 4),
        ("max", 1, None, 0.9, 2),
        ("min", 2, None, 0.3, 3),
    ],
)
def test_the_best_epoch_and_the_last(tmp_path, mode, best, patience, goal, epochs):
    scores = [0.5, 0.9, 0.1, 0.2, 0.3]
    work = Work(scores=scores, mode=mode, goal=goal)
    recipe = make(work, epochs=5, names=("one",), patience=patience)
    for _ in range(2):  # the second time it is only loaded
        assert recipe.main(["--output", str(tmp_path)]) == 0
        assert work.calls == epochs
        results = json.loads((tmp_path / "results.json").read_text())
        assert results["one"]["best"] == scores[best]
        for got, wanted in zip(
            work.model.get_weights(), work.weights[best], strict=True
        ):
            np.testing.assert_array_equal(got, wanted)


def test_finish_trains_no_further(tmp_path, capsys):
    options = ["--output", str(tmp_path)]
    with pytest.raises(Killed):
        make(Work(2)).main(options)
    work = Work()
    assert make(work).main([*options, "--finish"]) == 2
    assert "Nothing to finish" in capsys.readouterr().err  # of the second model
    assert make(work, names=("one",)).main([*options, "--finish"]) == 2
    assert "its settings.names differs" in capsys.readouterr().err
    assert work.calls == 0


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--set=unit=3", "key is one of epochs, model.units"),
        ("--seed=6", "belongs to another run: its seed differs"),
        ("--precision=mixed_bfloat16", "another run: its precision differs"),
        ("--set=optimizer.clip=null", "its settings.optimizer.clip differs"),
        ("--set=model.units=9", "its settings.model.units differs"),
    ],
)
def test_what_cannot_run_is_refused(straight, capsys, option, message):
    before = {p: p.read_bytes() for p in straight.rglob("*") if p.is_file()}
    assert {"config.json", "log.csv"} <= {path.name for path in before}
    options = ["--output", str(straight), "--seed", "5", option]
    assert make(Work()).main(options) == 2
    assert re.search(message, capsys.readouterr().err)
    assert {p: p.read_bytes() for p in straight.rglob("*") if p.is_file()} == before


def test_a_scale_may_have_a_preset_of_its_own(tmp_path):
    found = {}

    def work(run):
        found[run.arguments.scale] = run.name
        return {}

    scales = {name: Settings() for name in ("tiny", "free")}
    recipe = Recipe("mine", scales, work, __file__, extra_presets=("free",))
    for scale in scales:
        words = ["--scale", scale, "--output", str(tmp_path / scale)]
        assert recipe.main(words) == 0
    assert found == {"tiny": "mine", "free": "mine_free"}


RECIPE = """
import dataclasses
import keras, numpy as np
from zoo.training import ArrayBatches, Optimizer, Recipe

@dataclasses.dataclass(frozen=True)
class Settings:
    epochs: int = 1
    optimizer: Optimizer = Optimizer("sgd", 0.1)

def work(run):
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    batches = ArrayBatches((np.ones((4, 1)), np.ones((4, 1))), 2)
    return {"loss": run.fit(model, batches, loss="mse")}

SCALES = {"tiny": Settings(), "small": Settings(), "paper": Settings()}
RECIPE = Recipe("mine", SCALES, work, __file__)
"""


def test_the_command_line_runs_and_resumes_it(tmp_path):
    path, folder = tmp_path / "mine.py", tmp_path / "run"
    path.write_text(RECIPE)
    assert main(["train", str(path), "--output", str(folder)]) == 0
    results = json.loads((folder / "results.json").read_text())
    config = folder / "config.json"
    told = json.loads(config.read_text())
    # What a stranger might put there is not followed.
    told["arguments"] |= {"output": str(tmp_path / "elsewhere")}
    config.write_text(json.dumps(told))
    resume = ["train", str(path), "--resume", str(folder), "--epochs", "3"]
    assert main(resume) == 0
    assert not (tmp_path / "elsewhere").exists()
    again = json.loads((folder / "results.json").read_text())
    assert again["loss"] < results["loss"] and (folder / "report.html").exists()
    command = f"zoo train {path} --resume {folder} --epochs 3"
    assert read_configuration(folder)["command"] == command


def test_a_preset_to_start_from_must_not_be_ignored(tmp_path):
    recipe, start = Recipe("new", {}, print), object()
    arguments = zoo.training.Arguments(tmp_path)
    run = zoo.training.Run(recipe, Settings(), arguments, start=start)
    with pytest.raises(ValueError, match="new copies no weights"):
        run.fit(None, None, None)
