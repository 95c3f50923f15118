/** The contract between the page and the engine that runs models. */

/** What the page knows of a preset before it is loaded, from `models.json`. */
export interface ModelInfo {
  name: string;
  title: string;            // "Luong et al. 2015, local-p"
  paper: string;            // link to the paper
  lesson: string | null;    // link to the lesson
  page: string;             // link to docs/papers page
  languages: string[] | null; // the source's first
  bytes: number;            // to be fetched
  dtype: "float32" | "float16" | "int8";
  attention: "none" | "global" | "local" | "multi_head" | "memory";  // kind: what can be drawn
  heads: [layers: number, heads: number] | null;
  window: number | null;    // D of local attention
  inputFeeding: boolean;
  equation: string;         // key of the equation shown in the step view, e.g. "luong_local"
}

/** The record that zoo's Python `Translation` is: `zoo plot --json FILE` draws it. */
export interface Translation {
  text: string; score: number;
  tokens: string[]; source_tokens: string[];
  alignment: number[][];                 // tokens x source_tokens
  focus: number[] | null;                // p_t
  windows: [number, number][] | null;
  log_probs: number[] | null;
}

export interface Candidate { id: number; piece: string; probability: number }

/** One decoding step of a hypothesis. */
export interface Step {
  candidates: Candidate[];               // the ten likeliest, best first
  chosen: Candidate;
  weights: number[];                     // over source pieces
  heads: number[][][] | null;            // layers x heads x source pieces (Transformer)
  memory?: number[] | null;              // over earlier target steps (LSTMN)
  focus: number | null; window: [number, number] | null;
  values: Record<string, number>;        // numbers of the equation (norm of h_t, p_t, sigma, entropy …)
}

/** A node of the search's tree. parent: index or -1. */
export interface BeamNode {
  parent: number; step: number; piece: string; id: number;
  logProbability: number;                // of the piece
  score: number;                         // of the hypothesis so far, under the penalties
  state: "live" | "finished" | "dropped"; best: boolean;
}

export interface Options {
  beamSize: number; nBest: number;
  lengthPenalty: number; coveragePenalty: number;
  maxLength?: number;
  prefix?: number[];                     // forced ids from the beginning
  banned?: number[];
  attention?: Record<string, number[]>;  // "step", or "step.layer.head" of a Transformer -> weights that replace the model's, renormalised
  window?: number;                       // another D
  trace?: boolean;                       // fill steps and tree
}

export interface Result {
  translations: Translation[];           // n best
  steps: Step[];                         // of the best
  tree: BeamNode[];
  milliseconds: number;
}

export interface Model {
  info: ModelInfo;
  run(text: string, options: Options, signal?: AbortSignal): Promise<Result>;
  id(piece: string): number | undefined; // for forcing a word typed by hand
}

export interface Engine {
  models(): Promise<ModelInfo[]>;
  load(name: string, progress: (done: number, total: number) => void): Promise<Model>;
}
