"""Long texts, and many, take little more memory than ten words."""

import subprocess
import sys

import pytest

from tests.marks import proved_under

# In a process of its own. The first call of each kind, with ten words, has loaded and
# compiled what is needed; then the highest use that the system tells is begun anew.
PROGRAM = """
import re, warnings
import zoo
from zoo.models import RecurrentClassifier, RecurrentClassifierPreprocessor
from zoo.models import SentimentClassifier
from zoo.text import WordTokenizer

def use(what):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{what}:\\s*(\\d+) kB", file.read())[1]) // 1024

classifier = SentimentClassifier(
    RecurrentClassifier(5), RecurrentClassifierPreprocessor(WordTokenizer(["dog"]))
)
tasks = {name: zoo.load(name) for name in ("lstm", "birnn", "luong_local")}
translator = tasks["luong_local"]
short, long = " ".join(["dog"] * 10), " ".join(["dog"] * 10_000)
many = [" ".join(["dog"] * 500)] * 64
calls = {
    "score": (lambda text: tasks["lstm"].score(text), long),
    "scores": (lambda text: tasks["lstm"].score([text] * 64), many[0]),
    "perplexity": (lambda text: tasks["lstm"].perplexity([text, "dog"]), long),
    "generate": (lambda text: tasks["lstm"].generate(text, max_length=30), long),
    "tag": (lambda text: tasks["birnn"].tag(text), long),
    "tags": (lambda text: tasks["birnn"].tag([text] * 64), many[0]),
    "classify": (classifier.classify, long),
    "translate": (lambda text: translator.translate(text), long),
    "force": (lambda text: translator.score("a dog", text), long),
    "align": (lambda text: translator.align(["a dog"] * 16, [text] * 16), many[0]),
}
for name, (call, text) in calls.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(short)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        before = use("VmRSS")
        call(text)
    print(name, use("VmHWM") - before, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory is read from /proc")
@pytest.mark.long
@proved_under("tensorflow")  # the quickest at it; what bounds it is one code
def test_memory_does_not_follow_the_text():
    command = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, capture_output=True, text=True)
    assert not found.returncode, found.stderr[-2000:]
    grown = dict(line.split() for line in found.stdout.splitlines())
    assert len(grown) == 10
    # They were 7 to 23 GB.
    assert max(map(int, grown.values())) < 1000, grown
