"""Xu et al. 2015 over text: hard attention, which looks at one word at a time.

    python recipes/show_attend_tell_text.py --scale tiny|small|paper

`paper` has the authors' sizes for COCO and Adam (rate and clipping are ours), on the
text of `small`.
Soft attention: `--set model.attention=soft`. show_attend_tell.py reads images.
"""

from pathlib import Path

from zoo.training import Optimizer, load_recipe
from zoo.training.recipes import translator_recipe as translators

IMAGES = load_recipe(Path(__file__).with_name("show_attend_tell.py"))
# The authors' 1 goes with the loss of a sentence; here losses are per token.
LAMBDA = 0.1

RECIPE = translators.translation_recipe(
    name="show_attend_tell_text",
    file=__file__,
    translator=translators.task("ShowAttendTellTranslator"),
    card={
        "title": "Xu et al. 2015, hard attention over text",
        "description": (
            "An LSTM decoder that looks at one place at a time, drawn at random in "
            "training, over a bidirectional LSTM encoder of text instead of the "
            "paper's convolutional net of images."
        ),
        "equations": (
            "The LSTM with the context in its gates, the estimator, the moving "
            "baseline and the entropy term of section 4.1, the gate β and the doubly "
            "stochastic penalty of section 4.2.1."
        ),
        "paper": IMAGES.PAPER,
    },
    scales={
        "tiny": translators.tiny(
            {
                "hidden_dim": 64,
                "embedding_dim": 32,
                "annotation_dim": 64,
                "attention_dim": 64,
                "attention": "hard",
                "doubly_stochastic": LAMBDA,
            },
            epochs=20,
        ),
        "small": translators.small(
            {
                "hidden_dim": 256,
                "embedding_dim": 256,
                "annotation_dim": 256,
                "attention_dim": 256,
                "attention": "hard",
                "doubly_stochastic": LAMBDA,
                "dropout": 0.2,
            },
            rate=2e-3,
        ),
        "paper": translators.paper(
            Optimizer("adam", 1e-3, clip=5.0),
            10,
            {"batch_size": 64},
            {"attention": "hard", "dropout": 0.5},
        ),
    },
)

if __name__ == "__main__":
    raise SystemExit(RECIPE.main())
