"""Whatever people have their text in, a task is trained on it."""

import keras
import numpy as np
import pytest

from tests.harness import close, to_numpy
from tests.marks import once
from tests.models.test_everyday import translator
from tests.tasks import test_classifier, test_language_model, test_tagger
from zoo.tasks.fitting import ByLength

SOURCES = ["ab cd", "ba", "dad cab", "bad"]
TARGETS = ["ba", "cab dad", "c", "da da"]
WEIGHTS = [1.0, 0.0, 2.0, 0.5]
WORDS = [["a", "dog"], ["cat"], "a cat runs", ["runs", "."]]
TAGS = [["DET", "NOUN"], ["NOUN"], ["DET", "NOUN", "X"], ["X", "X"]]
# Of each kind of task: its columns, and what they are called.
COLUMNS = {
    "translator": (("source", SOURCES), ("target", TARGETS)),
    "tagger": (("words", WORDS), ("tags", TAGS)),
    "classifier": (("text", SOURCES), ("label", ["good", "bad", "so", "bad"])),
    "language_model": (("text", SOURCES),),
}


def make(kind, tokenizer):
    """A task without dropout, whose optimizer changes nothing."""
    task = {
        "translator": lambda: translator(tokenizer=tokenizer, dropout=0.0),
        "tagger": test_tagger.task_of,
        "classifier": test_classifier.task_of,
        "language_model": test_language_model.task_of,
    }[kind]()
    config = task.backbone.get_config()
    steady = {name: 0.0 for name in config if "dropout" in name}
    backbone = type(task.backbone).from_config({**config, **steady})
    backbone.set_weights(task.backbone.get_weights())
    task = type(task)(backbone, task.preprocessor)
    task.compile(keras.optimizers.SGD(0.0))
    return task


@pytest.fixture(scope="module")
def tasks(tokenizer):
    """The task of each kind, made when it is asked for."""

    class Tasks(dict):
        def __missing__(self, kind):
            self[kind] = make(kind, tokenizer)
            return self[kind]

    return Tasks()


class Batches(keras.utils.PyDataset):
    """Two batches, as they were given."""

    def __init__(self, batches):
        super().__init__()
        self.batches = batches

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        return self.batches[index]


def parts(columns):
    """Two halves of the columns."""
    return [tuple(column[i : i + 2] for column in columns) for i in (0, 2)]


def halves(columns):
    """The columns' batches of two texts, as `fit` has them."""
    return [part if len(part) > 1 else part[0] for part in parts(columns)]


def of_tensors(columns, batch):
    tensorflow = pytest.importorskip("tensorflow")
    return tensorflow.data.Dataset.from_tensor_slices(tuple(columns)).batch(batch)


def table(names, columns):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(dict(zip(names, columns, strict=True)))


# Functions of the columns and their names that give the positional arguments of `fit`.
FORMS = {
    "columns": lambda names, columns: columns,
    "arrays": lambda names, columns: map(np.array, columns),
    "pairs": lambda names, columns: [[*zip(*columns, strict=True)]],
    "generator": lambda names, columns: [(batch for batch in halves(columns))],
    "a dict": lambda names, columns: [dict(zip(names, columns, strict=True))],
    "a table": lambda names, columns: [table(names, columns)],
    "its columns": lambda names, columns: [
        table(names, columns)[name] for name in names
    ],
    "PyDataset": lambda names, columns: [Batches(halves(columns))],
    "PyDataset of dicts": lambda names, columns: [
        Batches([dict(zip(names, part, strict=True)) for part in parts(columns)])
    ],
    "batched": lambda names, columns: [of_tensors(columns, 2)],
}


def cases():
    for kind in COLUMNS:
        for form in FORMS:
            if kind == "tagger" and form in ("arrays", "batched"):
                continue  # its rows are of unlike lengths
            if kind == "classifier" and form == "batched":
                continue  # names of classes are strings
            if kind == "language_model" and form == "pairs":
                continue  # it has one column
            under_each = kind == "translator" and form in ("columns", "PyDataset")
            yield (kind, form) if under_each else once(kind, form)


