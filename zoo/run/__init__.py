"""Runs of recipes: choices from the command line, one `Run`, its results.

Each name is loaded when it is first used: a recipe's `--help` needs no Keras.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "config": ["ConfigurationError"],
        "recipe": ["Recipe", "at_least", "load_recipe", "run_recipe"],
        "report": ["write_report"],
        "run": ["Run"],
        "translation": ["Translation"],
        "translators": ["Scale", "translation_recipe"],
    },
)
