"""Claims of the papers, and whether the presets' figures bear them out."""

SURE = 0.05  # p of a difference above which it may be chance
# Segments of 35 words that count as one in the test of perplexities: neighbours are of
# one article, and differ alike.
BLOCK = 20
HELD = 0.9  # share of its BLEU that a model keeps which doesn't fall with length
WITHOUT_ATTENTION = ("rnn_encoder_decoder", "seq2seq")
# What two compared presets should have in common.
ALIKE = (
    ("rates", ("optimizer", "learning_rate")),
    ("batches", ("batch", "batch_tokens")),
    ("initial ranges", ("initializer_range",)),
    ("initial ranges", ("model", "initializer_range")),
    ("units", ("model", "hidden_dim")),
)


def judge(results):
    """Each claim that the presets at hand can tell of.

    Args:
        results: what `tools.papers.reproduce` measured.

    Returns:
        List of (claim, source, "yes", "no" or "undecided", the figures in words).
    """
    found = []
    for claim, source, test in CLAIMS:
        verdict = test(results)
        if verdict is not None:
            found.append((claim, source, *verdict))
    return found


# === Which is better ===


def compared(results):
    """The pairs whose difference has to be tested, by test set."""
    corpora = next(iter(results["bleu"].values()), ())
    pairs = [test.pair for *_, test in CLAIMS if hasattr(test, "pair")]
    return {
        corpus: [
            (one, others[corpus])
            for one, other in pairs
            if (others := _others(results, one, other))
        ]
        for corpus in corpora
    }


def compared_models(results):
    """The pairs of language models whose difference has to be tested."""
    pairs = [test.models for *_, test in CLAIMS if hasattr(test, "models")]
    return [pair for pair in pairs if set(pair) <= set(results["perplexity"])]


def choice(results, name, *keys):
    """A choice of a preset's configuration, None where it made none."""
    found = results["cards"].get(name, {}).get("configuration", {})
    for key in keys:
        found = (found or {}).get(key)
    return found


def _others(results, one, other):
    """The preset to compare `one` with on each test set; None if one is missing."""
    bleu = results["bleu"]
    if one not in bleu and not (one == "ensemble" and "ensemble" in results):
        return None
    if other != "best":
        return dict.fromkeys(bleu[one], other) if other in bleu else None
    names = results["ensemble"]["members"] if one == "ensemble" else set(bleu) - {one}
    if not names:
        return None
    corpora = next(iter(bleu.values()))
    return {c: max(sorted(names), key=lambda name: bleu[name][c]) for c in corpora}


def _better(one, other):
    """Tests whether `one` has more BLEU than `other`, surely so on each test set."""

    def test(results):
        others = _others(results, one, other)
        if others is None:
            return None
        bleu = dict(results["bleu"])
        if "ensemble" in results:
            bleu["ensemble"] = results["ensemble"]["bleu"]
        gains, sure, said = [], [], []
        for corpus, name in others.items():
            p = results["p"][corpus][one, name]
            gains.append(bleu[one][corpus] - bleu[name][corpus])
            sure.append(p < SURE)
            of = f" of {name}" if other == "best" else ""
            told = f"{bleu[one][corpus]:.1f} against {bleu[name][corpus]:.1f}{of}"
            said.append(f"{corpus} {told} ({_p(p)})")
        if other != "best":
            said += _unlike(results, one, other)
        if all(sure) and min(gains) > 0:
            return "yes", ", ".join(said)
        verdict = "no" if all(sure) and max(gains) < 0 else "undecided"
        return verdict, ", ".join(said)

    test.pair = one, other  # to be tested: see `compared`
    return test


def _p(p):
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def _unlike(results, *names):
    """The choices in which the presets of a pair differ, in words."""
    found = []
    for what, keys in ALIKE:
        values = [choice(results, name, *keys) for name in names]
        if values[0] != values[1]:
            found.append(f"with unlike {what}: {values[0]} and {values[1]}")
    return found


def _lower_perplexity(one, other):
    def test(results):
        found = results["perplexity"]
        if one not in found or other not in found:
            return None
        p = results["p"]["ptb"][one, other]
        said = [f"{found[one]:.1f} against {found[other]:.1f} ({_p(p)})"]
        said += _unlike(results, one, other)
        verdict = "yes" if found[one] < found[other] else "no"
        return (verdict if p < SURE else "undecided"), ", ".join(said)

    test.models = one, other  # to be tested: see `compared_models`
    return test


# === Length, beams, directions ===


def _kept_when_long(results):
    """The share of its BLEU on all captions that each preset has on the longest."""
    return {
        name: rows[-1][3] / max(results["bleu"][name]["multi30k"], 1e-9)
        for name, rows in results["lengths"].items()
        if rows[-1][3] is not None
    }


def _longest(results):
    low, _, count, _ = next(iter(results["lengths"].values()))[-1]
    return f"on the {count} captions of {low} words and more"


def _falls_with_length(results):
    kept = _kept_when_long(results)
    without = {name: kept[name] for name in WITHOUT_ATTENTION if name in kept}
    with_it = [kept[name] for name in kept if name not in without]
    if not without or not with_it:
        return None
    said = f"{_longest(results)} those with attention keep {_span(with_it)} of their "
    said += "BLEU" + "".join(f", {name} {share:.0%}" for name, share in without.items())
    if min(with_it) > max(without.values()):
        return "yes", said
    return ("no" if max(with_it) < min(without.values()) else "undecided"), said


def _holds_at_length(results):
    kept = _kept_when_long(results)
    found = [kept[name] for name in kept if name not in WITHOUT_ATTENTION]
    if not found:
        return None
    said = f"{_longest(results)} {_span(found)} of the BLEU on all captions"
    said += f"; {HELD:.0%} would count"
    if min(found) >= HELD:
        return "yes", said
    return ("no" if max(found) < HELD else "undecided"), said


