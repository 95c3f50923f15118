"""The page docs/reproduction.md, from the figures of tools/reproduce.py."""

from reproduce_claims import choice, judge

WITHOUT_ATTENTION = ("rnn_encoder_decoder", "seq2seq")


def page(results):
    """The whole page, Markdown."""
    made = results["made"]
    parts = [
        "# What reproduces",
        f"Made by `{made['command']}` from the presets of `savedmodels/` at commit "
        f"{made['commit']}, {made['date']}, {made['machine']}. What holds at the "
        "papers' sizes and data need not hold at these, nor the reverse. BLEU is "
        "sacreBLEU's, cased, 13a. One run of each: a difference below half a point "
        "decides nothing.",
        *_translators(results),
        *_lengths(results),
        *_beams(results),
        *_ensemble(results),
        *_language_models(results),
        *_directions(results),
        *_lags(results),
        *_claims(results),
        *_alignments(results),
    ]
    return "\n\n".join(parts) + "\n"


def table(heads, rows):
    """A Markdown table; numbers with one decimal, None as a dash."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    lines += [[_cell(value) for value in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _translators(results):
    rows = [
        [
            f"`{name}`",
            f"{results['cards'][name]['sizes']['parameters']:,}",
            results["cards"][name]["configuration"]["epochs"],
            str(choice(results, name, "optimizer", "learning_rate")),
            choice(results, name, "batch", "batch_tokens"),
            results["cards"][name]["training_time"],
            *(found[corpus] for corpus in ("multi30k", "tatoeba")),
            *(results["chrf"][name][corpus] for corpus in ("multi30k", "tatoeba")),
        ]
        for name, found in sorted(
            results["bleu"].items(), key=lambda pair: -pair[1]["multi30k"]
        )
    ]
    heads = ["preset", "parameters", "epochs", "rate", "pieces a batch", "training"]
    heads += ["BLEU, Multi30k", "BLEU, Tatoeba", "chrF, Multi30k", "chrF, Tatoeba"]
    told = "Beam 5, English to German. All are trained on the same text"
    return "## Translators", f"{told}{_unlike(results)}.", table(heads, rows)


def _unlike(results):
    """Whether all translators had as many epochs, in words."""
    cards = results["cards"]
    epochs = {name: cards[name]["configuration"]["epochs"] for name in results["bleu"]}
    if len(set(epochs.values())) == 1:
        return f", {min(epochs.values())} epochs each"
    return ", **but not for as many epochs**: what is said of such a pair is unfair"


def _lengths(results):
    first = next(iter(results["lengths"].values()))
    spans = [f"{low}–{high}" if high else f"{low}+" for low, high, *_ in first]
    counts = ["sentences", *(str(count) for *_, count, _ in first)]
    joined = next(iter(results["joined"].values()))
    heads = ["words of the source", *spans, *(f"{n} joined" for n in joined)]
    rows = [[*counts, *("" for _ in joined)]]
    for name, found in results["lengths"].items():
        bleu = [row[3] for row in found]
        rows.append([f"`{name}`", *bleu, *results["joined"][name].values()])
    picture = results["pictures"]["lengths"]
    return (
        "## By length",
        "BLEU on the Multi30k test by the words of the source. The test has hardly a "
        "sentence beyond 25 words: the last columns put neighbouring captions together "
        "into one source (and their references too), longer than what the presets were "
        "trained on.",
        table(heads, rows),
        f"![BLEU by length](reproduction/{picture})",
    )


def _beams(results):
    beams = next(iter(results["beams"].values()))
    rows = [[f"`{name}`", *found.values()] for name, found in results["beams"].items()]
    return (
        "## By beam",
        "BLEU on the Multi30k test by the size of the beam, length penalty 1.",
        table(["preset", *(str(beam) for beam in beams)], rows),
    )


def _ensemble(results):
    if "ensemble" not in results:
        return ()
    found, rows = results["ensemble"], []
    for corpus, bleu in found["bleu"].items():
        best = max(found["members"], key=lambda name: results["bleu"][name][corpus])
        rows.append([corpus, f"`{best}`", results["bleu"][best][corpus], bleu])
    return (
        "## Ensemble",
        f"The probabilities of the {len(found['members'])} recurrent presets averaged "
        "at each step (`zoo.decoding.Ensemble`), beam 5.",
        table(["test set", "best member", "its BLEU", "BLEU of the ensemble"], rows),
    )


def _language_models(results):
    if not results["perplexity"]:
        return ()
    published = {"lstm": "115", "lstmn_lm": "108"}
    rows = [
        [
            f"`{name}`",
            f"{results['cards'][name]['sizes']['parameters']:,}",
            results["cards"][name]["training_time"],
            value,
            published.get(name, "–"),
        ]
        for name, value in results["perplexity"].items()
    ]
    heads = ["preset", "parameters", "training", "perplexity, PTB test", "published"]
    return (
        "## Language models",
        "Words of the Penn Treebank, the state carried over. Published: Cheng et al. "
        "2016, by SGD, who mention no dropout; here Adam and dropout.",
        table(heads, rows),
    )


def _directions(results):
    rows = [
        [f"`{name}`", *(_small(found.get(key)) for key in ("error", "limit"))]
        for name, found in results["artificial"]["birnn_tasks"]["regression"].items()
    ]
    return (
        "## Both directions",
        "Schuster & Paliwal 1997, regression on artificial data "
        "(`python recipes/birnn_tasks.py --scale small`): mean squared error on fresh "
        "frames, and the least that any net can have which sees these frames. "
        "`for_2` reads forwards and answers 2 frames later, `back_2` backwards; "
        "`merge_2` is their mean, `mlp_10_19` sees 10 frames before and 19 after.",
        table(["net", "error", "least possible"], rows),
    )


def _small(value):
    return "–" if value is None else f"{max(value, 0):.6f}"


# Of 2,560 fresh sequences; sequences of training, means of the paper's trials.
LAGS = {"adding": ("1", "74,000"), "order": ("1", "31,390"), "reber": ("–", "8,440")}


def _lags(results):
    rows = []
    for name, found in results["artificial"]["lstm_tasks"].items():
        wrong, seen = LAGS.get(name, ("–", "–"))
        here = found.get("wrong", f"{found.get('test_right', 0):.0%} of strings right")
        needed = found["sequences"]
        needed = f"{needed:,}" if needed else "not solved"
        rows.append([f"`{name}`", here, needed, wrong, seen])
    heads = ["task", "wrong of 2,560", "sequences", "published: wrong", "sequences"]
    return (
        "## Long lags",
        "Hochreiter & Schmidhuber 1997, a cell without forget gate, one run of seed 1 "
        "(`python recipes/lstm_tasks.py --scale small`) by Adam; the paper's best rows "
        "are means of several, by its own online rule.",
        table(heads, rows),
    )


def _claims(results):
    rows = [[*claim] for claim in judge(results)]
    return (
        "## The papers' claims",
        "What the papers say of such models, and what these presets say.",
        table(["claim", "source", "here", "figures"], rows).replace("---:", "---"),
    )


def _alignments(results):
    pictures = results["pictures"]
    parts = [
        "## Alignments",
        "As in Bahdanau et al. 2015, figure 3: the source across, the translation "
        "down, darker is more. Pieces are joined to words. Each preset aligns its own "
        "translation.",
    ]
    pairs = zip(pictures["sentences"], pictures["alignments"], strict=True)
    parts += [f"![{text}](reproduction/{name})" for text, name in pairs]
    return parts