def arrays_of(task, kind, columns):
    """The arrays of texts, by the preprocessor's own methods."""
    prepare, (x, *y) = task.preprocessor, columns
    if kind == "translator":
        return prepare({"source": x, "target": y[0]})
    if kind == "tagger":
        return prepare(x, y=y[0])
    if kind == "classifier":
        return prepare(x, y=np.array([task.backbone.classes.index(c) for c in y[0]]))
    return prepare(x)


@pytest.mark.filterwarnings("ignore:.*ran out of data")
@pytest.mark.parametrize(("kind", "form"), [*cases()])
def test_every_form_is_trained_and_validated_on(kind, form, tasks):
    task, (names, columns) = tasks[kind], zip(*COLUMNS[kind], strict=True)
    arrays = [arrays_of(task, kind, half) for half in parts(columns)]
    loss = np.mean([keras.Model.test_on_batch(task, *x)[0] for x in arrays])
    held_out = tuple(FORMS[form](names, columns))
    if len(held_out) == 1:
        [held_out] = held_out
    options = {"batch_size": 2, "validation_batch_size": 2}
    options = {} if "PyDataset" in form or form in ("batched", "generator") else options
    options |= {"validation_data": held_out, "shuffle": False, "verbose": 0}
    history = task.fit(*FORMS[form](names, columns), **options).history
    assert history["loss"][0] == pytest.approx(loss, rel=1e-5)
    assert history["val_loss"][0] == pytest.approx(loss, rel=1e-5)


@pytest.mark.once
def test_a_part_of_the_texts_is_held_out(tasks):
    task, (_, columns) = tasks["translator"], zip(*COLUMNS["translator"], strict=True)
    history = task.fit(*columns, batch_size=4, validation_split=0.25, verbose=0).history
    first, last = ([column[i] for column in columns] for i in (slice(3), slice(3, 4)))
    for name, part in (("loss", first), ("val_loss", last)):
        wanted = keras.Model.test_on_batch(task, *arrays_of(task, "translator", part))
        assert history[name][0] == pytest.approx(wanted[0], rel=1e-5)


@pytest.mark.once
@pytest.mark.parametrize("kind", COLUMNS)
def test_texts_have_weights(kind, tasks):
    """One twice as heavy counts as two of them, in every way to give weights."""
    task, (_, columns) = tasks[kind], zip(*COLUMNS[kind], strict=True)
    x, y, *made = arrays_of(task, kind, columns)
    weights = np.array(WEIGHTS, "float32")
    weights = made[0] * weights[:, None] if made else weights
    wanted = keras.Model.test_on_batch(task, x, y, weights)[0]
    ways = [(columns, {"sample_weight": WEIGHTS})]
    if len(columns) == 2:
        ways.append(([(*columns, WEIGHTS)], {}))
        ways.append(([[*zip(*columns, WEIGHTS, strict=True)]], {}))
        ways.append(([Batches([(*columns, WEIGHTS)])], {}))
        if kind == "translator":
            ways.append(([of_tensors([*columns, WEIGHTS], 4)], {}))
    for args, options in ways:
        found = task.evaluate(*args, **options, verbose=0)[0]
        assert found == pytest.approx(wanted, rel=1e-5)
        found = task.fit(*args, **options, batch_size=4, verbose=0).history["loss"]
        assert found == [pytest.approx(wanted, rel=1e-5)]
        if isinstance(args[0], (list, tuple)):
            found = float(task.train_on_batch(*args, **options)[0])
            assert found == pytest.approx(wanted, rel=1e-5)
    assert wanted != pytest.approx(keras.Model.test_on_batch(task, x, y, *made)[0])


