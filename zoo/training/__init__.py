"""The recipes' engine: batches, losses, schedules, callbacks, checkpoints.

Each name is loaded when it is first used: a recipe's `--help` needs no Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "augmentation": ["ScheduledSampling", "WordDropout"],
        "averaging": ["EpochWeights", "average_weights"],
        "batching": ["ArrayBatches", "PairBatches"],
        "buckets": ["choose_buckets", "group_by_length"],
        "callbacks": ["Checkpoint", "Monitor", "Progress"],
        "checkpoint": ["CheckpointError", "load_state", "save_state"],
        "compiling": ["compile_for_training"],
        "embeddings": ["Embeddings", "load_embeddings"],
        "epoch_guard": ["EpochGuard", "NotFiniteError"],
        "fused": ["fuse"],
        "loop": ["Loop"],
        "losses": ["Perplexity", "SmoothedCrossEntropy"],
        "optimizers": ["Optimizer"],
        "process": ["tune_process"],
        "rprop": ["Rprop"],
        "schedules": [
            "HalvingSchedule",
            "InverseSquareRoot",
            "NoamSchedule",
            "PerUpdate",
            "Plateau",
            "WarmupLinearDecay",
        ],
        "updates": [
            "Statistics",
            "averaged_weights",
            "global_norm",
            "prepare_optimizer",
            "read_statistics",
        ],
        "validation": ["Validation"],
        "without_logits": ["WithoutLogits"],
    },
)
