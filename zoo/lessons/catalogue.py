"""All exercises by name."""

from zoo.lessons import attention_lesson as attention
from zoo.lessons import decoding_lesson as decoding
from zoo.lessons import encoders_lesson as encoders
from zoo.lessons import lstmn_lesson as lstmn
from zoo.lessons import luong_lesson as luong
from zoo.lessons import recurrent_lesson as recurrent
from zoo.lessons import transformer_lesson as transformer
from zoo.lessons import xu_lesson as xu
from zoo.lessons.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise
    for module in (
        recurrent,
        encoders,
        attention,
        luong,
        xu,
        lstmn,
        transformer,
        decoding,
    )
    for exercise in module.EXERCISES
}
