/** The state of the page. All of it is in the address, so that a link shares it. */

export const MOST_MODELS = 4;
/** Characters of a sentence. */
export const MOST_TEXT = 1000;
export const MOST_BEAM = 8;

export type Tab = "attention" | "steps" | "beam";
export type Unit = "words" | "pieces";
export type Language = "en" | "zh";
export type Theme = "light" | "dark";

export const TABS: readonly Tab[] = ["attention", "steps", "beam"];
export const LANGUAGES: readonly Language[] = ["en", "zh"];

/** What a visitor changed in a model's search. */
export interface Edits {
  /** Ids that the translation begins with. */
  prefix: number[];
  banned: number[];
  /** Step, or "step.layer.head" of a Transformer, to the weights over the source's pieces. */
  attention: Record<string, number[]>;
  /** D of local attention. */
  window: number | null;
}

export interface State {
  text: string;
  /** Names of the presets side by side. */
  models: string[];
  /** Index of the one in the panel. */
  selected: number;
  tab: Tab;
  /** Decoding step, from 0. */
  step: number;
  unit: Unit;
  /** Head of the Transformer; null: the mean over all. */
  head: [layer: number, head: number] | null;
  beam: number;
  length: number;
  coverage: number;
  edits: Record<string, Edits>;
  language: Language | null;
  theme: Theme | null;
}

export const NO_EDITS: Edits = { prefix: [], banned: [], attention: {}, window: null };

export const DEFAULTS: State = {
  text: "A little girl is playing with a ball in the park.",
  models: [],
  selected: 0,
  tab: "attention",
  step: 0,
  unit: "words",
  head: null,
  beam: 1,
  length: 1,
  coverage: 0,
  edits: {},
  language: null,
  theme: null,
};

export function isEdited(edits: Edits | undefined): boolean {
  return (
    !!edits &&
    (edits.prefix.length > 0 ||
      edits.banned.length > 0 ||
      Object.keys(edits.attention).length > 0 ||
      edits.window !== null)
  );
}

/**
 * The state after a change.
 *
 * Another text drops the step, and the forced beginnings and the moved attention, which
 * were of the old one. The edits of a model that is removed go with it. The tree of a beam of one is a line, so that its tab
 * opens with a beam of four.
 */
export function change(state: State, part: Partial<State>): State {
  const next = { ...state, ...part };
  next.text = cut(next.text);
  next.selected = Math.max(0, Math.min(next.selected, next.models.length - 1));
  const another = next.text !== state.text;
  if (another) next.step = 0;
  next.edits = Object.fromEntries(
    Object.entries(next.edits)
      .filter(([name]) => !part.models || part.models.includes(name))
      .map(([name, edits]): [string, Edits] => [name, another ? { ...edits, prefix: [], attention: {} } : edits])
      .filter(([, edits]) => isEdited(edits)),
  );
  if (part.tab === "beam" && state.tab !== "beam" && state.beam === 1) next.beam = 4;
  if (part.selected !== undefined || part.models) next.head = part.head ?? null;
  return next;
}

/** The state after a change to what a model's search was changed by. */
export function edit(state: State, name: string, part: Partial<Edits>): State {
  const edits = { ...(state.edits[name] ?? NO_EDITS), ...part };
  const { [name]: _, ...others } = state.edits;
  return { ...state, edits: isEdited(edits) ? { ...others, [name]: edits } : others };
}

/** Where the attention of a step, or of one of its heads, stands in `Edits`. */
export function placeOf(step: number, head: State["head"]): string {
  return [step, ...(head ?? [])].join(".");
}

/** A text of `MOST_TEXT` characters at most, none of them cut in half. */
export function cut(text: string): string {
  return text.length <= MOST_TEXT ? text : text.slice(0, MOST_TEXT).replace(/[\ud800-\udbff]$/, "");
}

// === The address ===

