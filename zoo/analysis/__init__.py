"""Pictures of alignments and training curves; scores of translations and captions.

    result = zoo.load("luong_local").translate("A dog runs.", return_details=True)
    zoo.analysis.save(result.plot(), "dog.png")

Drawing needs matplotlib (the extra `plot`), which is imported on use, but neither
pyplot nor a Keras backend. Pictures have matplotlib's style and are readable in
greyscale.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "alignment_plot": ["plot_alignment", "plot_alignments", "plot_caption"],
        "training_plot": ["plot_training"],
        "figure": ["save"],
    },
)
