// @vitest-environment happy-dom
import katex from "katex";
import { expect, test } from "vitest";
import { INFOS } from "./engine/fake";
import type { ModelInfo, Step } from "./engine/types";
import { equationsOf, word } from "./equations";

const STEP: Step = {
  candidates: [],
  chosen: { id: 7, piece: "▁Hund", probability: 0.8125 },
  weights: [0.125, 0.625, 0.25, 0],
  heads: null,
  focus: 1.5,
  window: [0, 3],
  values: {},
};

function equations(part: Partial<ModelInfo>, step: Partial<Step> = {}, moved = false) {
  const info = { ...INFOS[0]!, ...part };
  const source = ["a", "black", "dog", "."];
  return equationsOf({ info, step: { ...STEP, ...step }, source, previous: "ein", chosen: "Hund", window: 2, moved });
}

const KEYS = [
  "bahdanau", "luong_dot", "luong_general", "luong_concat", "luong_location", "luong_local_m",
  "luong_local", "lstmn", "transformer", "seq2seq", "rnn_encoder_decoder", "of one's own",
];

test.each(KEYS)("%s: KaTeX reads every line, and the step's word and probability are in it", (equation) => {
  const attention = /seq2seq|rnn/.test(equation) ? "none" : "global";
  const lines = equations({ equation, attention });
  for (const line of lines) expect(() => katex.renderToString(line, { strict: "error" })).not.toThrow();
  expect(lines.at(-1)).toContain("p(\\text{Hund}) = 0.81");
  const attended = lines.some((line) => line.includes("0.63") || line.includes("0.62"));
  expect(attended).toBe(attention !== "none");
});

test("local-p: p_t = S sigma, and the weight is the softmax's times the Gaussian", () => {
  const lines = equations({ equation: "luong_local", attention: "local" }).join("\n");
  expect(lines).toContain("= 4 \\cdot 0.38 = 1.50");
  // exp(-2 (0.5 / 2)²) = 0.882, and 0.625 / 0.882 = 0.708
  expect(lines).toContain("a_t(\\text{black}) = 0.71 \\cdot 0.88 = 0.63");
  expect(lines).toContain("= 1.0");
});

test.each(["luong_local", "luong_dot", "bahdanau"])("%s: attention that was moved is no softmax's", (equation) => {
  const lines = equations({ equation, attention: "local" }, {}, true);
  const [weight] = lines.filter((line) => /\\text\{black\}[)}] = 0\.63/.test(line));
  const own = equation === "bahdanau" ? "\\alpha_{i,\\text{black}}" : "a_t(\\text{black})";
  expect(weight).toBe(`${own} = 0.63`);
});

test("weights have the index that their paper gives them", () => {
  const [, alpha, c] = equations({ equation: "bahdanau" });
  expect(alpha).toBe("\\alpha_{ij} = \\frac{\\exp(e_{ij})}{\\sum_k \\exp(e_{ik})}, \\quad \\alpha_{i,\\text{black}} = 0.63");
  expect(c).toMatch(/^c_i = \\sum_j \\alpha_\{ij\}/);
  expect(equations({ equation: "lstmn" })[2]).toBe("p_{\\text{black}}^t = 0.63");
});

test("the context is the sum over the words that count most", () => {
  const lines = equations({ equation: "luong_dot" }).join("\n");
  expect(lines).toContain(
    "0.63\\,\\bar h_{\\text{black}} + 0.25\\,\\bar h_{\\text{dog}} + 0.13\\,\\bar h_{\\text{a}}",
  );
  expect(lines).not.toContain("\\dots");
});

test("input feeding stands in the equation only where there is some", () => {
  expect(equations({ equation: "luong_dot", inputFeeding: true })[0]).toContain("\\tilde h_{t-1}");
  expect(equations({ equation: "luong_dot", inputFeeding: false })[0]).not.toContain("\\tilde h");
});

test.each(["\\input{x}", "a_b^c~#$%&{}", "</script>", "犬", "\u202e\u0000x", "", "\\href{javascript:0}{x}"])(
  "words stand for nothing but themselves: %s",
  (text) => {
    const latex = word(text);
    const html = katex.renderToString(latex, { throwOnError: true, strict: "ignore", output: "html" });
    const shown = new DOMParser().parseFromString(html, "text/html").body.textContent!;
    const plain = text.replace(/[\u202e\u0000]/g, "") || "␣";
    expect(shown.replace(/\u00a0/g, " ").replace(/[\u2060\u200b]/g, "").replaceAll("˜", "~").replaceAll("ˆ", "^")).toBe(plain);
    expect(html).not.toContain("<a ");
  },
);