/** Writes a state as an address's hash, without "#"; defaults are left out. */
export function encode(state: State): string {
  const query = new URLSearchParams();
  const put = (key: string, value: string | number | null, usual: unknown) => {
    if (value !== usual && value !== null) query.set(key, String(value));
  };
  put("text", state.text, DEFAULTS.text);
  if (state.models.length) query.set("models", state.models.join(","));
  put("head", state.head && state.head.join("."), null);
  for (const key of ["selected", "tab", "step", "unit", "beam", "length", "coverage"] as const) {
    put(key, state[key], DEFAULTS[key]);
  }
  for (const [name, edits] of Object.entries(state.edits)) {
    query.set(`edit.${name}`, encodeEdits(edits));
  }
  put("lang", state.language, null);
  put("theme", state.theme, null);
  return query.toString();
}

function encodeEdits(edits: Edits): string {
  const parts = [];
  if (edits.prefix.length) parts.push(`p${edits.prefix.join(".")}`);
  if (edits.banned.length) parts.push(`b${edits.banned.join(".")}`);
  if (edits.window !== null) parts.push(`w${edits.window}`);
  for (const [place, weights] of Object.entries(edits.attention)) {
    parts.push(`a${place}:${weights.map((x) => Math.round(x * 1000)).join(".")}`);
  }
  return parts.join("_");
}

/** Reads a hash. Whatever is not understood is as if it were not there. */
export function decode(hash: string): State {
  const query = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key: string, usual: number, low: number, high: number) => {
    const value = Number(query.get(key) ?? NaN);
    return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : usual;
  };
  const oneOf = <T extends string>(key: string, values: readonly T[]): T | null =>
    values.find((value) => value === query.get(key)) ?? null;
  const models = [...new Set((query.get("models") ?? "").split(",").filter(Boolean))];
  const head = (query.get("head") ?? "").split(".").map(Number);
  const edits: Record<string, Edits> = {};
  for (const [key, value] of query) {
    if (!key.startsWith("edit.")) continue;
    const read = decodeEdits(value);
    if (isEdited(read)) edits[key.slice(5)] = read;
  }
  return {
    text: cut(query.get("text") ?? DEFAULTS.text),
    models: models.slice(0, MOST_MODELS),
    selected: Math.round(number("selected", 0, 0, MOST_MODELS - 1)),
    tab: oneOf("tab", TABS) ?? DEFAULTS.tab,
    step: Math.round(number("step", 0, 0, 10_000)),
    unit: oneOf("unit", ["words", "pieces"] as const) ?? DEFAULTS.unit,
    head: head.length === 2 && head.every(isCount) ? [head[0]!, head[1]!] : null,
    beam: Math.round(number("beam", DEFAULTS.beam, 1, MOST_BEAM)),
    length: number("length", DEFAULTS.length, 0, 2),
    coverage: number("coverage", DEFAULTS.coverage, 0, 2),
    edits,
    language: oneOf("lang", LANGUAGES),
    theme: oneOf("theme", ["light", "dark"] as const),
  };
}

function decodeEdits(text: string): Edits {
  const edits: Edits = { prefix: [], banned: [], attention: {}, window: null };
  const counts = (list: string) => list.split(".").map(Number).filter(isCount).slice(0, MOST_TEXT);
  for (const part of text.split("_")) {
    const rest = part.slice(1);
    if (part[0] === "p") edits.prefix = counts(rest);
    if (part[0] === "b") edits.banned = counts(rest);
    if (part[0] === "w" && isCount(Number(rest)) && Number(rest) > 0) edits.window = Number(rest);
    if (part[0] === "a") {
      const [place, row] = rest.split(":");
      const weights = counts(row ?? "");
      const total = weights.reduce((a, b) => a + b, 0);
      if (place && PLACE.test(place) && total > 0) {
        edits.attention[place] = weights.map((weight) => weight / total);
      }
    }
  }
  return edits;
}

const PLACE = /^\d{1,6}(\.\d{1,3}\.\d{1,3})?$/;

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value < 1e6;
}
