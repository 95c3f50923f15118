"""Claims of the papers, and whether the presets' figures bear them out."""

NOISE = 0.5  # BLEU: less of a difference decides nothing
HELD = 0.9  # share of its BLEU that a model keeps which doesn't fall with length
ATTENTION = ("bahdanau", "luong_global")
WITHOUT = ("rnn_encoder_decoder", "seq2seq")


def judge(results):
    """Each claim that the presets at hand can tell of.

    Args:
        results: what `tools/reproduce.py` measured.

    Returns:
        List of (claim, source, "yes", "no" or "undecided", the figures in words).
    """
    found = []
    for claim, source, test in CLAIMS:
        verdict = test(results)
        if verdict is not None:
            found.append((claim, source, *verdict))
    return found


def _more(results, better, worse):
    """Whether `better` scores higher on both test sets."""
    if better not in results["bleu"] or worse not in results["bleu"]:
        return None
    one, other = results["bleu"][better], results["bleu"][worse]
    gains = [one[corpus] - other[corpus] for corpus in one]
    said = ", ".join(
        f"{corpus} {one[corpus]:.1f} against {other[corpus]:.1f}" for corpus in one
    )
    rates = [
        choice(results, name, "optimizer", "learning_rate") for name in (better, worse)
    ]
    if rates[0] != rates[1]:
        said += f"; but trained with rates of {rates[0]} and {rates[1]}"
    return _verdict(gains), said


def choice(results, name, part, key):
    """A choice of a preset's configuration, None where it made none."""
    configuration = results.get("cards", {}).get(name, {}).get("configuration", {})
    return configuration.get(part, {}).get(key)


def _verdict(gains, noise=NOISE):
    if min(gains) > noise:
        return "yes"
    return "no" if max(gains) < -noise else "undecided"


def _order(*pair):
    return lambda results: _more(results, *pair)


def _falls_with_length(results):
    """How much of its BLEU on single captions is left on four joined ones."""
    names = [n for n in (*ATTENTION, *WITHOUT) if n in results["joined"]]
    if not (set(names) & set(ATTENTION) and set(names) & set(WITHOUT)):
        return None
    left = {n: _left(results, n) for n in names}
    worst = min(left[n] for n in names if n in ATTENTION)
    best = max(left[n] for n in names if n in WITHOUT)
    said = ", ".join(f"{n} keeps {share:.0%}" for n, share in left.items())
    return ("yes" if worst > best else "no"), f"on four captions joined {said}"


def _holds_at_length(results):
    names = [n for n in ATTENTION if n in results["joined"]]
    if not names:
        return None
    left = {n: _left(results, n) for n in names}
    said = ", ".join(f"{n} keeps {share:.0%}" for n, share in left.items())
    held = min(left.values()) > HELD
    return ("yes" if held else "no"), (
        f"on four captions joined, 48 words on average, {said}; trained on single ones"
    )


def _left(results, name):
    joined = results["joined"][name]
    return joined[max(joined)] / max(results["bleu"][name]["multi30k"], 1e-9)


def _transformer(results):
    """Against the best recurrent preset of each test set."""
    found = dict(results["bleu"])
    if "transformer" not in found or len(found) == 1:
        return None
    own, gains, said = found.pop("transformer"), [], []
    for corpus, bleu in own.items():
        best = max(found, key=lambda name, c=corpus: found[name][c])
        gains.append(bleu - found[best][corpus])
        said.append(f"{corpus} {bleu:.1f} against {found[best][corpus]:.1f} ({best})")
    return _verdict(gains), ", ".join(said)


def _beam_two(results):
    found = results["beams"].get("seq2seq")
    if not found:
        return None
    gain, rest = found[2] - found[1], found[12] - found[2]
    said = f"1 to 2: {gain:+.1f}, 2 to 12: {rest:+.1f}"
    return ("yes" if gain > 0 and gain >= rest else "no"), said


def _beam(results):
    gains = [found[5] - found[1] for found in results["beams"].values()]
    if not gains:
        return None
    said = f"beam 5 against 1: {min(gains):+.1f} to {max(gains):+.1f}"
    return _verdict(gains, noise=0.0), said


def _ensemble(results):
    if "ensemble" not in results:
        return None
    gains, said = [], []
    for corpus, bleu in results["ensemble"]["bleu"].items():
        members = results["ensemble"]["members"]
        best = max(results["bleu"][name][corpus] for name in members)
        gains.append(bleu - best)
        said.append(f"{corpus} {bleu:.1f} against {best:.1f}")
    return _verdict(gains), ", ".join(said)


def _perplexity(better, worse):
    def test(results):
        found = results["perplexity"]
        if better not in found or worse not in found:
            return None
        one, other = found[better], found[worse]
        return ("yes" if one < other else "no"), f"{one:.1f} against {other:.1f}"

    return test


CLAIMS = (
    (
        "attention is better than one fixed vector",
        "Bahdanau et al. 2015, table 1",
        _order("bahdanau", "rnn_encoder_decoder"),
    ),
    (
        "attention is better than the last states alone",
        "Luong et al. 2015, table 1",
        _order("luong_global", "seq2seq"),
    ),
    (
        "a model without attention loses more on long sentences",
        "Bahdanau et al. 2015, the plot of BLEU by length",
        _falls_with_length,
    ),
    (
        f"one with attention doesn't: it keeps {HELD:.0%} of its BLEU",
        "Bahdanau et al. 2015, the plot of BLEU by length (trained on up to 50 words)",
        _holds_at_length,
    ),
    (
        "local-p is better than global attention (both general)",
        "Luong et al. 2015, table 4: 19.0, 17.3",
        _order("luong_local", "luong_global"),
    ),
    (
        "local-p is better than local-m",
        "Luong et al. 2015, table 4: 19.0, 18.6",
        _order("luong_local", "luong_local_m"),
    ),
    (
        "dot is better than location in global attention",
        "Luong et al. 2015, table 4: 18.6, 18.1",
        _order("luong_dot", "luong_location"),
    ),
    (
        "dot is better than general in global attention",
        "Luong et al. 2015, table 4: 18.6, 17.3",
        _order("luong_dot", "luong_global"),
    ),
    (
        "concat is worse than general (here with the whole W_a)",
        "Luong et al. 2015, by perplexity: 6.7, 6.1; here by BLEU",
        _order("luong_global", "luong_concat"),
    ),
    (
        "the Transformer is better than recurrent nets",
        "Vaswani et al. 2017, table 2",
        _transformer,
    ),
    (
        "a beam of 2 brings most of what a beam brings",
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
        _ensemble,
    ),
    (
        "LSTMN has a lower perplexity than LSTM",
        "Cheng et al. 2016: 108, 115",
        _perplexity("lstmn_lm", "lstm"),
    ),
)
