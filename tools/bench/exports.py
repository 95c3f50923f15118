"""Exports beside the models in Keras, and beside other libraries.

    zoo export luong_local --format onnx out
    KERAS_BACKEND=jax python -m tools.bench.exports out/luong_local

Exports are of ONNX graphs of translators and captioners. Each row is one
export and one beam: of the first --sentences of the preset's test set (or --source),
how many have the same best translation or caption, the largest difference of the
scores of those, and BLEU and chrF where the test set is one of translations.

    python -m tools.bench.exports out/luong_local --source test.en --work FOLDER

With --work their speed instead: that of the exports, of their presets in Keras under
--backends, and of --peers with untrained models of the same sizes (OpenNMT-py beside
Luong's models, CTranslate2 beside the Transformer), which `tools.bench.decode` installs
and runs. All get the same sentences in pieces of the preset's vocabulary and write
--length pieces for each, so that all take as many steps (zoo one more, for the end
token): batches of 64, then the first --few sentences one by one. Each is measured in
processes of its own, one after another.
"""

import argparse
import functools
import statistics
import sys
from pathlib import Path

from tools.bench import decode, peers
from tools.bench.core import Bench, add_names, counts, module, note
from tools.markdown import table
from zoo.analysis.evaluation import corpus_scores
from zoo.backend import BACKENDS, configured_backend
from zoo.cli.common import count
from zoo.data import load as load_corpus
from zoo.presets import find
from zoo.presets.card import read_card
from zoo.serving import runtime
from zoo.serving.export.manifest import newest, read_manifest
from zoo.training.fast.process import start_backend, tune_process
from zoo.training.recipes.captioner_recipe import draw_tests

# Task -> the peer beside it, and its names of the sizes with ours.
PEERS = {
    "LuongTranslator": (
        "opennmt-py",
        {
            "layers": "num_layers",
            "hidden_size": "hidden_dim",
            "word_vec_size": "embedding_dim",
        },
    ),
    "TransformerTranslator": (
        "ctranslate2",
        {
            "layers": "num_layers",
            "hidden_size": "hidden_dim",
            "word_vec_size": "hidden_dim",
            "transformer_ff": "ff_dim",
            "heads": "num_heads",
        },
    ),
}


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.split("\n", 1)[1],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folders", nargs="+", help="models' folders, or versions'")
    parser.add_argument("--source", help="file of a sentence a line")
    parser.add_argument("--sentences", type=count, default=1000)
    parser.add_argument("--beams", type=counts, default="1,5")
    parser.add_argument("--threads", type=count, default=1, help="of an export")
    parser.add_argument("--work", type=Path, help="folder to measure speed in")
    add_names(parser, "--backends", BACKENDS, "of Keras; or none")
    names = [name for name, _ in PEERS.values()]
    add_names(parser, "--peers", names, "or none")
    parser.add_argument("--length", type=count, default=15, help="pieces of each")
    parser.add_argument("--few", type=count, default=100, help="sentences one by one")
    parser.add_argument("--runs", type=count, default=3, help="of which the median")
    parser.add_argument("--cores", type=count, default=2)
    arguments = parser.parse_args(argv)
    texts = None
    if arguments.source:
        lines = Path(arguments.source).read_text(encoding="utf-8").splitlines()
        texts = lines[: arguments.sentences]
    if arguments.work:
        if texts is None:
            parser.error("--work needs --source")
        return measure(arguments, texts)
    compare_all(arguments, texts)
    return 0


# === Texts and scores ===
def compare_all(arguments, texts):
    """Prints a table of how each export's output differs from that of its preset."""
    tune_process()  # as every command of zoo does
    start_backend()
    import zoo

    @functools.cache
    def of_keras(name):
        inputs, references = texts, None
        if texts is None:
            inputs, references = preset_inputs(name, arguments.sentences)
        model = zoo.load(name)
        found = {beam: best(model, inputs, beam) for beam in arguments.beams}
        return inputs, references, found

    rows = []
    for folder in arguments.folders:
        manifest = read_manifest(newest(folder))
        size = sum(file["bytes"] for file in manifest["files"].values())
        exported = runtime.load(folder, arguments.threads)
        inputs, references, wanted = of_keras(manifest["name"])
        for beam in arguments.beams:
            records = best(exported, inputs, beam)
            equal, difference = compare(records, wanted[beam])
            found = [record.text for record in records]
            scores = corpus_scores(found, references) if references else {}
            rows.append(
                [
                    title(folder),
                    f"{size / 1e6:.1f}",
                    str(beam),
                    f"{equal:,} of {len(inputs):,}",
                    f"{difference:.1e}",
                    *(f"{score['score']:.2f}" for score in scores.values()),
                    *[""] * (2 - len(scores)),
                ]
            )
            print(*rows[-1], file=sys.stderr, flush=True)
    heads = ["export", "MB", "beam", "equal", "scores within", "BLEU", "chrF"]
    print(f"Keras on {configured_backend()}\n\n{table(heads, rows)}")


def preset_inputs(name, most):
    """Returns the first inputs of a preset's test set, and their references or None."""
    card = read_card(find(name))
    score = card.scores[0]
    if card.task == "caption":
        return draw_tests(score["data"], range(most)), None
    data = load_corpus(score["data"], *card.languages, split=score["split"])
    references = data.references[:most] if score["metric"] == "BLEU" else None
    return list(data.sources[:most]), references


def title(folder):
    """An export's model and precision."""
    manifest = read_manifest(newest(folder))
    return f"{manifest['name']} {manifest['quantize'] or 'float32'}"


