"""The peers of `tools.bench.train` and `decode`: how each is installed, run and read.

Each peer trains with its own command and its own batching, and the rates are those of
its own log: real target tokens per second, the end token counted and padding not, which
is what zoo's side counts too. For OpenNMT-py these are the non-padding labels.
"""

import dataclasses
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

TORCH = "torch==2.13.0"


@dataclasses.dataclass(frozen=True)
class Peer:
    """One way to train with a peer.

    Attributes:
        package: name and version as pip takes them.
        needs: what it imports; its own list of needs is out of date or much longer.
        command: function of (configuration, folder of the run) to the arguments, the
            first a program of the environment.
        configure: function of (data, folder of the run, steps, steps of a window,
            steps between checkpoints) to the content of files of that folder, by name.
        pattern: finds the target tokens per second of a window in the log.
        versions: packages to name in the report.
    """

    package: str
    needs: list[str]
    command: Callable[[Path], list[str]]
    configure: Callable[[Path, Path, int, int, int], dict[str, str]]
    pattern: str
    versions: tuple[str, ...] = ()

    @property
    def name(self):
        return self.package.partition("==")[0]


def opennmt_py(data, folder, steps, window, save, **changes):
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


_OPENNMT_PY = {
    "package": "OpenNMT-py==3.5.1",
    "needs": (
        f"{TORCH} configargparse ctranslate2>=4,<5 fasttext-wheel numpy<2 "
        "pyahocorasick pyonmttok<2 pyyaml rapidfuzz sacrebleu setuptools<81 "
        "six spacy tensorboard"
    ).split(),
    "command": lambda folder: ["onmt_train", "-config", str(folder / "config.yaml")],
    "pattern": r"Step \d+/.*?/\s*([\d.]+) tok/s",
    "versions": ("OpenNMT-py", "torch"),
}

PEERS = {
    "opennmt-py": Peer(**_OPENNMT_PY, configure=opennmt_py),
    "opennmt-transformer": Peer(
        **_OPENNMT_PY, configure=functools.partial(opennmt_py, **TRANSFORMER)
    ),
}


def program(peer, work, name):
    """The path of a program in the peer's environment."""
    return work / f"venv-{peer.name.lower()}" / "bin" / name


def install(peer, work):
    """Makes the peer's environment, unless it is there. Returns its folder."""
    python = program(peer, work, "python")
    folder = python.parent.parent
    done = folder / "installed"
    wanted = "\n".join([peer.package, *peer.needs])
    if done.exists() and done.read_text() == wanted:
        return folder
    print(f"installing {peer.package}", file=sys.stderr, flush=True)
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, *peer.needs], check=True)
    subprocess.run([*pip, "--no-deps", peer.package], check=True)
    done.write_text(wanted)
    return folder


def prepare(peer, name, work, data, steps, window, save=10**6):
    """Writes the files of a run into a fresh folder. Returns the command."""
    folder = work / "runs" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file, content in peer.configure(data, folder, steps, window, save).items():
        (folder / file).write_text(content, encoding="utf-8")
    install(peer, work)
    name, *arguments = peer.command(folder)
    return [str(program(peer, work, name)), *arguments]


def rates(peer, log):
    """The target tokens per second of each window, by the peer's own log."""
    return [float(found) for found in re.findall(peer.pattern, log)]


def versions(peer, work):
    """The versions of the packages that the report names."""
    script = "import sys, importlib.metadata as m\n" + (
        "print('\\n'.join(name + ' ' + m.version(name) for name in sys.argv[1:]))"
    )
    found = subprocess.run(
        [program(peer, work, "python"), "-c", script, *peer.versions],
        check=True,
        capture_output=True,
        text=True,
    )
    return dict(line.rsplit(" ", 1) for line in found.stdout.split("\n") if line)
