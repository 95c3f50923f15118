/** Tokenizer and search against Python's, whose answers tests/explorer/test_reference.py writes. */

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import { search, type Decoder, type Output, type WhatIf } from "./search";
import { Tokenizer } from "./tokenizer";
import type { Options } from "./types";

const folder = process.env.ZOO_REFERENCE;
const read = (name: string) => JSON.parse(readFileSync(`${folder}/${name}`, "utf8"));

describe.skipIf(!folder)("as Python (pytest tests/explorer gives $ZOO_REFERENCE)", () => {
  test("texts become the same ids, and ids the same text", { timeout: 120_000 }, () => {
    for (const { vocabulary, texts, ids, rows, decoded } of read("tokenizers.json")) {
      const tokenizer = new Tokenizer(new Uint8Array(readFileSync(vocabulary)));
      expect(texts.length).toBeGreaterThan(10_000);
      const same = (text: string, i: number) => String(tokenizer.encode(text)) === String(ids[i]);
      const others = texts.filter((text: string, i: number) => !same(text, i));
      expect(others).toEqual([]);
      expect(rows.map((row: number[]) => tokenizer.decode(row))).toEqual(decoded);
    }
  });

  test("searches find the same translations with the same scores", { timeout: 120_000 }, async () => {
    const { models, cases } = read("searches.json");
    expect(cases.length).toBeGreaterThan(0);
    for (const { model, source, options, ids, scores, tree } of cases) {
      const name = JSON.stringify({ model, options });
      const { found, tree: nodes } = await search(new Table(models[model]), source, options);
      expect(found.map(({ links }) => links.map((link) => link.id)), name).toEqual(ids);
      found.forEach(({ score }, i) => expect(score, name).toBeCloseTo(scores[i], 4));
      expect(nodes.map(({ parent, id, state, best }) => [parent, id, state, best]), name).toEqual(
        tree,
      );
    }
  });

  test("a coverage penalty sees the attention that was given", async () => {
    const { models, cases } = read("searches.json");
    const { model, source } = cases[0];
    const options: Options = {
      ...{ beamSize: 2, nBest: 1, lengthPenalty: 1, coveragePenalty: 0.5 },
      attention: { 0: source.map((_: number, i: number) => (i === 0 ? 3 : 0)) },
    };
    const { found } = await search(new Table(models[model]), source, options);
    const [first, ...others] = found[0].links[0].weights;
    expect([first, ...others]).toEqual([1, ...others.map(() => 0)]);
  });
});

/** Logits and weights by position and last token, from tables. */
class Table implements Decoder<{ position: number; rows: number }> {
  constructor(private readonly table: { logits: number[][][]; weights: number[][][] }) {}

  async start() {
    return { position: 0, rows: 1 };
  }

  async step(
    tokens: readonly number[],
    state: { position: number; rows: number },
    { attention: [given] }: WhatIf,
  ): Promise<[Output, { position: number; rows: number }]> {
    expect(tokens.length).toBe(state.rows);
    const { logits, weights } = this.table;
    const place = state.position % logits.length;
    const flat = (rows: number[][]) => Float32Array.from(tokens.flatMap((id) => rows[id]));
    const output: Output = {
      rows: tokens.length,
      logits: flat(logits[place]),
      weights: given
        ? Float32Array.from(tokens.flatMap(() => [...given.weights]))
        : flat(weights[place]),
      heads: null,
      focus: null,
      windows: null,
      recalled: null,
      norms: {},
    };
    return [output, { position: state.position + 1, rows: tokens.length }];
  }

  pick(state: { position: number; rows: number }, rows: readonly number[]) {
    return { ...state, rows: rows.length };
  }
}
