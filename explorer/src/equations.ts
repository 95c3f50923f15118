/** The papers' equations with the numbers of a decoding step, as LaTeX. */

import type { ModelInfo, Step } from "./engine/types";
import { gaussian } from "./draw/threads";
import { sum } from "./draw/words";

/** What an equation is filled in with. */
interface Numbers {
  info: ModelInfo;
  step: Step;
  /** Readable pieces. */
  source: string[];
  previous: string;
  chosen: string;
  /** D of local attention. */
  window: number;
  /** Whether a visitor gave this step its attention, which no formula has then. */
  moved: boolean;
}

const SCORES: Record<string, string> = {
  luong_dot: String.raw`\mathrm{score}(h_t, \bar h_s) = h_t^\top \bar h_s`,
  luong_general: String.raw`\mathrm{score}(h_t, \bar h_s) = h_t^\top W_a \bar h_s`,
  luong_concat: String.raw`\mathrm{score}(h_t, \bar h_s) = v_a^\top \tanh(W_a [h_t; \bar h_s])`,
  luong_location: String.raw`a_t = \mathrm{softmax}(W_a h_t)`,
  luong_local: String.raw`\mathrm{score}(h_t, \bar h_s) = h_t^\top W_a \bar h_s`,
  luong_local_m: String.raw`\mathrm{score}(h_t, \bar h_s) = h_t^\top W_a \bar h_s`,
};

/** Returns the step's equations in the paper's order, each as LaTeX. */
export function equationsOf(numbers: Numbers): string[] {
  const { info } = numbers;
  const key = info.equation;
  if (key === "bahdanau") return bahdanau(numbers);
  if (key in SCORES) return luong(numbers);
  if (key === "transformer") return transformer(numbers);
  if (key === "lstmn") return lstmn(numbers);
  if (key === "rnn_encoder_decoder") {
    return [
      String.raw`h_{\langle t \rangle} = f(h_{\langle t-1 \rangle}, y_{t-1}, c), \quad y_{t-1} = ${word(numbers.previous)}`,
      probability(numbers, String.raw`p(y_t \mid y_1, \dots, y_{t-1}, c)`),
    ];
  }
  if (info.attention === "none") {
    return [
      String.raw`h_t = \mathrm{LSTM}(E\,y_{t-1}, h_{t-1}), \quad y_{t-1} = ${word(numbers.previous)}`,
      probability(numbers, String.raw`p(y_t \mid v, y_1, \dots, y_{t-1})`),
    ];
  }
  return [weight(numbers, A_T), context(numbers, "c_t", "a_t", "h"), probability(numbers, "p(y_t)")];
}

/** A weight in a paper's notation: of an index, or of a word. */
type Weight = (place: string) => string;

const A_T: Weight = (s) => `a_t(${s})`;
/** `alpha_{ij}`, or `alpha_{i,word}`. */
const ALPHA_I: Weight = (place) => String.raw`\alpha_{i${place.length > 1 ? "," : ""}${place}}`;

function bahdanau(n: Numbers): string[] {
  return [
    String.raw`e_{ij} = v_a^\top \tanh(W_a s_{i-1} + U_a h_j)`,
    weight(n, ALPHA_I, "j", String.raw`\frac{\exp(e_{ij})}{\sum_k \exp(e_{ik})}`),
    context(n, "c_i", String.raw`\alpha_{ij}`, "h", "j"),
    String.raw`s_i = f(s_{i-1}, y_{i-1}, c_i), \quad y_{i-1} = ${word(n.previous)}`,
    probability(n, String.raw`p(y_i \mid y_1, \dots, y_{i-1}, \mathbf{x}) = g(y_{i-1}, s_i, c_i)`),
  ];
}

