"""Pictures: what a translation attended to, and how a training went.

    result = zoo.load("luong_local").translate("A dog runs.", return_details=True)
    zoo.plots.save(result.plot(), "dog.png")

They need matplotlib (the extra `plot`), which is imported when something is drawn, and
neither pyplot nor a backend of Keras. Pictures bring their own background and colours,
whatever matplotlib's style is, and can be read in grey. Threads may draw at the same
time; what they draw they write with `save`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "alignment": ["plot_alignment", "plot_alignments"],
        "curves": ["plot_training"],
        "figure": ["save"],
    },
)
