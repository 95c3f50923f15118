"""The peers of `tools.bench.train` and `decode`: how each is installed, run and read.

Each peer trains with its own command and its own batching, and the rates are those of
its own log: real target tokens per second, the end token counted and padding not, which
is what zoo's side counts too. For OpenNMT-py these are the non-padding labels.
"""

import json
import re
import shutil
import subprocess
import sys

# OpenNMT-py's own list of needs is out of date and much longer.
PACKAGE = "OpenNMT-py==3.5.1"
NEEDS = (
    "torch==2.13.0 configargparse ctranslate2>=4,<5 fasttext-wheel numpy<2 "
    "pyahocorasick pyonmttok<2 pyyaml rapidfuzz sacrebleu setuptools<81 six spacy "
    "tensorboard"
).split()


def configuration(data, folder, steps, window, save, **changes):
    """The content of the files of a run's folder, by name: `steps` steps, a line of
    the log each `window`, a checkpoint each `save`."""
    config = {
        "data": {
            "train": {
                "path_src": str(data / "train.source"),
                "path_tgt": str(data / "train.target"),
                "transforms": [],
                "weight": 1,
            }
        },
        "src_vocab": str(folder / "vocabulary.source"),
        "tgt_vocab": str(folder / "vocabulary.target"),
        "src_vocab_size": 6000,
        "tgt_vocab_size": 6000,
        "save_data": str(folder),
        "save_model": str(folder / "model"),
        "overwrite": True,
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "LSTM",
        "layers": 1,
        "hidden_size": 256,
        "word_vec_size": 256,
        "global_attention": "general",
        "input_feed": 1,
        "dropout": [0.0],
        "attention_dropout": [0.0],
        "optim": "adam",
        "learning_rate": 0.001,
        "batch_type": "sents",
        "batch_size": 64,
        "world_size": 1,
        "train_steps": steps,
        "report_every": window,
        "valid_steps": 10 * steps,
        "save_checkpoint_steps": save,
        "seed": 1,
        **changes,
    }
    config = {name: value for name, value in config.items() if value is not None}
    specials = "<unk>\n<blank>\n<s>\n</s>\n"
    vocabularies = {
        name: specials + (data / name).read_text("utf-8")
        for name in ("vocabulary.source", "vocabulary.target")
    }
    return {"config.yaml": json.dumps(config, indent=2), **vocabularies}


# OpenNMT-py's changes for the Transformer that CTranslate2 runs.
TRANSFORMER = {
    **dict.fromkeys(("rnn_type", "global_attention", "input_feed")),  # left out
    "encoder_type": "transformer",
    "decoder_type": "transformer",
    "layers": 3,
    "heads": 4,
    "transformer_ff": 1024,
    "position_encoding": True,
    "self_attn_type": "scaled-dot",  # what CTranslate2 converts
    "param_init_glorot": True,
    "param_init": 0.0,
}
# Each peer's changes of the configuration.
PEERS = {"opennmt-py": {}, "opennmt-transformer": TRANSFORMER}


def program(work, name):
    """The path of a program in the peers' environment."""
    return work / "venv-opennmt-py" / "bin" / name


def install(work):
    """Makes the peers' environment, unless it is there."""
    python = program(work, "python")
    done = python.parent.parent / "installed"
    wanted = "\n".join([PACKAGE, *NEEDS])
    if done.exists() and done.read_text() == wanted:
        return
    print(f"installing {PACKAGE}", file=sys.stderr, flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", done.parent], check=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *NEEDS], check=True)
    subprocess.run([*pip, "--no-deps", PACKAGE], check=True)
    done.write_text(wanted)


def prepare(name, run, work, steps, window, save=10**6):
    """Writes the files of a peer's run into a fresh folder. Returns the command."""
    folder = work / "runs" / run
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    files = configuration(work / "data", folder, steps, window, save, **PEERS[name])
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    install(work)
    return [str(program(work, "onmt_train")), "-config", str(folder / "config.yaml")]


def rates(log):
    """The target tokens per second of each window, by the peer's own log."""
    return [float(x) for x in re.findall(r"Step \d+/.*?/\s*([\d.]+) tok/s", log)]


def versions(work):
    """The versions of the packages that the report names."""
    command = [program(work, "python"), "-m", "pip", "list", "--format=json"]
    found = json.loads(subprocess.check_output(command))
    wanted = ("OpenNMT-py", "torch")
    return {x["name"]: x["version"] for x in found if x["name"] in wanted}
