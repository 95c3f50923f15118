/**
 * An engine for tests: it translates word by word after a small dictionary, always the
 * source word that it attends to most, so that what a visitor moves shows in the words.
 */

import { gaussian } from "../draw/threads";
import type {
  BeamNode,
  Candidate,
  Engine,
  Model,
  ModelInfo,
  Options,
  Result,
  Step,
  Translation,
} from "./types";

const WORDS: Record<string, string> = {
  a: "ein", little: "klein|es", girl: "Mädchen", is: "ist", playing: "spielt", with: "mit",
  ball: "Ball", in: "im", the: "der", park: "Park", ".": ".", two: "zwei", men: "Männer",
  red: "rote|n", shirts: "Hemd|en", are: "sind", cooking: "kochen", small: "klein|en",
  kitchen: "Küche", woman: "Frau", who: "die", wearing: "trägt", green: "grün|en", hat: "Hut",
  riding: "fährt", bike: "Fahr|rad", black: "schwarz|er", dog: "Hund", jumps: "springt",
  over: "über", fence: "Zaun", into: "ins", water: "Wasser",
};
const OTHERS = ["und", "auf", "eine", "den", "einem", "dem", "Katze", "Kind", "von", "läuft", "Haus"];

const vocabulary: string[] = ["<pad>", "<s>", "</s>", "<unk>"];

function idOf(piece: string): number {
  if (!vocabulary.includes(piece)) vocabulary.push(piece);
  return vocabulary.indexOf(piece);
}

function info(name: string, title: string, part: Partial<ModelInfo>): ModelInfo {
  return {
    name,
    title,
    paper: "https://arxiv.org/abs/1508.04025",
    lesson: "https://zoo.example/lessons/05_luong_scores.html",
    page: "https://zoo.example/papers/luong.html",
    languages: ["en", "de"],
    bytes: 9_900_000,
    dtype: "int8",
    attention: "global",
    heads: null,
    window: null,
    inputFeeding: false,
    equation: name,
    ...part,
  };
}

export const INFOS: ModelInfo[] = [
  info("bahdanau", "Bahdanau et al. 2015", {}),
  info("luong_global", "Luong et al. 2015, global", { inputFeeding: true, equation: "luong_general" }),
  info("luong_local", "Luong et al. 2015, local-p", { attention: "local", window: 5, inputFeeding: true }),
  info("lstmn", "Cheng et al. 2016, LSTMN", { attention: "memory", page: "", lesson: null }),
  info("transformer", "Vaswani et al. 2017, Transformer", { attention: "multi_head", heads: [3, 4] }),
  info("seq2seq", "Sutskever et al. 2014", { attention: "none" }),
];

