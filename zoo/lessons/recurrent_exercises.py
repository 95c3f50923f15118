"""Exercises of recurrent models, from the LSTM to Luong.

The form is that of `read` in checking.py.
"""

EXERCISES = """
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

cho.update: h = z * h_{t-1} + (1 - z) * h~ (7)
  Write the new state h.
  z: gates n, h: n, h_tilde: n -> n
  z * h + (1 - z) * h_tilde
  (1 - z) * h + z * h_tilde # z keeps the old state in this paper; (1 - z) * h is
    Bahdanau's.
  z * h + h_tilde  # the candidate has the weight 1 - z.

cho.context_candidate: decoder: h~' = tanh(e W' + r' * (h' U' + c C))
  Write the decoder's candidate h~'.
  e: m, h: n, c: k, r: gates n, W: m n, U: n n, C: k n -> n
  tanh(e @ W + r * (h @ U + c @ C))
  tanh(e @ W + r * (h @ U) + c @ C)  # r' gates the context as well.
  tanh(e @ W + r * h @ U + r * (c @ C)) # here r' comes after U': r' * (U' h'), not U'
    (r' * h').
  tanh(r * (e @ W + h @ U + c @ C))  # r' doesn't gate the word.

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

bahdanau.start: s_0 = tanh(←h_1 W_s)
  Write s_0; forward and backward hold the encoder's states of x_1 … x_S.
  forward: S n, backward: S n, W_s: n k -> k
  tanh(backward[0] @ W_s)
  tanh(backward[-1] @ W_s) # ←h_1 is the backward state at the first word: it has read
    them all. The one at the last word has read one.
  tanh(forward[-1] @ W_s)  # s_0 reads the backward states.
  tanh(forward[0] @ W_s)  # →h_1 has read one word only.
  backward[0] @ W_s  # tanh is missing.

bahdanau.score: e_ij = v_a · tanh(s_{i-1} W_a + h_j U_a)
  Write the scores of all source positions for one decoder state s.
  s: n, h: S m, W_a: n k, U_a: m k, v_a: k -> S
  tanh(s @ W_a + h @ U_a) @ v_a
  (s @ W_a + h @ U_a) @ v_a # tanh is missing. Without it s W_a adds the same to every
    score, and the softmax doesn't see it.
  (tanh(s @ W_a) + tanh(h @ U_a)) @ v_a # tanh comes after the sum: one tanh of s W_a +
    h_j U_a, not two.
  tanh((s @ W_a + h @ U_a) @ v_a)  # v_a is outside tanh.
  tanh(s @ W_a + h @ U_a).sum(-1) # v_a is missing: the hidden units are weighted, not
    just added up.
  tanh(h @ U_a) @ v_a  # s_{i-1} W_a is missing: nobody asks.
  sigmoid(s @ W_a + h @ U_a) @ v_a  # the hidden layer is tanh, not σ.
  tanh(s @ W_a * (h @ U_a)) @ v_a  # s W_a + h_j U_a is a sum.

bahdanau.context: α_i = softmax(e_i), c_i = Σ_j α_ij h_j
  Write the contexts c_i of the scores e of several steps.
  e: T S, h: S m -> T m
  softmax(e) @ h
  softmax(e, axis=0) @ h # the softmax goes over the source positions j, not over the
    steps i.
  exp(e) @ h  # exp(e) is not divided by its sum: weights must sum to 1.
  e / e.sum(-1, keepdims=True) @ h # the scores go through exp before they are divided
    by their sum.
  e @ h  # the softmax is missing.
  h[e.argmax(-1)]  # this is hard attention; c_i is a mean.
  sigmoid(e) @ h  # the weights share one distribution: softmax, not σ.

bahdanau.query: asked with s_{i-1}
  Write the states that the attention is asked with at the steps 1 … T; s_0 is the first
    state, s holds s_1 … s_T.
  s_0: n, s: T n -> T n
  concatenate([s_0[None], s[:-1]])
  s  # s_i is Luong's query. Bahdanau asks with the state before, s_{i-1}.
  concatenate([s[1:], s_0[None]])  # s_{i+1} doesn't exist yet.
  np.repeat(s_0[None], len(s), 0)  # s_0 is the first query alone.

bahdanau.update: s_i = (1 - z) * s_{i-1} + z * s~
  Write the new state s_i.
  z: gates n, s: n, s_tilde: n -> n
  (1 - z) * s + z * s_tilde
  z * s + (1 - z) * s_tilde # z takes the new state in this paper; z * s_{i-1} is Cho et
    al.'s.
  s + z * s_tilde  # the old state has the weight 1 - z.

bahdanau.maxout: t_j = max(t~_{2j-1}, t~_{2j})
  Write t_1, t_2, …
  t_tilde: 2*j -> j
  maximum(t_tilde[0::2], t_tilde[1::2])
  maximum(t_tilde[:len(t_tilde) // 2], t_tilde[len(t_tilde) // 2:]) # the pairs are
    neighbours, not the two halves.
  minimum(t_tilde[0::2], t_tilde[1::2])  # the larger one is wanted.
  t_tilde[0::2] + t_tilde[1::2]  # maxout takes one of the two, no sum.
  np.where(abs(t_tilde[0::2]) > abs(t_tilde[1::2]), abs(t_tilde[0::2]),
    abs(t_tilde[1::2])) # it is the larger one with its sign, not the larger magnitude.

xu.gate: β_t = σ(f_β(h_{t-1})), z_t = β_t Σ_i α_ti a_i
  Write z_t; f_β(h) is h · w + b, b a vector of one number.
  h: n, w: n, b: 1, alpha: weights S, a: S m -> m
  sigmoid(h @ w + b) * (alpha @ a)
  alpha @ a  # β_t is missing.
  (h @ w + b) * (alpha @ a)  # β_t is a gate between 0 and 1: σ is missing.
  sigmoid(h @ w + b) + alpha @ a  # β_t multiplies the context.
  sigmoid(h @ w + b) * a.sum(0) # the positions have weights: Σ α_i a_i, not the plain
    sum.

xu.draw: s_t ~ Multinoulli(α_t) (8), by the Gumbel-max trick
  Write the place that is drawn at each step; g is Gumbel noise.
  alpha: weights T S, g: T S -> T
  np.argmax(log(alpha) + g, axis=-1)
  np.argmax(alpha + g, axis=-1)  # the noise is added to log α, not to α.
  np.argmax(alpha, axis=-1) # without the noise nothing is drawn: this is always the
    likeliest place.
  np.argmax(log(alpha) * g, axis=-1)  # the noise is added to log α.
  np.argmin(log(alpha) + g, axis=-1)  # the largest is drawn.

xu.doubly_stochastic: λ Σ_i (1 - Σ_t α_ti)² (14)
  Write the penalty with λ = 1.
  alpha: weights T S ->
  ((1 - alpha.sum(0)) ** 2).sum()
  np.square(1 - alpha.sum(1)).sum() # the inner sum goes over the steps t. Over i it is
    1 by the softmax.
  (1 - alpha.sum(0)).sum()  # the square is missing.
  np.square(1 - alpha).sum()  # first the sum over t, then the square.
  np.square(1 - alpha.sum(0)).mean()  # the outer sum over i is no mean.
  (1 - np.square(alpha.sum(0))).sum()  # (1 - Σ α)², not 1 - (Σ α)².

lstmn.score: a_i = v · tanh(h_i W_h + x_t W_x + h~_{t-1} W_h~)
  Write the scores of all earlier words; h holds their h_i.
  h: S n, x: m, h_tilde: n, W_h: n k, W_x: m k, W_h_tilde: n k, v: k -> S
  tanh(h @ W_h + x @ W_x + h_tilde @ W_h_tilde) @ v
  tanh(h @ W_h + x @ W_x) @ v  # h~_{t-1} W_h~ is missing.
  tanh(h @ W_h + h_tilde @ W_h_tilde) @ v  # x_t W_x is missing.
  tanh(h @ W_h_tilde + x @ W_x + h_tilde @ W_h) @ v  # W_h and W_h~ have changed places.
  (h @ W_h + x @ W_x + h_tilde @ W_h_tilde) @ v  # tanh is missing.

lstmn.summary: [h~_t; c~_t] = Σ_i softmax(a)_i [h_i; c_i]
  Write [h~_t; c~_t] of the tapes h and c.
  a: S, h: S n, c: S n -> 2*n
  concatenate([softmax(a) @ h, softmax(a) @ c])
  concatenate([softmax(a) @ c, softmax(a) @ h])  # the order is [h~; c~].
  concatenate([softmax(a) @ h, c[-1]]) # c has the same weights; this is the last c, as
    in an LSTM.
  concatenate([h[-1], c[-1]]) # this is an LSTM, which reads the last state; the LSTMN
    reads all.
  concatenate([a @ h, a @ c])  # the softmax is missing.

lstmn.cell: c_t = r * α~ + f * c~ + i * ĉ
  Write c_t of the gates r, f and i; c_before is c_{t-1}.
  r: gates n, alpha: n, f: gates n, c_tilde: n, c_before: n, i: gates n, c_hat: n -> n
  r * alpha + f * c_tilde + i * c_hat
  r * alpha + f * c_before + i * c_hat # the LSTMN forgets from c~_t, the summary of all
    words, not c_{t-1}.
  f * c_tilde + i * c_hat  # r * α~, the source's part, is missing.
  r * alpha + i * c_tilde + f * c_hat  # f and i have changed places.

luong.feeding: input feeding: the first LSTM reads [y_{t-1} E; h~_{t-1}]
  Write the product of W with the first LSTM's input; e is y_{t-1} E, h_tilde h~_{t-1}
    and h the LSTM's own h_{t-1}.
  e: m, h_tilde: n, h: n, W: m+n k -> k
  e @ W[:len(e)] + h_tilde @ W[len(e):]
  concatenate([h_tilde, e]) @ W  # the word comes first, then h~.
  concatenate([e, h]) @ W # what is fed back is h~_{t-1}, which has seen the context,
    not h_{t-1}.
  e @ W[:len(e)]  # h~_{t-1} is missing: nothing is fed back.

luong.stack: h_t = LSTM stack(…, h_{t-1})
  Write the second layer's new state; the layers are plain nets, tanh(x W + h U).
  x: m, h_1: n, h_2: n, W_1: m n, U_1: n n, W_2: n n, U_2: n n -> n
  tanh(tanh(x @ W_1 + h_1 @ U_1) @ W_2 + h_2 @ U_2)
  tanh(h_1 @ W_2 + h_2 @ U_2) # the second layer reads the first one's new state, not
    its old one.
  tanh(tanh(x @ W_1 + h_2 @ U_1) @ W_2 + h_1 @ U_2) # each layer goes on from its own
    state: the two have changed places.
  tanh(tanh(x @ W_1 + h_1 @ U_1) @ U_2 + h_2 @ W_2)  # W_2 and U_2 have changed places.

luong.weights: a_t = softmax of the score, c_t = Σ_s a_t(s) h_s (7)
  Write the context c_t; mask is true for the sentence and false for padding.
  e: S, h_s: S m, mask: mask S -> m
  softmax(e[mask]) @ h_s[mask]
  softmax(e) @ h_s  # padding has a weight, too: the mask is not used.
  (softmax(e) * mask) @ h_s # the weights of the sentence no longer sum to 1: mask the
    scores, before the softmax.
  softmax(e * mask) @ h_s  # a score of 0 is no mask: exp(0) = 1.
  softmax(e[~mask]) @ h_s[~mask]  # the mask is the wrong way round.

luong.attentional: h~_t = tanh([c_t; h_t] W_c) (5)
  Write h~_t.
  c: m, h: n, W_c: m+n k -> k
  tanh(c @ W_c[:len(c)] + h @ W_c[len(c):])
  tanh(concatenate([h, c]) @ W_c)  # the context comes first: [c_t; h_t].
  concatenate([c, h]) @ W_c  # tanh is missing.
  tanh(c @ W_c[:len(c)])  # h_t is missing.
  tanh(h @ W_c[len(c):])  # c_t is missing.

luong.dot: dot: h_t · h_s
  Write the scores of every decoder state for every source position.
  h_t: T n, h_s: S n -> T S
  h_t @ h_s.T
  h_t @ h_s.T / h_t.shape[-1] ** 0.5 # dot is not scaled: dividing by sqrt(n) is the
    Transformer's.
  h_t / np.linalg.norm(h_t, axis=-1, keepdims=True) @ (h_s / np.linalg.norm(h_s,
    axis=-1, keepdims=True)).T # dot keeps the lengths of the vectors; this is their
    cosine.
  softmax(h_t @ h_s.T)  # these are the weights: no softmax yet.

luong.general: general: h_t · (h_s W_a)
  Write the scores; vectors are rows, so that h_s W_a is h_s @ W_a.
  h_t: T n, h_s: S n, W_a: n n -> T S
  h_t @ (h_s @ W_a).T
  h_t @ W_a @ h_s.T  # W_a multiplies h_s, not h_t.
  h_t @ h_s.T  # W_a is missing: this is dot.
  h_t @ tanh(h_s @ W_a).T  # general has no tanh.
  h_t @ W_a @ (h_s @ W_a).T  # W_a multiplies h_s alone, not h_t as well.

luong.concat: concat: v_a · tanh([h_t; h_s] W_a)
  Write the scores of one decoder state for every source position.
  h_t: n, h_s: S m, W_a: n+m k, v_a: k -> S
  tanh(h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]) @ v_a
  tanh(h_t @ W_a[-len(h_t):] + h_s @ W_a[:-len(h_t)]) @ v_a # the order is [h_t; h_s]:
    W_a's first rows are h_t's.
  (h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]) @ v_a  # tanh is missing.
  tanh(h_s @ W_a[len(h_t):]) @ v_a  # h_t is missing.
  tanh(h_t @ W_a[:len(h_t)] + h_s @ W_a[len(h_t):]).sum(-1) # v_a is missing: the hidden
    units are weighted, not just added up.

luong.location: location: a_t = softmax(h_t W_a) (8)
  Write the weights of a source of S positions; W_a has room for S + L.
  h_t: n, W_a: n S+L, S: size S -> S
  softmax(h_t @ W_a[:, :S])
  softmax(h_t @ W_a)[:S] # positions beyond the source have a part: cut first, then the
    softmax.
  softmax(h_t @ W_a[:, -S:]) # a source of S positions uses the first S columns, not the
    last.
  h_t @ W_a[:, :S]  # the softmax is missing.

luong.local_m: local-m: p_t = t, inside the sentence
  Write p_0 … p_{T-1} of a source of S positions, which count from 0.
  T: size T, S: size S -> T
  minimum(arange(T), S - 1)
  arange(T)  # p_t leaves the sentence if the target is longer.
  minimum(arange(T), S)  # the last position is S - 1, not S.
  minimum(arange(T) + 1, S)  # positions count from 0: p_0 = 0.
  arange(T) * S / T  # p_t = t: it is not stretched to the source's length.

luong.local_p: local-p: p_t = S σ(v_p · tanh(h_t W_p)) (9)
  Write p_t.
  h_t: n, W_p: n k, v_p: k, S: size S ->
  S * sigmoid(tanh(h_t @ W_p) @ v_p)
  S * (tanh(h_t @ W_p) @ v_p)  # σ is missing: 0 < p_t < S.
  S * sigmoid(h_t @ W_p @ v_p)  # the inner tanh is missing.
  (S - 1) * sigmoid(tanh(h_t @ W_p) @ v_p)  # the factor is S, not S - 1.
  sigmoid(tanh(h_t @ W_p) @ v_p) # S is missing: this is a share of the sentence, not a
    position.

luong.gaussian: … * exp(-(s - p_t)² / 2σ²), σ = D / 2 (10)
  Write the weights a after the Gaussian; D is a vector of one number.
  a: weights S, p_t: 1, D: gates 1 -> S
  a * exp(-2 * ((arange(len(a)) - p_t) / D) ** 2)
  a * exp(-((arange(len(a)) - p_t) / D) ** 2 / 2)  # σ is D / 2, not D.
  a * exp(-2 * abs(arange(len(a)) - p_t) / D ** 2)  # the distance is not squared.
  a * exp(-(arange(len(a)) - p_t) ** 2 / D)  # σ is squared: 2σ², not 2σ.
  a * exp(-2 * ((arange(len(a)) - p_t) / D) ** 2) / (a * exp(-2 * ((arange(len(a)) -
    p_t) / D) ** 2)).sum() # the paper doesn't bring the weights back to a sum of 1.
  exp(-2 * ((arange(len(a)) - p_t) / D) ** 2)  # the Gaussian multiplies the weights a.
"""
