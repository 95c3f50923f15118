"""Translators: the base of the tasks that write word by word, and the papers' own."""

from typing import Any

import keras
import keras_hub
from keras import ops

from zoo.backend import Tensor
from zoo.decoding.beam import KerasDecoder
from zoo.decoding.translating import Translating
from zoo.ids import PAD_ID
from zoo.models.bahdanau import Bahdanau, RNNencdec
from zoo.models.cho import RNNEncoderDecoder
from zoo.models.lstmn import LSTMNEncoderDecoder
from zoo.models.luong import Luong
from zoo.models.sutskever import Seq2Seq
from zoo.models.transformer import Transformer
from zoo.tasks.task_base import Generating, TextTask
from zoo.text import TranslatorPreprocessor


class Seq2SeqTask(KerasDecoder, TextTask):
    """Base of the tasks with a `Seq2SeqBackbone`: how they are trained.

    Args:
        backbone: a `Seq2SeqBackbone`.
        preprocessor: for what a person gives and gets, or None to work on arrays.
        augmentation: see `Translator`.
    """

    def __init__(
        self,
        backbone: Any,
        preprocessor: Any = None,
        augmentation: Any = (),
        **kwargs: Any,
    ) -> None:
        layers = {"augmentation": list(augmentation)}
        super().__init__(backbone, preprocessor, layers, **kwargs)

    def default_loss(self) -> Any:
        """Returns the mean cross-entropy of a real token."""
        return keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        return self.backbone(self.augmented(inputs, training), training=training)

    def augmented(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Applies the augmentation to inputs in training."""
        if training:
            for layer in self.augmentation:
                inputs = layer(inputs, model=self.backbone)
        return inputs

    def features(self, inputs: Tensor, training: bool = False) -> Tensor:
        """Returns the input of the output layer: see `Seq2SeqBackbone.features`."""
        inputs = self.augmented(inputs, training)
        return self.backbone.features(inputs, training=training)

    def projected_loss(
        self, loss: Any, features: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> Tensor:
        """Returns a `SmoothedCrossEntropy` of `features`, without their logits.

        See `zoo.training.compile_for_training`.
        """
        weights = self.backbone.output_weights()
        return loss.projected(features, *weights, y, sample_weight)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self.augmentation:
            layers = [keras.saving.serialize_keras_object(x) for x in self.augmentation]
            config["augmentation"] = layers
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        deserialize = keras.saving.deserialize_keras_object
        layers = [deserialize(layer) for layer in config.get("augmentation", ())]
        return super().from_config({**config, "augmentation": layers})


class Translator(Generating, Translating, Seq2SeqTask, keras_hub.models.Seq2SeqLM):
    """A task that translates text: a backbone, and a preprocessor for its strings.

    Subclasses set `backbone_cls` and `preprocessor_cls` and nothing else.

    Args:
        backbone: a `Seq2SeqBackbone`.
        preprocessor: a `zoo.text.TranslatorPreprocessor`, or None to work on ids.
        augmentation: layers that change the input ids in training, one after another,
            such as `zoo.training.ScheduledSampling`; each is called with the inputs
            and the backbone.

    Raises:
        ValueError: if the preprocessor's vocabulary is not the backbone's.
    """

    task_name = "translate"
    text_columns = ("source", "target")
    text_inputs = 2

    def generate_step(
        self, inputs: Tensor, stop_token_ids: list[int] | None = None
    ) -> dict[str, Tensor]:
        """One batch of `generate`, by the sampler that `compile` was given.

        Args:
            inputs: dict of `source_ids` (B, S) and `target_ids` (B, T): the start
                token, then 0.
            stop_token_ids: ids that end a sentence; None for none.

        Returns:
            `{"token_ids": (B, T)}`, 0 behind a row's first stop token.
        """
        backbone = self.backbone
        memory = backbone.encode(inputs["source_ids"])
        prompt = ops.cast(inputs["target_ids"], "int32")
        state = backbone.start_for(memory, ops.shape(prompt)[1])
        token_ids, counts = self._sample(
            lambda last, state: backbone.step(last, state, memory)[:2],
            prompt,
            ops.not_equal(prompt, PAD_ID),
            state,
            stop_token_ids,
        )
        token_ids = ops.where(counts, token_ids, PAD_ID)
        # Nothing to read gives nothing: such a row stays as it began.
        real = ops.any(ops.not_equal(inputs["source_ids"], PAD_ID), axis=1)
        prompt = ops.cast(prompt, token_ids.dtype)
        return {"token_ids": ops.where(real[:, None], token_ids, prompt)}


# === The papers' translators ===
def classes_for(backbone: Any, paper: str | None = None) -> tuple[Any, Any]:
    """Makes a backbone class's preprocessor and translator, named after it.

    They are registered subclasses of `TranslatorPreprocessor` and `Translator`.
    """
    cls, paper = f"`{backbone.__name__}`", paper or backbone.__name__

    def make(kind, base, text, **attributes):
        attributes |= {"__module__": __name__, "__doc__": text}
        made = type(base)(f"{paper}{kind}", (base,), attributes)
        return keras.saving.register_keras_serializable(package="zoo")(made)

    text = f"Strings to ids and back for {cls}."
    strings = make("Preprocessor", TranslatorPreprocessor, text, backbone_cls=backbone)
    text = f"Translates text with {cls}; see `zoo.models.Translator`."
    options = {"backbone_cls": backbone, "preprocessor_cls": strings}
    return strings, make("Translator", Translator, text, **options)


BahdanauPreprocessor, BahdanauTranslator = classes_for(Bahdanau)
RNNencdecPreprocessor, RNNencdecTranslator = classes_for(RNNencdec)
RNNEncoderDecoderPreprocessor, RNNEncoderDecoderTranslator = classes_for(
    RNNEncoderDecoder
)
LSTMNPreprocessor, LSTMNTranslator = classes_for(LSTMNEncoderDecoder, "LSTMN")
LuongPreprocessor, LuongTranslator = classes_for(Luong)
Seq2SeqPreprocessor, Seq2SeqTranslator = classes_for(Seq2Seq)
TransformerPreprocessor, TransformerTranslator = classes_for(Transformer)
