/**
 * Beam search, greedy with a beam of 1, exactly as zoo/decoding/search.py and
 * beam_state.py do it for one sentence; of all places in the beam only the live ones are
 * computed. Scores are float32: every operation is rounded by Math.fround.
 *
 * Among equal extensions that of the better hypothesis comes first, then the lower id;
 * among equal finished hypotheses the one that finished first.
 */

import type { BeamNode, Options } from "./types";

export const PAD_ID = 0;
export const START_ID = 2;
export const END_ID = 3;
const UNCOVERED = 1e-10; // minimum attention of a source token
const SHOWN = 10; // candidates of a step's record

/** What a step says of each of its R rows; S source pieces, V words. */
export interface Output {
  rows: number;
  logits: Float32Array; // R x V
  weights: Float32Array; // R x S
  heads: Float32Array | null; // R x layers x heads x S
  focus: Float32Array | null; // R
  windows: Int32Array | null; // R x 2
  recalled: Float32Array | null; // R x L: the start, then each step, of an LSTMN
  norms: Record<string, Float32Array>; // name -> R
}

/** S weights in place of the model's own: of all of its heads, or of one. */
export interface Given {
  head: [layer: number, head: number] | null;
  weights: Float32Array;
}

/** Changes of the model's own attention at one step. */
export interface WhatIf {
  attention: Given[]; // those of all heads first
  window?: number; // D
}

/** A model as functions of arrays; a state has a row for each hypothesis. */
export interface Decoder<State> {
  start(sourceIds: readonly number[], room: number): Promise<State>; // one row
  step(tokens: readonly number[], state: State, whatIf: WhatIf): Promise<[Output, State]>;
  pick(state: State, rows: readonly number[]): State;
}

/** A word of a hypothesis and what the model said when it was taken. */
export interface Link {
  before: Link | null;
  id: number;
  weights: Float32Array; // S
  heads: Float32Array | null; // layers x heads x S
  focus: number | null;
  window: [number, number] | null;
  recalled: number[] | null; // of the steps before
  norms: Record<string, number>;
  probability: number;
  candidates: { id: number; probability: number }[]; // with `trace` alone
}

/** A finished hypothesis. */
export interface Found {
  links: Link[]; // the end token's last
  score: number;
}

interface Hypothesis {
  link: Link | null;
  logProbability: number; // of all of it
  coverage: Float32Array | null; // S
  node: number; // of the tree
}

/** Reads `Options` as Python does. Throws a RangeError for one that is out of range. */
export function checkOptions(options: Options): void {
  const whole = (name: "beamSize" | "nBest" | "maxLength" | "window", value: number) => {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`${name} must be a positive integer. Received: ${value}`);
    }
  };
  whole("beamSize", options.beamSize);
  whole("nBest", options.nBest);
  if (options.maxLength !== undefined) whole("maxLength", options.maxLength);
  if (options.window !== undefined) whole("window", options.window);
  if (options.nBest > options.beamSize) {
    throw new RangeError(
      `nBest must not exceed beamSize. Received: ${options.nBest}, ${options.beamSize}`,
    );
  }
  for (const name of ["lengthPenalty", "coveragePenalty"] as const) {
    if (!(options[name] >= 0 && Number.isFinite(options[name]))) {
      throw new RangeError(`${name} must be 0 or more. Received: ${options[name]}`);
    }
  }
  if (options.banned?.includes(END_ID)) {
    throw new RangeError("the end token cannot be banned");
  }
  const { maxLength, prefix } = options;
  if (maxLength !== undefined && prefix && prefix.length >= maxLength) {
    throw new RangeError(
      "a prefix must have fewer ids than maxLength, in which the end token counts. " +
        `Received: ${prefix.length}, maxLength=${maxLength}`,
    );
  }
}

/**
 * The n best translations of a source, best first, and the search's tree (with `trace`).
 *
 * `between` is awaited before each step; what it throws ends the search.
 */
