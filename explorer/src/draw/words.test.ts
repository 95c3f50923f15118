import { describe, expect, test } from "vitest";
import type { Translation } from "../engine/types";
import cases from "./words.cases.json";
import { differences, gridOf, labels, moveWeight, rightToLeft, sum, unitOf, wordsOf } from "./words";

const close = (a: number[][], b: number[][]) => {
  expect(a.map((row) => row.length)).toEqual(b.map((row) => row.length));
  a.flat().forEach((value, i) => expect(value).toBeCloseTo(b.flat()[i]!, 10));
};

// tests/explorer/test_words.py checks that they are what Python gives.
describe.each(cases)("as Python merges pieces", ({ record, words, labels: expected }) => {
  const pieces = record as Translation;

  test("words, weights, p_t and windows", () => {
    const grid = gridOf(pieces, "words");
    expect(grid.rows).toEqual(words.tokens);
    expect(grid.columns).toEqual(words.source_tokens);
    close(grid.weights, words.alignment);
    expect(grid.windows).toEqual(words.windows);
    if (words.focus) close([grid.focus!], [words.focus]);
    else expect(grid.focus).toBeNull();
  });

  test("labels of pieces", () => {
    const grid = gridOf(pieces, "pieces");
    expect([grid.rows, grid.columns]).toEqual(expected);
    expect(grid.weights).toEqual(record.alignment);
  });
});

test("spans lead back from words to pieces", () => {
  const grid = gridOf(cases[0]!.record as Translation, "words");
  expect(grid.rows).toEqual(["Ein", "kleines", "Mädchen", "."]);
  expect(grid.rowSpans).toEqual([[0, 1], [1, 3], [3, 4], [4, 5]]);
  expect(grid.columnSpans).toEqual([[0, 1], [1, 3], [3, 4], [4, 5]]);
});

test("a model by characters is shown by characters", () => {
  const [dates, dog] = [cases[3]!.record as Translation, cases[4]!.record as Translation];
  expect(unitOf(dates, "words")).toBe("pieces");
  expect(unitOf(dog, "words")).toBe("words");
  expect(unitOf(dog, "pieces")).toBe("pieces");
});

test("other weights than the record's", () => {
  const weights = cases[4]!.record.alignment.map((row) => row.map((_, j) => (j === 2 ? 1 : 0)));
  expect(gridOf(cases[4]!.record as Translation, "words", weights).weights).toEqual(weights);
});

test("an empty record has an empty grid", () => {
  const empty = { ...(cases[0]!.record as Translation), tokens: [], alignment: [] };
  const grid = gridOf(empty, "words");
  expect([grid.rows, grid.weights]).toEqual([[], []]);
  expect(wordsOf([])).toEqual({ words: [], starts: [] });
  expect(labels([])).toEqual([]);
});

test.each([
  ["a weight grows, the rest keeps its proportions", [0.5, 0.3, 0.2], [0, 1], 0.75, [0.75, 0.15, 0.1]],
  ["a word's pieces keep theirs", [0.1, 0.3, 0.6], [0, 2], 0.8, [0.2, 0.6, 0.2]],
  ["all of it", [0.5, 0.3, 0.2], [2, 3], 1, [0, 0, 1]],
  ["more than all is all", [0.5, 0.5], [0, 1], 3, [1, 0]],
  ["from nothing", [0, 1, 0], [0, 1], 0.4, [0.4, 0.6, 0]],
  ["where nothing else was", [0, 1, 0], [1, 2], 0.5, [0.25, 0.5, 0.25]],
  ["a single piece keeps all", [0.2], [0, 1], 0.1, [1]],
] as [string, number[], [number, number], number, number[]][])("moving attention: %s", (_, row, span, value, wanted) => {
  const moved = moveWeight(row, span, value);
  close([moved], [wanted]);
  expect(sum(moved)).toBeCloseTo(1, 10);
});

test("words that differ", () => {
  const [before, after] = differences("a b c d".split(" "), "a x c d e".split(" "));
  expect(before).toEqual([false, true, false, false]);
  expect(after).toEqual([false, true, false, false, true]);
  expect(differences([], ["a"])).toEqual([[], [true]]);
});

test("the direction of a sentence is that of most words", () => {
  expect(rightToLeft(["كلب", "أسود", "dog"])).toBe(true);
  expect(rightToLeft(["הכלב", "runs", "home"])).toBe(false);
  expect(rightToLeft([])).toBe(false);
});
