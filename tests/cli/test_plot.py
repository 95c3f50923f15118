import numpy as np
import pytest

from tests.presets_for_tests import make_preset
from tests.test_import import python
from zoo import analysis
from zoo.analysis.caption_plot import KEY
from zoo.cli import main
from zoo.decoding import Caption, Translation
from zoo.presets import loading

pytestmark = pytest.mark.once

pytest.importorskip("matplotlib")  # an extra


class FakeTask:
    """Translates word by word, in upper case."""

    def __init__(self, mark):
        self.mark, self.calls = mark, []

    def translate(self, texts, return_details, **options):
        assert return_details
        self.calls.append((texts, options))
        return [self.record(text) for text in texts]

    def record(self, text):
        source = [f"▁{word}" for word in text.split()]
        target = [word.upper() + self.mark for word in source]
        return Translation(text, 0.0, target, source, np.eye(len(source)))


@pytest.fixture
def tasks(monkeypatch):
    """Loading gives a fake; what was loaded is counted."""
    tasks = {}

    def load(name):
        name = str(name)
        assert name not in tasks
        tasks[name] = FakeTask(name[-1])
        return tasks[name]

    monkeypatch.setattr(loading, "load", load)
    return tasks


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    figures, real = [], analysis.save
    monkeypatch.setattr(analysis, "save", lambda f, p: figures.append(f) or real(f, p))
    return figures


@pytest.fixture
def names(tmp_path):
    """Two presets of translators and one of a tagger, as folders."""
    for name, task in (("a", "translate"), ("b", "translate"), ("t", "tag")):
        make_preset(tmp_path / name, name=name, task=task)
    return {name: str(tmp_path / name) for name in "abt"}