function piecesOf(text: string): string[] {
  return (text.match(/[\p{L}\p{N}\p{M}'’]+|[^\s\p{L}\p{N}\p{M}]/gu) ?? []).flatMap((word, index) => {
    if (!/[\p{L}\p{N}]/u.test(word)) return index ? [word] : [`▁${word}`];
    return word.length > 7 ? [`▁${word.slice(0, 5)}`, word.slice(5)] : [`▁${word}`];
  });
}

/** The pieces of the translation of a source piece. */
function dictionary(piece: string): string[] {
  const word = piece.replace("▁", "");
  const known = WORDS[word.toLowerCase()];
  if (!known) return [/[\p{L}\p{N}]/u.test(word) ? (piece.startsWith("▁") ? `▁${word}` : word) : word];
  if (known === ".") return ["."];
  return known.split("|").map((part, k) => (k ? part : `▁${part}`));
}

function normalise(weights: number[]): number[] {
  const total = weights.reduce((a, b) => a + b, 0);
  return weights.map((weight) => (total ? weight / total : 1 / weights.length));
}

function attention(about: number, length: number, sharpness: number): number[] {
  return normalise(
    Array.from({ length }, (_, s) => Math.exp(-sharpness * Math.abs(s - about)) + 0.01 * ((s * 7 + about) % 3)),
  );
}

/** A translation word by word. */
function run(info: ModelInfo, source: string[], options: Options): { record: Translation; steps: Step[] } {
  const steps: Step[] = [];
  const tokens: string[] = [];
  const window = options.window ?? info.window ?? 0;
  const banned = new Set(options.banned ?? []);
  let rest: string[] = [];
  let about = 0;
  let score = 0;
  for (let t = 0; t < 2 * source.length + 10; t++) {
    const done = !rest.length && about >= source.length;
    const heads = info.heads && Array.from({ length: info.heads[0] }, (_, layer) =>
      Array.from({ length: info.heads![1] }, (_, head) =>
        attention(Math.min(source.length - 1, Math.max(0, about + head - 1 - (layer % 2))), source.length, 0.4 + layer),
      ),
    );
    for (const [place, given] of Object.entries(options.attention ?? {})) {
      const [at, layer, head] = place.split(".").map(Number);
      if (at === t && head !== undefined && heads) heads[layer!]![head] = normalise(given);
    }
    const replaced = options.attention?.[t];
    const home = Math.min(rest.length ? about - 1 : about, source.length - 1);
    let weights = attention(home, source.length, info.name === "bahdanau" ? 1.1 : 1.8);
    if (info.attention === "local") {
      weights = normalise(weights.map((w, s) => (Math.abs(s - home) <= window ? w * gaussian(s, home + 0.3, window) : 0)));
    }
    if (replaced) weights = normalise(replaced);
    const most = weights.indexOf(Math.max(...weights));
    const meant = done ? ["</s>"] : rest.length ? rest : dictionary(source[replaced ? most : home]!);
    const list = [meant[0]!, ...OTHERS.map((word) => `▁${word}`), ...(done ? [] : ["</s>"])];
    const unique = [...new Set(list)].slice(0, 10);
    const masses = normalise(unique.map((_, k) => 0.55 ** (k * (k ? 1 : 0) + (k ? 2 : 0)) + ((t * 3 + k) % 4) * 0.004));
    const candidates: Candidate[] = unique
      .map((piece, k) => ({ id: idOf(piece), piece, probability: masses[k]! * 0.97 }))
      .sort((a, b) => b.probability - a.probability);
    const forced = options.prefix?.[t];
    const chosen: Candidate =
      forced === undefined
        ? candidates.find(({ id }) => !banned.has(id))!
        : (candidates.find(({ id }) => id === forced) ?? { id: forced, piece: vocabulary[forced] ?? "<unk>", probability: 1e-4 });
    steps.push({
      candidates,
      chosen,
      weights: info.attention === "none" ? [] : weights,
      heads,
      focus: info.attention === "local" ? home + 0.3 : null,
      window: info.attention === "local" ? [Math.max(0, home - window), Math.min(source.length - 1, home + window)] : null,
      values: { "|h_t|": 3.2 + t / 10, entropy: 0.8 },
      ...(info.attention === "memory" ? { memory: normalise(steps.map((_, k) => 1 / (t - k))) } : {}),
    });
    score += Math.log(chosen.probability);
    if (chosen.piece === "</s>") break;
    tokens.push(chosen.piece);
    if (chosen.piece === meant[0] && rest.length) rest = rest.slice(1);
    else {
      rest = chosen.piece === meant[0] ? meant.slice(1) : [];
      about++;
    }
  }
  const local = info.attention === "local";
  const written = steps.slice(0, tokens.length);
  return {
    steps,
    record: {
      text: tokens.join("").replaceAll("▁", " ").trim(),
      score,
      tokens,
      source_tokens: source,
      alignment: written.map((step) => step.weights),
      focus: local ? written.map((step) => step.focus!) : null,
      windows: local ? written.map((step) => step.window!) : null,
      log_probs: null,
    },
  };
}

function treeOf(steps: Step[], size: number): BeamNode[] {
  const tree: BeamNode[] = [];
  let parent = -1;
  let beside: number[] = [];
  let score = 0;
  steps.forEach((step, t) => {
    const add = (from: number, candidate: Candidate, before: number, state: BeamNode["state"], best: boolean) => {
      const logProbability = Math.log(candidate.probability);
      tree.push({ parent: from, step: t, piece: candidate.piece, id: candidate.id, logProbability, score: before + logProbability, state, best });
      return tree.length - 1;
    };
    const last = step.chosen.piece === "</s>";
    const next = add(parent, step.chosen, score, last ? "finished" : "live", true);
    const others = step.candidates.filter(({ id }) => id !== step.chosen.id);
    const live = others.slice(0, size - 1).map((candidate, k) =>
      add(t && k % 2 ? (beside[k] ?? parent) : parent, candidate, score - 0.3 * k, candidate.piece === "</s>" ? "finished" : "live", false),
    );
    others.slice(size - 1, 2 * size - 1).forEach((candidate, k) => add(k % 2 ? (beside[0] ?? parent) : parent, candidate, score - 1, "dropped", false));
    score = tree[next]!.score;
    parent = next;
    beside = live.filter((index) => tree[index]!.state === "live");
  });
  return tree;
}

class FakeModel implements Model {
  constructor(readonly info: ModelInfo) {}

  id(piece: string) {
    const id = vocabulary.indexOf(piece);
    return id < 0 ? undefined : id;
  }

  async run(text: string, options: Options, signal?: AbortSignal): Promise<Result> {
    const began = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 5));
    signal?.throwIfAborted();
    if (text.includes("break the engine")) throw new Error("the engine is broken");
    const source = piecesOf(text);
    if (!source.length) {
      const record = { text: "", score: 0, tokens: [], source_tokens: [], alignment: [], focus: null, windows: null, log_probs: null };
      return { translations: [record], steps: [], tree: [], milliseconds: 0.1 };
    }
    const { record, steps } = run(this.info, source, options);
    const translations = Array.from({ length: options.nBest }, (_, rank) => ({
      ...record,
      text: rank ? record.text.replace(/\S+$/, `${OTHERS[rank]}.`) : record.text,
      score: record.score - rank * 0.7,
    }));
    return { translations, steps, tree: treeOf(steps, options.beamSize), milliseconds: performance.now() - began };
  }
}

export async function createEngine(): Promise<Engine> {
  return {
    models: async () => INFOS,
    load: async (name, progress) => {
      const found = INFOS.find((one) => one.name === name);
      if (!found) throw new Error(`no model ${name}`);
      for (let k = 0; k <= 4; k++) {
        progress((k * found.bytes) / 4, found.bytes);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return new FakeModel(found);
    },
  };
}