@pytest.mark.once
def test_classes_have_weights(tasks):
    task, columns = tasks["classifier"], [c for _, c in COLUMNS["classifier"]]
    x, y = arrays_of(task, "classifier", columns)
    wanted = keras.Model.test_on_batch(task, x, y, np.where(y == 1, 3.0, 1.0))[0]
    options = {"class_weight": {1: 3.0}}
    found = task.fit(*columns, **options, verbose=0).history["loss"]
    assert [*found, task.train_on_batch(*columns, **options)[0]] == [
        pytest.approx(wanted, rel=1e-5)
    ] * 2
    for kind, key in (
        ("classifier", "bad"),
        ("classifier", 99),
        ("tagger", 1),
        ("translator", 1),
        ("language_model", 1),
    ):
        with pytest.raises(ValueError, match="classifier alone. Received.*=.*: 3.0"):
            columns = [column for _, column in COLUMNS[kind]]
            tasks[kind].fit(*columns, class_weight={key: 3.0}, verbose=0)


@pytest.mark.once
@pytest.mark.parametrize("kind", COLUMNS)
def test_one_batch(kind, tasks):
    """KerasHub's methods read text, too."""
    task, (_, columns) = tasks[kind], zip(*COLUMNS[kind], strict=True)
    arrays = arrays_of(task, kind, columns)
    wanted = keras.Model.test_on_batch(task, *arrays)[0]
    assert float(task.test_on_batch(*columns)[0]) == pytest.approx(wanted, rel=1e-5)
    inputs = [tuple(columns)] if kind == "translator" else columns[:1]
    logits = keras.Model.predict_on_batch(task, arrays[0])
    close(task.predict(*inputs, verbose=0), logits)


class Killed(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            raise InterruptedError


@pytest.mark.parametrize("kind", ["translator", *map(once, [*COLUMNS][1:])])
def test_training_goes_on_from_a_saved_task(kind, tokenizer, tasks, tmp_path):
    """As if it had never been saved: from a file, a checkpoint and a backup."""
    columns = [column for _, column in COLUMNS[kind]]
    weights = tasks[kind].get_weights()

    def new():
        task = make(kind, tokenizer)
        task.set_weights(weights)
        task.compile(keras.optimizers.SGD(0.5, momentum=0.9, name="steps"))
        return task

    def fit(task, epochs=1, callbacks=()):
        options = {"shuffle": False, "verbose": 0, "callbacks": list(callbacks)}
        return task.fit(*columns, epochs=epochs, **options).history

    backup = keras.callbacks.BackupAndRestore(tmp_path / "backup")
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "1.keras")
    task = new()
    with pytest.raises(InterruptedError):
        fit(task, 2, [backup, checkpoint, Killed()])
    task.save(tmp_path / "2.keras")
    wanted = fit(task)
    for place in (1, 2):
        again = keras.saving.load_model(tmp_path / f"{place}.keras")
        assert int(to_numpy(again.optimizer.iterations.value)) == 1
        assert fit(again) == wanted
        assert again.optimizer.get_config() == task.optimizer.get_config()
        for got, own in zip(again.get_weights(), task.get_weights(), strict=True):
            np.testing.assert_array_equal(got, own)
    again = new()
    assert fit(again, 2, [backup]) == wanted
    for got, own in zip(again.get_weights(), task.get_weights(), strict=True):
        np.testing.assert_array_equal(got, own)


