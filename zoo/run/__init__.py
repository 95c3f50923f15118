"""Runs of recipes: the command line, the `Run`, its results.

Each name is loaded when it is first used: a recipe's `--help` needs no Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "arguments": ["Arguments"],
        "config": ["ConfigurationError"],
        "own_text": ["TextTask"],
        "recipe": [
            "ClassArguments",
            "Recipe",
            "at_least",
            "importer",
            "load_recipe",
            "run_recipe",
        ],
        "report": ["write_report"],
        "run": ["Run"],
        "translation": ["Translation"],
        "translators": ["Scale", "translation_recipe"],
    },
)