export async function search<State>(
  decoder: Decoder<State>,
  sourceIds: readonly number[],
  options: Options,
  between: () => Promise<void> = async () => {},
): Promise<{ found: Found[]; tree: BeamNode[] }> {
  checkOptions(options);
  const { beamSize, nBest, trace } = options;
  const prefix = options.prefix ?? [];
  const limit = options.maxLength ?? 2 * sourceIds.length + 10 + prefix.length;
  const banned = new Set(options.banned);
  const penalties = new Penalties(options, sourceIds);
  const mildest = penalties.lengthNorm(limit);
  const tree: BeamNode[] = [];
  const done: { score: number; link: Link; node: number }[] = [];
  let state: State = await decoder.start(sourceIds, limit);
  let live: Hypothesis[] = [
    { link: null, logProbability: 0, coverage: penalties.noCoverage(), node: -1 },
  ];

  for (let step = 0; step < limit && live.length; step++) {
    await between();
    const tokens = live.map((hypothesis) => hypothesis.link?.id ?? START_ID);
    const whatIf = {
      attention: givenAt(step, options.attention, sourceIds.length),
      window: options.window,
    };
    const [output, next] = await decoder.step(tokens, state, whatIf);
    const forced = step + 1 >= limit ? END_ID : prefix[step] || undefined;
    const flat = extensions(live, output, beamSize, banned, forced);
    const length = step + 1;
    const kept: Hypothesis[] = [];
    const rows: number[] = [];
    const records = new Map<number, Shown>();
    const free = beamSize - done.length;
    flat.slice(0, trace ? 2 * beamSize : free).forEach((extension, place) => {
      const { row, id, logProbability } = extension;
      const parent = live[row];
      const coverage = penalties.cover(parent.coverage, output.weights, row);
      const score = penalties.score(logProbability, length, coverage);
      const keep = place < free;
      const ends = keep && id === END_ID;
      if (trace) {
        tree.push({
          parent: parent.node,
          step,
          piece: "",
          id,
          logProbability: extension.own,
          score,
          state: ends ? "finished" : "dropped", // live, if it is extended later
          best: false,
        });
        if (keep && parent.node >= 0) tree[parent.node].state = "live";
      }
      if (!keep) return;
      if (trace && !records.has(row)) records.set(row, shown(output, row));
      const link = makeLink(parent.link, extension, output, step, records.get(row));
      if (ends) {
        done.push({ score, link, node: tree.length - 1 });
      } else {
        kept.push({ link, logProbability, coverage, node: tree.length - 1 });
        rows.push(row);
      }
    });
    live = kept;
    if (live.length) {
      // Log-probabilities only fall, and the length penalty is mildest at the limit.
      const most = Math.max(...live.map((hypothesis) => hypothesis.logProbability));
      const bound = Math.fround(most / mildest);
      const scores = done.map((entry) => entry.score).sort((a, b) => b - a);
      if (scores.length >= nBest && bound <= scores[nBest - 1]) live = [];
    }
    if (live.length) state = decoder.pick(next, rows);
  }

  done.sort((a, b) => b.score - a.score); // stable
  if (trace && done.length) {
    for (let node = done[0].node; node >= 0; node = tree[node].parent) tree[node].best = true;
  }
  const found = done.slice(0, nBest).map(({ score, link }) => ({ score, links: chain(link) }));
  if (!found.length) {
    throw new Error(
      "the search found no hypothesis: the model's logits must be finite, and some word " +
        "must not be banned",
    );
  }
  return { found, tree };
}

// === Extensions ===

interface Extension {
  row: number;
  id: number;
  own: number; // log-probability of the word
  logProbability: number; // of the hypothesis with it
}

/** Each hypothesis with each of its best words, best first. */
function extensions(
  live: Hypothesis[],
  output: Output,
  beamSize: number,
  banned: Set<number>,
  forced: number | undefined,
): Extension[] {
  const flat = live.flatMap(({ logProbability }, row) => {
    const logits = rowOf(output.logits, row, live.length);
    const total = logSumExp(logits);
    // Other words do not get the probability of words that are ruled out.
    const ids = forced === undefined ? largest(logits, beamSize, banned) : [forced];
    return ids.map((id): Extension => {
      const own = Math.fround(logits[id] - total);
      return { row, id, own, logProbability: Math.fround(own + logProbability) };
    });
  });
  return flat
    .filter(({ logProbability }) => logProbability > -5e8) // not NaN
    .sort((a, b) => b.logProbability - a.logProbability); // stable
}

/** The indices of the k largest values, the lower first among equals. */
export function largest(
  values: Float32Array,
  k: number,
  without: ReadonlySet<number> = new Set(),
): number[] {
  const found: number[] = [];
  for (let id = 0; id < values.length; id++) {
    const value = values[id];
    if (found.length === k && !(value > values[found[k - 1]])) continue;
    if (without.has(id) || Number.isNaN(value)) continue;
    let place = found.length;
    while (place > 0 && values[found[place - 1]] < value) place--;
    found.splice(place, 0, id);
    if (found.length > k) found.pop();
  }
  return found;
}

