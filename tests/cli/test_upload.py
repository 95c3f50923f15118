"""The command as its users run it, against a fake of the hub's API."""

import json
import os
import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest

from tests.fake_hub import TOKEN
from tests.presets_for_tests import FACTS, make_preset
from zoo.cli import main

pytestmark = pytest.mark.backend_free

ROOT = Path(__file__).resolve().parents[2]
SCORES = [
    FACTS["scores"][0],
    {**FACTS["scores"][0], "metric": "chrF", "value": 40.5},
    {**FACTS["scores"][0], "data": "tatoeba", "split": "test", "value": 9.25},
]


@pytest.fixture
def preset(tmp_path):
    make_preset(tmp_path / "tiny", scores=SCORES)
    return tmp_path / "tiny"


@pytest.fixture
def zoo(tmp_path, hub):
    """Runs a command; the only hub it can reach is the fake one."""

    def run(*words, **environment):
        around = {
            **os.environ,
            "HF_ENDPOINT": hub.address,
            "HF_TOKEN": TOKEN,
            "HF_HOME": str(tmp_path / "hub"),
            "HF_HUB_DISABLE_XET": "1",  # another protocol, to other servers
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "ZOO_CACHE_DIR": str(tmp_path / "cache"),
            **environment,
        }
        return subprocess.run(
            [sys.executable, "-m", "zoo", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=around,
        )

    return run


def test_a_preset_and_its_page_are_one_commit(zoo, preset, hub):
    done = zoo("upload", preset, "hf://ada/tiny")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{hub.address}/ada/tiny/commit/{1:040x}\n"
    files = hub.repos["ada/tiny"]
    assert len(hub.commits) == 1 and not hub.private
    card = json.loads((preset / "card.json").read_text())
    for name in ("card.json", *card["files"]):
        assert files.pop(name) == (preset / name).read_bytes()
    assert sorted(files) == [
        ".gitattributes",
        "README.md",
    ]


def test_the_hubs_own_package_reads_the_scores(zoo, preset, hub):
    assert zoo("upload", preset, "hf://ada/tiny").returncode == 0
    done = zoo("info", "hf://ada/tiny", "--json")
    assert json.loads(done.stdout) == json.loads((preset / "card.json").read_text())
    files = hub.repos["ada/tiny"]
    page = huggingface_hub.ModelCard(files["README.md"].decode())
    assert 'zoo.load("hf://ada/tiny")' in page.text
    assert page.data.license == "apache-2.0" and page.data.model_name == "tiny"
    assert page.data.datasets == ["bentrevett/multi30k"]
    found = [
        (r.task_type, r.dataset_type, r.dataset_split, r.metric_type, r.metric_value)
        for r in page.data.eval_results
    ]
    assert found == [
        ("translation", "bentrevett/multi30k", "test_2016_flickr", "bleu", 12.345),
        ("translation", "bentrevett/multi30k", "test_2016_flickr", "chrf", 40.5),
        ("translation", "tatoeba", "test", "bleu", 9.25),
    ]


def test_a_second_upload_leaves_nothing_of_the_first(zoo, preset, hub):
    assert zoo("upload", preset, "hf://ada/tiny", "--private").returncode == 0
    assert hub.private == {"ada/tiny"}
    kept = dict(hub.repos["ada/tiny"])
    hub.repos["ada/tiny"] |= {
        "task.weights.h5": b"old",
        "assets/old/vocabulary.txt": b"old",
        "figure.png": b"mine",
    }
    assert zoo("upload", preset, "hf://ada/tiny").returncode == 0
    assert hub.repos["ada/tiny"] == {**kept, "figure.png": b"mine"}
    assert hub.commits[1].count("deletedFile") == 2


def failed(done, code, *parts):
    assert done.returncode == code and done.stdout == ""
    return says(done.stderr, *parts)


def says(errors, *parts):
    last = errors.splitlines()[-1]
    assert last.startswith("zoo: error: ")
    for part in parts:
        assert part in last
    return True


def test_without_a_token(zoo, preset, hub):
    done = zoo("upload", preset, "hf://ada/tiny", HF_TOKEN="")
    assert failed(done, 1, "needs a token", "HF_TOKEN", "hf auth login")
    assert not hub.repos


def test_a_token_that_may_not_write(zoo, preset, hub):
    done = zoo("upload", preset, "hf://ada/tiny", HF_TOKEN="hf_another")
    assert failed(done, 1, "cannot upload to hf://ada/tiny: ", "401")
    done = zoo("upload", preset, "hf://alan/tiny")
    assert failed(done, 1, "cannot upload to hf://alan/tiny: ", "403", "the rights")
    assert not hub.repos


@pytest.mark.parametrize("path", ["/lfs/", "/api/models/ada/tiny/commit"])
def test_a_hub_that_fails_midway(zoo, preset, hub, path):
    hub.refuse[path] = 403
    done = zoo("upload", preset, "hf://ada/tiny")
    assert failed(done, 1, "cannot upload to hf://ada/tiny: ")
    assert hub.commits == [] and list(hub.repos["ada/tiny"]) == [".gitattributes"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["tyni", "hf://ada/tiny"], "unknown preset"),
        (["luong_locl", "hf://ada/tiny"], "did you mean luong_local"),
        (["{}", "hf://ada"], "handle of this hub is hf://user/name, received 'hf:"),
        (["{}", "ada/tiny"], "is hf://user/name, received 'ada/tiny'"),
        (["{}", "kaggle://a/b/keras/c"], "is hf://user/name, received 'kag"),
    ],
    ids=["unknown", "misspelt", "malformed", "no handle", "another hub"],
)
def test_bad_input(preset, capsys, words, message):
    assert main(["upload", *(word.format(preset) for word in words)]) == 2
    assert says(capsys.readouterr().err, message)


def test_what_is_not_whole_stays_here(preset, capsys, tmp_path):
    make_preset(tmp_path / "mine", license="unknown")
    assert main(["upload", str(tmp_path / "mine"), "hf://ada/mine"]) == 2
    error = capsys.readouterr().err
    assert says(error, "lacks the licence of the weights; state it by zoo info")
    (preset / "task.json").write_text("{}")
    assert main(["upload", str(preset), "hf://ada/tiny"]) == 1
    assert says(capsys.readouterr().err, "task.json in ", "altered")
    (preset / "card.json").unlink()
    assert main(["upload", str(preset), "hf://ada/tiny"]) == 1
    assert says(capsys.readouterr().err, "no card.json in the preset folder")
