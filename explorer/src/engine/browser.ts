/** The engine that runs exported models in the page's own worker. */

import type { Engine, Model, ModelInfo, Options, Result } from "./types";
import { type Listed, named } from "./files";
import type { Reply, Request } from "./worker";

/** The content of models.json. */
export interface Models {
  /** What the page knows of each model, and where its files are. */
  models: { info: ModelInfo; folder: string; manifest: Listed }[];
}

type Ask = Request extends infer R ? (R extends unknown ? Omit<R, "id"> : never) : never;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  progress?(bytes: number): void;
}

export class BrowserEngine implements Engine {
  private readonly waiting = new Map<number, Waiting>();
  private worker: Worker | undefined;
  private count = 0;

  /** `base`: the address of the folder with models.json. */
  constructor(
    private readonly base: string,
    private readonly list: Models,
  ) {}

  async models(): Promise<ModelInfo[]> {
    return this.list.models.map((entry) => entry.info);
  }

  async load(name: string, progress: (done: number, total: number) => void): Promise<Model> {
    const entry = this.list.models.find(({ info }) => info.name === name);
    if (!entry) throw new RangeError(`no model is called ${name}`);
    const { info } = entry;
    const load: Ask = {
      call: "load",
      name,
      url: new URL(`${entry.folder}/`, this.base).href,
      listed: entry.manifest,
      runtime: named(new URL("assets/ort.wasm.gz", this.base).href, __RUNTIME_SHA256__),
    };
    const pieces = await this.ask<string[]>(load, undefined, (bytes) => progress(bytes, info.bytes));
    const ids = new Map(pieces.map((piece, id) => [piece, id]));
    return {
      info,
      run: (text: string, options: Options, signal?: AbortSignal) =>
        this.ask<Result>({ call: "translate", name, text, options }, signal),
      id: (piece: string) => ids.get(piece),
    };
  }

  private ask<T>(request: Ask, signal?: AbortSignal, progress?: Waiting["progress"]): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    const id = this.count++;
    this.worker ??= this.start();
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve: resolve as Waiting["resolve"], reject, progress });
      const abort = (): void => {
        this.waiting.delete(id);
        this.worker?.postMessage({ id, call: "abort" });
        reject(signal!.reason);
      };
      signal?.addEventListener("abort", abort, { once: true });
      this.worker!.postMessage({ ...request, id });
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const waiting = this.waiting.get(data.id);
      if (!waiting) return; // it was aborted
      if ("progress" in data) {
        waiting.progress?.(data.progress);
        return;
      }
      this.waiting.delete(data.id);
      if ("result" in data) waiting.resolve(data.result);
      else waiting.reject(Object.assign(new Error(data.error.message), { name: data.error.name }));
    };
    worker.onerror = ({ message }) => {
      // Without a message its script was not fetched: the next request starts another.
      if (!message) this.worker = undefined;
      const name = message ? "Error" : "Unreachable";
      for (const waiting of this.waiting.values()) {
        waiting.reject(Object.assign(new Error(message || "the worker's script is missing"), { name }));
      }
      this.waiting.clear();
    };
    return worker;
  }
}
