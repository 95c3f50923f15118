import { describe, expect, test } from "vitest";
import { bell, gaussian, layOut, roomOf, short, thread } from "./threads";

const measure = (text: string) => 8 * Array.from(text).length;
const ltr = { source: false, target: false };
const source = ["a", "little", "dog"];
const target = ["ein", "kleiner", "Hund", "."];

const apart = (boxes: { x: number; width: number }[]) => {
  const sorted = [...boxes].sort((a, b) => a.x - b.x);
  for (let i = 1; i < sorted.length; i++) {
    expect(sorted[i]!.x).toBeGreaterThanOrEqual(sorted[i - 1]!.x + sorted[i - 1]!.width - 0.01);
  }
};

describe("where both lines fit", () => {
  const layout = layOut(source, target, 400, measure, ltr);

  test("the source is above, the words beside each other in reading order", () => {
    expect(layout.across).toBe(true);
    for (const words of [layout.source, layout.target]) {
      apart(words.map((word) => word.box));
      expect(words.map((word) => word.x)).toEqual([...words.map((word) => word.x)].sort((a, b) => a - b));
      for (const { box } of words) {
        expect(box.x).toBeGreaterThanOrEqual(0);
        expect(box.x + box.width).toBeLessThanOrEqual(layout.width);
        expect(box.y + box.height).toBeLessThanOrEqual(layout.height);
      }
    }
    expect(layout.source[0]!.y).toBeLessThan(layout.target[0]!.y);
  });

  test("a source from right to left is mirrored, the target not", () => {
    const mirrored = layOut(source, target, 400, measure, { source: true, target: false });
    mirrored.source.forEach((word, i) => expect(word.x).toBeCloseTo(400 - layout.source[i]!.x));
    expect(mirrored.target).toEqual(layout.target);
  });

  test("threads go down from word to word", () => {
    const path = thread(layout.source[1]!, layout.target[2]!, true);
    const numbers = path.match(/[\d.]+/g)!.map(Number);
    expect(numbers.slice(0, 2)).toEqual(layout.source[1]!.end);
    expect(numbers.slice(-2)).toEqual(layout.target[2]!.end);
    expect(layout.source[1]!.end[1]).toBeLessThan(layout.target[2]!.end[1]);
  });
});

describe("where they don't", () => {
  const layout = layOut(source, target, 150, measure, ltr);

  test("the source is at the left, the words below each other", () => {
    expect(layout.across).toBe(false);
    for (const words of [layout.source, layout.target]) {
      expect(words.map((word) => word.y)).toEqual([...words.map((word) => word.y)].sort((a, b) => a - b));
    }
    const edge = Math.max(...layout.source.map(({ box }) => box.x + box.width));
    const start = Math.min(...layout.target.map(({ box }) => box.x));
    expect(start - edge).toBeGreaterThanOrEqual(50);
    expect(layout.height).toBeGreaterThanOrEqual(4 * 26);
  });

  test("words too wide for it make the drawing wider", () => {
    const wide = layOut(["Donaudampfschiff", "fährt"], ["Donaudampfschiff", "."], 150, measure, ltr);
    expect(wide.width).toBeGreaterThan(150);
    expect(wide.source[0]!.box.x).toBeGreaterThanOrEqual(0);
  });
});

test("words that fit stand below each other where wider ones beside them do", () => {
  const needed = roomOf(["Donaudampfschiff", "fährt"], target, measure);
  expect(layOut(source, target, needed, measure, ltr, needed).across).toBe(true);
  expect(layOut(source, target, needed - 1, measure, ltr).across).toBe(true);
  expect(layOut(source, target, needed - 1, measure, ltr, needed).across).toBe(false);
});

test("no word at all", () => {
  expect(layOut([], [], 200, measure, ltr)).toMatchObject({ source: [], target: [] });
});

test("long words are cut between characters", () => {
  expect(short("x".repeat(22))).toBe("x".repeat(22));
  expect(Array.from(short("😀".repeat(30)))).toHaveLength(22);
});

test("the Gaussian of local attention: 1 at p_t, exp(-1/2) at one sigma = D / 2", () => {
  expect(gaussian(3.5, 3.5, 4)).toBe(1);
  expect(gaussian(5.5, 3.5, 4)).toBeCloseTo(Math.exp(-0.5), 12);
  const curve = bell(3.5, 4, -0.5, 7.5);
  expect(curve[0]![0]).toBe(-0.5);
  expect(curve[curve.length - 1]![0]).toBe(7.5);
  const peak = curve.reduce((a, b) => (b[1] > a[1] ? b : a));
  expect(peak[0]).toBeCloseTo(3.5, 1);
});
