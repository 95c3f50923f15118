/** `createEngine`: what the page runs models by. */

import { BrowserEngine, type Models } from "./browser";
import { reached } from "./files";
import { RemoteEngine } from "./remote";
import type { Engine } from "./types";

export type * from "./types";

/** The engine that models.json, beside the page, names: a server's, or the browser. */
export async function createEngine(base: string = document.baseURI): Promise<Engine> {
  const url = new URL("models.json", base);
  const response = await reached(url, fetch(url, { cache: "no-cache" }));
  if (!response.ok) throw new Error(`models.json cannot be fetched: ${response.status}`);
  const models: Models = await response.json();
  return models.engine === "local"
    ? new RemoteEngine(base, models)
    : new BrowserEngine(base, models);
}
