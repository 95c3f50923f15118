/**
 * Files of a model: fetched with progress, compared with their sha256, and kept by the
 * browser's Cache API under it.
 */

import { sha256 } from "@noble/hashes/sha2.js";

/** What is known of a file before it is fetched. */
export interface Listed {
  bytes: number;
  sha256: string;
}

/** What a request gives; where the network fails, an Error named "Unreachable". */
export async function reached<T>(url: string | URL, request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // it was aborted
    throw Object.assign(new Error(`no answer from ${url}`), { name: "Unreachable" });
  }
}

const CACHE = "zoo-explorer";

/**
 * The content of a file, from the cache if it is there.
 *
 * Throws an Error for a file that is missing, cut short or altered.
 */
export async function fetchListed(
  url: string,
  listed: Listed,
  progress: (bytes: number) => void = () => {},
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const key = new URL(`kept-${listed.sha256}`, url).href;
  const cache = await globalThis.caches?.open(CACHE).catch(() => undefined); // none in some windows
  const kept = await cache?.match(key);
  if (kept) {
    const bytes = new Uint8Array(await kept.arrayBuffer());
    if (await isListed(bytes, listed)) {
      progress(listed.bytes);
      return bytes;
    }
    await cache?.delete(key);
  }
  const bytes = await download(named(url, listed.sha256), listed.bytes, progress, signal);
  if (!(await isListed(bytes, listed))) {
    throw new Error(`${url} is not the file that was exported: it was cut short or altered`);
  }
  // A full disk, or a private window without storage: the file is at hand all the same.
  await cache?.put(key, new Response(bytes)).catch(() => {});
  return bytes;
}

/** The address of a file with this content, whatever a browser keeps for ever under another. */
export function named(url: string, sha256: string): string {
  return `${url}?${sha256.slice(0, 16)}`;
}

async function download(
  url: string,
  size: number,
  progress: (bytes: number) => void,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const response = await reached(url, fetch(url, { signal }));
  if (!response.ok || !response.body) {
    throw new Error(`${url} cannot be fetched: ${response.status} ${response.statusText}`);
  }
  const bytes = new Uint8Array(size);
  const reader = response.body.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reached(url, reader.read());
    if (done) break;
    if (at + value.length > size) {
      await reader.cancel();
      throw new Error(`${url} is not the file that was exported: it is longer`);
    }
    bytes.set(value, at);
    at += value.length;
    progress(at);
  }
  return bytes.slice(0, at);
}

async function isListed(bytes: Uint8Array<ArrayBuffer>, listed: Listed): Promise<boolean> {
  return bytes.length === listed.bytes && (await hex(bytes)) === listed.sha256;
}

/** The sha256 of bytes in hexadecimal digits. */
export async function hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  // A page that came by plain HTTP from another machine has no crypto.subtle.
  const digest = globalThis.crypto?.subtle
    ? new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
    : sha256(bytes);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The content of a gzip file; what a server has unpacked already is left as it is. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
