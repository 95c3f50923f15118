/**
 * SentencePiece models of the types "unigram" and "char" in the browser: text to ids, and
 * back, as sentencepiece 0.2 does it.
 *
 * A model is a protocol buffer (sentencepiece_model.proto): pieces (field 1), the trainer's
 * settings (2), the normaliser's (3), whose table is a trie of UTF-8 bytes, and those of what
 * puts characters back in decoding (5).
 */

const UNDERSCORE = "\u2581"; // "▁" stands for a space
const NORMAL = 1;
const UNKNOWN = 2;
const CONTROL = 3;
const USER_DEFINED = 4;
const UNIGRAM = 1;
const CHAR = 4;
const UNKNOWN_PENALTY = 10;
const UNKNOWN_SURFACE = " \u2047 ";

const toBytes = new TextEncoder();
const toText = new TextDecoder("utf-8", { ignoreBOM: true });

interface Piece {
  text: string;
  score: number;
  type: number;
}

interface Table {
  trie: Uint32Array;
  replacements: Uint8Array; // each ends with a 0
}

interface Normaliser {
  table: Table;
  dummyPrefix: boolean;
  squeezeSpaces: boolean;
}

export class Tokenizer {
  readonly pieces: Piece[] = [];
  private readonly ids = new Map<string, number>(); // of those that text can have
  private readonly every = new Map<string, number>();
  private readonly normaliser: Normaliser;
  private readonly denormaliser: Normaliser;
  private readonly modelType: number;
  private longest = 0; // in UTF-16 units
  private unknownId = 0;
  private unknownScore: number;

  /** Reads a model. Throws an Error if the bytes are none, or of a type that isn't known. */
  constructor(model: Uint8Array) {
    let lowest = Infinity;
    let modelType = UNIGRAM;
    let normaliser = new Map<number, FieldValue>();
    let denormaliser = new Map<number, FieldValue>();
    for (const [field, value] of fields(model)) {
      if (field === 1) {
        const piece = readPiece(value as Uint8Array);
        const id = this.pieces.push(piece) - 1;
        this.every.set(piece.text, id);
        if (piece.type === NORMAL) lowest = Math.min(lowest, piece.score);
        if (piece.type === UNKNOWN) this.unknownId = id;
        else if (piece.type === NORMAL) {
          this.ids.set(piece.text, id);
          this.longest = Math.max(this.longest, piece.text.length);
        } else if (piece.type !== CONTROL) {
          const kind = piece.type === USER_DEFINED ? "user-defined" : "byte or unused";
          throw new Error(`vocabularies with ${kind} pieces are not supported`);
        }
      } else if (field === 2) {
        modelType = (new Map(fields(value as Uint8Array)).get(3) as number) ?? UNIGRAM;
      } else if (field === 3) {
        normaliser = new Map(fields(value as Uint8Array));
      } else if (field === 5) {
        denormaliser = new Map(fields(value as Uint8Array));
      }
    }
    if (!this.pieces.length || ![UNIGRAM, CHAR].includes(modelType)) {
      throw new Error(`no SentencePiece model of the type unigram or char: ${modelType}`);
    }
    this.modelType = modelType;
    this.unknownScore = Math.fround(lowest - UNKNOWN_PENALTY);
    this.normaliser = readNormaliser(normaliser);
    this.denormaliser = readNormaliser(denormaliser);
  }

  /** The ids of a text. Neighbouring unknown pieces are one. */
  encode(text: string): number[] {
    return this.split(text).map(([id]) => id);
  }

  /** The text of ids. Control pieces are nothing, the unknown one is " ⁇ ". */
  decode(ids: readonly number[]): string {
    const { dummyPrefix, squeezeSpaces } = this.normaliser;
    let text = "";
    let spaceSeen = false;
    for (const id of ids) {
      const piece = this.pieces[id];
      if (piece === undefined) throw new RangeError(`no piece has the id ${id}`);
      const begins = !spaceSeen && text === "";
      spaceSeen = false;
      if (piece.type === CONTROL) continue;
      if (piece.type === UNKNOWN) {
        text += UNKNOWN_SURFACE;
        continue;
      }
      let surface = piece.text;
      if (begins && (dummyPrefix || squeezeSpaces) && surface.startsWith(UNDERSCORE)) {
        surface = surface.slice(1);
        spaceSeen = !squeezeSpaces;
      }
      text += surface.replaceAll(UNDERSCORE, " ");
    }
    return rewrite(text, this.denormaliser.table);
  }

  /** The piece of an id, special ones included. */
  piece(id: number): string {
    return this.pieces[id].text;
  }

  /** The id of a piece; undefined if there is none. */
  id(piece: string): number | undefined {
    return this.every.get(piece);
  }

  /** Cuts a text into pieces: their ids and places in the normalised text. */
  private split(text: string): [id: number, from: number, to: number][] {
    const normal = this.normalise(text);
    const found =
      this.modelType === CHAR ? this.characters(normal) : this.likeliest(normal);
    const merged: [number, number, number][] = [];
    for (const part of found) {
      const last = merged.at(-1);
      if (last && part[0] === this.unknownId && last[0] === this.unknownId) {
        last[2] = part[2];
      } else {
        merged.push(part);
      }
    }
    return merged;
  }

