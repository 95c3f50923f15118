import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Engine, Model, ModelInfo, Options, Result } from "./engine/types";
import { INFOS } from "./engine/fake";
import { Session } from "./session";
import { DEFAULTS, type State } from "./state";

const STATE: State = { ...DEFAULTS, models: ["bahdanau", "luong_local"], text: "a" };

/** An engine whose translations end when the test says so. */
class Slow implements Engine {
  calls: { name: string; text: string; options: Options; signal: AbortSignal; end: (error?: Error) => void }[] = [];
  loads: string[] = [];
  failing = false;

  async models() {
    return INFOS;
  }

  async load(name: string, progress: (done: number, total: number) => void) {
    this.loads.push(name);
    progress(5, 10);
    if (this.failing) throw new Error("disk full");
    const info = INFOS.find((one) => one.name === name) as ModelInfo;
    const run: Model["run"] = (text, options, signal) =>
      new Promise<Result>((resolve, reject) => {
        signal!.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
        const record = { text: text.toUpperCase(), score: 0, tokens: [], source_tokens: [], alignment: [], focus: null, windows: null, log_probs: null };
        const end = (error?: Error) =>
          error ? reject(error) : resolve({ translations: [record], steps: [], tree: [], milliseconds: 1 });
        this.calls.push({ name, text, options, signal: signal!, end });
      });
    return { info, run, id: () => undefined };
  }
}

const settle = () => vi.advanceTimersByTimeAsync(200);
let engine: Slow;
let session: Session;

beforeEach(async () => {
  vi.useFakeTimers();
  engine = new Slow();
  session = new Session(engine, () => {});
  await session.start();
});

afterEach(() => {
  session.stop();
  vi.useRealTimers();
});

const text = (name: string) => session.entries!.get(name)!.run?.result.translations[0]!.text;

test("the selected model is loaded and translated first, then the others", async () => {
  session.follow({ ...STATE, selected: 1 });
  await settle();
  expect(engine.loads.sort()).toEqual(["bahdanau", "luong_local"]);
  expect(engine.calls.map(({ name }) => name)).toEqual(["luong_local"]);
  engine.calls[0]!.end();
  await settle();
  expect(engine.calls.map(({ name }) => name)).toEqual(["luong_local", "bahdanau"]);
  expect(text("luong_local")).toBe("A");
});

test("typing waits, and a newer text stops the older one", async () => {
  session.follow(STATE);
  await settle();
  const typed = ["ab", "abc", "abcd"];
  for (const word of typed) session.follow({ ...STATE, text: word });
  expect(engine.calls[0]!.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(50);
  await settle();
  expect(engine.calls.map((call) => call.text)).toEqual(["a", "abcd"]);
  engine.calls[1]!.end();
  await settle();
  expect(text("bahdanau")).toBe("ABCD");
  expect(session.entries!.get("bahdanau")!.error).toBeNull();
});

test("the old translation stays, marked as stale, until the new one is there", async () => {
  session.follow({ ...STATE, models: ["bahdanau"] });
  await settle();
  engine.calls[0]!.end();
  await settle();
  session.follow({ ...STATE, models: ["bahdanau"], text: "b" });
  expect(session.entries!.get("bahdanau")!.stale).toBe(true);
  expect(text("bahdanau")).toBe("A");
  await settle();
  engine.calls[1]!.end();
  await settle();
  expect(session.entries!.get("bahdanau")!.stale).toBe(false);
  expect(text("bahdanau")).toBe("B");
});

test("what was translated before is not translated again", async () => {
  const one = { ...STATE, models: ["bahdanau"] };
  for (const word of ["a", "b", "a"]) {
    session.follow({ ...one, text: word });
    await settle();
    engine.calls.at(-1)!.end();
    await settle();
  }
  expect(engine.calls.map((call) => call.text)).toEqual(["a", "b"]);
  expect(text("bahdanau")).toBe("A");
});

test("edits are translated beside the untouched sentence", async () => {
  const edits = { bahdanau: { prefix: [4], banned: [5], attention: { 0: [1] }, window: 3 } };
  session.follow({ ...STATE, models: ["bahdanau"], edits, beam: 2, length: 0.5 });
  await settle();
  expect(engine.calls[0]!.options).toEqual({
    beamSize: 2, nBest: 2, lengthPenalty: 0.5, coveragePenalty: 0, trace: true,
    prefix: [4], banned: [5], attention: { 0: [1] }, window: 3,
  });
  engine.calls[0]!.end();
  await settle();
  expect(engine.calls[1]!.options).toEqual({
    beamSize: 2, nBest: 2, lengthPenalty: 0.5, coveragePenalty: 0, trace: true,
  });
  engine.calls[1]!.end();
  await settle();
  expect(session.entries!.get("bahdanau")!.run!.untouched).not.toBeNull();
});

test("a failed sentence is said once, and the next one is translated", async () => {
  session.follow({ ...STATE, models: ["bahdanau"] });
  await settle();
  engine.calls[0]!.end(new Error("too long"));
  await settle();
  expect(session.entries!.get("bahdanau")!.error!.message).toBe("too long");
  expect(engine.calls).toHaveLength(1);
  session.follow({ ...STATE, models: ["bahdanau"], text: "b" });
  await settle();
  engine.calls[1]!.end();
  await settle();
  expect(session.entries!.get("bahdanau")!.error).toBeNull();
});

test("a failed model is loaded again when asked to", async () => {
  engine.failing = true;
  session.follow({ ...STATE, models: ["bahdanau"] });
  await settle();
  expect(session.entries!.get("bahdanau")).toMatchObject({ status: "failed", error: { message: "disk full" }, done: 5, total: 10 });
  session.follow({ ...STATE, models: ["bahdanau"], text: "b" });
  await settle();
  expect(engine.loads).toHaveLength(1);
  engine.failing = false;
  session.retry("bahdanau");
  await settle();
  expect(session.entries!.get("bahdanau")).toMatchObject({ status: "ready", error: null });
});

test("titles leave out the languages, which stand beside them", async () => {
  const title = "Luong et al. 2015, local-p, the general score, English to German";
  engine.models = async () => [{ ...INFOS[0]!, title }];
  const other = new Session(engine, () => {});
  await other.start();
  expect(other.entries!.get("bahdanau")!.info.title).toBe("Luong et al. 2015, local-p, the general score");
});
