// @vitest-environment happy-dom
import { act } from "preact/test-utils";
import { expect, test } from "vitest";
import { createEngine } from "./engine/fake";
import { all, click, hover, input, mount, named, one, open, parameter, press, settle, texts, until } from "./testing";

const UNTOUCHED = "ein kleines Mädchen ist spielt mit ein Ball im der Park.";

test("without models in the address two are shown, and it is said what they are", async () => {
  await open("");
  expect(texts(".column h2")).toEqual(["Luong et al. 2015, local\u2011p", "Bahdanau et al. 2015"]);
  expect(texts(".translation")).toEqual([UNTOUCHED, UNTOUCHED]);
  expect(texts(".measure")[0]).toMatch(/^\d+(\.\d)? ms in this browser · greedy$/);
  expect(texts(".select")).toEqual(["Shown below", "Look inside"]);
});

test("the page is there before any model is", async () => {
  const engine = await createEngine();
  const load = engine.load.bind(engine);
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  engine.load = async (...given) => {
    await answered;
    return load(...given);
  };
  await mount(engine, "");
  await until(() => expect(all(".column progress")).toHaveLength(2));
  expect(texts(".column h2")).toEqual(["Luong et al. 2015, local\u2011p", "Bahdanau et al. 2015"]);
  expect(texts("h1")).toEqual(["Attention explorer"]);
  expect(one<HTMLTextAreaElement>("textarea").value).toBe("A little girl is playing with a ball in the park.");
  expect(all(".examples button")).toHaveLength(4);
  expect(all(".presets option").length).toBe(5);
  expect(all(".translation")).toHaveLength(0);
  await act(async () => {
    one<HTMLTextAreaElement>("textarea").value = "Two men.";
    one("textarea").dispatchEvent(new Event("input", { bubbles: true }));
  });
  expect(parameter("text")).toBe("Two men.");
  answer();
  await settle();
  expect(texts(".translation")).toEqual(["zwei Männer.", "zwei Männer."]);
});

test("unknown models in the address are left out", async () => {
  await open("models=nothing,seq2seq");
  expect(texts(".column code")).toEqual(["seq2seq"]);
  expect(texts(".column .quiet")).toContain(
    "This model has no attention: all it knows of the sentence is one vector.",
  );
});

test("another sentence is translated, and stands in the address", async () => {
  await open();
  await input(one("textarea"), "A black dog jumps.");
  expect(texts(".translation")).toEqual(["ein schwarzer Hund springt."]);
  expect(parameter("text")).toBe("A black dog jumps.");
  await input(one("textarea"), "");
  expect(texts(".translation")).toEqual(["Type a sentence above."]);
});

test("an engine's error is shown as text, and another sentence mends it", async () => {
  await open();
  const failing = input(one("textarea"), "break the engine <b>").catch(() => {}); // stays stale
  await until(() => expect(texts("[role=alert]").join()).toContain("the engine is broken"));
  await input(one("textarea"), "A dog.");
  expect(all("[role=alert]")).toHaveLength(0);
  await failing;
});

test("a server that is gone is named, in place of the model", async () => {
  const gone = Object.assign(new Error("no answer from models.json"), { name: "Unreachable" });
  await mount({ ...(await createEngine()), models: () => Promise.reject(gone) });
  expect(texts("[role=alert]")[0]).toMatch(/^The server of this page does not answer.*models\.json$/);
});

test("threads of models beside each other lie the same way", async () => {
  await open("models=luong_local,bahdanau&tab=steps&text=A dog over the red water.");
  const heights = () => all(".threads svg").map((svg) => svg.getAttribute("height"));
  expect(heights()).toEqual(["170", "170"]); // two lines
  await click(named(/^Katze .*continue/));
  expect(heights()).toEqual(["186", "186"]); // columns, though the other's words would fit
});

