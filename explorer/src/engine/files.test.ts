import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, expect, test, vi } from "vitest";

import { fetchListed, gunzip, hex } from "./files";

const content = Uint8Array.from({ length: 3000 }, (_, i) => i % 251);
const digest = createHash("sha256").update(content).digest("hex");
const listed = { bytes: content.length, sha256: digest };
const url = "https://example.org/page/models/tiny/step.onnx";

/** A browser's cache, and what was fetched. */
function browser(answer: () => Response) {
  const kept = new Map<string, Uint8Array<ArrayBuffer>>();
  const fetched = vi.fn(async (_url: string, _options: RequestInit) => answer());
  vi.stubGlobal("fetch", fetched);
  vi.stubGlobal("caches", {
    open: async () => ({
      match: async (key: string) => kept.has(key) && new Response(kept.get(key)),
      put: async (key: string, response: Response) => {
        kept.set(key, new Uint8Array(await response.arrayBuffer()));
      },
      delete: async (key: string) => kept.delete(key),
    }),
  });
  return { kept, fetched };
}

afterEach(() => vi.unstubAllGlobals());

test("a file is fetched once, with progress, and kept under its sha256", async () => {
  const { kept, fetched } = browser(() => new Response(content));
  const progress: number[] = [];
  expect(await fetchListed(url, listed, (bytes) => progress.push(bytes))).toEqual(content);
  expect(progress.at(-1)).toBe(content.length);
  expect([...kept.keys()]).toEqual([`https://example.org/page/models/tiny/kept-${digest}`]);
  expect(await fetchListed(url, listed)).toEqual(content);
  expect(fetched).toHaveBeenCalledTimes(1);
  expect(fetched).toHaveBeenCalledWith(`${url}?${digest.slice(0, 16)}`, { signal: undefined });
});

test("what the cache has altered is fetched again", async () => {
  const { kept, fetched } = browser(() => new Response(content));
  await fetchListed(url, listed);
  kept.forEach((bytes) => (bytes[5] ^= 1));
  expect(await fetchListed(url, listed)).toEqual(content);
  expect(fetched).toHaveBeenCalledTimes(2);
});

test.each([
  ["cut short", () => new Response(content.slice(0, -1)), "cut short or altered"],
  ["altered", () => new Response(content.map((x, i) => (i === 7 ? x ^ 1 : x))), "altered"],
  ["longer", () => new Response(new Uint8Array(3001)), "it is longer"],
  ["missing", () => new Response("", { status: 404 }), "cannot be fetched: 404"],
])("a file that is %s is refused, and not kept", async (_, answer, message) => {
  const { kept } = browser(answer);
  await expect(fetchListed(url, listed)).rejects.toThrow(message);
  expect(kept.size).toBe(0);
});

test.each([
  ["before", () => { throw new TypeError("Failed to fetch"); }],
  ["while", () => new Response(new ReadableStream({ pull: (body) => body.error(new TypeError("network error")) }))],
])("a server that is gone %s it sends a file is told from other errors", async (_, answer) => {
  browser(answer);
  await expect(fetchListed(url, listed)).rejects.toMatchObject({ name: "Unreachable", message: expect.stringContaining(url) });
});

test("a window without a cache, or a full one, fetches all the same", async () => {
  browser(() => new Response(content));
  vi.stubGlobal("caches", undefined);
  expect(await fetchListed(url, listed)).toEqual(content);
  const full = { match: async () => undefined, put: async () => Promise.reject(new Error()) };
  vi.stubGlobal("caches", { open: async () => full });
  expect(await fetchListed(url, listed)).toEqual(content);
});

test("sha256 is the same where the page has no crypto.subtle", async () => {
  expect(await hex(content)).toBe(digest);
  vi.stubGlobal("crypto", undefined);
  expect(await hex(content)).toBe(digest);
});

test("a packed file is unpacked, and one that the server has unpacked is left", async () => {
  expect(await gunzip(new Uint8Array(gzipSync(content)))).toEqual(content);
  expect(await gunzip(content)).toEqual(content);
});
