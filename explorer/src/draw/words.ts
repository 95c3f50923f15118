/** From SentencePiece's pieces to words, as zoo/text/pieces.py and zoo/decoding/records.py do it. */

import type { Translation } from "../engine/types";

// Thai, Lao, Burmese, Khmer, Chinese, Japanese.
const UNSPACED =
  /^[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u31a0-\u9fff\uf900-\ufaff\uff65-\uff9f\u{20000}-\u{3ffff}]/u;
const PUNCTUATION = /^[\p{P}\p{S}]*$/u;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** Merges pieces into words; `starts` are the indices of their first pieces. */
export function wordsOf(tokens: string[]): { words: string[]; starts: number[] } {
  if (!tokens.some((token) => token.startsWith("▁"))) {
    return { words: [...tokens], starts: tokens.map((_, index) => index) };
  }
  const texts = tokens.map(textOf);
  const spaced = tokens.map((_, i) => i).filter((i) => begins(tokens, texts, i));
  const starts = new Set<number>();
  spaced.forEach((first, k) => {
    const end = spaced[k + 1] ?? tokens.length;
    starts.add(first);
    const inner = [];
    for (let i = first; i < end; i++) if (!PUNCTUATION.test(texts[i]!)) inner.push(i);
    if (!inner.length) return;
    if (texts.slice(first, inner[0]).join("")) starts.add(inner[0]!);
    const after = inner[inner.length - 1]! + 1;
    if (after < end) starts.add(after);
  });
  const sorted = [...starts].sort((a, b) => a - b);
  const words = sorted.map(
    (first, k) => texts.slice(first, sorted[k + 1] ?? tokens.length).join("") || "␣",
  );
  return { words, starts: sorted };
}

function textOf(token: string): string {
  return token.replaceAll("▁", " ").trim();
}

function begins(tokens: string[], texts: string[], i: number): boolean {
  if (i === 0 || tokens[i]!.startsWith("▁") || tokens[i] === "</s>") return true;
  const before = Array.from(texts[i - 1]!);
  if (!before.length) return false;
  return UNSPACED.test(before[before.length - 1]!) || UNSPACED.test(texts[i]!);
}

/** Makes pieces readable: no "▁", and "-" before a piece that continues a word. */
export function labels(tokens: string[]): string[] {
  const characters = tokens.every((token) => Array.from(token).length === 1);
  const pieces = !characters && tokens.some((token) => token.startsWith("▁"));
  return tokens.map((token) => {
    const text = textOf(token) || "␣";
    const continues = pieces && !token.startsWith("▁") && /^[\p{L}\p{N}]/u.test(text);
    return continues && !UNSPACED.test(text) ? `-${text}` : text;
  });
}

/** Whether most words have letters that are written from right to left. */
export function rightToLeft(words: string[]): boolean {
  return words.filter((word) => RIGHT_TO_LEFT.test(word)).length * 2 > words.length;
}

/** An alignment as it is drawn: by words or by pieces. */
export interface Grid {
  rows: string[];
  columns: string[];
  weights: number[][];
  /** Pieces of each row and column: `[first, end)`. */
  rowSpans: [number, number][];
  columnSpans: [number, number][];
  focus: number[] | null;
  windows: [number, number][] | null;
  /** From a position among the source's pieces to one among the columns. */
  place: (piece: number) => number;
}

/** Lays a record out by words or by pieces; `weights` replaces the record's alignment. */
export function gridOf(
  record: Translation,
  unit: "words" | "pieces",
  weights: number[][] = record.alignment,
): Grid {
  const [target, source] = [record.tokens, record.source_tokens].map((tokens) =>
    unit === "words" ? wordsOf(tokens) : { words: labels(tokens), starts: [...tokens.keys()] },
  ) as [ReturnType<typeof wordsOf>, ReturnType<typeof wordsOf>];
  const rowSpans = spans(target.starts, record.tokens.length);
  const columnSpans = spans(source.starts, record.source_tokens.length);
  const place = axis(columnSpans);
  const home = columnSpans.flatMap(([first, end], k) => Array(end - first).fill(k) as number[]);
  const mean = (values: number[]) => sum(values) / values.length;
  return {
    rows: target.words,
    columns: source.words,
    weights: weights.length
      ? rowSpans.map(([top, bottom]) =>
          columnSpans.map(([left, right]) =>
            mean(weights.slice(top, bottom).map((row) => sum(row.slice(left, right)))),
          ),
        )
      : [],
    rowSpans,
    columnSpans,
    focus:
      record.focus && rowSpans.map(([a, b]) => mean(record.focus!.slice(a, b).map(place))),
    windows:
      record.windows &&
      rowSpans.map(([a, b]) => {
        const inside = record.windows!.slice(a, b);
        const first = Math.min(...inside.map((window) => home[window[0]] ?? 0));
        const last = Math.max(...inside.map((window) => home[window[1]] ?? 0));
        return [first, last] as [number, number];
      }),
    place,
  };
}

/** What a record is laid out by where words are wanted: those of a model by characters are its pieces. */
export function unitOf(record: Translation, wanted: "words" | "pieces"): "words" | "pieces" {
  const characters = [...record.tokens, ...record.source_tokens].every(
    (token) => Array.from(token).length === 1,
  );
  return characters ? "pieces" : wanted;
}

function spans(starts: number[], length: number): [number, number][] {
  return starts.map((first, k) => [first, starts[k + 1] ?? length]);
}

/** On this axis a piece is as wide as its share of its word. */
function axis(columns: [number, number][]): (piece: number) => number {
  const edges = [0];
  columns.forEach(([first, end], k) => {
    for (let i = first; i < end; i++) edges.push(k + (i - first + 1) / (end - first));
  });
  return (piece) => {
    const at = Math.min(Math.max(piece + 0.5, 0), edges.length - 1);
    const left = Math.min(Math.floor(at), edges.length - 2);
    return edges[left]! + (edges[left + 1]! - edges[left]!) * (at - left) - 0.5;
  };
}

export function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/**
 * A row of attention in which the pieces `[first, end)` have `value` together.
 * The rest keeps its proportions; the whole row sums to 1.
 */
export function moveWeight(
  row: number[],
  [first, end]: [number, number],
  value: number,
): number[] {
  const target = Math.min(1, Math.max(0, value));
  const inside = sum(row.slice(first, end));
  const outside = sum(row) - inside;
  const others = row.length - (end - first);
  if (!others) return row.map(() => 1 / row.length);
  return row.map((weight, i) => {
    if (i >= first && i < end) {
      return inside > 1e-9 ? (weight / inside) * target : target / (end - first);
    }
    return outside > 1e-9 ? (weight / outside) * (1 - target) : (1 - target) / others;
  });
}

/** For each word of both texts: whether it is missing from the other (by a longest common subsequence). */
export function differences(a: string[], b: string[]): [boolean[], boolean[]] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i]![j] =
        a[i] === b[j]
          ? table[i + 1]![j + 1]! + 1
          : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  const marks: [boolean[], boolean[]] = [a.map(() => true), b.map(() => true)];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) marks[0][i++] = marks[1][j++] = false;
    else if (table[i + 1]![j]! >= table[i]![j + 1]!) i++;
    else j++;
  }
  return marks;
}