function luong(n: Numbers): string[] {
  const { info, step } = n;
  const lines = [
    info.inputFeeding
      ? String.raw`h_t = \mathrm{LSTM}([E\,y_{t-1}; \tilde h_{t-1}], h_{t-1}), \quad y_{t-1} = ${word(n.previous)}`
      : String.raw`h_t = \mathrm{LSTM}(E\,y_{t-1}, h_{t-1}), \quad y_{t-1} = ${word(n.previous)}`,
    SCORES[info.equation]!,
  ];
  const { focus } = step;
  if (info.equation === "luong_local" && focus !== null) {
    const length = step.weights.length;
    lines.push(
      String.raw`p_t = S \cdot \sigma(v_p^\top \tanh(W_p h_t)) = ${length} \cdot ${fixed(focus / length)} = ${fixed(focus)}`,
    );
    const best = largest(step.weights)[0];
    if (best !== undefined) {
      const bell = gaussian(best, focus, n.window);
      const share = bell > 1e-6 ? step.weights[best]! / bell : 0;
      lines.push(
        String.raw`a_t(s) = \mathrm{align}(h_t, \bar h_s) \exp\left(-\frac{(s - p_t)^2}{2 \sigma^2}\right), \; \sigma = \tfrac{D}{2} = ${fixed(n.window / 2, 1)}`,
        n.moved
          ? weight(n, A_T)
          : String.raw`a_t(${word(n.source[best])}) = ${fixed(share)} \cdot ${fixed(bell)} = ${fixed(step.weights[best]!)}`,
      );
    }
  } else {
    if (info.equation === "luong_local_m" && focus !== null) {
      lines.push(String.raw`p_t = t = ${fixed(focus, 0)}, \quad D = ${n.window}`);
    }
    lines.push(
      weight(
        n,
        A_T,
        "s",
        info.equation === "luong_location"
          ? undefined
          : String.raw`\mathrm{softmax}(\mathrm{score}(h_t, \bar h_s))`,
      ),
    );
  }
  lines.push(
    context(n, "c_t", "a_t(s)", String.raw`\bar h`),
    String.raw`\tilde h_t = \tanh(W_c [c_t; h_t])`,
    probability(n, String.raw`p(y_t) = \mathrm{softmax}(W_s \tilde h_t)`),
  );
  return lines;
}

function transformer(n: Numbers): string[] {
  return [
    String.raw`\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V`,
    String.raw`\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_{${n.info.heads?.[1] ?? "h"}})\, W^O`,
    weight(n, (s) => String.raw`\bar a_t(${s})`),
    probability(n, "p(y_t)"),
  ];
}

function lstmn(n: Numbers): string[] {
  return [
    String.raw`a_i^t = v^\top \tanh(W_h h_i + W_x x_t + W_{\tilde h} \tilde h_{t-1})`,
    String.raw`s_i^t = \mathrm{softmax}(a_i^t), \quad \tilde h_t = \sum_{i=1}^{t-1} s_i^t h_i, \quad \tilde c_t = \sum_{i=1}^{t-1} s_i^t c_i`,
    weight(n, (j) => `p_{${j}}^t`),
    probability(n, "p(y_t)"),
  ];
}

/** The largest weight, after how it is defined: `a_t(s) = softmax(…), a_t(dog) = 0.87`. */
function weight(n: Numbers, of: Weight, index = "s", definition?: string): string {
  const best = largest(n.step.weights)[0];
  const defined = definition && !n.moved ? [`${of(index)} = ${definition}`] : [];
  if (best === undefined) return defined[0] ?? of(index);
  const value = `${of(word(n.source[best]))} = ${fixed(n.step.weights[best]!)}`;
  return [...defined, value].join(String.raw`, \quad `);
}

/** The context as a sum over the words that count most. */
function context(n: Numbers, symbol: string, weights: string, state: string, index = "s"): string {
  const shown = largest(n.step.weights).slice(0, 3);
  const terms = shown.map(
    (s) => String.raw`${fixed(n.step.weights[s]!)}\,${state}_{${word(n.source[s])}}`,
  );
  const rest = sum(n.step.weights) - sum(shown.map((s) => n.step.weights[s]!));
  const more = rest > 0.005 ? String.raw` + \dots` : "";
  return String.raw`${symbol} = \sum_${index} ${weights}\, ${state}_${index} ${
    terms.length ? ` = ${terms.join(" + ")}${more}` : ""
  }`;
}

function probability(n: Numbers, left: string): string {
  return String.raw`${left}, \quad p(${word(n.chosen)}) = ${fixed(n.step.chosen.probability, 3)}`;
}

/** Indices of weights that are not 0, the largest first. */
function largest(weights: number[]): number[] {
  return weights
    .map((_, index) => index)
    .filter((index) => weights[index]! > 0.005)
    .sort((a, b) => weights[b]! - weights[a]!);
}

function fixed(value: number, digits = 2): string {
  return value.toFixed(digits);
}

const SPECIAL: Record<string, string> = {
  "\\": "\\textbackslash{}",
  "^": "\\textasciicircum{}",
  "~": "\\textasciitilde{}",
};

/** A text of a visitor or a model as LaTeX that stands for nothing but itself. */
export function word(text = ""): string {
  const escaped = text
    .replace(/\p{C}/gu, "")
    .replace(/[\\^~{}$&#_%]/g, (character) => SPECIAL[character] ?? `\\${character}`);
  return `\\text{${escaped || "␣"}}`;
}
