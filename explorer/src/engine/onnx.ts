/** A translator's ONNX graphs by ONNX Runtime Web: `encode`, `start` and `step`. */

import * as ort from "onnxruntime-web/wasm";

import type { Decoder, Given, Output, WhatIf } from "./search";

const ROOM = 16; // steps for which a growing state has room at first

interface Tensor {
  name: string;
  dtype: "float32" | "int32" | "bool";
  shape: (number | string | null)[]; // letters are dynamic sizes; L grows with the target
}

export interface Graph {
  inputs: Tensor[];
  outputs: Tensor[];
}

/** What a manifest.json says that this file needs. */
export interface Graphs {
  graphs: Record<"encode" | "start" | "step", Graph>;
}

type Values = Float32Array | Int32Array | Uint8Array;

interface Leaf {
  values: Values;
  shape: number[];
}

/** The hypotheses' state, with the memory that they share. */
export interface OnnxState {
  rows: number;
  leaves: Record<string, Leaf>;
  memory: Record<string, ort.Tensor>;
  source: number; // pieces
  left: number; // steps for which a growing state has room yet
}

export class OnnxDecoder implements Decoder<OnnxState> {
  private readonly growing: Map<string, number>; // name -> the axis that grows
  private readonly heads: number[]; // layers and heads whose attention can be given

  private constructor(
    private readonly sessions: Record<string, ort.InferenceSession>,
    described: Graphs,
  ) {
    this.growing = new Map(
      described.graphs.step.inputs
        .filter((tensor) => tensor.shape.includes("L"))
        .map((tensor) => [tensor.name, tensor.shape.indexOf("L")]),
    );
    // There is none where a model has no attention.
    const attention = described.graphs.step.inputs.find(({ name }) => name === "attention");
    this.heads = (attention?.shape.slice(1, -1) ?? []) as number[];
  }

  /** Loads graphs. `files` has the content of `encode.onnx` and so on. */
  static async load(
    described: Graphs,
    files: Record<string, Uint8Array>,
  ): Promise<OnnxDecoder> {
    const sessions: Record<string, ort.InferenceSession> = {};
    for (const name of Object.keys(described.graphs)) {
      sessions[name] = await ort.InferenceSession.create(files[`${name}.onnx`], {
        executionProviders: ["wasm"],
      });
    }
    return new OnnxDecoder(sessions, described);
  }

  async start(sourceIds: readonly number[], room: number): Promise<OnnxState> {
    const source = ids(sourceIds, [1, sourceIds.length]);
    const memory = await this.run("encode", { source_ids: source });
    const left = this.growing.size ? Math.min(room, ROOM) : room;
    const length = ids([left], []);
    const leaves = leavesOf(await this.run("start", { length, ...memory }));
    return { rows: 1, leaves, memory, source: sourceIds.length, left };
  }

  async step(
    tokens: readonly number[],
    given: OnnxState,
    { attention, window }: WhatIf,
  ): Promise<[Output, OnnxState]> {
    const state = given.left ? given : this.withRoom(given);
    const { rows, memory, source, left } = state;
    const outputs = await this.run("step", {
      token_ids: ids(tokens, [rows]),
      attention: this.given(attention, source),
      window: ids([window ?? 0], []),
      ...memory,
      ...Object.fromEntries(
        Object.entries(state.leaves).map(([name, leaf]) => [name, tensorOf(leaf)]),
      ),
    });
    const leaves: Record<string, Leaf> = { ...state.leaves };
    const norms: Record<string, Float32Array> = {};
    for (const [name, tensor] of Object.entries(outputs)) {
      if (name.startsWith("new_")) leaves[name.slice(4)] = leafOf(tensor);
      if (name.startsWith("norm_")) norms[name.slice(5)] = tensor.data as Float32Array;
    }
    const output: Output = {
      rows,
      logits: outputs.logits.data as Float32Array,
      weights: outputs.weights.data as Float32Array,
      heads: (outputs.heads?.data as Float32Array) ?? null,
      focus: (outputs.focus?.data as Float32Array) ?? null,
      windows: (outputs.windows?.data as Int32Array) ?? null,
      recalled: (outputs.recalled?.data as Float32Array) ?? null,
      norms,
    };
    return [output, { ...state, leaves, left: left - 1 }];
  }

  /** Given attention as the graph takes it: zeros for the model's own. */
  private given(attention: Given[], source: number): ort.Tensor {
    const [layers, heads] = this.heads.length ? this.heads : [1, 1];
    const values = new Float32Array(layers * heads * source);
    for (const { head, weights } of attention) {
      const fits = !head || (this.heads.length && head[0] < layers && head[1] < heads);
      if (!fits) {
        throw new RangeError(
          `attention must be to one of the heads (${this.heads}). Received: ${head}`,
        );
      }
      for (let place = 0; place < layers * heads; place++) {
        const meant = !head || place === head[0] * heads + head[1];
        if (meant) values.set(weights, place * source);
      }
    }
    return new ort.Tensor(values, [1, ...this.heads, source]);
  }

  pick(state: OnnxState, rows: readonly number[]): OnnxState {
    if (rows.length === state.rows && rows.every((row, i) => row === i)) return state;
    const leaves = Object.entries(state.leaves).map(([name, { values, shape }]) => {
      const size = values.length / state.rows;
      const picked = new (values.constructor as new (n: number) => Values)(size * rows.length);
      rows.forEach((row, i) => {
        picked.set(values.subarray(row * size, (row + 1) * size), i * size);
      });
      return [name, { values: picked, shape: [rows.length, ...shape.slice(1)] }];
    });
    return { ...state, rows: rows.length, leaves: Object.fromEntries(leaves) };
  }

  /** The same state with twice the room: zeros behind what is there. */
  private withRoom(state: OnnxState): OnnxState {
    const leaves = { ...state.leaves };
    let more = 0;
    for (const [name, axis] of this.growing) {
      const { values, shape } = leaves[name];
      const inner = shape.slice(axis).reduce((a, b) => a * b, 1);
      more = shape[axis];
      const grown = new (values.constructor as new (n: number) => Values)(2 * values.length);
      for (let from = 0; from < values.length; from += inner) {
        grown.set(values.subarray(from, from + inner), 2 * from);
      }
      leaves[name] = { values: grown, shape: shape.with(axis, 2 * more) };
    }
    return { ...state, leaves, left: more };
  }

  /** Runs a graph on those of the tensors that are its inputs. */
  private async run(
    name: string,
    tensors: Record<string, ort.Tensor>,
  ): Promise<Record<string, ort.Tensor>> {
    const session = this.sessions[name];
    return session.run(
      Object.fromEntries(session.inputNames.map((input) => [input, tensors[input]])),
    );
  }
}

function ids(values: readonly number[], shape: number[]): ort.Tensor {
  return new ort.Tensor("int32", Int32Array.from(values), shape);
}

function leafOf(tensor: ort.Tensor): Leaf {
  return { values: tensor.data as Values, shape: [...tensor.dims] };
}

function leavesOf(tensors: Record<string, ort.Tensor>): Record<string, Leaf> {
  return Object.fromEntries(
    Object.entries(tensors).map(([name, tensor]) => [name, leafOf(tensor)]),
  );
}

function tensorOf({ values, shape }: Leaf): ort.Tensor {
  if (values instanceof Uint8Array) return new ort.Tensor("bool", values, shape);
  const dtype = values instanceof Int32Array ? "int32" : "float32";
  return new ort.Tensor(dtype, values, shape);
}
