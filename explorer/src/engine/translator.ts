/** A translator: text to ids, the search, ids to records, as zoo/decoding/batch_decoding.py. */

import type { Options, Result, Step, Translation } from "./types";
import { END_ID, PAD_ID, START_ID, checkOptions, search } from "./search";
import type { Decoder, Link } from "./search";
import type { Tokenizer } from "./tokenizer";

const CHARACTERS_PER_PIECE = 64; // of zoo/text/graph.py
// What Python's strip() removes.
const SPACES =
  "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const OUTER_SPACE = new RegExp(`^${SPACES}|${SPACES}$`, "g");

/** Settings of a translator's preprocessor, from its manifest. */
export interface Settings {
  source_length: number;
  target_length: number;
  source_end: boolean;
}

export interface Sizes {
  heads: [number, number] | null; // layers, heads
  window: number | null; // D
}

export class Translator<State> {
  constructor(
    private readonly tokenizer: Tokenizer,
    private readonly decoder: Decoder<State>,
    private readonly settings: Settings,
    private readonly sizes: Sizes,
  ) {}

  /** The source's pieces, cut to the model's longest source. */
  private read(text: string): { ids: number[]; pieces: string[] } {
    const { source_length: length, source_end: end } = this.settings;
    const most = end ? length - 1 : length;
    const inner = text.replace(OUTER_SPACE, "");
    const ids = this.tokenizer.encode(cut(inner, most * CHARACTERS_PER_PIECE)).slice(0, most);
    if (end && ids.length) ids.push(END_ID);
    return { ids, pieces: ids.map((id) => this.tokenizer.piece(id)) };
  }

  /** See `Model.run`. `between` is awaited before each step, and may throw. */
  async translate(text: string, options: Options, between?: () => Promise<void>): Promise<Result> {
    const begun = performance.now();
    checkOptions(options);
    const { ids, pieces } = this.read(text);
    if (!ids.length) {
      const empty = this.record([], 0, []);
      return { translations: [empty], steps: [], tree: [], milliseconds: elapsed(begun) };
    }
    const { found, tree } = await search(this.decoder, ids, options, between);
    const translations = found.map(({ links, score }) => this.record(links, score, pieces));
    const steps = options.trace ? found[0].links.map((link) => this.step(link, options)) : [];
    for (const node of tree) node.piece = this.tokenizer.piece(node.id);
    return { translations, steps, tree, milliseconds: elapsed(begun) };
  }

  private record(links: Link[], score: number, source: string[]): Translation {
    const words = links.filter((link) => link.id !== END_ID); // which is the last
    const ids = words.map((link) => link.id);
    const local = words.length > 0 && words[0].focus !== null;
    const shown = ids.filter((id) => id !== PAD_ID && id !== START_ID);
    while (shown.length && this.tokenizer.piece(shown[0]) === "\u2581") shown.shift();
    return {
      text: this.tokenizer.decode(shown),
      score,
      tokens: ids.map((id) => this.tokenizer.piece(id)),
      source_tokens: source,
      alignment: words.map((link) => Array.from(link.weights)),
      focus: local ? words.map((link) => link.focus!) : null,
      windows: local ? words.map((link) => link.window!) : null,
      log_probs: null,
    };
  }

  private step(link: Link, options: Options): Step {
    const weights = Array.from(link.weights);
    const candidate = (id: number, probability: number) => ({
      id,
      piece: this.tokenizer.piece(id),
      probability,
    });
    const values: Record<string, number> = { ...link.norms, S: weights.length };
    values.entropy = weights.reduce((sum, w) => (w > 0 ? sum - w * Math.log(w) : sum), 0);
    if (link.focus !== null) {
      values.p_t = link.focus;
      values.D = options.window ?? this.sizes.window ?? 0;
      values.sigma = values.D / 2;
    }
    return {
      candidates: link.candidates.map(({ id, probability }) => candidate(id, probability)),
      chosen: candidate(link.id, link.probability),
      weights,
      heads: link.heads && this.byLayer(link.heads, weights.length),
      memory: link.recalled,
      focus: link.focus,
      window: link.window,
      values,
    };
  }

  private byLayer(flat: Float32Array, size: number): number[][][] {
    const [layers, heads] = this.sizes.heads!;
    return Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (_, head) => {
        const from = (layer * heads + head) * size;
        return Array.from(flat.subarray(from, from + size));
      }),
    );
  }
}

/** The first characters of a text: code points, as Python counts them. */
function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count++) {
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  }
  return text.slice(0, end);
}

function elapsed(begun: number): number {
  return performance.now() - begun;
}
