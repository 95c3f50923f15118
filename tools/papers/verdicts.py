"""Claims judged by the presets' figures: "yes", "no" or "undecided"."""

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
SINGLE = ("for_", "back_", "merge_")


# === Which is better ===


def choice(results, name, *keys):
    """A choice of a preset's configuration, None where it made none."""
    found = results["cards"].get(name, {}).get("configuration", {})
    for key in keys:
        found = (found or {}).get(key)
    return found


def others_of(results, one, other):
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


def better(one, other):
    """Tests whether `one` has more BLEU than `other`, surely so on each test set."""

    def test(results):
        others = others_of(results, one, other)
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
            said.append(f"{corpus} {told} ({format_p(p)})")
        if other != "best":
            said += _unlike(results, one, other)
        if all(sure) and min(gains) > 0:
            return "yes", ", ".join(said)
        verdict = "no" if all(sure) and max(gains) < 0 else "undecided"
        return verdict, ", ".join(said)

    test.pair = one, other  # to be tested: see `compared`
    return test


def format_p(p):
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def _unlike(results, *names):
    """The choices in which the presets of a pair differ, in words."""
    found = []
    for what, keys in ALIKE:
        values = [choice(results, name, *keys) for name in names]
        if values[0] != values[1]:
            found.append(f"with different {what}: {values[0]} and {values[1]}")
    return found


def lower_perplexity(one, other):
    def test(results):
        found = results["perplexity"]
        if one not in found or other not in found:
            return None
        p = results["p"]["ptb"][one, other]
        said = [f"{found[one]:.1f} against {found[other]:.1f} ({format_p(p)})"]
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


def falls_with_length(results):
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


def holds_at_length(results):
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


def beam_two(results):
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


def beam(results):
    gains = [found[5] - found[1] for found in results["beams"].values()]
    if not gains:
        return None
    said = f"beam 5 against 1: {min(gains):+.1f} to {max(gains):+.1f}"
    return _all_or_none(sum(gain > 0 for gain in gains), len(gains)), said


def both_directions(results):
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


def merged(results):
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
