/** Where the hypotheses of a beam are drawn: a column a step, a hypothesis near its parent. */

import type { BeamNode } from "../engine/types";

export interface Placed {
  index: number;
  node: BeamNode;
  x: number;
  y: number;
}

export interface Tree {
  nodes: Placed[];
  width: number;
  height: number;
  /** Index of a node to its place among `nodes`. */
  places: Map<number, number>;
}

export const ROW = 30;

/**
 * @param dropped whether hypotheses that fell out of the beam are drawn.
 * @param measure width of a text in pixels.
 */
export function layOutTree(
  tree: BeamNode[],
  dropped: boolean,
  measure: (text: string) => number,
): Tree {
  const parents = new Set(tree.filter(({ state }) => state !== "dropped").map(({ parent }) => parent));
  const steps: number[][] = [];
  tree.forEach((node, index) => {
    if (dropped || node.state !== "dropped" || parents.has(index)) {
      (steps[node.step] ??= []).push(index);
    }
  });
  const rows = new Map<number, number>();
  const nodes: Placed[] = [];
  const places = new Map<number, number>();
  let x = 16;
  let most = 1;
  for (const indices of steps) {
    if (!indices) continue;
    // Near their parents, so that few lines cross; the better above.
    indices.sort(
      (a, b) =>
        (rows.get(tree[a]!.parent) ?? 0) - (rows.get(tree[b]!.parent) ?? 0) ||
        tree[b]!.score - tree[a]!.score ||
        a - b,
    );
    let wide = 0;
    indices.forEach((index, row) => {
      rows.set(index, row);
      places.set(index, nodes.length);
      nodes.push({ index, node: tree[index]!, x, y: 18 + row * ROW });
      wide = Math.max(wide, measure(tree[index]!.piece));
    });
    most = Math.max(most, indices.length);
    x += wide + 46;
  }
  return { nodes, places, width: x, height: most * ROW + 12 };
}

/** Indices of a node's line from the first step to itself. */
export function lineOf(tree: BeamNode[], index: number): number[] {
  const line = [];
  for (let at = index; at >= 0 && at < tree.length; at = tree[at]!.parent) {
    line.unshift(at);
    if (tree[at]!.parent >= at) break; // a parent stands before its children
  }
  return line;
}
