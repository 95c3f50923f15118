/** The page in a document without a browser, for tests: what they find on it and do to it. */

import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { App } from "./app";
import { createEngine } from "./engine/fake";
import type { Engine } from "./engine/types";

vi.setConfig({ testTimeout: 20_000 }); // the first formula loads KaTeX
let root: HTMLElement;

// As a page with a doctype has it, which KaTeX asks for.
Object.defineProperty(document, "compatMode", { value: "CSS1Compat" });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }); // no test waits in real time
  document.body.innerHTML = "";
  root = document.body.appendChild(document.createElement("div"));
});

afterEach(() => {
  act(() => render(null, root));
  vi.useRealTimers();
  location.hash = "";
});

export const all = <T extends Element = HTMLElement>(selector: string) => [...root.querySelectorAll<T>(selector)];
export const one = <T extends Element = HTMLElement>(selector: string) => {
  const found = root.querySelector<T>(selector);
  if (!found) throw new Error(`nothing matches ${selector}`);
  return found;
};
export const texts = (selector: string) => all(selector).map((element) => element.textContent!.trim());
export const named = (name: RegExp, selector = "button") => {
  const found = all(selector).find((element) => name.test(element.getAttribute("aria-label") ?? element.textContent!));
  if (!found) throw new Error(`no ${selector} ${name}`);
  return found;
};

/** Waits until a check holds, for as long as a busy machine may take. */
export const until = (check: () => unknown) => vi.waitFor(check, { timeout: 15_000, interval: 5 });

async function wait(milliseconds: number) {
  await vi.advanceTimersByTimeAsync(milliseconds);
}

/** Until nothing is loading, stale or waiting; formulas may still be drawn. */
export async function settle() {
  await act(() => wait(60));
  await until(async () => {
    await act(() => wait(20));
    expect(all(".column").length).toBeGreaterThan(0);
    expect(all(".column").every((column) => column.querySelector(".measure"))).toBe(true);
    expect(all(".stale")).toHaveLength(0);
  });
}

/** Shows the page of an engine, which may still be loading then. */
export async function mount(engine: Engine, hash = "models=luong_local") {
  location.hash = hash;
  await act(async () => render(<App engine={engine} />, root));
}

export async function open(hash?: string) {
  await mount(await createEngine(), hash);
  await settle();
}

export const click = async (element: Element) => {
  await act(async () => {
    element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  });
  await settle();
};
export const press = async (element: Element, key: string) => {
  await act(async () => (element as HTMLElement).focus());
  await act(async () => {
    element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  });
  await settle();
};
export const input = async (element: Element, value: string) => {
  await act(async () => {
    (element as HTMLInputElement).value = value;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await settle();
};
export const hover = (element: Element) =>
  act(() => {
    element.dispatchEvent(new MouseEvent("mouseenter"));
  });

/** The part of the address of a name. */
export const parameter = (name: string) => new URLSearchParams(location.hash.slice(1)).get(name);
