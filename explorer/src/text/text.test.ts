import { expect, test } from "vitest";
import { TEXTS, languageOf } from ".";

const leaves = (value: unknown, path = ""): [string, unknown][] =>
  typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}.${key}`))
    : [[path, value]];

test("every entry has a text of its own language", () => {
  const english = new Map(leaves(TEXTS.en));
  const same = new Set([".space"]);
  for (const [path, text] of leaves(TEXTS.zh)) {
    expect(english.has(path), path).toBe(true);
    if (typeof text === "string") {
      if (path !== ".space") expect(text.trim(), path).not.toBe("");
      if (!same.has(path)) expect(text, path).not.toBe(english.get(path));
    } else {
      const call = (f: unknown) => (f as (...args: unknown[]) => string)("11", "22", "33", "44");
      if (path !== ".node") expect(call(text), path).not.toBe(call(english.get(path)));
      for (const given of ["11", "22", "33", "44"]) {
        expect(call(text).includes(given), path).toBe(call(english.get(path)).includes(given));
      }
    }
  }
});

test.each(["en", "zh"] as const)("%s: what explains a drawing holds in dark colours as well", (language) => {
  for (const [path, text] of leaves(TEXTS[language].explain)) expect(text, path).not.toMatch(/dark|深/i);
});

test("a browser's first language that there is, or English", () => {
  expect(languageOf(["fr-CH", "zh-CN", "en"])).toBe("zh");
  expect(languageOf(["zh-Hant-TW"])).toBe("zh");
  expect(languageOf(["fr"])).toBe("en");
  expect(languageOf([])).toBe("en");
});
