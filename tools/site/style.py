"""Turns of phrase that no document uses: python -m tools.site.style [FILE ...]"""

import re
import sys
from pathlib import Path

from tools import ROOT

# A pattern, and what to write in its place.
TICS = {
    r"\bcan't be told\b": "inconclusive, undecided",
    r"\b(?:is|are|was|were) told (?:of|by)\b": "is reported",
    r"\btells? (?:of|the same)\b": "says, reports, gives the same",
    r"(?:^|[.:;] )Who (?:needs|wants|trains|has|knows|doesn't)\b": "for …, use …",
    r"\blies? far apart\b": "varies",
    r"\b(?:is|are|was|were|been) mended\b": "fixed since",
    r"\b[Ww]hat brought (?:this|that|it)\b": "where the gains came from",
    r"\bAimed at (?:is|are|was|were)\b": "target:",
    r"\bfor want of\b": "for lack of, only",
    r"\bturn and turn about\b": "alternately",
    r"\bleast – most\b": "range",
    r"\bgo(?:es)? on by\b": "resume with",
    r"\bFor a first idea\b": "to get a feel for it",
    r"\bof it private\b": "private",
    r"\b[Aa]dapted are\b": "LoRA adapts",
    r"\b(?:has|have|had) \d+(?:\.\d+)? (?:BLEU|chrF)\b": "reaches … BLEU",
    r"\bthe same of \d": "identically",
    r"\bwhat(?:ever)? stands\b": "what is, is written",
    r"\b(?:stands?|stood) (?:beside|behind)\b": "is next to, follows",
    r"\bcomes? behind\b": "comes after",
    r"\bin the place of\b": "instead of",
    r"\bfor ever\b": "forever",
    r"\bby a hair\b": "just",
    r"\bnone of (?:the )?zoo's\b": "not one of zoo's",
    r"\b[Ww]hat is (?:more|most) of\b": "most",
    r"\bthat of one's own\b": "your own",
    r"\bturned round\b": "reversed, transposed",
    r"\bgoes off\b": "ends",
    r"\bin no other direction\b": "only",
    r"\b(?:sentence|word|row|seed|text) a (?:line|row|arm)\b": "a sentence per line",
    r"\ban (?:equation|example|epoch) each\b": "one … per …",
    r"\ban? (?:recipe|program|test|model) of (?:your|its) own\b": "your own …",
    r"\b(?:does|do) without\b": "needs no",
    r"\bbut for the\b": "except",
    r"\bhalf way\b": "halfway",
    r"\bthan (?:that|the one) of\b": "than … in …",
    r"\bnormalisation stands\b": "comes",
    r"\bWhat limits it\b": "The limit",
}


def find(text):
    """Yields line number, the phrase and what to write instead."""
    for number, line in enumerate(text.splitlines(), start=1):
        for pattern, better in TICS.items():
            if match := re.search(pattern, line):
                yield number, match[0], better


def documents():
    """The documents that are checked."""
    folders = ("", "deploy/", "explorer/", "docs/", "docs/*/", "savedmodels/*/")
    paths = [path for folder in folders for path in ROOT.glob(f"{folder}*.md")]
    return [path for path in paths if path.parent.name != "generated"]


def main(paths=None):
    hits = [
        f"{path}:{number}: {phrase!r}; better: {better}"
        for path in map(Path, paths or documents())
        for number, phrase, better in find(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(hits), end="\n" if hits else "")
    return int(bool(hits))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
