"""Exercises of the BiRNN, the LSTM, Cho et al. and seq2seq.

The form is that of `read` in checking.py.
"""

EXERCISES = """
birnn.backward: hf_t = tanh(x_t W_f + hf_{t-1} U_f + b_f), hb_t likewise from hb_{t+1}
  Write the states hb_1 … hb_T of the backward chain, from hb_{T+1} = 0.5.
  x: T m, W_b: m n, U_b: n n, b_b: n -> T n
  chain((x @ W_b + b_b)[::-1], U_b, 0 * b_b + 0.5)[::-1]
  chain(x @ W_b + b_b, U_b, 0 * b_b + 0.5) # this chain reads forwards: hb_t comes from
    hb_{t+1}, not from hb_{t-1}.
  chain((x @ W_b + b_b)[::-1], U_b, 0 * b_b + 0.5) # row t holds the state of x_{T+1-t}:
    turn the states round, too.
  chain((x @ W_b + b_b)[::-1], U_b, np.zeros(len(U_b)))[::-1] # the chain starts from
    hb_{T+1} = 0.5, not from 0.
  chain((x @ W_b)[::-1], U_b, 0 * b_b + 0.5)[::-1]  # b_b is missing.

birnn.output: y_t = V_f hf_t + V_b hb_t + c
  Write the outputs y_1 … y_T.
  hf: T n, hb: T n, V_f: n k, V_b: n k, c: k -> T k
  hf @ V_f + hb @ V_b + c
  (hf + hb) @ V_f + c  # hb has a matrix of its own, V_b.
  hf @ V_b + hb @ V_f + c  # hf and hb have exchanged their matrices.
  hf @ V_f + hb @ V_b + 2 * c # c is added once: it belongs to the output, not to each
    chain.
  hf @ V_f + hb[::-1] @ V_b + c # y_t reads hb_t: the states stand in the order of time
    already.

lstm.forget: 2000: f_t * s_{t-1}
  Write what is left of the old cell state; f is the gate's net input.
  f: n, s: n -> n
  sigmoid(f) * s
  f * s  # f_t is σ(f): the net input has not gone through σ.
  (1 - sigmoid(f)) * s  # f_t = 1 keeps the state: f_t * s.
  tanh(f) * s  # a gate is σ of its net input, not tanh: it lies between 0 and 1.

lstm.carousel: 1997, `forget_gate=False`: s_{t-1} as it is
  Write the new cell state of 1997; i is the input gate, g the candidate.
  s: n, i: gates n, g: n -> n
  s + i * g
  (1 - i) * s + i * g # in 1997 nothing is forgotten: s_{t-1} stays as it is, without 1
    - i.
  s + g  # the input gate is missing.
  i * (s + g)  # the gate is for the candidate alone.

lstm.cell: s_t = … + in_t * g(net_c)
  Write s_t with a forget gate; f, i and net_c are net inputs, g is tanh.
  s: n, f: n, i: n, net_c: n -> n
  sigmoid(f) * s + sigmoid(i) * tanh(net_c)
  sigmoid(f) * s + sigmoid(i) * net_c  # g, tanh here, is missing.
  sigmoid(f) * s + sigmoid(i) * sigmoid(net_c)  # g is tanh here, not σ.
  sigmoid(i) * s + sigmoid(f) * tanh(net_c) # f and i have changed places: f belongs to
    s_{t-1}, i to the candidate.
  sigmoid(f) * s + (1 - sigmoid(f)) * tanh(net_c) # the LSTM has an input gate of its
    own: it is i, not 1 - f.

lstm.output: c_out_t = out_t * h(s_t)
  Write the cell's output; o is the gate's net input, h is tanh.
  o: n, s: n -> n
  sigmoid(o) * tanh(s)
  sigmoid(o) * s  # s_t goes through h, which is tanh here.
  tanh(sigmoid(o) * s)  # the gate is outside h: out_t * h(s_t).
  tanh(o) * tanh(s)  # out_t is σ of its net input, not tanh.

cho.gate: r = σ(x W_r + h U_r), z = σ(x W_z + h U_z) (5, 6)
  Write the reset gate r.
  x: m, h: n, W_r: m n, U_r: n n -> n
  sigmoid(x @ W_r + h @ U_r)
  tanh(x @ W_r + h @ U_r)  # a gate is σ, not tanh.
  sigmoid(x @ W_r)  # the gate reads h as well: h U_r is missing.
  sigmoid(x @ W_r + U_r @ h)  # U_r is the wrong way round: `h @ U_r`.

cho.candidate: h~ = tanh(x W + (r * h) U) (8)
  Write the candidate h~.
  x: m, h: n, r: gates n, W: m n, U: n n -> n
  tanh(x @ W + r * h @ U)
  tanh(x @ W + r * (h @ U))  # r comes before U: (r * h) U, not r * (h U).
  tanh(x @ W + h @ U)  # r is missing.
  tanh(x @ W + (1 - r) * h @ U)  # r = 1 keeps h: it is r * h.

cho.update: h = z * h_{t-1} + (1 - z) * h~ (7)
  Write the new state h.
  z: gates n, h: n, h_tilde: n -> n
  z * h + (1 - z) * h_tilde
  (1 - z) * h + z * h_tilde # z keeps the old state in this paper; (1 - z) * h is
    Bahdanau's.
  z * h + h_tilde  # the candidate has the weight 1 - z.

cho.context: c = tanh(h_N V), h'_0 = tanh(c V')
  Write the decoder's first state h'_0; h holds h_1 … h_N.
  h: N n, V: n k, V_prime: k n -> n
  tanh(tanh(h[-1] @ V) @ V_prime)
  tanh(tanh(h[0] @ V) @ V_prime)  # c reads the last state, h_N.
  tanh(tanh(h.mean(0) @ V) @ V_prime)  # c reads h_N, not the mean.
  tanh(h[-1] @ V @ V_prime)  # the inner tanh is missing.

cho.context_candidate: decoder: h~' = tanh(e W' + r' * (h' U' + c C))
  Write the decoder's candidate h~'.
  e: m, h: n, c: k, r: gates n, W: m n, U: n n, C: k n -> n
  tanh(e @ W + r * (h @ U + c @ C))
  tanh(e @ W + r * (h @ U) + c @ C)  # r' gates the context as well.
  tanh(e @ W + r * h @ U + r * (c @ C)) # here r' comes after U': r' * (U' h'), not U'
    (r' * h').
  tanh(r * (e @ W + h @ U + c @ C))  # r' doesn't gate the word.

cho.maxout: s = maxout(h' O_h + e O_y + c O_c)
  Write s: of the sum's values 1 and 2, 3 and 4, … the larger one.
  h: n, e: m, c: k, O_h: n 2*j, O_y: m 2*j, O_c: k 2*j -> j
  (h @ O_h + e @ O_y + c @ O_c).reshape(-1, 2).max(1)
  (h @ O_h + e @ O_y + c @ O_c).reshape(2, -1).max(0) # the pairs are neighbours, not
    the two halves.
  (h @ O_h + e @ O_y + c @ O_c).reshape(-1, 2).sum(1) # maxout takes the larger one, not
    the sum.
  sum((net.reshape(-1, 2).max(1) for net in (h @ O_h, e @ O_y, c @ O_c))) # the maximum
    comes after the sum, not before.
  (h @ O_h + e @ O_y).reshape(-1, 2).max(1)  # c O_c is missing.

seq2seq.encoder: v = all layers' final (h, c) over x_S … x_1
  Write v of one layer of a plain net, h = tanh(x W + h U), from 0.
  x: S m, W: m n, U: n n -> n
  chain(x[::-1] @ W, U, np.zeros(len(U)))[-1]
  chain(x @ W, U, np.zeros(len(U)))[-1]  # x_S is read first.
  chain(x[::-1] @ W, U, np.zeros(len(U)))[0] # the state is the first one, after x_S; v
    comes after x_1.
  chain(x[::-1] @ W, U, np.zeros(len(U))).mean(0)  # v is the final state, not the mean.

seq2seq.decoder: h_t = LSTM stack(y_{t-1} E, h_{t-1}), started from v
  Write h_1 … h_T of a plain net; y holds y_0 … y_T, y_0 the start token.
  y: ids<V T+1, v: n, E: V m, W: m n, U: n n -> T n
  chain(E[y[:-1]] @ W, U, v)
  chain(E[y[1:]] @ W, U, v) # h_t reads the word before, y_{t-1}: this net sees what it
    is to write.
  chain(E[y[:-1]] @ W, U, 0 * v)  # the decoder starts from v, not from 0.
  tanh(E[y[:-1]] @ W + v @ U)  # h_t reads h_{t-1}, not v again.
"""
