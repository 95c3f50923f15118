/** The thread in which models run: the page's side is browser.ts. */

import * as ort from "onnxruntime-web/wasm";

import { fetchListed, gunzip, hex, type Listed, reached } from "./files";
import { OnnxDecoder, type Graphs, type OnnxState } from "./onnx";
import { Tokenizer } from "./tokenizer";
import { Translator, type Settings } from "./translator";
import type { Options } from "./types";

/** A model's manifest.json: see zoo/serving/export/manifest.py. */
interface Manifest extends Graphs {
  settings: Settings;
  heads: [number, number] | null;
  window: number | null;
  files: Record<string, Listed>;
}

export type Request =
  | { id: number; call: "load"; name: string; url: string; listed: Listed; runtime: string }
  | { id: number; call: "translate"; name: string; text: string; options: Options }
  | { id: number; call: "abort" };

export type Reply =
  | { id: number; progress: number }
  | { id: number; result: unknown }
  | { id: number; error: { name: string; message: string } };

const models = new Map<string, Translator<OnnxState>>();
const aborted = new Map<number, AbortController>(); // of the requests that run
let runtime: Promise<void> | undefined;
const send = (reply: Reply): void => self.postMessage(reply);

self.onmessage = async ({ data }: MessageEvent<Request>) => {
  const { id } = data;
  if (data.call === "abort") {
    aborted.get(id)?.abort();
    return;
  }
  const controller = new AbortController();
  aborted.set(id, controller);
  try {
    send({ id, result: await answer(data, controller.signal) });
  } catch (error) {
    const { name, message } = error as Error;
    send({ id, error: { name, message } });
  } finally {
    aborted.delete(id);
  }
};

async function answer(
  request: Exclude<Request, { call: "abort" }>,
  signal: AbortSignal,
): Promise<unknown> {
  if (request.call === "load") return load(request, signal);
  const model = models.get(request.name)!;
  return model.translate(request.text, request.options, async () => {
    await turn();
    signal.throwIfAborted();
  });
}

/** Fetches a model and the runtime; returns the pieces of its vocabulary. */
async function load(
  { id, name, url, listed, runtime: runtimeUrl }: Request & { call: "load" },
  signal: AbortSignal,
): Promise<string[]> {
  const content = await fetchListed(new URL("manifest.json", url).href, listed, undefined, signal);
  const manifest: Manifest = JSON.parse(new TextDecoder().decode(content));
  let fetched = 0;
  const files: Record<string, Uint8Array> = {};
  const ready = (runtime ??= loadRuntime(runtimeUrl).catch((error) => {
    runtime = undefined; // to be tried again
    throw error;
  }));
  for (const [file, entry] of Object.entries(manifest.files)) {
    const progress = (bytes: number) => send({ id, progress: fetched + bytes });
    files[file] = await fetchListed(new URL(file, url).href, entry, progress, signal);
    fetched += entry.bytes;
  }
  await ready;
  signal.throwIfAborted();
  const tokenizer = new Tokenizer(files["vocabulary.spm"]);
  const decoder = await OnnxDecoder.load(manifest, files);
  models.set(name, new Translator(tokenizer, decoder, manifest.settings, manifest));
  return tokenizer.pieces.map((piece) => piece.text);
}

async function loadRuntime(url: string): Promise<void> {
  const response = await reached(url, fetch(url));
  if (!response.ok) throw new Error(`${url} cannot be fetched: ${response.status}`);
  const bytes = await gunzip(new Uint8Array(await reached(url, response.arrayBuffer())));
  if ((await hex(bytes)) !== __RUNTIME_SHA256__) {
    throw new Error(`${url} is not the file that belongs to this page`);
  }
  ort.env.wasm.wasmBinary = bytes.buffer;
  ort.env.wasm.numThreads = 1; // more need headers that plain servers don't send
  ort.env.logLevel = "error";
}

/** Lets messages in that have come meanwhile: `await` alone doesn't. */
const channel = new MessageChannel();
const waiting: (() => void)[] = [];
channel.port1.onmessage = () => waiting.shift()!();

function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    channel.port2.postMessage(null);
  });
}
