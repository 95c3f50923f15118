"""The page docs/reproduction.md, from the figures of `tools.papers.reproduce`."""

from tools import markdown
from tools.papers.claims import judge
from tools.papers.study_page import study
from tools.papers.verdicts import BLOCK, SURE, choice


def page(results):
    """The whole page, Markdown."""
    made = results["made"]
    parts = [
        "# What reproduces",
        f"Made by `{made['command']}` from the presets of `savedmodels/` at commit "
        f"{made['commit']}, {made['date']}, {made['machine']}. What holds at the "
        "papers' sizes and data need not hold at these, nor the reverse. BLEU is "
        "sacreBLEU's, cased, 13a. Each preset has one seed (`luong_local` is the "
        "second of two that were trained); [several seeds](#several-seeds) has a study "
        "at a smaller size.",
        *_translators(results),
        *_lengths(results),
        *_beams(results),
        *_ensemble(results),
        *_language_models(results),
        *_directions(results),
        *_lags(results),
        *_claims(results),
        *([study(*results["study"])] if "study" in results else []),
        *_alignments(results),
    ]
    return "\n\n".join(parts) + "\n"


def table(heads, rows, numbers_from=1):
    """A Markdown table; numbers with one decimal, None as a dash."""
    rows = [[_cell(value) for value in row] for row in rows]
    return markdown.table(heads, rows, numbers_from)


def _told(results, name, *keys):
    """A choice of a preset's, with all its digits."""
    value = choice(results, name, *keys)
    return None if value is None else str(value)


def _cell(value):
    if value is None:
        return "–"
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _translators(results):
    rows = [
        [
            f"`{name}`" + ("*" if _in_parts(results, name) else ""),
            f"{results['cards'][name]['sizes']['parameters']:,}",
            results["cards"][name]["configuration"]["epochs"],
            _told(results, name, "optimizer", "learning_rate"),
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
    told = f"{told}{_unlike(results)}. {TIMES}"
    if parts := [name for name in results["bleu"] if _in_parts(results, name)]:
        told += f" *: {', '.join(parts)}, by several commands one after another; see "
        told += "the card."
    return "## Translators", told, table(heads, rows)


def _in_parts(results, name):
    """Whether a preset was trained by several commands."""
    return ", then " in results["cards"][name].get("recipe", "")


EARLY = 0.8  # words for each of the references; `SHORT` of the translators' recipes
TIMES = "Training times were taken on shared machines and are not comparable."


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
    rows = [["sentences", *(str(count) for *_, count, _ in first)]]
    for name, found in results["lengths"].items():
        rows.append([f"`{name}`", *(row[3] for row in found)])
    picture = results["pictures"]["lengths"]
    return (
        "## By length",
        "BLEU on the Multi30k test by the words of the source.",
        table(["words of the source", *spans], rows),
        "Few sentences of the test are longer than 25 words. In the next table "
        "neighbouring captions are joined into one source, longer than nearly all that "
        "the presets were trained on; after each BLEU stands the length of the "
        "translations in words, divided by that of the references. At the longest "
        f"{_early(results)} of {len(results['joined'])} presets write less than "
        f"{EARLY:.0%}: they end early.",
        _joined(results),
        f"![BLEU by length](reproduction/{picture})",
    )


def _early(results):
    """How many presets write too little for the longest sources."""
    longest = max(results["joined_sources"])
    found = results["joined"].values()
    return sum(lengths[longest]["length"] < EARLY for lengths in found)


def _joined(results):
    sources, heads, rows = results["joined_sources"], ["captions in one source"], []
    for n in sources:
        heads += [f"{n}: BLEU", "words"]
    for title, place in (("sources", 0), ("words of a source", 1)):
        rows.append(
            [title, *(cell for n in sources for cell in (sources[n][place], ""))]
        )
    for name, found in results["joined"].items():
        cells = [(found[n]["bleu"], f"{found[n]['length']:.2f}") for n in sources]
        rows.append([f"`{name}`", *(cell for pair in cells for cell in pair)])
    return table(heads, rows)


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
            _told(results, name, "optimizer", "learning_rate"),
            _told(results, name, "initializer_range"),
            results["cards"][name]["training_time"],
            value,
            published.get(name, "–"),
        ]
        for name, value in results["perplexity"].items()
    ]
    heads = ["preset", "parameters", "rate", "initial range", "training"]
    heads += ["perplexity, PTB test", "published"]
    said = [
        [f"`{name}`", *pair]
        for name, pairs in results["continuations"].items()
        for pair in pairs
    ]
    return (
        "## Language models",
        "Words of the Penn Treebank, the state carried over. Published: Cheng et al. "
        f"2016, by SGD, who mention no dropout; here Adam and dropout. {TIMES}",
        table(heads, rows),
        "How they continue a sentence, with the likeliest words and sampled (top-p, "
        "p 0.8, seed 1).",
        table(["preset", "likeliest", "drawn"], said, numbers_from=None),
    )


