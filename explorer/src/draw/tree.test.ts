import { expect, test } from "vitest";
import type { BeamNode } from "../engine/types";
import { layOutTree, lineOf } from "./tree";

const measure = (text: string) => 8 * text.length;

function node(parent: number, step: number, score: number, state: BeamNode["state"] = "live"): BeamNode {
  return { parent, step, piece: `${step}`, id: 7, logProbability: score, score, state, best: false };
}

//  0 ┬ 3 ─ 6
//    └ 4
//  1 ┬ 5
//    └ 7 (dropped)
//  2 (dropped)
const TREE = [
  node(-1, 0, -1), node(-1, 0, -2), node(-1, 0, -3, "dropped"),
  node(0, 1, -1.5), node(0, 1, -4, "finished"), node(1, 1, -2.5),
  node(3, 2, -2, "finished"), node(1, 1, -9, "dropped"),
];

test("a column a step, hypotheses beside their parents, the better above", () => {
  const { nodes, places } = layOutTree(TREE, true, measure);
  expect(nodes).toHaveLength(8);
  const at = (index: number) => nodes[places.get(index)!]!;
  const steps = [0, 1, 2].map((step) => nodes.filter(({ node }) => node.step === step));
  steps.forEach((column) => expect(new Set(column.map(({ x }) => x)).size).toBe(1));
  expect(at(0).x).toBeLessThan(at(3).x);
  expect(at(3).x).toBeLessThan(at(6).x);
  const order = steps[1]!.sort((a, b) => a.y - b.y).map(({ index }) => index);
  expect(order).toEqual([3, 4, 5, 7]);
});

test("dropped hypotheses can be left out", () => {
  const { nodes, height } = layOutTree(TREE, false, measure);
  expect(nodes.map(({ index }) => index).sort()).toEqual([0, 1, 3, 4, 5, 6]);
  expect(height).toBeLessThan(layOutTree(TREE, true, measure).height);
});

test("no tree", () => {
  expect(layOutTree([], true, measure).nodes).toEqual([]);
});

test("a line leads from the first step to a node, and ends on a broken tree", () => {
  expect(lineOf(TREE, 6)).toEqual([0, 3, 6]);
  expect(lineOf(TREE, 2)).toEqual([2]);
  expect(lineOf([{ ...node(0, 0, 0) }], 0)).toEqual([0]); // its own parent
});
