"""Exercises of the Transformer, search, training and reading weights.

The form is that of `read` in checking.py.
"""

EXERCISES = """
transformer.attention: softmax(Q K^T / sqrt(d_k)) V (1)
  Write the attention of one head.
  Q: T k, K: S k, V: S m -> T m
  softmax(Q @ K.T / sqrt(Q.shape[-1])) @ V
  softmax(Q @ K.T) @ V  # the scores aren't divided by sqrt(d_k).
  softmax(Q @ K.T / Q.shape[-1]) @ V  # divide by sqrt(d_k), not by d_k.
  softmax(Q @ K.T / sqrt(len(K))) @ V # d_k is the size of a key, not the number of
    keys.
  softmax(Q @ K.T / sqrt(V.shape[-1])) @ V # d_k is the size of a key, not that of a
    value.
  softmax(Q @ K.T / sqrt(Q.shape[-1]), axis=0) @ V # the softmax goes over the keys, not
    over the queries.
  softmax(Q @ K.T) @ V / sqrt(Q.shape[-1])  # the scale belongs inside.

transformer.heads: [head_1; …; head_h] W^O
  Write the output; heads are the H heads of T queries.
  heads: H T k, W_O: H*k d -> T d
  concatenate(list(heads), -1) @ W_O
  heads.reshape(heads.shape[1], -1) @ W_O # a reshape alone mixes the queries: move the
    axis of the heads behind that of the queries first.
  heads.transpose(1, 2, 0).reshape(heads.shape[1], -1) @ W_O # whole heads stand beside
    each other; here their values alternate.
  concatenate(list(heads[::-1]), -1) @ W_O  # the heads are reversed.

transformer.past: no attention to the future
  Write the weights of self-attention of which no position sees a later one.
  scores: T T -> T T
  masked(scores, lower(scores))
  softmax(scores)  # the future is not masked.
  masked(scores, ~lower(scores, -1))  # here the past is masked.
  masked(scores, lower(scores, -1))  # a position sees itself.
  softmax(scores * lower(scores))  # a score of 0 is no mask: exp(0) = 1.
  softmax(scores) * lower(scores) # the rows no longer sum to 1: mask the scores, before
    the softmax.

beam.length_penalty: s(Y, X) = log P(Y|X) / lp(Y), lp(Y) = ((5 + |Y|) / 6)^α
  Write the scores of hypotheses of L = |Y| pieces; alpha is a vector of one number.
  log_p: K, L: ids<n K, alpha: gates 1 -> K
  log_p / ((5 + L) / 6) ** alpha
  log_p * ((5 + L) / 6) ** alpha # log P is divided by lp, not multiplied: it is
    negative, and a long hypothesis would lose more.
  log_p / (5 + L) ** alpha  # the 6 is missing: lp of one piece is 1.
  log_p / (alpha * (5 + L) / 6)  # α is an exponent, not a factor.
  log_p / ((5 + L) / 6)  # the exponent α is missing.

beam.coverage: cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))
  Write the coverage penalty with β = 1; a has a row for each target piece j and a
    column for each source piece i.
  a: weights T S ->
  np.sum(log(minimum(a.sum(0), 1)))
  np.sum(log(minimum(a.sum(1), 1))) # the inner sum goes over the target's pieces: over
    the source's it is 1.
  np.sum(log(a.sum(0))) # min(…, 1) is missing: a piece that is seen twice gains
    nothing.
  np.sum(log(minimum(a, 1)))  # min comes after the sum over j.
  np.sum(minimum(a.sum(0), 1))  # the logarithm is missing.

beam.ensemble: p(y_t | y_<t, x) = 1/M Σ_m p_m(y_t | y_<t, x)
  Write the log-probabilities of an ensemble, from its members' logits.
  logits: M V -> V
  log(softmax(logits).mean(0))
  log(softmax(logits)).mean(0)  # the logarithm comes after the mean.
  log(softmax(logits.mean(0))) # probabilities are averaged, not logits: each softmax
    comes first.
  log(softmax(logits).sum(0))  # the mean divides by M.
  softmax(logits).mean(0)  # the logarithm is missing.
  log(softmax(logits, axis=0).mean(0)) # the softmax goes over the words, not over the
    members.

training.noam: rate = d^-0.5 min(step^-0.5, step warmup^-1.5) (3)
  Write the learning rates of the steps 1 … T; warmup is their number of steps.
  T: size T, warmup: size W, d: size d -> T
  minimum(arange(1, T + 1) ** -0.5, arange(1, T + 1) * warmup**-1.5) / d**0.5
  maximum(arange(1, T + 1) ** -0.5, arange(1, T + 1) * warmup**-1.5) / d**0.5 # the rate
    rises first: the smaller of the two counts.
  minimum(arange(1, T + 1) ** -0.5, arange(1, T + 1) * warmup**-1.5) # the factor d^-0.5
    is missing: a wider model has a smaller rate.
  arange(1, T + 1) ** -0.5 / d**0.5  # the warm-up is missing.

reading.aer: AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)
  Write the alignment error rate; A, S and P hold 1 where two words are linked.
  A: links T S, S: links T S, P: links T S ->
  1 - ((A * S).sum() + (A * P).sum()) / (A.sum() + S.sum())
  ((A * S).sum() + (A * P).sum()) / (A.sum() + S.sum()) # this is the share that is
    right; the error is 1 minus it.
  1 - ((A * S).sum() + (A * P).sum()) / (A.sum() + P.sum()) # the sure links S count
    below the bar, not the possible ones P.
  1 - (A * S).sum() / (A.sum() + S.sum()) # the links of A that are possible count as
    well: |A ∩ P| is missing.

reading.entropy: H_t = -Σ_s α_ts log α_ts
  Write the entropy of each target word's weights.
  alpha: weights T S -> T
  -(alpha * log(alpha)).sum(-1)
  -(alpha * log(alpha)).sum(0) # the sum goes over the source, one entropy for each
    target word.
  -log(alpha).sum(-1)  # each logarithm is weighted by its α.
  (alpha * log(alpha)).sum(-1)  # an entropy is not negative.

reading.effect: effect_s = log p(y | x) - log p(y | x without s)
  Write each source word's effect; without[s] is log p once word s is left out.
  log_p: 1, without: S -> S
  log_p - without
  without - log_p  # a word that the model needs has a positive effect.
  log_p / without  # a difference of logarithms is wanted, not a ratio.
  log(log_p) - log(without)  # log p is a logarithm already.
"""
