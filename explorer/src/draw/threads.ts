/** Where the words and threads of a pair of sentences are drawn. */

export interface Word {
  x: number;
  y: number;
  anchor: "start" | "middle" | "end";
  /** The box that the pointer hits. */
  box: { x: number; y: number; width: number; height: number };
  /** Where its threads end. */
  end: [x: number, y: number];
  text: string;
}

export interface Layout {
  across: boolean;
  width: number;
  height: number;
  source: Word[];
  target: Word[];
}

const LINE = 26; // between words below each other
const GAP = 14; // between words beside each other, at least
const WIDEST = 30;
const DROP = 132; // length of threads between lines
const LEAST = 72; // of threads between columns
const LONGEST = 22; // characters of a word
const PAD = 6;

/** The width of two sentences as lines, in which `gap` pixels are between words. */
function roomsOf(sentences: string[][], measure: (text: string) => number, gap: number): number[] {
  return sentences.map((words) => words.reduce((sum, word) => sum + wide(word, measure) + gap, 2 * PAD - gap));
}

/** The width that two sentences need to be laid out as lines. */
export function roomOf(source: string[], target: string[], measure: (text: string) => number): number {
  return Math.max(...roomsOf([source, target], measure, GAP));
}

function wide(word: string, measure: (text: string) => number): number {
  return Math.max(measure(short(word)), 8);
}

/**
 * Lays two sentences out: as lines below each other where they fit into the width,
 * otherwise as columns beside each other.
 *
 * @param measure width of a text in pixels.
 * @param flipped which of them reads from right to left.
 * @param needed more than `roomOf` them, so that they lie as wider ones beside them do.
 */
export function layOut(
  source: string[],
  target: string[],
  width: number,
  measure: (text: string) => number,
  flipped: { source: boolean; target: boolean },
  needed = roomOf(source, target, measure),
): Layout {
  const texts = [source, target].map((words) => words.map(short));
  const widths = texts.map((words) => words.map((word) => wide(word, measure)));
  if (needed <= width) {
    const most = Math.max(source.length, target.length, 2) - 1;
    const spare = (width - roomOf(source, target, measure)) / most;
    const gap = Math.min(WIDEST, GAP + spare);
    const rooms = roomsOf(texts, measure, gap);
    const lines = [0, 1].map((k) => {
      const y = k === 0 ? 18 : 18 + DROP;
      const right = k === 0 ? flipped.source : flipped.target;
      let x = (width - rooms[k]!) / 2 + PAD;
      return texts[k]!.map((text, i) => {
        const wide = widths[k]![i]!;
        const middle = x + wide / 2;
        x += wide + gap;
        const centre = right ? width - middle : middle;
        return {
          x: centre,
          y,
          anchor: "middle" as const,
          box: { x: centre - wide / 2 - gap / 2, y: y - 18, width: wide + gap, height: LINE },
          end: [centre, k === 0 ? y + 10 : y - 20] as [number, number],
          text,
        };
      });
    });
    return { across: true, width, height: DROP + 2 * LINE - 14, source: lines[0]!, target: lines[1]! };
  }
  const rows = Math.max(source.length, target.length);
  const most = widths.map((row) => Math.max(0, ...row));
  const whole = Math.max(width, most[0]! + most[1]! + LEAST + 4 * PAD);
  // Threads longer than the words need make a column hard to follow.
  const used = Math.min(whole, most[0]! + most[1]! + 220);
  const start = (whole - used) / 2;
  const columns = [0, 1].map((k) => {
    const words = texts[k]!;
    const top = ((rows - words.length) * LINE) / 2;
    const edge = k === 0 ? start + most[0]! + PAD : start + used - most[1]! - PAD;
    return words.map((text, i) => {
      const wide = widths[k]![i]!;
      const y = top + i * LINE + 18;
      return {
        x: edge,
        y,
        anchor: k === 0 ? ("end" as const) : ("start" as const),
        box: {
          x: k === 0 ? edge - wide - PAD : edge - PAD,
          y: y - 18,
          width: wide + 2 * PAD,
          height: LINE,
        },
        end: [k === 0 ? edge + PAD + 2 : edge - PAD - 2, y - 5] as [number, number],
        text,
      };
    });
  });
  return {
    across: false,
    width: whole,
    height: Math.max(rows, 1) * LINE + 4,
    source: columns[0]!,
    target: columns[1]!,
  };
}

/** The path of the thread between two words. */
export function thread(from: Word, to: Word, across: boolean): string {
  const [[a, b], [c, d]] = [from.end, to.end];
  const bend = across ? (b + d) / 2 : (a + c) / 2;
  return across
    ? `M${a},${b}C${a},${bend} ${c},${bend} ${c},${d}`
    : `M${a},${b}C${bend},${b} ${bend},${d} ${c},${d}`;
}

/** A word of at most `LONGEST` characters. */
export function short(word: string): string {
  const characters = Array.from(word);
  return characters.length <= LONGEST ? word : `${characters.slice(0, LONGEST - 1).join("")}…`;
}

// === The curve of local attention ===

/** Heights of exp(-(s - p_t)² / 2σ²), σ = D / 2, over positions (Luong et al. 2015, equation 10). */
export function bell(focus: number, window: number, from: number, to: number): [number, number][] {
  const steps = 96;
  return Array.from({ length: steps + 1 }, (_, i) => {
    const place = from + ((to - from) * i) / steps;
    return [place, gaussian(place, focus, window)];
  });
}

export function gaussian(place: number, focus: number, window: number): number {
  return Math.exp(-2 * ((place - focus) / window) ** 2);
}