  private characters(text: string): [number, number, number][] {
    let at = 0;
    return Array.from(text, (character) => {
      const from = at;
      at += character.length;
      return [this.ids.get(character) ?? this.unknownId, from, at];
    });
  }

  /** Viterbi: the pieces with the highest sum of scores, in float32 as in the original. */
  private likeliest(text: string): [number, number, number][] {
    const size = text.length;
    const best = new Float32Array(size + 1).fill(-Infinity);
    const from = new Int32Array(size + 1).fill(-1);
    const ids = new Int32Array(size + 1);
    best[0] = 0;
    const offer = (start: number, end: number, id: number, score: number): void => {
      const sum = Math.fround(best[start] + score);
      if (from[end] === -1 || sum > best[end]) {
        best[end] = sum;
        from[end] = start;
        ids[end] = id;
      }
    };
    for (let start = 0; start < size; ) {
      const width = text.codePointAt(start)! > 0xffff ? 2 : 1;
      let single = false;
      const last = Math.min(size, start + this.longest);
      for (let end = start + 1; end <= last; end++) {
        const id = this.ids.get(text.slice(start, end));
        if (id === undefined) continue;
        single ||= end - start === width;
        offer(start, end, id, this.pieces[id].score);
      }
      if (!single) offer(start, start + width, this.unknownId, this.unknownScore);
      start += width;
    }
    const parts: [number, number, number][] = [];
    for (let end = size; end > 0; end = from[end]) parts.push([ids[end], from[end], end]);
    return parts.reverse();
  }

  /** The text by the model's table, without superfluous spaces, "▁" for each other one. */
  private normalise(text: string): string {
    const { table, dummyPrefix, squeezeSpaces } = this.normaliser;
    let normal = rewrite(text, table);
    if (squeezeSpaces) normal = normal.replace(/^ +| +$/g, "").replace(/ +/g, " ");
    if (!normal) return "";
    return ((dummyPrefix ? " " : "") + normal).replaceAll(" ", UNDERSCORE);
  }
}

// === The protocol buffer ===

type FieldValue = number | Uint8Array;

function* fields(bytes: Uint8Array): Generator<[number, FieldValue]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = view.getUint8(at++);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const kind = key & 7;
    if (kind === 0) {
      yield [key >>> 3, varint()];
    } else if (kind === 2) {
      const size = varint();
      if (at + size > bytes.length) throw new Error("a SentencePiece model is cut short");
      yield [key >>> 3, bytes.subarray(at, at + size)];
      at += size;
    } else if (kind === 5) {
      yield [key >>> 3, view.getFloat32(at, true)];
      at += 4;
    } else if (kind === 1) {
      at += 8; // no field that matters
    } else {
      throw new Error("no SentencePiece model");
    }
  }
}

function readPiece(bytes: Uint8Array): Piece {
  const piece: Piece = { text: "", score: 0, type: NORMAL };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) piece.text = toText.decode(value as Uint8Array);
    else if (field === 2) piece.score = value as number;
    else if (field === 3) piece.type = value as number;
  }
  return piece;
}

function readNormaliser(given: Map<number, FieldValue>): Normaliser {
  const table = (given.get(2) as Uint8Array) ?? new Uint8Array();
  let trie = new Uint32Array();
  let replacements = new Uint8Array();
  if (table.length) {
    const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
    const size = view.getUint32(0, true);
    trie = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    replacements = table.slice(4 + size);
  }
  return {
    table: { trie, replacements },
    dummyPrefix: Boolean(given.get(3) ?? 1),
    squeezeSpaces: Boolean(given.get(4) ?? 1),
  };
}

/** A text with the entries of a table replaced. A lone surrogate becomes U+FFFD. */
function rewrite(text: string, { trie, replacements }: Table): string {
  const bytes = toBytes.encode(text);
  const out: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [eaten, place] = longestPrefix(trie, bytes, at);
    if (eaten) {
      for (let i = place; replacements[i]; i++) out.push(replacements[i]);
      at += eaten;
    } else {
      const end = at + byteCount(bytes[at]);
      while (at < end) out.push(bytes[at++]);
    }
  }
  return toText.decode(new Uint8Array(out));
}

/**
 * The longest entry of a Darts trie with which `bytes[at:]` begins: how many bytes that are
 * (0: none), and the place of its replacement.
 */
function longestPrefix(trie: Uint32Array, bytes: Uint8Array, at: number): [number, number] {
  let found: [number, number] = [0, 0];
  if (!trie.length) return found;
  const offset = (unit: number): number => (unit >>> 10) << ((unit & 512) >>> 6);
  let node = offset(trie[0]);
  for (let i = at; i < bytes.length; i++) {
    node ^= bytes[i];
    const unit = trie[node];
    if ((unit & 0x800000ff) >>> 0 !== bytes[i]) break;
    node ^= offset(unit);
    if ((unit >>> 8) & 1) found = [i + 1 - at, trie[node] & 0x7fffffff];
  }
  return found;
}

function byteCount(first: number): number {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}
