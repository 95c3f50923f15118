/** Pictures and records to keep: SVG and PNG of what is drawn, JSON of a translation. */

import type { Translation } from "./engine/types";

// What style sheets say and a file of its own has to say itself.
const PROPERTIES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "paint-order",
  "shape-rendering",
  "font-family",
  "font-size",
  "font-style",
  "font-weight",
  "text-anchor",
] as const;

/** An SVG file, and its size. */
export interface Sheet {
  svg: string;
  width: number;
  height: number;
}

/** Drawings below each other as one SVG file that looks as they do on the page. */
export function sheetOf(drawings: SVGSVGElement[], background: string): Sheet {
  const sheet = document.createElementNS(SVG, "svg");
  set(sheet.appendChild(document.createElementNS(SVG, "rect")), { width: "100%", height: "100%", fill: background });
  let [width, height] = [0, -GAP];
  for (const drawing of drawings) {
    const copy = sheet.appendChild(styled(drawing));
    height += GAP;
    set(copy, { y: height });
    const box = drawing.viewBox.baseVal;
    height += box.height;
    width = Math.max(width, box.width);
  }
  set(sheet, { xmlns: SVG, viewBox: `0 0 ${width} ${height}`, width, height });
  return { svg: new XMLSerializer().serializeToString(sheet), width, height };
}

function set(element: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

/** A copy of a drawing that needs no style sheet. */
function styled(drawing: SVGSVGElement): SVGSVGElement {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = [drawing, ...drawing.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((original, index) => {
    const style = getComputedStyle(original);
    const target = copies[index]!;
    for (const name of PROPERTIES) {
      const value = style.getPropertyValue(name);
      if (value) target.setAttribute(name, value);
    }
    for (const { name } of [...target.attributes]) {
      const kept = !/^(class|style|tabindex|role|data-|aria-)/.test(name);
      if (!kept) target.removeAttribute(name);
    }
  });
  for (const hidden of copy.querySelectorAll("[x='-999']")) hidden.remove();
  return copy;
}

const SVG = "http://www.w3.org/2000/svg";
const GAP = 24; // pixels between drawings

/** An SVG file as a PNG of twice its size. */
export async function pngOf({ svg, width, height }: Sheet): Promise<Blob> {
  const picture = new Image();
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await new Promise((resolve, reject) => {
      picture.onload = resolve;
      picture.onerror = () => reject(new Error("the drawing could not be read"));
      picture.src = address;
    });
    const canvas = document.createElement("canvas");
    canvas.width = 2 * width;
    canvas.height = 2 * height;
    canvas.getContext("2d")!.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The record of a translation, as `zoo.decoding.Translation.from_json` reads it. */
export function jsonOf(record: Translation): string {
  const { text, score, tokens, source_tokens, alignment, focus, windows, log_probs } = record;
  const fields = { text, score, tokens, source_tokens, alignment, focus, windows, log_probs };
  return `${JSON.stringify(fields)}\n`;
}

/** Hands a file to the browser's downloads. */
export function download(content: Blob | string, name: string, type: string): void {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
