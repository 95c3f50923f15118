/** The engine whose models run in Python: `zoo explore` answers at api/. */

import type { Models } from "./browser";
import type { Engine, Model, ModelInfo, Options, Pieces, Result } from "./types";

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
    const loaded = await this.ask<{ info: ModelInfo; pieces: string[] }>(
      "api/load",
      { name },
      signal,
    );
    progress(1, 1);
    const ids = new Map(loaded.pieces.map((piece, id) => [piece, id]));
    return {
      info: loaded.info,
      pieces: (text: string) => this.ask<Pieces>("api/pieces", { name, text }),
      translate: (text: string, options: Options, signal?: AbortSignal) =>
        this.ask<Result>("api/translate", { name, text, options }, signal),
      id: (piece: string) => ids.get(piece),
    };
  }

  /** A request by POST with a body, else by GET. An error has the server's message. */
  private async ask<T>(path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await fetch(new URL(path, this.base), {
      method: body === undefined ? "GET" : "POST",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
    const type = response.headers.get("Content-Type") ?? "";
    if (!type.startsWith("application/json")) {
      throw new Error(`${path} cannot be fetched: ${response.status} ${response.statusText}`);
    }
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error ?? response.statusText);
    return answer;
  }
}
