"""The recipes' engine: batches, losses, schedules, callbacks, checkpoints."""

import importlib

# Looked up on first use: a recipe's `--help` needs neither Keras nor a backend.
_HOMES = {
    "ArrayBatches": "batching",
    "Checkpoint": "callbacks",
    "CheckpointError": "checkpoint",
    "ConfigurationError": "configuration",
    "Embeddings": "embeddings",
    "EpochWeights": "averaging",
    "Experiment": "experiment",
    "HalvingSchedule": "schedules",
    "InverseSquareRoot": "schedules",
    "Loop": "loop",
    "NoamSchedule": "schedules",
    "NotFiniteError": "safeguard",
    "Optimizer": "optimizers",
    "PairBatches": "batching",
    "PerUpdate": "schedules",
    "Perplexity": "losses",
    "Plateau": "callbacks",
    "Progress": "callbacks",
    "Recipe": "recipe",
    "Safeguard": "safeguard",
    "Scale": "recipe",
    "ScheduledSampling": "noise",
    "Rprop": "rprop",
    "Run": "experiment_run",
    "SmoothedCrossEntropy": "losses",
    "Statistics": "updates",
    "Trainer": "trainer",
    "Validation": "callbacks",
    "WarmupLinearDecay": "schedules",
    "WordDropout": "noise",
    "at_least": "recipe",
    "average_weights": "averaging",
    "averaged_weights": "updates",
    "choose_buckets": "batching",
    "compile_for_training": "compiling",
    "corpus_scores": "evaluation",
    "fuse": "fused",
    "global_norm": "updates",
    "gradient_norm": "gradients",
    "group_by_length": "batching",
    "load_embeddings": "embeddings",
    "load_state": "checkpoint",
    "prepare_optimizer": "updates",
    "read_statistics": "updates",
    "reversal_pairs": "generated",
    "run": "recipe",
    "run_experiment": "experiment",
    "save_preset": "preset",
    "save_state": "checkpoint",
    "tag_accuracy": "evaluation",
    "tune_process": "process",
    "write_report": "report",
}

__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
