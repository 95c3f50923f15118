"""An exported model without TensorFlow's Python, by the loader of the model server."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attacks.rounds import ROUNDS
from tests.marks import long
from tests.serving.conftest import needs_tensorflow
from tests.serving.export.test_savedmodel import ask, odd_texts, strings

REPEATS = 10 * ROUNDS  # of 37 requests each
HELPER = Path(__file__).with_name("c_api.py")
pytestmark = [
    needs_tensorflow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="the libraries' names are Linux's"
    ),
]


def run(folder, signature, output, texts, threads, rounds=1):
    """The C API's answers from another process."""
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel.FromString(
        (folder / "saved_model.pb").read_bytes()
    )
    found = saved.meta_graphs[0].signature_def[signature]
    names = found.inputs["text"].name, found.outputs[output].name
    done = subprocess.run(
        [sys.executable, HELPER, folder, *names, str(threads), str(rounds)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["imported"] == []
    return found


def test_threads_get_the_same_translations(saved, signatures):
    texts = odd_texts(40, seed=11)
    wanted = strings(ask(signatures["translator"]["translate"], texts)["translation"])
    folder = saved / "translator" / "1"
    found = run(folder, "serving_default", "translation", texts, threads=4)
    assert len(set(wanted)) > 10
    assert found["answers"] == [wanted] * 4


@pytest.mark.parametrize(
    "name, output", [("language_model", "text"), ("tagger", "tags")]
)
def test_words_come_out_the_same(saved, signatures, name, output):
    texts = ["a dog runs.", "A cat, doesn't!", "", "x"]  # batches of one and of four
    wanted = strings(ask(signatures[name]["serving_default"], texts)[output])
    if name == "tagger":  # flat, and of single texts without pads
        folder = saved / name / "1"
        [found] = run(folder, "serving_default", output, texts, threads=1)["answers"]
        assert [tag for tag in found if tag] == [t for row in wanted for t in row if t]
    else:
        folder = saved / name / "1"
        found = run(folder, "serving_default", output, texts, threads=2)
        assert found["answers"] == [wanted] * 2


@pytest.mark.parametrize(
    "name, signature, output",
    [("tagger", "tag", "tags"), long("translator", "translate", "translation")],
)
def test_fuzzed_requests_from_eight_threads_leave_memory_flat(
    saved, name, signature, output
):
    """Rounds of 8 threads: what the later half of them adds is noise."""
    rng = random.Random(13)
    texts = [
        "".join(chr(rng.choice([32, 97, 98, 233, 8232, 128077])) for _ in range(size))
        for size in rng.choices(range(30), k=20 * REPEATS)
    ]
    found = run(saved / name / "1", signature, output, texts, 8, rounds=REPEATS)
    first, *others = ([x for x in mine if x] for mine in found["answers"])
    assert others == [first] * 7 and len(set(first)) > 1
    memory = found["memory"]
    print(
        f"{name}: {37 * REPEATS} requests, from {memory[0]:.0f} to {memory[-1]:.0f} MB"
    )
    half = REPEATS // 2
    assert max(memory[half:]) - max(memory[:half]) < 10  # MB