def _span(shares):
    return f"{min(shares):.0%} to {max(shares):.0%}"


def _beam_two(results):
    beams = results["beams"]
    if not beams:
        return None
    most = [name for name, found in beams.items() if _most(found)]
    said = [
        f"{name}: 1 to 2 {found[2] - found[1]:+.1f}, 2 to 12 {_beyond(found):+.1f}"
        for name, found in beams.items()
        if name == "seq2seq"
    ]
    said.append(f"a beam of 2 brings most to {len(most)} of {len(beams)} presets")
    return _all_or_none(len(most), len(beams)), "; ".join(said)


def _most(found):
    """Whether a beam of 2 brings something, and one of 12 no more than that again."""
    return found[2] > found[1] and found[2] - found[1] >= _beyond(found)


def _beyond(found):
    return found[12] - found[2]


def _beam(results):
    gains = [found[5] - found[1] for found in results["beams"].values()]
    if not gains:
        return None
    said = f"beam 5 against 1: {min(gains):+.1f} to {max(gains):+.1f}"
    return _all_or_none(sum(gain > 0 for gain in gains), len(gains)), said


def _both_directions(results):
    tasks = results["artificial"]["birnn_tasks"]
    won, said = [], []
    for task, found in tasks.items():
        single = {k: v["error"] for k, v in found.items() if k.startswith(SINGLE)}
        if "brnn" not in found or not single:
            continue
        best = min(single, key=single.get)
        won.append(found["brnn"]["error"] < single[best])
        said.append(f"{task} {found['brnn']['error']:.6f}, {best} {single[best]:.6f}")
    return (_all_or_none(sum(won), len(won)), "; ".join(said)) if won else None


def _merged(results):
    """Whether the mean of two nets errs less than each, delay by delay."""
    won, lost = [], []
    for task, found in results["artificial"]["birnn_tasks"].items():
        for name in (name for name in found if name.startswith("merge_")):
            delay = name.removeprefix("merge_")
            pair = [found.get(f"{side}_{delay}") for side in ("for", "back")]
            if None not in pair:
                best = min(net["error"] for net in pair)
                better = found[name]["error"] < best
                (won if better else lost).append(f"{name} ({task})")
    if not won and not lost:
        return None
    said = f"in {len(won)} of {len(won) + len(lost)}"
    said += f"; not {', '.join(lost)}" if won and lost else ""
    return _all_or_none(len(won), len(won) + len(lost)), said


def _all_or_none(count, of):
    return {of: "yes", 0: "no"}.get(count, "undecided")


SINGLE = ("for_", "back_", "merge_")
CLAIMS = (
    (
        "attention is better than one fixed vector",
        "Bahdanau et al. 2015, table 1",
        _better("bahdanau", "rnn_encoder_decoder"),
    ),
    (
        "attention is better than the last states alone",
        "Luong et al. 2015, table 1",
        _better("luong_reversed", "seq2seq"),
    ),
    (
        "an encoder that reads both ways is better than one that reads backwards",
        "Bahdanau et al. 2015, §3.2, who give the reason and no figure",
        _better("luong_global", "luong_reversed"),
    ),
    (
        "a model without attention loses more on long sentences",
        "Bahdanau et al. 2015, the plot of BLEU by length",
        _falls_with_length,
    ),
    (
        "with attention BLEU doesn't fall with length",
        "Bahdanau et al. 2015, the plot of BLEU by length (trained on up to 50 words)",
        _holds_at_length,
    ),
    (
        "local-p is better than global attention (both general)",
        "Luong et al. 2015, table 4: 19.0, 17.3",
        _better("luong_local", "luong_global"),
    ),
    (
        "local-p is better than local-m",
        "Luong et al. 2015, table 4: 19.0, 18.6",
        _better("luong_local", "luong_local_m"),
    ),
    (
        "dot is better than location in global attention",
        "Luong et al. 2015, table 4: 18.6, 18.1",
        _better("luong_dot", "luong_location"),
    ),
    (
        "dot is better than general in global attention",
        "Luong et al. 2015, table 4: 18.6, 17.3",
        _better("luong_dot", "luong_global"),
    ),
    (
        "concat is worse than general (here with the whole W_a)",
        "Luong et al. 2015, by perplexity: 6.7, 6.1; here by BLEU",
        _better("luong_global", "luong_concat"),
    ),
    (
        "the Transformer is better than recurrent nets (here the best of them)",
        "Vaswani et al. 2017, table 2",
        _better("transformer", "best"),
    ),
    (
        "a beam of 2 brings most of what a beam of 12 brings",
        "Sutskever et al. 2014, table 1: 33.0, 34.5, with 12 34.8 (5 models)",
        _beam_two,
    ),
    (
        "a beam is better than greedy search",
        "Sutskever et al. 2014, table 1: 34.8, 33.0",
        _beam,
    ),
    (
        "an ensemble is better than its best member",
        "Sutskever et al. 2014, table 1; Luong et al. 2015, table 1",
        _better("ensemble", "best"),
    ),
    (
        "LSTMN has a lower perplexity than LSTM",
        "Cheng et al. 2016: 108, 115",
        _lower_perplexity("lstmn_lm", "lstm"),
    ),
    (
        "a net that reads both ways errs less than any of one direction or merged",
        "Schuster & Paliwal 1997, the curves over the delay (from memory)",
        _both_directions,
    ),
    (
        "the merged answers of two nets err less than either",
        "Schuster & Paliwal 1997, the curves over the delay (from memory)",
        _merged,
    ),
)
