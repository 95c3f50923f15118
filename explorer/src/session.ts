/** What is loaded and run: follows the state, a little later than it changes. */

import type { Engine, Model, ModelInfo, Options, Result } from "./engine/types";
import { type Edits, type State, isEdited } from "./state";

const TYPING = 120; // milliseconds without a key before a text is read
const SLIDING = 40; // the same for everything else
const KEPT = 80; // results

/** The result of one model, and of the same model left as it is. */
export interface Run {
  key: string;
  text: string;
  result: Result;
  /** Without a visitor's edits; null where there are none. */
  untouched: Result | null;
}

export interface Entry {
  info: ModelInfo;
  status: "new" | "loading" | "ready" | "failed";
  done: number;
  total: number;
  /** Of loading or running. */
  error: Error | null;
  model: Model | null;
  run: Run | null;
  /** Ids to pieces, as far as they were seen in results. */
  pieces: Map<number, string>;
  /** Whether `run` is of an older state. */
  stale: boolean;
}

export class Session {
  entries: Map<string, Entry> | null = null;
  /** Why there is no list of models. */
  error: Error | null = null;
  private state: State | null = null;
  private results = new Map<string, Result>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: { name: string; key: string; abort: AbortController } | null = null;
  private failed = new Map<string, string>(); // model to the key that failed

  constructor(
    readonly engine: Engine,
    private readonly changed: () => void,
  ) {}

  /** Lists the models; then `follow` can be called. */
  async start(): Promise<void> {
    try {
      const models = await this.engine.models();
      this.entries = new Map(models.map((info) => [info.name, entryOf(info)]));
    } catch (error) {
      this.error = error as Error;
    } finally {
      this.changed();
    }
  }

  /** Loads and runs what a state asks for, and gives up what it no longer does. */
  follow(state: State): void {
    const typed = this.state !== null && this.state.text !== state.text;
    this.state = state;
    for (const name of inOrder(state)) {
      if (this.entries?.get(name)?.status === "new") void this.load(name);
    }
    for (const [name, entry] of this.entries ?? []) {
      entry.stale = entry.run !== null && entry.run.key !== this.key(name);
    }
    this.changed();
    const { running } = this;
    if (running && !(state.models.includes(running.name) && this.key(running.name) === running.key)) {
      running.abort.abort();
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), typed ? TYPING : SLIDING);
  }

  /** Loads a model again that failed. */
  retry(name: string): void {
    this.failed.delete(name);
    const entry = this.entries?.get(name);
    if (!entry) return;
    entry.error = null;
    if (entry.model) void this.run();
    else void this.load(name);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.running?.abort.abort();
    this.state = null;
  }

  private async load(name: string): Promise<void> {
    const entry = this.entries!.get(name)!;
    Object.assign(entry, { status: "loading", done: 0, total: entry.info.bytes, error: null });
    this.changed();
    try {
      entry.model = await this.engine.load(name, (done, total) => {
        Object.assign(entry, { done, total });
        this.changed();
      });
      entry.status = "ready";
    } catch (error) {
      Object.assign(entry, { status: "failed", error: error as Error });
    }
    this.changed();
    void this.run();
  }

  /** Runs one model after the other until nothing is stale. */
  private async run(): Promise<void> {
    if (this.running) return; // it goes on with the newest state itself
    for (let name = this.next(); name !== null; name = this.next()) {
      const entry = this.entries!.get(name)!;
      const state = this.state!;
      const key = this.key(name);
      const abort = new AbortController();
      this.running = { name, key, abort };
      try {
        const edits = state.edits[name];
        const result = await this.result(entry, state.text, optionsOf(state, edits), abort.signal);
        const untouched = isEdited(edits)
          ? await this.result(entry, state.text, optionsOf(state, undefined), abort.signal)
          : null;
        entry.run = { key, text: state.text, result, untouched };
        entry.error = null;
      } catch (error) {
        if (!abort.signal.aborted) {
          entry.error = error as Error;
          this.failed.set(name, key);
        }
      }
      this.running = null;
      entry.stale = entry.run !== null && entry.run.key !== this.key(name);
      this.changed();
    }
  }

  private async result(
    entry: Entry,
    text: string,
    options: Options,
    signal: AbortSignal,
  ): Promise<Result> {
    const key = JSON.stringify([entry.info.name, text, options]);
    const known = this.results.get(key);
    if (known) return known;
    const result = await entry.model!.run(text, options, signal);
    signal.throwIfAborted();
    for (const { candidates, chosen } of result.steps) {
      for (const { id, piece } of [...candidates, chosen]) entry.pieces.set(id, piece);
    }
    this.results.set(key, result);
    if (this.results.size > KEPT) this.results.delete(this.results.keys().next().value!);
    return result;
  }

  /** The model to run. */
  private next(): string | null {
    const { state } = this;
    if (!state) return null;
    for (const name of inOrder(state)) {
      const entry = this.entries?.get(name);
      const key = this.key(name);
      if (!entry?.model) continue;
      if (entry.run?.key !== key && this.failed.get(name) !== key) return name;
    }
    return null;
  }

  private key(name: string): string {
    const state = this.state!;
    return JSON.stringify([state.text, optionsOf(state, state.edits[name])]);
  }
}

/** The models of a state, the selected one first. */
function inOrder(state: State): string[] {
  return [...new Set([state.models[state.selected]!, ...state.models])].filter(Boolean);
}

/** The options of a search for a state and a visitor's edits. */
export function optionsOf(state: State, edits: Edits | undefined): Options {
  const options: Options = {
    beamSize: state.beam,
    nBest: state.beam,
    lengthPenalty: state.length,
    coveragePenalty: state.coverage,
    trace: true,
  };
  if (edits?.prefix.length) options.prefix = edits.prefix;
  if (edits?.banned.length) options.banned = edits.banned;
  if (edits && Object.keys(edits.attention).length) options.attention = edits.attention;
  if (edits && edits.window !== null) options.window = edits.window;
  return options;
}

function entryOf(info: ModelInfo): Entry {
  return {
    // The languages stand beside the title.
    info: { ...info, title: info.title.replace(/, [^,]+ to [^,]+$/, "") },
    status: "new",
    done: 0,
    total: info.bytes,
    error: null,
    model: null,
    run: null,
    pieces: new Map(),
    stale: false,
  };
}