def best(model, inputs, beam):
    """Returns the record of the best text for each input."""
    task = getattr(model, model.task_name)
    return task(inputs, beam_size=beam, return_details=True)


def compare(records, wanted):
    """Returns how many records have the text wanted, and the largest difference
    between the scores of those."""
    differences = [
        abs(record.score - other.score)
        for record, other in zip(records, wanted, strict=True)
        if (record.text, record.tokens) == (other.text, other.tokens)
    ]
    return len(differences), max(differences, default=0.0)


# === Speed ===
def measure(arguments, texts):
    """Prints a table for each preset and beam. Returns the exit code."""
    bench = Bench(arguments.work, arguments.cores)
    bench.print_machine()
    folders, failed, tables = {}, False, []
    for folder in arguments.folders:
        manifest = read_manifest(newest(folder))
        folders.setdefault(manifest["name"], []).append(Path(folder).resolve())
    versions = {}
    for name, own in folders.items():
        data = write_pieces(bench.work / f"data-{name}", own[0], texts, arguments.few)
        jobs = [preset_job(name, backend) for backend in arguments.backends]
        jobs += [export_job(folder, arguments.threads) for folder in own]
        jobs += peer_jobs(name, arguments.peers, bench, data)
        for beam in arguments.beams:
            found = {}
            for one in jobs:
                result = times(one, beam, data, bench, arguments)
                if result is None:
                    failed = True
                    continue
                versions |= result["versions"]
                found[one.name] = result
            tables.append((f"{name}, beam {beam}", found))
    bench.print_load("after")
    print("versions:", ", ".join(f"{k} {v}" for k, v in sorted(versions.items())))
    for head, found in tables:
        print(f"\n{head}\n\n{speeds(found)}")
    return int(failed)


def write_pieces(folder, export, texts, few):
    """Writes sentences as pieces, and a vocabulary, as `tools.bench.data` does."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = runtime.load(export).preprocessor.tokenizer
    rows = [" ".join(map(tokenizer.id_to_token, x)) for x in tokenizer.tokenize(texts)]
    rows = [row for row in rows if row]
    pieces = map(tokenizer.id_to_token, range(4, tokenizer.vocabulary_size()))
    files = {"train": rows, "valid": rows[:64], "test": rows, "vocabulary": pieces}
    for name, lines in {**files, "few": rows[:few]}.items():
        text = "".join(f"{line}\n" for line in lines)
        for side in ("source", "target"):
            (folder / f"{name}.{side}").write_text(text, encoding="utf-8")
    return folder


def preset_job(name, backend):
    command = module("workers.translate", name)
    return decode.Job(f"Keras, {backend}", name, command, {"KERAS_BACKEND": backend})


def export_job(folder, threads):
    manifest = read_manifest(newest(folder))
    command = module("workers.translate", str(folder), threads=threads)
    title = f"ONNX, {manifest['quantize'] or 'float32'}"
    return decode.Job(title, manifest["name"], command)


def peer_jobs(name, chosen, bench, data):
    """The jobs of the peer with a model of a preset's sizes; none if there is none."""
    card = read_card(find(name))
    peer, names = PEERS.get(card.architecture, ("", {}))
    if peer not in chosen:
        return []
    changes = {own: card.configuration["model"][key] for own, key in names.items()}
    # A step of training is enough, by one process, with few sentences before it.
    changes |= {"bucket_size": 1024, "num_workers": 0}
    peers.install(peers.PEERS[decode.PEERS[peer][0]], bench.work)
    return list(decode.peer_jobs(peer, bench, data, **changes))


def times(job, beam, data, bench, arguments):
    """The reports of a job's processes, with `seconds` of all sentences and `single`,
    seconds of one of the few; None if one fails."""
    results = []
    for source, batch, runs in (("test", 64, arguments.runs), ("few", 1, 1)):
        options = {"beam": beam, "length": arguments.length, "runs": runs}
        options |= {"batch": batch, "source": data / f"{source}.source"}
        flags = [f"--{name}={value}" for name, value in options.items()]
        result, load = bench.measure(
            job.name,
            lambda flags=flags: [*job.command, *flags],
            job.environment,
            log=f"{data.name}-{job.name}-{beam}-{batch}",
        )
        if result is None:
            return None
        seconds = " ".join(f"{second:.2f}" for second in result["seconds"])
        print(
            f"{data.name} {job.name} beam {beam}, {result['sentences']} in batches of "
            f"{batch}: {seconds} s{note(load)}",
            flush=True,
        )
        results.append(result)
    many, few = results
    return {**many, "single": few["seconds"][0] / few["sentences"]}


def speeds(found):
    """Markdown: a row for each system, the fastest first."""
    rates = {
        name: [row["sentences"] / seconds for seconds in row["seconds"]]
        for name, row in found.items()
    }
    heads = ["", "sentences/s", "least – most", "ms a sentence, one by one"]
    heads += ["loaded, s", "first, s", "peak MB"]
    rows = [
        [
            name,
            f"{statistics.median(rates[name]):.0f}",
            f"{min(rates[name]):.0f} – {max(rates[name]):.0f}",
            f"{1000 * found[name]['single']:.1f}",
            f"{found[name]['load']:.1f}",
            f"{found[name]['first']:.1f}",
            f"{found[name]['peak_memory']:,.0f}",
        ]
        for name in sorted(found, key=lambda name: -statistics.median(rates[name]))
    ]
    return table(heads, rows)


if __name__ == "__main__":
    raise SystemExit(main())
