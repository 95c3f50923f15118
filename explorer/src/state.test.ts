import { expect, test } from "vitest";
import { DEFAULTS, MOST_TEXT, type State, change, decode, edit, encode, isEdited } from "./state";

const FULL: State = {
  text: "كلب & #%=+ 🐕 <script>",
  models: ["luong_local", "runs/my model"],
  selected: 1,
  tab: "steps",
  step: 4,
  unit: "pieces",
  head: [2, 3],
  beam: 5,
  length: 0.6,
  coverage: 0.2,
  edits: {
    luong_local: { prefix: [12, 7], banned: [9], attention: { 3: [0, 0.25, 0.75], "2.1.0": [1, 0, 0] }, window: 4 },
    "runs/my model": { prefix: [], banned: [3, 5], attention: {}, window: null },
  },
  language: "zh",
  theme: "dark",
};

test("the address has the whole state", () => {
  expect(decode(`#${encode(FULL)}`)).toEqual(FULL);
  expect(decode("")).toEqual(DEFAULTS);
  expect(encode(DEFAULTS)).toBe("");
});

test("each part of the state comes back alone", () => {
  for (const key of Object.keys(FULL) as (keyof State)[]) {
    if (key === "selected") continue;
    const state = { ...DEFAULTS, [key]: FULL[key] };
    expect(decode(encode(state))).toEqual(state);
  }
});

test.each([
  "beam=-3&length=NaN&coverage=1e400&step=-1&selected=99",
  "beam=1e9&head=a.b&tab=none&unit=x&lang=fr&theme=pink",
  "edit.a=p1.x.-2_bfoo_w-1_a2:0.0_a:1_a1.2:1_ax.1.1:1_zz&edit.=",
  "models=,,,a,a,b,c,d,e",
  "%E0%A4%A&=&&text",
])("nonsense in the address does no harm: %s", (hash) => {
  const state = decode(hash);
  expect(state.beam).toBeGreaterThanOrEqual(1);
  expect(state.beam).toBeLessThanOrEqual(8);
  expect(Number.isFinite(state.length + state.coverage + state.step)).toBe(true);
  expect(state.models.length).toBeLessThanOrEqual(4);
  expect(new Set(state.models).size).toBe(state.models.length);
  expect(state.head).toBeNull();
  for (const { prefix, attention, window } of Object.values(state.edits)) {
    expect(prefix).toEqual([1]);
    expect(attention).toEqual({});
    expect(window).toBeNull();
  }
});

test("weights in the address are normalised", () => {
  expect(decode("edit.m=a0:1.3").edits.m!.attention[0]).toEqual([0.25, 0.75]);
});

test("texts have a bound, and no half character", () => {
  const long = `${"x".repeat(MOST_TEXT - 1)}🐕🐕`;
  expect(change(DEFAULTS, { text: long }).text).toBe("x".repeat(MOST_TEXT - 1));
  expect(decode(`text=${"y".repeat(100_000)}`).text).toHaveLength(MOST_TEXT);
});

test("another text drops what belonged to the old one", () => {
  const kept = { prefix: [], banned: [9], attention: {}, window: 4 };
  const edits = { ...FULL.edits, luong_local: kept };
  expect(change(FULL, { text: "A dog." })).toEqual({ ...FULL, text: "A dog.", step: 0, edits });
  expect(change(FULL, { text: FULL.text })).toEqual(FULL);
});

test("a model's edits go with it", () => {
  const { luong_local } = FULL.edits;
  expect(change(FULL, { models: ["luong_local"] }).edits).toEqual({ luong_local });
  expect(change(FULL, { models: ["seq2seq", "luong_local"] }).edits).toEqual({ luong_local });
  expect(change(FULL, { selected: 0 }).edits).toEqual(FULL.edits);
});

test("opening the tree of a beam of one widens it", () => {
  expect(change(DEFAULTS, { tab: "beam" }).beam).toBe(4);
  expect(change({ ...DEFAULTS, beam: 2 }, { tab: "beam" }).beam).toBe(2);
  expect(change({ ...DEFAULTS, tab: "beam" }, { beam: 1 }).beam).toBe(1);
});

test("the selected model is one of those shown", () => {
  expect(change(FULL, { models: ["luong_local"] }).selected).toBe(0);
  expect(change(FULL, { models: [] }).selected).toBe(0);
});

test("edits come and go by model", () => {
  const once = edit(DEFAULTS, "a", { banned: [3] });
  expect(isEdited(once.edits.a)).toBe(true);
  const twice = edit(once, "b", { window: 2 });
  expect(Object.keys(twice.edits).sort()).toEqual(["a", "b"]);
  expect(edit(twice, "a", { banned: [] }).edits).toEqual({ b: twice.edits.b });
});
