/** The engine whose models run in Python: `zoo explore` answers at api/. */

import type { Models } from "./browser";
import { reached } from "./files";
import type { Engine, Model, ModelInfo, Options, Pictures, Pieces, Result } from "./types";

/** What api/load answers. */
type Loaded = { info: ModelInfo; pieces: string[] } & (Omit<Pictures, "read"> | object);

export class RemoteEngine implements Engine {
  readonly kind = "local";

  /** `base`: the address of the page's folder. */
  constructor(
    private readonly base: string,
    private readonly list: Models,
  ) {}

  async models(): Promise<ModelInfo[]> {
    return this.list.models.map((entry) => entry.info);
  }

  async load(
    name: string,
    progress: (done: number, total: number) => void,
    signal?: AbortSignal,
  ): Promise<Model> {
    progress(0, 1);
    const { info, pieces, ...pictures } = await this.ask<Loaded>("api/load", { name }, signal);
    progress(1, 1);
    const ids = new Map(pieces.map((piece, id) => [piece, id]));
    return {
      info,
      pieces: (source: string) => this.ask<Pieces>("api/pieces", { name, source }),
      run: (source: string, options: Options, signal?: AbortSignal) =>
        this.ask<Result>("api/run", { name, source, options }, signal),
      id: (piece: string) => ids.get(piece),
      ...("examples" in pictures && {
        pictures: { ...pictures, read: (file: Blob) => this.read(name, file) },
      }),
    };
  }

  private async read(name: string, file: Blob): Promise<string> {
    const path = `api/picture?name=${encodeURIComponent(name)}`;
    return (await this.ask<{ picture: string }>(path, file)).picture;
  }

  /** A request with a file, or with JSON. An error has the server's message. */
  private async ask<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
    const file = body instanceof Blob;
    const url = new URL(path, this.base);
    const request = fetch(url, {
      method: "POST",
      headers: { "Content-Type": file ? body.type || "image/png" : "application/json" },
      body: file ? body : JSON.stringify(body),
      signal,
    });
    const response = await reached(url, request);
    const type = response.headers.get("Content-Type") ?? "";
    if (!type.startsWith("application/json")) {
      throw new Error(`${path} cannot be fetched: ${response.status} ${response.statusText}`);
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error ?? response.statusText);
    return answer;
  }
}
