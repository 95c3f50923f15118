// @vitest-environment happy-dom
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { createEngine } from "./engine/fake";
import { all, click, hover, input, mount, named, one, open, parameter, press, settle, texts, until } from "./testing";

const OWN = "data:image/png;base64,eA==";
/** All the attention of the first step, moved to one of so many pieces or places. */
const moved = (count: number) => `a0:${Array.from({ length: count }, (_, place) => (place === 7 ? 1000 : 0)).join(".")}`;

/** Chooses a file of one's own. */
async function choose(type: string) {
  const field = one<HTMLInputElement>("input[type=file]");
  Object.defineProperty(field, "files", { value: [new File(["x"], "x", { type })], configurable: true });
  await act(async () => void field.dispatchEvent(new Event("change", { bubbles: true })));
  await settle();
}

test("a captioner: a word lights places, a place words", async () => {
  await open("models=show_attend_tell&step=1");
  expect(all("textarea")).toHaveLength(0);
  expect(texts(".translation")).toEqual(["a yellow square in the top left"]);
  expect(texts(".column .caption-word")).toEqual(["a", "yellow", "square", "in", "the", "top", "left"]);
  const dims = () => all<SVGElement>(".column .dim").map((rect) => rect.style.opacity);
  expect(dims()).toEqual(Array(24).fill("0"));
  hover(all(".column .caption-word")[1]!);
  expect(dims().indexOf("0.000")).toBe(9); // 7 · 1 + 2
  expect(all(".column .caption-word")[1]!.getAttribute("aria-label")).toMatch(/^yellow\. Looks most at: row 2, column 4 \d+ %;/);
  hover(one(".column [data-place='9']"));
  expect(one(".column [data-place='9']").getAttribute("aria-label")).toMatch(/^row 2, column 4\. Looked at most by: yellow \d+ %;/);
  const lit = all(".column .caption-word").filter((word) => word.style.background);
  expect(lit.map((word) => word.textContent)).toContain("yellow");
  expect(texts(".frame[aria-pressed=true] .frame-word")).toEqual(["yellow"]);
  await click(all(".frame")[2]!);
  expect(location.hash).toContain("step=2");
});

test("a captioner's places are walked by arrows, and keys move attention", async () => {
  await open("models=show_attend_tell");
  expect(all(".tabpanel .picture [tabindex='0']")).toHaveLength(1);
  await press(one(".tabpanel [data-place='0']"), "ArrowDown");
  await press(one(".tabpanel [data-place='6']"), "ArrowRight");
  expect(document.activeElement!.getAttribute("aria-label")).toMatch(/^row 2, column 2: [\d.<]+ ?[\d.]* %$/);
  for (let i = 0; i < 6; i++) await press(one(".tabpanel [data-place='7']"), "+");
  expect(parameter("edit.show_attend_tell")).toMatch(/^a0:[\d.]+$/);
  expect(texts(".translation")[0]).toMatch(/^2,2 yellow/);
  expect(texts(".chip bdi")[0]).toMatch(/^attention moved at/);
  await click(named(/^Step by step$/, "[role=tab]"));
  expect(all(".source-bars")).toHaveLength(0);
  expect(all(".step-picture .place")).toHaveLength(24);
  expect(all(".formula").map((formula) => formula.dataset.latex!).join()).toContain("\\text{(2,2)}");
  await click(named(/^Beam$/, "[role=tab]"));
  expect(texts(".sliders label")).toEqual(["Beam size", "Length penalty"]);
  expect(all(".hypothesis").length).toBeGreaterThan(5);
});

test("a captioner's pictures: examples, a file, one that cannot be read", async () => {
  await open("models=show_attend_tell,luong_local");
  expect(all("textarea")).toHaveLength(1);
  await click(named(/^Example picture 2$/));
  expect(texts(".translation")[0]).toBe("a small pink square below a small blue ring");
  expect(parameter("picture")).toBe("1");
  await choose("image/gif");
  expect(texts("[role=alert]")[0]).toContain("the picture is no PNG");
  await choose("image/png");
  expect(all("[role=alert]")).toHaveLength(0);
  expect(texts(".translation")[0]).toBe("a picture of one's own");
  expect(parameter("picture")).toBe(OWN);
  expect(named(/^Your picture$/).getAttribute("aria-pressed")).toBe("true");
});

test("a picture of one's own can be chosen again after an example", async () => {
  await open("models=show_attend_tell,luong_local");
  expect(all(".thumbnail")).toHaveLength(2);
  await choose("image/png");
  for (const [language, name] of [["en", "Your picture"], ["de", "Ihr Bild"], ["zh", "您的图片"]] as const) {
    await act(async () => {
      const languages = one<HTMLSelectElement>(".settings select");
      languages.value = language;
      languages.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await click(all(".thumbnail")[0]!);
    expect(parameter("picture")).toBeNull(); // the first example
    expect(all(".thumbnail").map((button) => button.getAttribute("aria-pressed"))).toEqual(["true", "false", "false"]);
    const own = named(new RegExp(`^${name}$`));
    expect(own.querySelector("img")!.getAttribute("src")).toBe(OWN);
    await click(own);
    expect(parameter("picture")).toBe(OWN);
    expect(own.getAttribute("aria-pressed")).toBe("true");
    expect(texts(".translation")[0]).toBe("a picture of one's own");
  }
});

test("a picture of one's own is kept while no captioner is shown", async () => {
  await open("models=show_attend_tell,luong_local");
  await choose("image/png");
  await click(all(".thumbnail")[0]!);
  await click(all(".remove")[0]!);
  expect(all(".thumbnail")).toHaveLength(0);
  await act(async () => {
    const presets = one<HTMLSelectElement>(".presets select");
    presets.value = "show_attend_tell";
    presets.dispatchEvent(new Event("change", { bubbles: true }));
  });
  await settle();
  expect(all(".thumbnail")).toHaveLength(3);
});

test("another sentence leaves a captioner's edits alone, another picture a translator's", async () => {
  const [places, pieces] = [moved(24), moved(12)];
  const edited = `models=show_attend_tell,luong_local&step=2&edit.show_attend_tell=${places}&edit.luong_local=${pieces}`;
  await open(edited);
  const caption = texts(".translation")[0];
  expect(caption).toMatch(/^2,2 yellow/);
  await input(one("textarea"), "A dog.");
  expect([parameter("edit.show_attend_tell"), parameter("edit.luong_local")]).toEqual([places, null]);
  expect(texts(".translation")[0]).toBe(caption);
  expect(parameter("step")).toBe("2");
  await act(async () => {
    location.hash = edited;
    dispatchEvent(new Event("hashchange"));
  });
  await settle();
  await click(named(/^Example picture 2$/));
  expect([parameter("edit.show_attend_tell"), parameter("edit.luong_local")]).toEqual([null, pieces]);
  expect(parameter("step")).toBeNull();
});

test("a captioner without examples waits for a picture", async () => {
  const engine = await createEngine();
  const load = engine.load.bind(engine);
  engine.load = async (...given) => {
    const model = await load(...given);
    return Object.assign(model, { pictures: { ...model.pictures!, examples: [] } });
  };
  await mount(engine, "models=show_attend_tell");
  await until(() => expect(texts(".column .quiet")).toEqual(["Choose a picture above."]));
  expect(all(".thumbnail")).toHaveLength(0);
  expect(all(".panel")).toHaveLength(0);
  await choose("image/png");
  expect(texts(".translation")).toEqual(["a picture of one's own"]);
  expect(texts(".column .quiet")).toEqual([]);
});