def columns(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def rows(axes):
    return [label.get_text() for label in axes.get_yticklabels()]


def test_presets_side_by_side_and_a_row_for_each_sentence(
    tasks, drawn, names, tmp_path, capsys
):
    out = str(tmp_path / "dog.png")
    command = ["plot", "--preset", names["a"], "--preset", names["b"]]
    command += ["A dog runs", "one\ncat", "--beam", "2", "--output", out]
    assert main(command) == 0
    [figure] = drawn
    found = [(axes.get_title(loc="left"), rows(axes)) for axes in figure.axes]
    assert found == [
        ("a", ["Aa", "DOGa", "RUNSa"]),
        ("b", ["Ab", "DOGb", "RUNSb"]),
        ("a", ["ONEa", "CATa"]),
        ("b", ["ONEb", "CATb"]),
    ]
    assert columns(figure.axes[3]) == ["one", "cat"]
    figure.draw_without_rendering()
    tops = [axes.get_position().y1 for axes in figure.axes]
    assert tops[0] == pytest.approx(tops[1]) and tops[2] == pytest.approx(tops[3])
    assert tasks[names["a"]].calls == [
        (["A dog runs", "one cat"], {"beam_size": 2, "batch_size": 64})
    ]
    assert capsys.readouterr().out == f"{out}\n"


def test_an_engine_draws_a_preset(names, drawn, tmp_path, monkeypatch):
    model, asked = FakeTask("x"), []
    monkeypatch.setattr(
        "zoo.cli.plot.use_engine",
        lambda given, arguments, task: asked.append((given, arguments.engine)) or given,
    )
    monkeypatch.setattr("zoo.cli.plot.load_translator", lambda *_: model)
    command = ["plot", names["a"], "a dog", "--engine", "onnx-int8"]
    assert main([*command, "--output", str(tmp_path / "x.svg")]) == 0
    assert asked == [([names["a"]], "onnx-int8")] and len(drawn) == 1


def test_training_curves(drawn, tmp_path, capsys):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("epoch,loss\n0,3\n1,2\n")
    out = str(tmp_path / "curves.svg")
    logs = ["--log", str(tmp_path / "one"), "--log", str(tmp_path / "two")]
    assert main(["plot", *logs, "--output", out]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    lines = drawn[0].axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["one", "two"]
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_records_of_translations(tasks, drawn, tmp_path, capsys):
    for name, text in (("one", "a dog"), ("two", "a small cat")):
        (tmp_path / f"{name}.json").write_text(FakeTask("x").record(text).to_json())
    out = str(tmp_path / "dog.svg")
    records = [
        "--json",
        str(tmp_path / "one.json"),
        "--json",
        str(tmp_path / "two.json"),
    ]
    assert main(["plot", *records, "--output", out]) == 0
    assert capsys.readouterr().out == f"{out}\n" and not tasks
    found = [(axes.get_title(loc="left"), rows(axes)) for axes in drawn[0].axes]
    assert found == [("one", ["Ax", "DOGx"]), ("two", ["Ax", "SMALLx", "CATx"])]
    assert columns(drawn[0].axes[1]) == ["a", "small", "cat"]


def test_the_record_of_a_caption(tasks, drawn, tmp_path, capsys):
    image, weights = np.zeros((4, 6, 3), "uint8"), np.full((3, 2, 3), 1 / 6)
    record = Caption("a ring", -1.0, ["▁a", "▁ri", "ng"], image, weights)
    (tmp_path / "ring.json").write_text(record.to_json())
    given = ["--json", str(tmp_path / "ring.json")]
    out = str(tmp_path / "ring.svg")
    for words, more in ((["a", "ring"], []), (["a", "ri", "-ng"], ["--pieces"])):
        assert main(["plot", *given, "--output", out, *more]) == 0
        titles = [axes.get_title() for axes in drawn[-1].axes]
        assert titles == ["", *(f"{word}  17 %" for word in words)]
        assert [text.get_text() for text in drawn[-1].texts] == ["a ring", KEY]
    assert not tasks
    capsys.readouterr()
    assert main(["plot", *given, *given, "--output", out]) == 2
    assert "--json draws one caption, received 2 files" in capsys.readouterr().err


OUT = ["--output", "OUT.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "A", "x", "--output", "OUT.pdf"], ".png or .svg, received"),
        (["--preset", "A", "x", "--output", "OUT/no/x.png"], "cannot write OUT/no"),
        (["--preset", "A", "x"], "required: --output"),
        (["x", *OUT], "give both PRESET and TEXT"),
        (OUT, "give PRESET and TEXT, or --json"),
        (["--log", "y", "x", *OUT], "give PRESET and TEXT, or --json"),
        (["--json", "OUT/log.csv", "--log", "y", *OUT], "or --json, or --log"),
        (["--json", "OUT/none", *OUT], "cannot read OUT/none"),
        (["--json", "OUT/log.csv", *OUT], "log.csv: a record must be JSON"),
        (["--json", "OUT/list.json", *OUT], "list.json: a record must be a JSON obj"),
        (["--preset", "unknown", "x", *OUT], "unknown preset"),
        (["--preset", "T", "x", *OUT], "t cannot translate"),
        (["--preset", "A", "x", "--beam", "0", *OUT], "should be 1 or more"),
    ],
)
def test_bad_input_is_found_before_anything_is_loaded(
    tasks, names, tmp_path, capsys, arguments, message
):
    (tmp_path / "log.csv").write_text("epoch,loss\n")
    (tmp_path / "list.json").write_text("[]")
    swaps = {"A": names["a"], "T": names["t"]}
    arguments = [swaps.get(a, a.replace("OUT", str(tmp_path))) for a in arguments]
    assert main(["plot", *arguments]) == 2
    captured = capsys.readouterr()
    assert message.replace("OUT", str(tmp_path)) in captured.err
    assert captured.out == "" and captured.err.count("\n") == 1 and not tasks
    assert not list(tmp_path.parent.glob("*.p*"))


@pytest.mark.parametrize("option", ["--log", "--json"])
def test_curves_and_records_need_no_keras(option, tmp_path):
    (tmp_path / "log.csv").write_text("epoch,loss\n0,3\n")
    (tmp_path / "dog.json").write_text(FakeTask("x").record("a dog").to_json())
    given = str(tmp_path / "dog.json" if option == "--json" else tmp_path)
    command = ["plot", option, given, "--output", str(tmp_path / "a.png")]
    code = f"import sys; from zoo.cli import main; assert main({command}) == 0; "
    out = python(f"{code} print(*sys.modules)").split()
    assert "matplotlib" in out and not {"keras", "matplotlib.pyplot"} & set(out)
