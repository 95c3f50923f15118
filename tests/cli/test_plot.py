import sys

import numpy as np
import pytest

import zoo
from tests.presets_for_tests import make_preset, save_translator
from tests.test_import import python
from zoo import analysis
from zoo.analysis.caption_plot import KEY
from zoo.cli import main
from zoo.decoding import Caption, Translation
from zoo.presets import loading
from zoo.serving.export.manifest import write_manifest

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
    tops = [axes.get_position().y1 for axes in figure.axes]
    assert tops[0] == pytest.approx(tops[1]) and tops[2] == pytest.approx(tops[3])
    assert tasks[names["a"]].calls == [
        (["A dog runs", "one cat"], {"beam_size": 2, "batch_size": 64})
    ]
    captured = capsys.readouterr()
    assert captured.out == f"{out}\n"
    assert captured.err.count("loading") == 2


def test_one_preset_twice_is_loaded_once(tasks, drawn, names, tmp_path):
    command = ["plot", "--preset", names["a"], "--preset", names["a"], "x"]
    assert main([*command, "--output", str(tmp_path / "x.svg")]) == 0
    assert len(drawn[0].axes) == 2 and len(tasks) == 1


def test_an_export_is_drawn(tasks, drawn, tmp_path, monkeypatch):
    folder = tmp_path / "exported/1"
    folder.mkdir(parents=True)
    described = {"task": "translate", "settings": {}, "graphs": {}}
    write_manifest(folder, described)
    model = FakeTask("x")
    model.task_name = "translate"
    monkeypatch.setattr(zoo.serving.runtime, "load", lambda path: model, raising=False)
    out = str(tmp_path / "x.svg")
    assert main(["plot", str(folder.parent), "a dog", "--output", out]) == 0
    [axes] = drawn[0].axes
    assert rows(axes) == ["Ax", "DOGx"] and not tasks
    assert axes.get_title(loc="left") == "exported"


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
        assert [text.get_text() for text in drawn[-1].texts] == [KEY, "a ring"]
    assert not tasks
    capsys.readouterr()
    assert main(["plot", *given, *given, "--output", out]) == 2
    assert "--json draws one caption, received 2 files" in capsys.readouterr().err


OUT = ["--output", "OUT.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "A", "x", "--output", "OUT.pdf"], ".png or .svg, received"),
        (["--preset", "A", "x", "--output", "OUT/no/x.png"], "no such folder"),
        (["--preset", "A", "x"], "required: --output"),
        (["--preset", "A", *OUT], "give both PRESET and TEXT"),
        (["x", *OUT], "give both PRESET and TEXT"),
        (OUT, "give PRESET and TEXT, or --json"),
        (["--log", "y", "--preset", "A", *OUT], "give PRESET and TEXT, or --json"),
        (["--log", "y", "x", *OUT], "give PRESET and TEXT, or --json"),
        (["--json", "OUT/log.csv", "x", *OUT], "give PRESET and TEXT, or --json"),
        (["--json", "OUT/log.csv", "--log", "y", *OUT], "or --json, or --log"),
        (["--json", "OUT/none", *OUT], "No such file"),
        (["--json", "OUT", *OUT], "it is a folder"),
        (["--json", "OUT/log.csv", *OUT], "log.csv: a record must be JSON"),
        (
            ["--json", "OUT/list.json", *OUT],
            "list.json: a record must be a JSON object",
        ),
        (["--log", "OUT", *OUT], "no epoch yet"),
        (["--log", "OUT/none", *OUT], "No such file"),
        (["--preset", "A", "--preset", "unknown", "x", *OUT], "unknown preset"),
        (["--preset", "A", "--preset", "T", "x", *OUT], "t cannot translate"),
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
    assert message in captured.err and captured.err.count("\n") == 1
    assert captured.out == "" and not tasks
    assert not list(tmp_path.parent.glob("*.p*"))


def test_a_preset_without_a_card_that_translates_nothing(
    monkeypatch, names, tmp_path, capsys
):
    (tmp_path / "a" / "card.json").unlink()
    monkeypatch.setattr(loading, "load", lambda name: object())
    out = str(tmp_path / "x.png")
    assert main(["plot", "--preset", names["a"], "x", "--output", out]) == 2
    assert "cannot translate; the presets for it" in capsys.readouterr().err


def test_without_matplotlib(tasks, names, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = str(tmp_path / "x.png")
    assert main(["plot", "--preset", names["a"], "x", "--output", out]) == 1
    assert "pip install 'attention-zoo[plot]'" in capsys.readouterr().err
    assert not tasks


@pytest.mark.filterwarnings("ignore:.*has no card.json")
def test_a_real_model_with_local_attention(drawn, tmp_path):
    preset = str(save_translator(tmp_path / "tiny"))
    out = tmp_path / "x.svg"
    command = ["plot", "--preset", preset, "a dog runs", "", "--max-length", "5"]
    assert main([*command, "--output", str(out), "--pieces"]) == 0
    first, second = drawn[0].axes
    assert first.get_title(loc="left") == "tiny"
    assert len(rows(first)) == len(first.lines[0].get_xdata())  # p_t
    assert second.texts[0].get_text() == "nothing to align"
    assert out.read_text().count("<svg") == 1


@pytest.mark.parametrize("option", ["--log", "--json"])
def test_curves_and_records_need_no_keras(option, tmp_path):
    (tmp_path / "log.csv").write_text("epoch,loss\n0,3\n")
    (tmp_path / "dog.json").write_text(FakeTask("x").record("a dog").to_json())
    given = str(tmp_path / "dog.json" if option == "--json" else tmp_path)
    command = ["plot", option, given, "--output", str(tmp_path / "a.png")]
    code = f"import sys; from zoo.cli import main; assert main({command}) == 0; "
    out = python(f"{code} print(*sys.modules)").split()
    assert "matplotlib" in out and not {"keras", "matplotlib.pyplot"} & set(out)
