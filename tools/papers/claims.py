"""Claims of the papers, as contrasts of the study's arms."""

import itertools

from tools.papers.counts import HELD, LONG
from tools.papers.significance import Contrast, better


class Claim:
    """A claim of a paper.

    Args:
        text: the claim.
        source: who makes it, with the figures.
        study: the `Contrast`s that it says are above 0, by the arms of
            `tools.papers.arms`.
    """

    def __init__(self, text, source, *study):
        self.text, self.source, self.study = text, source, study


# === Contrasts of the study ===

DELAYS = (0, 2, 5, 10, 15)  # of recipes/birnn_tasks.py
PROBLEMS = ("regression", "classification")


def _errs_less(one, *others):
    """A net of the artificial data against others, in all problems, at all delays."""
    contrasts = []
    for problem, other, delay in itertools.product(PROBLEMS, others, DELAYS):
        nets = one.format(delay), f"{other}_{delay}"
        sides = [("birnn", f"{problem} {net}") for net in nets]
        words = f"{problem}: {nets[0]} against {nets[1]}"
        contrasts.append(better(*sides, words=words))
    return contrasts


OURS = "ours; Xu et al. 2015 show pictures"
XIONG = "Xiong et al. 2020, On Layer Normalization (from memory)"
CLAIMS = (
    Claim(
        "attention is better than one fixed vector",
        "Bahdanau et al. 2015, table 1: 26.8, 17.8",
        better("bahdanau", "rnnencdec"),
    ),
    Claim(
        "attention is better than the last states alone",
        "Luong et al. 2015, table 1",
        better("general_plain", "none"),
    ),
    Claim(
        "attention by location is better than none",
        "Luong et al. 2015, table 1: 16.8, 14.0",
        better("location_plain", "none"),
    ),
    Claim(
        "input feeding is better than none",
        "Luong et al. 2015, table 1: 18.1, 16.8 (location)",
        better("general", "general_plain"),
        better("location", "location_plain"),
    ),
    Claim(
        "without attention a reversed source is better",
        "Sutskever et al. 2014, §3.3: 30.6, 25.9; Luong et al. 2015, table 1: 12.6, "
        "11.3",
        better("none", "none_forward"),
    ),
    Claim(
        "an encoder that reads both ways is better than one that reads backwards",
        "Bahdanau et al. 2015, §3.2, without a figure",
        better("general_both", "general"),
    ),
    Claim(
        "a model without attention loses more on long sentences",
        "Bahdanau et al. 2015, the plot of BLEU by length",
        better(
            "bahdanau",
            "rnnencdec",
            "drop",
            words=f"loss on sources of {LONG} words or more, rnnencdec's less "
            "bahdanau's",
        ),
    ),
    Claim(
        "with attention BLEU doesn't fall with length",
        "Bahdanau et al. 2015, the plot of BLEU by length (trained on up to 50 words)",
        Contrast(
            ((1, "bahdanau", "held"),),
            f"BLEU on sources of {LONG} words or more, less {HELD:.0%} of BLEU on all",
        ),
    ),
    Claim(
        "local-p is better than global attention (both general)",
        "Luong et al. 2015, table 4: 19.0, 17.3",
        better("local_p", "general"),
    ),
    Claim(
        "local-p is better than local-m",
        "Luong et al. 2015, table 4: 19.0, 18.6",
        better("local_p", "local_m"),
    ),
    Claim(
        "dot is better than location in global attention",
        "Luong et al. 2015, table 4: 18.6, 18.1",
        better("dot", "location"),
    ),
    Claim(
        "dot is better than general in global attention",
        "Luong et al. 2015, table 4: 18.6, 17.3",
        better("dot", "general"),
    ),
    Claim(
        "concat is worse than general (here with the whole W_a)",
        "Luong et al. 2015, by perplexity: 6.7, 6.1",
        better("general", "concat", "perplexity"),
    ),
    Claim(
        "local attention aligns better than attention by location",
        "Luong et al. 2015, table 6: AER 0.34 (local-m), 0.36 (local-p), 0.39",
        better("local_m", "location", "aer"),
        better("local_p", "location", "aer"),
    ),
    Claim(
        "local attention aligns better than attention by location, if each link is "
        "moved by one word",
        "ours: the encoders of these arms read backwards only (see the next)",
        better("local_m", "location", "aer moved"),
        better("local_p", "location", "aer moved"),
    ),
    Claim(
        "the attention of an encoder that reads backwards lies one word to the left",
        "[papers/luong.md](papers/luong.md): 70.7% of the words, 14.4% on the word "
        "(one seed)",
        Contrast(
            ((1, "general", "left"), (-1, "general", "on")),
            "share one to the left less share on the word",
        ),
    ),
    Claim(
        "the Transformer is better than the best recurrent net (here after a few "
        "epochs: probably undertrained)",
        "Vaswani et al. 2017, table 2",
        better("pre", "general_both"),
        better("pre", "bahdanau"),
    ),
    Claim(
        "a post-norm Transformer is better with warm-up",
        XIONG,
        better("post", "post_cold"),
    ),
    Claim(
        "a post-norm Transformer needs warm-up more than a pre-norm one",
        XIONG,
        Contrast(
            ((1, "post", "bleu"), (-1, "post_cold", "bleu"))
            + ((-1, "pre", "bleu"), (1, "pre_cold", "bleu")),
            "what warm-up brings to post-norm less what it brings to pre-norm",
        ),
    ),
    Claim(
        "a beam of 2 brings most of what a beam of 12 brings",
        "Sutskever et al. 2014, table 1: 33.0, 34.5, with 12 34.8 (5 models)",
        Contrast(
            ((2, "none", "beam 2"), (-1, "none", "beam 1"), (-1, "none", "beam 12")),
            "gain from beam 1 to 2 less gain from 2 to 12",
        ),
    ),
    Claim(
        "a beam is better than greedy search",
        "Sutskever et al. 2014, table 1: 34.8, 33.0",
        better(("none", "bleu"), ("none", "beam 1"), words="none: 5 against 1"),
        better(
            ("general", "bleu"), ("general", "beam 1"), words="general: 5 against 1"
        ),
    ),
    Claim(
        "LSTMN has a lower perplexity than LSTM",
        "Cheng et al. 2016: 108, 115",
        better(
            "lstmn_own",
            "lstm_own",
            "perplexity",
            "each with its recipe's rate and initial range",
        ),
        better("lstmn", "lstm", "perplexity", "both with the same"),
    ),
    Claim(
        "a net that reads both ways errs less than any of one direction or merged "
        "(not counted: an MLP over a wide window, which classifies better)",
        "Schuster & Paliwal 1997, the curves over the delay (from memory)",
        *_errs_less("brnn", "for", "back", "merge"),
    ),
    Claim(
        "the merged answers of two nets err less than either",
        "Schuster & Paliwal 1997, the curves over the delay (from memory)",
        *_errs_less("merge_{}", "for", "back"),
    ),
    Claim(
        "hard attention is better than soft (here with the penalty and without)",
        "Xu et al. 2015, table 1: BLEU-4 on COCO 25.0, 24.3 (from memory)",
        better("hard", "soft", "true"),
        better("hard_plain", "soft_plain", "true"),
    ),
    Claim(
        "the doubly stochastic penalty makes captions better (here of soft attention, "
        "λ 0.01)",
        "Xu et al. 2015, §4.2.1, without figures (from memory)",
        better("soft", "soft_plain", "true"),
    ),
    Claim(
        "hard attention lies on the thing that is named more often than soft, word by "
        "word",
        OURS,
        better("hard", "soft", "words"),
        better("hard_plain", "soft_plain", "words"),
    ),
    Claim(
        "the doubly stochastic penalty puts attention on the thing more often, word by "
        "word",
        OURS,
        better("soft", "soft_plain", "words"),
        better("hard", "hard_plain", "words"),
    ),
)
