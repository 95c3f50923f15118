import keras_hub
import pytest

from tests.harness import by_hand, close, compiled, randomize, to_numpy
from tests.translators import SOURCE, TARGET, VOCABULARY
from zoo.ids import END_ID, START_ID
from zoo.models import Luong, LuongPreprocessor, LuongTranslator

SMALL = {"num_layers": 1, "hidden_dim": 8, "embedding_dim": 6, "window": 2}


@pytest.fixture(scope="module")
def task(tokenizer):
    backbone = randomize(Luong(VOCABULARY, **SMALL))
    return LuongTranslator(backbone, LuongPreprocessor(tokenizer))


def test_the_task_offers_the_backbones_methods(task):
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    wanted = to_numpy(compiled(task.backbone)(inputs))
    close(compiled(task)(inputs), wanted)
    backbone = task.backbone
    memory = compiled(backbone.encode)(SOURCE)
    step = compiled(backbone.step)
    logits, _, _ = step(TARGET[:, 0], backbone.start(memory), memory)
    close(logits, wanted[:, 0])


def test_generate_is_greedy_search(task):
    texts = ["ab cd", "dad cab bad", "a"]
    wanted = []
    begin, step = by_hand(task, width=12)
    for ids in task.preprocessor.encode(texts):
        memory, state = begin(ids)
        words = [START_ID]
        while len(words) < 9 and words[-1] != END_ID:
            logits, state, _ = step(words[-1], state, memory)
            words.append(int(to_numpy(logits)[0].argmax()))
        wanted.append([word for word in words[1:] if word != END_ID])
    assert any(wanted)
    got = task.generate(texts, max_length=9)
    assert got == task.preprocessor.decode(wanted)
    task.compile(sampler="top_k")
    assert len(task.generate(texts, max_length=5)) == 3
    task.compile()


TEXTS = ["ab cd", "dad cab bad", "a", "ba"]
samplers = keras_hub.samplers


def generate(task, sampler, **options):
    task.compile(sampler=sampler)
    try:
        return task.generate(TEXTS, max_length=9, **options)
    finally:
        task.compile()


def test_a_sampler_draws_again_what_its_seed_drew(task):
    def make(seed):
        return samplers.TopPSampler(p=0.9, k=9, seed=seed)

    sampler = make(1)
    found = generate(task, sampler)
    assert found == generate(task, make(1))
    assert found != generate(task, make(2))
    assert found != generate(task, sampler)  # goes on drawing


def test_generate_makes_nothing_of_nothing(task):
    assert task.generate(["", "ab cd", "  "], max_length=9)[::2] == ["", ""]
    assert task.generate("", max_length=9) == ""


def test_a_vocabulary_that_is_not_the_tokenizers_is_refused(tokenizer):
    preprocessor = LuongPreprocessor(tokenizer)
    for sizes, received in (
        ((VOCABULARY + 5,), f"vocabulary_size={VOCABULARY + 5}"),
        ((VOCABULARY, 9), "target_vocabulary_size=9"),
    ):
        message = f"preprocessor's vocabulary, {VOCABULARY}. Received: {received}"
        with pytest.raises(ValueError, match=message):
            LuongTranslator(Luong(*sizes, **SMALL), preprocessor)


@pytest.mark.once
def test_functional_models_of_kerashub_do_no_harm(task, tokenizer):
    """Keras rebases KerasHub's classes on its functional model for them."""
    bert = keras_hub.models.BertBackbone(
        vocabulary_size=8, num_layers=1, num_heads=1, hidden_dim=4, intermediate_dim=4
    )
    keras_hub.models.BertTextClassifier(bert, num_classes=2)
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    close(task(inputs), task.backbone(inputs))
    new = LuongTranslator(Luong(VOCABULARY, **SMALL), LuongPreprocessor(tokenizer))
    new.backbone.set_weights(task.backbone.get_weights())
    assert new.translate("ab cd") == task.translate("ab cd")
    assert len(new.backbone.layers) == len(task.backbone.layers)
    assert isinstance(new, keras_hub.models.Task)
    assert isinstance(new.backbone, keras_hub.models.Backbone)