test("threads: a word lights the words of the other side by weight", async () => {
  await open();
  const lit = () => all<SVGElement>(".word-box").map((box) => box.style.fill).filter(Boolean);
  expect(lit()).toEqual([]);
  hover(all(".threads [data-side=target] .word")[2]!);
  expect(texts(".threads .weight")).toContain("72 %");
  expect(lit().length).toBe(texts(".threads .weight").length);
  expect(all(".heatmap .head.on").map((head) => head.textContent)).toEqual(["Mädchen"]);
  expect(one(".threads .self").getAttribute("aria-label")).toMatch(/^Mädchen, translated word. Attends to: girl 72 %/);
});

test("heatmap: keys move attention, for each piece of a word", async () => {
  await open();
  await press(one("[data-cell='1.0']"), "+");
  const edits = parameter("edit.luong_local")!;
  expect(edits).toMatch(/^a1:[\d.]+_a2:[\d.]+$/);
  for (const row of edits.split("_")) {
    const weights = row.split(":")[1]!.split(".").map(Number);
    expect(weights.reduce((a, b) => a + b)).toBeGreaterThan(990);
  }
});

test("local attention: curve, centre and window; another D", async () => {
  await open();
  expect(one(".bell-line").getAttribute("points")!.split(" ")).toHaveLength(97);
  const window = () => one(".bell-window").getAttribute("d");
  const before = window();
  await input(one(".slider input"), "2");
  expect(window()).not.toBe(before);
  expect(texts(".chip bdi")).toEqual(["window D = 2"]);
  await click(named(/Undo all/));
  expect(window()).toBe(before);
});

test("one head's attention is moved alone", async () => {
  await open("models=transformer&head=1.3");
  await press(one("[data-cell='1.0']"), "+");
  const edits = () => parameter("edit.transformer")!;
  expect(edits()).toMatch(/^a1\.1\.3:[\d.]+_a2\.1\.3:[\d.]+$/);
  expect(texts(".chip bdi")[0]).toBe("attention moved at “klein” (Layer 2, head 4)");
  await click(named(/^Step by step$/, "[role=tab]"));
  expect(one(".source-bars h3").textContent).toBe("What this step attends to (Layer 2, head 4)");
  await press(all(".source-bar")[5]!, "End");
  expect(edits()).toMatch(/_a0\.1\.3:[\d.]+$/); // of the step shown
  expect(all(".source-bar").map((bar) => bar.getAttribute("aria-valuenow"))[5]).toBe("100");
});

test("the LSTMN's look back, and no link where there is no page", async () => {
  await open("models=lstmn&tab=steps&step=3");
  expect(texts(".strip h3")).toEqual(["Looking back at earlier words"]);
  expect(texts(".strip-word")).toEqual(["(start)", "ein", "klein"]); // what was read at each step
  expect(texts(".panel .links a")).toEqual(["Paper"]);
});

test("steps: scrubbed, with ten candidates, the diagram and equations", async () => {
  await open("models=luong_local&tab=steps");
  expect(one(".scrubber output").textContent).toBe("1 / 14");
  await input(one(".scrubber input"), "3");
  expect(one(".scrubber input").getAttribute("aria-valuetext")).toBe("Step 4 of 14: Mädchen");
  expect(all(".candidates li")).toHaveLength(10);
  expect(texts(".chosen .candidate-word")).toEqual(["Mädchen"]);
  expect(one(".diagram svg").getAttribute("aria-label")).toMatch(/reads -es and writes Mädchen\. .*input feeding/);
  expect(all(".formula").map((formula) => formula.dataset.latex!).join()).toContain("\\text{Mädchen}");
  await click(named(/^Last step$/));
  expect(texts(".written .now")).toEqual(["(end)"]);
});

test("steps play to the end and stop", async () => {
  await open("models=luong_local&tab=steps&step=12");
  await click(named(/^Play$/));
  await until(() => expect(one(".scrubber output").textContent).toBe("14 / 14"));
  await settle();
  named(/^Play$/);
});