/** One of so many rows. */
function rowOf(values: Float32Array, row: number, rows: number): Float32Array {
  const size = values.length / rows;
  return values.subarray(row * size, (row + 1) * size);
}

function logSumExp(values: Float32Array): number {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return Math.fround(most + Math.log(sum));
}

// === Scores ===

/** s(Y, X) = log P(Y|X) / lp(Y) + cp(X; Y) (Wu et al. 2016, equation 14). */
class Penalties {
  private readonly alpha: number;
  private readonly beta: number;

  constructor(
    options: Options,
    private readonly sourceIds: readonly number[],
  ) {
    this.alpha = Math.fround(options.lengthPenalty);
    this.beta = Math.fround(options.coveragePenalty);
  }

  /** lp(Y) = ((5 + |Y|) / 6)^α. */
  lengthNorm(length: number): number {
    if (!this.alpha) return 1;
    return Math.fround(Math.pow(Math.fround((5 + length) / 6), this.alpha));
  }

  noCoverage(): Float32Array | null {
    return this.beta ? new Float32Array(this.sourceIds.length) : null;
  }

  /** The coverage after a step. */
  cover(
    before: Float32Array | null,
    weights: Float32Array,
    row: number,
  ): Float32Array | null {
    if (!before) return null;
    return before.map((value, i) => value + weights[row * before.length + i]);
  }

  score(logProbability: number, length: number, coverage: Float32Array | null): number {
    const ranked = Math.fround(logProbability / this.lengthNorm(length));
    if (!coverage) return ranked;
    // cp(X; Y) = β Σ_i log(min(Σ_j a_ij, 1))
    let sum = 0;
    for (const [i, value] of coverage.entries()) {
      if (this.sourceIds[i] !== PAD_ID) {
        sum += Math.fround(Math.log(Math.fround(Math.min(Math.max(value, UNCOVERED), 1))));
      }
    }
    const penalty = Math.fround(this.beta * Math.fround(sum));
    return Math.max(Math.fround(ranked + penalty), -2.5e8);
  }
}

// === Records ===

type Shown = Link["candidates"];

/** A row's likeliest words. */
function shown(output: Output, row: number): Shown {
  const logits = rowOf(output.logits, row, output.rows);
  const total = logSumExp(logits);
  return largest(logits, SHOWN).map((id) => ({
    id,
    probability: Math.exp(logits[id] - total),
  }));
}

function makeLink(
  before: Link | null,
  { row, id, own }: Extension,
  output: Output,
  step: number,
  candidates: Shown = [],
): Link {
  const part = (values: Float32Array) => rowOf(values, row, output.rows).slice();
  const { focus, windows, heads, recalled, norms } = output;
  return {
    before,
    id,
    weights: part(output.weights),
    heads: heads && part(heads),
    focus: focus && focus[row],
    window: windows && [windows[2 * row], windows[2 * row + 1]],
    recalled: recalled && Array.from(part(recalled).subarray(1, step + 1)),
    norms: Object.fromEntries(Object.entries(norms).map(([name, x]) => [name, x[row]])),
    probability: Math.exp(own),
    candidates,
  };
}

function chain(link: Link): Link[] {
  const links: Link[] = [];
  for (let at: Link | null = link; at; at = at.before) links.push(at);
  return links.reverse();
}

/** The weights that are given at a step for S source pieces, each with the sum 1. */
function givenAt(step: number, attention: Options["attention"], size: number): Given[] {
  const found: Given[] = [];
  for (const [place, given] of Object.entries(attention ?? {})) {
    const [at, layer, head] = place.split(".").map(Number);
    if (at !== step) continue;
    if (given.length !== size || given.some((x) => !(x >= 0 && Number.isFinite(x)))) {
      throw new RangeError(
        `attention must be ${size} weights of 0 or more. Received: ${given.join(", ")}`,
      );
    }
    const sum = given.reduce((a, b) => a + b, 0);
    if (!sum) continue;
    const weights = Float32Array.from(given, (x) => x / sum);
    if (head === undefined) found.unshift({ head: null, weights });
    else found.push({ head: [layer!, head], weights });
  }
  return found;
}
