import { expect, test } from "vitest";
import { colour, ink, luminance } from "./colour";

const rgb = (text: string) => text.match(/\d+/g)!.map(Number) as [number, number, number];
const steps = Array.from({ length: 101 }, (_, i) => i / 100);

test.each([false, true])("lightness alone tells the weight (dark: %s)", (dark) => {
  const values = steps.map((weight) => luminance(rgb(colour(weight, dark))));
  for (let i = 1; i < values.length; i++) {
    expect(Math.sign(values[i]! - values[i - 1]!)).toBe(dark ? 1 : -1);
  }
});

test.each([false, true])("numbers are readable on every cell: contrast 4.5 (dark: %s)", (dark) => {
  for (const weight of steps) {
    const paper = luminance(rgb(colour(weight, dark)));
    const text = ink(weight, dark) === "#fff" ? 1 : 0;
    const [high, low] = [Math.max(paper, text), Math.min(paper, text)];
    expect((high + 0.05) / (low + 0.05)).toBeGreaterThanOrEqual(4.5);
  }
});

test("weights outside [0, 1] have the colours at its ends", () => {
  expect(colour(-1, false)).toBe(colour(0, false));
  expect(colour(7, true)).toBe(colour(1, true));
  expect(colour(NaN, true)).toBe(colour(0, true));
});

test("luminance is that of WCAG", () => {
  expect(luminance([255, 255, 255])).toBeCloseTo(1, 6);
  expect(luminance([0, 0, 0])).toBe(0);
  expect(luminance([119, 119, 119])).toBeCloseTo(0.184, 3); // #777, contrast 4.48 on white
});