def test_batches_hold_rows_of_like_length(tasks, monkeypatch):
    """Each row is in one batch of an epoch, in few widths, and can be trained on."""
    lengths = np.random.default_rng(0).permutation(19) + 1
    ids = np.array([[4 + i % 3] * n + [0] * (40 - n) for i, n in enumerate(lengths)])
    x = {"source_ids": ids[:, :30], "target_ids": ids[:, ::2]}
    arrays = x, ids[:, ::2], (ids[:, ::2] != 0).astype("float32")
    batches = ByLength(arrays, 4)
    found = [batches[i] for i in range(batches.num_batches)]
    batches.on_epoch_begin()
    again = [batches[i] for i in range(batches.num_batches)]
    assert sorted(len(y) for _, y, _ in found) == [3, 4, 4, 4, 4]
    widths = [[part.shape[1] for part in (*x.values(), y, w)] for x, y, w in found]
    # TensorFlow takes from the first two which axes vary.
    assert all(a != b for a, b in zip(*widths[:2], strict=True))
    assert widths[0] == [8, 8, 8, 8] and widths[1] == [24, 16, 16, 16]
    rows = [
        [np.count_nonzero(row) for x, *_ in e for row in x["source_ids"]]
        for e in (found, again)
    ]
    assert rows[0] != rows[1] and sorted(rows[0]) == sorted(rows[1]) == [*range(1, 20)]
    task = tasks["translator"]
    history = task.fit(batches, epochs=2, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    monkeypatch.setattr("zoo.tasks.fitting.ByLength", None)  # ids stay as they are
    task.fit(arrays, batch_size=4, verbose=0)


@pytest.mark.once
@pytest.mark.parametrize(
    ("kind", "args", "message"),
    [
        ("translator", [SOURCES], r"LuongTranslator takes source and target as .*x="),
        ("translator", ["ab cd", "ba"], "Received: x='ab cd'"),
        ("translator", [None], r"Received: x=None \(NoneType\)"),
        ("translator", [[], []], "at least one source"),
        ("translator", [SOURCES, TARGETS[:3]], "equally long"),
        ("translator", [(SOURCES, TARGETS, [1.0])], r"array of shape \(1,\)"),
        ("translator", [(SOURCES, TARGETS, [1.0], 2)], "to be in format"),
        ("translator", [{"en": SOURCES, "de": TARGETS}], r"columns \['en', 'de'\]"),
        ("translator", [SOURCES, [*TARGETS[:3], 5]], r"target\[3\] must be a str.*5"),
        ("translator", [Batches([SOURCES])], "takes source and target"),
        ("translator", [Batches([SOURCES]), TARGETS], "the targets should be included"),
        ("tagger", [WORDS], "takes words and tags"),
        ("classifier", [SOURCES, ["good", "a", "b", "so"]], "class numbers or of"
         " .'bad'.*Received: .'good', 'a', 'b'"),
        ("language_model", [SOURCES, TARGETS], "takes text as"),
        ("language_model", ["a dog"], "takes text as"),
    ],
)  # fmt: skip
def test_what_cannot_be_taken_is_told(kind, args, message, tasks):
    task = tasks[kind]
    task.optimizer.iterations.assign(0)
    with pytest.raises((ValueError, TypeError), match=message):
        task.fit(*args, verbose=0)
    assert int(to_numpy(task.optimizer.iterations.value)) == 0


def test_an_error_in_a_batch_leaves_the_values(tasks):
    task, good = tasks["translator"], (SOURCES[:2], TARGETS[:2])
    task.fit(Batches([good]), verbose=0)
    values = task.get_weights()
    for batches in ([good, SOURCES], [SOURCES]):
        with pytest.raises(ValueError, match="takes source and target"):
            task.fit(Batches(batches), shuffle=False, verbose=0)
        for found, wanted in zip(task.get_weights(), values, strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert np.isfinite(task.fit(Batches([good]), verbose=0).history["loss"]).all()


@pytest.mark.once
def test_without_a_preprocessor_there_is_no_text(tasks, tokenizer):
    task = make("translator", tokenizer)
    task.preprocessor = None
    x, y, weights = arrays_of(tasks["translator"], "translator", [SOURCES, TARGETS])
    loss = task.fit(x, y, sample_weight=weights, verbose=0).history["loss"]
    again = task.fit((x, y, weights), verbose=0).history["loss"]
    assert again == pytest.approx(loss, rel=1e-5)
