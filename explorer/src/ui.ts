/** Small hooks and helpers that the views share. */

import { type RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** The width of an element's content in pixels, as it changes. */
export function useWidth<T extends HTMLElement>(usual: number): [RefObject<T | null>, number] {
  const ref = useRef<T>(null);
  const [width, setWidth] = useState(usual);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => setWidth(Math.floor(element.clientWidth) || usual);
    read();
    if (typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

/**
 * Marks the boxes that scroll sideways with the sides at which their content goes on, where the
 * style sheet fades it, and lets keys reach those without a control. Returns what ends it.
 */
export function markScrolling(root: HTMLElement): () => void {
  const mark = () => {
    for (const box of root.querySelectorAll<HTMLElement>(".scroll, .formula, .threads, .heads, .tabs")) {
      const passed = Math.abs(box.scrollLeft); // negative from right to left
      const rest = box.scrollWidth - box.clientWidth - passed;
      const [start, end] = getComputedStyle(box).direction === "rtl" ? ["right", "left"] : ["left", "right"];
      box.dataset.more = `${passed > 1 ? start : ""} ${rest > 1 ? end : ""}`;
      if (box.querySelector("[tabindex], button")) continue;
      if (passed + rest > 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  const observer = new MutationObserver(mark);
  observer.observe(root, { subtree: true, childList: true, attributeFilter: ["width"] });
  root.addEventListener("scroll", mark, { capture: true, passive: true });
  addEventListener("resize", mark);
  document.fonts?.addEventListener("loadingdone", mark);
  return () => {
    observer.disconnect();
    root.removeEventListener("scroll", mark, { capture: true });
    removeEventListener("resize", mark);
    document.fonts?.removeEventListener("loadingdone", mark);
  };
}

/** Whether a media query holds, as it changes. */
export function useMedia(query: string): boolean {
  const list = useRef(typeof matchMedia === "function" ? matchMedia(query) : null);
  const [matches, setMatches] = useState(list.current?.matches ?? false);
  useEffect(() => {
    const media = list.current;
    if (!media) return;
    const changed = () => setMatches(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return matches;
}

/** Dragging cells up and down: which one is dragged and its weight, and what listens to it. `tall` pixels are a weight of 1. */
export function useDrag(onMove: (cell: string, value: number) => void, tall = 120) {
  const [drag, setDrag] = useState<{ cell: string; from: number; start: number; value: number } | null>(null);
  const draggable = (cell: string, weight: number) => ({
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
      setDrag({ cell, from: event.clientY, start: weight, value: weight });
    },
    onPointerMove: (event: PointerEvent) => {
      if (!drag || drag.cell !== cell) return;
      const value = drag.start + (drag.from - event.clientY) / tall;
      setDrag({ ...drag, value: Math.min(1, Math.max(0, value)) });
    },
    onPointerUp: () => {
      if (drag && Math.abs(drag.value - drag.start) > 0.01) onMove(drag.cell, drag.value);
      setDrag(null);
    },
    onPointerCancel: () => setDrag(null),
  });
  return { drag, draggable };
}

let canvas: CanvasRenderingContext2D | null | undefined;

/** Returns a function that measures texts in the page's font of a size in pixels. */
export function measurer(size: number): (text: string) => number {
  if (canvas === undefined) {
    canvas = document.createElement("canvas").getContext?.("2d") ?? null;
  }
  const pen = canvas;
  if (!pen?.measureText) return (text) => Array.from(text).length * size * 0.56;
  return (text) => {
    pen.font = `${size}px ${FONT}`;
    return Math.ceil(pen.measureText(text).width);
  };
}

export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/** `0.873` as "87 %". */
export function percent(weight: number): string {
  return `${Math.round(100 * weight)} %`;
}

/** A probability in percent, with a digit behind the point where it is small. */
export function percentOf(probability: number): string {
  const share = 100 * probability;
  return share >= 9.95 ? `${share.toFixed(0)} %` : share >= 0.1 ? `${share.toFixed(1)} %` : "< 0.1 %";
}

/** A piece as a reader should see it; end tokens have a name. */
export function shown(piece: string, t: { end: string; start: string }): string {
  if (piece === "</s>") return t.end;
  return piece === "<s>" ? t.start : piece;
}

/** A text whose lines don't break at its hyphens: "local-p". */
export function unbroken(text: string): string {
  return text.replaceAll("-", "\u2011");
}

/** The index that a key moves to in a row of `count` things, or null. */
export function moved(key: string, index: number, count: number, vertical = false): number | null {
  const [back, on] = vertical ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  const to = { [back!]: index - 1, [on!]: index + 1, Home: 0, End: count - 1 }[key];
  return to === undefined ? null : Math.max(0, Math.min(count - 1, to));
}
