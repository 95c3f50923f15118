/** Colours of attention: one blue-green scale whose lightness alone tells the weight. */

type Rgb = [number, number, number];

// From no attention to all of it. Lightness falls (in the dark: rises) all the way,
// so that the scale reads the same without colour vision and in grey.
const LIGHT = ["#f1f6f5", "#b5dad8", "#5fabb0", "#1d7480", "#083f4a"].map(parse);
const DARK = ["#1c2527", "#20484d", "#2b7d82", "#66bfbb", "#d6f6ee"].map(parse);

function parse(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** The colour of a weight in [0, 1], as `rgb(r, g, b)`. */
export function colour(weight: number, dark: boolean): string {
  return `rgb(${mix(weight, dark).join(", ")})`;
}

function mix(weight: number, dark: boolean): Rgb {
  const stops = dark ? DARK : LIGHT;
  const place = Math.min(1, Math.max(0, weight || 0)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const [from, to] = [stops[index]!, stops[index + 1]!];
  return from.map((x, i) => Math.round(x + (to[i]! - x) * (place - index))) as Rgb;
}

/** Black or white, whichever is easier to read on the colour of a weight. */
export function ink(weight: number, dark: boolean): string {
  // Both contrasts are 4.58 at a luminance of 0.179.
  return luminance(mix(weight, dark)) > 0.179 ? "#000" : "#fff";
}

/** Relative luminance of WCAG 2, from 0 to 1. */
export function luminance([r, g, b]: Rgb): number {
  const linear = (x: number) =>
    x <= 10 ? x / 3294 : ((x / 255 + 0.055) / 1.055) ** 2.4;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}