test("what if: another word, beside the untouched sentence", async () => {
  await open("models=luong_local&tab=steps&step=3");
  await click(named(/^und .*continue/));
  expect(texts(".translation")[0]).toMatch(/^ein kleines und /);
  expect(texts(".comparison dd")[0]).toBe(UNTOUCHED);
  expect(texts(".comparison ins")).toContain("und");
  expect(texts(".comparison del")).toContain("Mädchen");
  expect(texts(".chip bdi")).toEqual(["begins with “ein kleines und”"]);
  await click(named(/^Undo: begins/));
  expect(texts(".translation")).toEqual([UNTOUCHED]);
  expect(all(".what-if")).toHaveLength(0);
});

test("what if: a banned word, and one typed by hand", async () => {
  await open("models=luong_local&tab=steps&step=3");
  await click(named(/^Never use Mädchen$/));
  expect(texts(".chosen .candidate-word")).toEqual(["und"]);
  expect(texts(".banned .candidate-word")).toEqual(["Mädchen"]);
  expect(texts(".chip bdi")).toEqual(["without “Mädchen”"]);
  const submit = () => one(".typed").dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  await input(one(".typed input"), "qqq");
  await act(async () => void submit());
  expect(one(".typed [role=status]").textContent).toBe("“qqq” is not one piece of this model's vocabulary.");
  await input(one(".typed input"), "Katze");
  await act(async () => void submit());
  await settle();
  expect(texts(".translation")[0]).toContain("Katze");
});

test("what if: a ban ends a forced beginning, and can be lifted where it was set", async () => {
  await open("models=luong_local&tab=steps&step=3");
  await click(named(/^und .*continue/));
  await click(named(/^Never use und$/));
  expect(texts(".chip bdi")).toEqual(["begins with “ein kleines”", "without “und”"]);
  expect(texts(".translation")).toEqual([UNTOUCHED]);
  await click(named(/^Allow und again$/));
  expect(texts(".chip bdi")).toEqual(["begins with “ein kleines”"]);
});

test("what if: attention moved by keys changes the word", async () => {
  await open("models=luong_local&tab=steps&step=3");
  const bars = all(".source-bar");
  expect(bars[10]!.getAttribute("aria-label")).toBe("Attention to park");
  await press(bars[10]!, "End");
  expect(texts(".translation")[0]).toBe(UNTOUCHED.replace("Mädchen", "Park"));
  expect(all(".source-bar").map((bar) => bar.getAttribute("aria-valuenow"))[10]).toBe("100");
});

test("beam: a tree to walk, sliders and the n best", async () => {
  await open();
  await click(named(/^Beam$/, "[role=tab]"));
  expect(texts(".n-best tbody tr")).toHaveLength(4);
  const tree = all(".hypothesis").length;
  await input(one(".sliders input"), "2");
  expect(texts(".n-best tbody tr")).toHaveLength(2);
  expect(all(".hypothesis").length).toBeLessThan(tree);
  await press(all(".hypothesis")[0]!, "ArrowRight");
  expect(document.activeElement!.getAttribute("aria-label")).toMatch(/^klein -0\.\d\d: ein klein, live$/);
  expect(all(".tree [tabindex='0']")).toHaveLength(1);
  expect(texts(".measure")[0]).toContain("beam 2");
});

test.each([
  ["", ["Luong et al. 2015, local\u2011p", "Bahdanau et al. 2015"]], // as at first
  ["models=nothing", ["Luong et al. 2015, local\u2011p", "Bahdanau et al. 2015"]],
  ["models=seq2seq", ["Sutskever et al. 2014"]],
])("a pasted address is followed: %j", async (address, titles) => {
  await open();
  await act(async () => {
    location.hash = address;
    dispatchEvent(new Event("hashchange"));
  });
  await settle();
  expect(texts(".column h2")).toEqual(titles);
});