def _directions(results):
    from zoo.data.generated.artificial import irreducible_error

    variance = irreducible_error(first=1, last=0)  # nothing is seen
    tasks = results["artificial"]["birnn_tasks"]
    rows = [
        [f"`{name}`"]
        + [
            _small(tasks.get(task, {}).get(name, {}).get(key))
            for task in ("regression", "classification")
            for key in ("error", "limit")
        ]
        for name in tasks["regression"]
    ]
    stuck = [
        f"`{name}`"
        for name, found in tasks["regression"].items()
        if found["error"] > 0.9 * variance
    ]
    told = f"A net that always answers the mean errs by {variance:.6f}; "
    told += f"hardly better: {', '.join(stuck)}." if stuck else "all do better."
    heads = ["net", "regression: error", "least possible"]
    heads += ["classification: wrong", "least possible"]
    return (
        "## Both directions",
        "Schuster & Paliwal 1997, artificial data "
        "(`python recipes/birnn_tasks.py --scale small`): mean squared error, or the "
        "share of wrong classes, on fresh frames, and the least that any net can have "
        "which sees these frames. `for_2` reads forwards and answers 2 frames later, "
        "`back_2` backwards; `merge_2` is their mean, `mlp_10_19` sees 10 frames "
        f"before and 19 after. {told}",
        table(heads, rows),
    )


def _small(value):
    return "–" if value is None else f"{max(value, 0):.6f}"


# Of 2,560 fresh sequences; sequences of training, means of the paper's trials.
LAGS = {"adding": ("1", 74000), "order": ("1", 31390), "reber": ("–", 8440)}


def _lags(results):
    rows, more = [], []
    for name, found in results["artificial"]["lstm_tasks"].items():
        wrong, seen = LAGS.get(name, ("–", None))
        here = found.get("wrong", f"{found.get('test_right', 0):.0%} of strings right")
        needed = found["sequences"]
        if seen and needed and needed > seen:
            more.append(f"`{name}`")
        needed, seen = (f"{n:,}" if n else None for n in (needed, seen))
        rows.append([f"`{name}`", here, needed or "not solved", wrong, seen])
    heads = ["task", "wrong of 2,560", "sequences", "published: wrong", "sequences"]
    told = f" More sequences than the paper needed: {', '.join(more)}." if more else ""
    return (
        "## Long lags",
        "Hochreiter & Schmidhuber 1997, a cell without forget gate, one run of seed 1 "
        "(`python recipes/lstm_tasks.py --scale small`) by Adam; the paper's best rows "
        f"are means of several, by its own online rule.{told}",
        table(heads, rows),
    )


def _claims(results):
    rows = [[*claim] for claim in judge(results)]
    return (
        "## The papers' claims",
        "The papers' claims beside these presets. A difference in BLEU counts if p is "
        f"below {SURE} on both test sets (sacreBLEU's paired bootstrap over the "
        "sentences), which says nothing about other seeds, nor corrects for choosing "
        "the best of several. Perplexities: a paired t-test over blocks of "
        f"{BLOCK * 35} words; lengths, beams and errors are compared as they are.",
        table(["claim", "source", "here", "figures"], rows, numbers_from=None),
    )


def _alignments(results):
    pictures = results["pictures"]
    parts = [
        "## Alignments",
        "As in Bahdanau et al. 2015, figure 3: the source across, the translation "
        "down, darker is more. Pieces are joined to words. Each preset aligns its own "
        "translation. `luong_reversed` often points one word to the left: its encoder "
        "reads backwards only, and its state at a word has just read the next one "
        "([papers/luong.md](papers/luong.md)).",
    ]
    pairs = zip(pictures["sentences"], pictures["alignments"], strict=True)
    parts += [f"![{text}](reproduction/{name})" for text, name in pairs]
    return parts
