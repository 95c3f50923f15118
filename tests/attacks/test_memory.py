"""A text of ten thousand words takes little more memory than one of ten."""

import subprocess
import sys

from tests.harness import proved_under

# In a process of its own: the highest use so far is what the system tells. The first
# call of each kind, with ten words, has loaded and compiled what is needed.
PROGRAM = """
import resource, warnings
import zoo
from zoo.models import RecurrentClassifier, RecurrentClassifierPreprocessor
from zoo.models import SentimentClassifier
from zoo.text import WordTokenizer

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

classifier = SentimentClassifier(
    RecurrentClassifier(5), RecurrentClassifierPreprocessor(WordTokenizer(["dog"]))
)
tasks = {name: zoo.load(name) for name in ("lstm", "birnn", "luong_local")}
calls = {
    "score": lambda text: tasks["lstm"].score(text),
    "perplexity": lambda text: tasks["lstm"].perplexity([text, "dog"]),
    "tag": lambda text: tasks["birnn"].tag(text),
    "classify": classifier.classify,
    "translate": lambda text: tasks["luong_local"].translate(text),
    "force": lambda text: tasks["luong_local"].score("a dog", text),
}
for name, call in calls.items():
    call(" ".join(["dog"] * 10))
    before = peak()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(" ".join(["dog"] * 10_000))
    print(name, peak() - before, flush=True)
"""


@proved_under("tensorflow")  # the quickest at it; what bounds it is one code
def test_memory_does_not_follow_the_text():
    command = [sys.executable, "-c", PROGRAM]
    found = subprocess.run(command, capture_output=True, text=True)
    assert not found.returncode, found.stderr[-2000:]
    grown = {
        name: int(mega) for name, mega in map(str.split, found.stdout.splitlines())
    }
    assert len(grown) == 6
    # They were 7 to 23 GB.
    assert max(map(int, grown.values())) < 700, grown
