"""Answers in `keras.ops` are taken under each backend."""

from keras import ops

from zoo import lessons


def test_an_answer_in_keras_ops(capsys):
    def score(s, h, W_a, U_a, v_a):
        hidden = ops.tanh(ops.matmul(s, W_a) + ops.matmul(h, U_a))
        return ops.matmul(hidden, v_a)

    assert lessons.check("bahdanau.score", score)
    assert capsys.readouterr().out == "Right.\n"


def test_a_mistake_in_keras_ops(capsys):
    def attention(Q, K, V):
        weights = ops.softmax(ops.matmul(Q, ops.transpose(K)), axis=-1)
        return ops.matmul(weights, V)

    assert not lessons.check("transformer.attention", attention)
    assert "sqrt(d_k)" in capsys.readouterr().out
