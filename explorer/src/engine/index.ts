/** `createEngine`: what the page runs models by. */

import { BrowserEngine, type Models } from "./browser";
import { reached } from "./files";
import type { Engine } from "./types";

export type * from "./types";

/** The engine of the models that models.json, beside the page, names. */
export async function createEngine(base: string = document.baseURI): Promise<Engine> {
  const url = new URL("models.json", base);
  const response = await reached(url, fetch(url, { cache: "no-cache" }));
  if (!response.ok) throw new Error(`models.json cannot be fetched: ${response.status}`);
  const list: Models = await response.json();
  return new BrowserEngine(base, list);
}
