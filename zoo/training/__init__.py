"""Training: recipes, their runs, batches, losses, schedules, checkpoints.

Each name is loaded when it is first used: a recipe's `--help` needs no Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["ConfigurationError"],
        "recipe": ["Recipe", "at_least", "load_recipe"],
        "recipes.arguments": ["Arguments"],
        "recipes.choices": ["ClassArguments"],
        "recipes.user_text": ["UserText"],
        "recipes.translation_run": ["Translation"],
        "recipes.translator_recipe": ["Scale", "translation_recipe"],
        "run": ["Run"],
        "run_report": ["write_report"],
        "fit.scheduled_sampling": ["ScheduledSampling"],
        "fast.updates": ["EpochWeights", "Rprop", "average_weights"],
        "fit.padded_batches": ["ArrayBatches", "PairBatches", "StreamBatches"],
        "fit.buckets": ["choose_buckets", "group_by_length"],
        "fit.checkpoint": ["CheckpointError", "Monitor"],
        "fast.logit_free": ["CarriedState", "compile_for_training"],
        "fit.loop": ["NotFiniteError"],
        "losses": ["SmoothedCrossEntropy"],
        "optimizers": ["Optimizer"],
        "fast.process": ["tune_process"],
        "schedules": [
            "HalvingSchedule",
            "InverseSquareRoot",
            "NoamSchedule",
            "Plateau",
            "WarmupLinearDecay",
        ],
    },
)
