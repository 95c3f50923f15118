/**
 * Goes through the page by real clicks and keys in headless Chromium.
 *
 *     node tests/page.mjs FOLDER DOWNLOADS
 *
 * FOLDER is a built page, with the engine of the tests or an export with `luong_local`,
 * `bahdanau` and `transformer`. Prints a JSON object: each check's error or null, and what
 * the browser complained of. $CHROMIUM is the browser's path.
 */

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launch, open, serve } from "./browser.mjs";

const [folder, downloads] = process.argv.slice(2);
await mkdir(downloads, { recursive: true });
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { address, server } = await serve(folder);
const browser = await launch();
const checks = {};
const problems = [];
const facts = {};

async function visit(hash = "", options = {}) {
  const opened = await open(browser, `${address}#${hash}`, options);
  opened.problems.push = (...entries) => problems.push(...entries);
  await settled(opened.page);
  return opened.page;
}

/** Waits until every column has the translation of what is asked for. */
async function settled(page) {
  await page.waitForTimeout(200); // longer than the page waits after a key
  await page.waitForFunction(
    () =>
      document.querySelector(".column") &&
      [...document.querySelectorAll(".column")].every(
        (column) => column.querySelector(".measure") && !column.querySelector(".stale"),
      ),
    null,
    { timeout: 120_000 },
  );
}

const translations = (page) => page.$$eval(".translation", (all) => all.map((one) => one.textContent));
/** A part of the address, which follows the page a moment later. */
async function parameter(page, name) {
  await page.waitForTimeout(150);
  return page.evaluate((key) => new URLSearchParams(location.hash.slice(1)).get(key), name);
}

async function check(name, run) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) return;
  let page;
  try {
    await run(async (...given) => (page = await visit(...given)));
    checks[name] = null;
  } catch (error) {
    checks[name] = String(error.stack ?? error).slice(0, 1500);
    await page?.screenshot({ path: `${downloads}/failed_${Object.keys(checks).length}.png`, fullPage: true });
  } finally {
    await page?.context().close();
  }
}

const LOCAL = "models=luong_local";

// === The seven points ===

await check("1 up to four models translate as one types", async (visit) => {
  const page = await visit("models=luong_local,bahdanau");
  const before = await translations(page);
  assert.equal(before.length, 2);
  await page.getByLabel("Sentence to translate").fill("");
  await page.getByLabel("Sentence to translate").pressSequentially("A black dog jumps over a fence.", { delay: 15 });
  await settled(page);
  const typed = await translations(page);
  assert.notDeepEqual(typed, before);
  assert.equal(await parameter(page, "text"), "A black dog jumps over a fence.");
  for (const text of await page.$$eval(".measure", (all) => all.map((one) => one.textContent))) {
    assert.match(text, /^\d+(\.\d)? ms in this browser · greedy/);
  }
  const add = page.getByLabel("Add a model");
  const others = await add.locator("option").evaluateAll((all) => all.map((one) => one.value).filter(Boolean));
  for (const name of others.slice(0, 2)) await add.selectOption(name);
  await settled(page);
  assert.equal((await translations(page)).length, Math.min(4, 2 + others.length));
  if (others.length > 2) assert.ok(await add.isDisabled());
  await page.locator(".remove").last().click();
  await page.waitForFunction((n) => document.querySelectorAll(".column").length === n, Math.min(3, 1 + others.length));
  await page.getByRole("button", { name: "Two men in red shirts" }).click();
  await settled(page);
  assert.notDeepEqual((await translations(page)).slice(0, 2), typed);
});

await check("1 the newest text wins over those typed before it", async (visit) => {
  const page = await visit(`${LOCAL}&text=A`);
  const field = page.getByLabel("Sentence to translate");
  for (const text of ["A dog", "A dog is", "A dog is in the", "A dog is in the park."]) {
    await field.fill(text);
    await page.waitForTimeout(125);
  }
  await settled(page);
  const typed = await translations(page);
  const fresh = await visit(`${LOCAL}&text=${encodeURIComponent("A dog is in the park.")}`);
  assert.deepEqual(await translations(fresh), typed);
  await page.context().close();
});

await check("2 threads light up in both directions, by pointer and by keys", async (visit) => {
  const page = await visit(LOCAL);
  const lit = (side) =>
    page.$$eval(`.threads [data-side=${side}] .word-box`, (all) => all.filter((one) => one.style.fill).length);
  const word = (side, i) => page.locator(`.threads [data-side=${side}] .word`).nth(i);
  assert.equal(await lit("source"), 0);
  await word("target", 1).hover();
  assert.ok((await lit("source")) > 0);
  assert.match(await page.locator(".threads .weight").first().textContent(), /^\d+ %$/);
  await word("source", 2).hover();
  assert.ok((await lit("target")) > 0);
  assert.equal(await lit("source"), 0);
  await page.mouse.move(2, 2);
  await word("source", 0).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  const label = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  assert.match(label, /, source word\. (Attended to by: .+ \d+ %|Nothing)/);
  assert.ok((await lit("target")) > 0);
});

await check("2 the heatmap has the threads' words, numbers on demand, and the curve of p_t", async (visit) => {
  const page = await visit(LOCAL);
  const cells = page.locator(".heatmap [role=gridcell]");
  const rows = await page.locator(".threads [data-side=target] .word").count();
  const columns = await page.locator(".threads [data-side=source] .word").count();
  assert.equal(await cells.count(), rows * columns);
  await cells.nth(1).hover();
  assert.match(await page.locator(".heatmap .readout").textContent(), /attends to .+: \d+ %/);
  assert.equal(await page.locator(".heatmap .number").count(), 0);
  await page.getByLabel("Numbers in the cells").check();
  assert.ok((await page.locator(".heatmap .number").count()) >= rows);
  assert.ok((await page.locator(".heatmap .bell-line").getAttribute("points")).split(" ").length > 50);
  assert.match(await page.locator(".heatmap .bell-window").getAttribute("d"), /^M[\d.]+/);
  const peak = () => page.locator(".heatmap .bell-focus").getAttribute("x1");
  await page.locator(".threads [data-side=target] .word").nth(0).hover();
  const first = await peak();
  await page.locator(".threads [data-side=target] .word").nth(rows - 1).hover();
  assert.notEqual(await peak(), first);
  await cells.first().focus();
  for (const key of ["ArrowDown", "ArrowRight", "End", "Home"]) await page.keyboard.press(key);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.cell), "1.0");
  assert.equal(await page.locator(".heatmap [tabindex='0']").count(), 1);
  await page.getByText("The same as a table of numbers").click();
  await page.waitForSelector(".as-table tbody tr");
  assert.equal(await page.locator(".as-table tbody tr").count(), rows);
  await page.getByLabel("pieces", { exact: true }).check();
  assert.equal(await parameter(page, "unit"), "pieces");
});

await check("2 heads of the Transformer by layer", async (visit) => {
  const page = await visit("models=transformer");
  const fills = async () => {
    await page.waitForTimeout(100);
    return page.$$eval(".heatmap .cell rect", (all) => all.map((one) => one.style.fill).join());
  };
  const mean = await fills();
  const heads = page.getByRole("radiogroup", { name: "Layer and head" });
  await heads.getByRole("radio", { name: "Layer 1, head 2" }).click();
  assert.notEqual(await fills(), mean);
  assert.equal(await parameter(page, "head"), "0.1");
  await page.keyboard.press("ArrowRight");
  assert.equal(await parameter(page, "head"), "0.2");
  await heads.getByRole("radio", { name: "Mean" }).click();
  assert.equal(await fills(), mean);
});

await check("3 step by step: play, pause, scrub, ten candidates, input feeding, equations", async (visit) => {
  const page = await visit(LOCAL);
  await page.getByRole("tab", { name: "Step by step" }).click();
  const step = page.getByRole("slider", { name: "Step", exact: true });
  assert.equal(await step.inputValue(), "0");
  await page.getByRole("button", { name: "Play", exact: true }).click();
  await page.waitForFunction(() => Number(document.querySelector(".scrubber input").value) >= 2);
  await page.getByRole("button", { name: "Pause" }).click();
  const paused = await step.inputValue();
  await page.waitForTimeout(1200);
  assert.equal(await step.inputValue(), paused);
  await step.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  assert.equal(await parameter(page, "step"), "1");
  assert.match(await step.getAttribute("aria-valuetext"), /^Step 2 of \d+: /);
  assert.equal(await page.locator(".candidates li").count(), 10);
  const bars = await page.$$eval(".bar", (all) => all.map((one) => one.getBoundingClientRect().width));
  assert.deepEqual(bars, [...bars].sort((a, b) => b - a));
  assert.equal(await page.locator(".diagram .feeding path").count(), 1);
  await page.waitForSelector(".formula .katex");
  const formulas = await page.locator(".equations").textContent();
  assert.match(formulas, /= \d+⋅\d\.\d\d=\d+\.\d\d|\d+ ?⋅ ?\d\.\d\d ?= ?\d+\.\d\d/);
  const chosen = await page.locator(".written .now").textContent();
  await page.getByRole("button", { name: "One step on" }).click();
  assert.notEqual(await page.locator(".diagram").textContent(), "");
  assert.ok((await page.locator(".diagram svg").getAttribute("aria-label")).includes(chosen));
});

await check("4 the beam as a tree, with sliders and the n best", async (visit) => {
  const page = await visit(LOCAL);
  await page.getByRole("tab", { name: "Beam" }).click();
  await settled(page);
  assert.equal(await parameter(page, "beam"), "4");
  assert.equal(await page.locator(".n-best tbody tr").count(), 4);
  const size = page.getByRole("slider", { name: "Beam size" });
  await size.focus();
  await page.keyboard.press("ArrowLeft");
  await settled(page);
  assert.equal(await page.locator(".n-best tbody tr").count(), 3);
  const scores = await page.$$eval(".n-best .figure", (all) => all.map((one) => Number(one.textContent)));
  assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
  for (const state of ["live", "finished", "dropped"]) {
    assert.ok((await page.locator(`.hypothesis.${state}`).count()) > 0, state);
  }
  const all = await page.locator(".hypothesis").count();
  await page.getByLabel("Show dropped hypotheses").uncheck();
  assert.ok((await page.locator(".hypothesis").count()) < all);
  await page.locator(".hypothesis").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator(".tree .readout").textContent(), /-?\d+\.\d\d: .+, (live|finished)/);
  for (const [name, key] of [["Length penalty", "length"], ["Coverage penalty", "coverage"]]) {
    await page.getByRole("slider", { name }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    assert.ok(Number(await parameter(page, key)) > 0, key);
  }
  await settled(page);
});

await check("5 force a word, ban one, and compare with the untouched run", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps&step=1`);
  const [untouched] = await translations(page);
  const other = page.locator(".candidates li:not(.chosen)").first();
  const piece = (await other.locator(".candidate-word").textContent()).trim();
  await other.locator(".candidate").click();
  await settled(page);
  const [forced] = await translations(page);
  assert.notEqual(forced, untouched);
  assert.ok(forced.includes(piece.replace(/^-/, "")), `${piece} in ${forced}`);
  assert.equal(await page.locator(".comparison dd").first().textContent(), untouched);
  assert.ok((await page.locator(".comparison :is(ins, del)").count()) > 0);
  await page.getByRole("button", { name: "Undo all" }).click();
  await settled(page);
  assert.deepEqual(await translations(page), [untouched]);
  assert.equal(await page.locator(".what-if").count(), 0);
  const banned = (await page.locator(".candidates li.chosen .candidate-word").textContent()).trim();
  await page.locator(".candidates li.chosen .ban").click();
  await settled(page);
  assert.equal((await page.locator(".banned .candidate-word").textContent()).trim(), banned);
  assert.notEqual((await page.locator(".chosen .candidate-word").textContent()).trim(), banned);
  assert.ok((await page.locator(".chip").first().textContent()).includes(banned));
  await page.locator(".chip button").first().click();
  await settled(page);
  assert.deepEqual(await translations(page), [untouched]);
  await page.getByLabel("Another piece").fill("qqqqq<b>");
  await page.keyboard.press("Enter");
  assert.match(await page.locator(".typed [role=status]").textContent(), /qqqqq<b>.*not one piece/);
});

await check("5 move attention by dragging and by keys, and switch the window", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps&step=3`);
  const [untouched] = await translations(page);
  const bars = page.locator(".source-bar");
  const count = await bars.count();
  const target = bars.nth(count - 2);
  await target.scrollIntoViewIfNeeded();
  const box = await target.locator(".bar-room").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 3);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 4, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.match(await parameter(page, "edit.luong_local"), /^a3:[\d.]+$/);
  const weight = Number(await bars.nth(count - 2).getAttribute("aria-valuenow"));
  assert.ok(weight > 80, `${weight}`);
  assert.match(await page.locator(".chip").first().textContent(), /attention moved/);
  const [moved] = await translations(page);
  assert.notEqual(moved, untouched);
  await bars.nth(0).focus();
  await page.keyboard.press("End");
  await settled(page);
  assert.equal(await bars.nth(0).getAttribute("aria-valuenow"), "100");
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("tab", { name: "Attention" }).click();
  await settled(page);
  const cell = page.locator(".heatmap [role=gridcell]").nth(count - 1);
  await cell.scrollIntoViewIfNeeded();
  const place = await cell.boundingBox();
  await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
  await page.mouse.down();
  await page.mouse.move(place.x + place.width / 2, place.y - 100, { steps: 6 });
  await page.mouse.up();
  await settled(page);
  assert.match(await parameter(page, "edit.luong_local"), /^a0:/);
  await cell.focus();
  await page.keyboard.press("-");
  await settled(page);
  await page.getByRole("button", { name: "Undo all" }).click();
  const window = page.getByRole("slider", { name: "Window D" });
  await window.focus();
  await page.keyboard.press("Home");
  await settled(page);
  assert.equal(await parameter(page, "edit.luong_local"), "w1");
  assert.match(await page.locator(".chip").first().textContent(), /window D = 1/);
});

await check("5 move the attention of one head alone", async (visit) => {
  const page = await visit("models=transformer&head=1.2");
  const [untouched] = await translations(page);
  const cell = page.locator(".heatmap [role=gridcell]").nth(1);
  for (let i = 0; i < 9; i++) {
    await cell.focus();
    await page.keyboard.press("+");
    await settled(page);
  }
  assert.match(await parameter(page, "edit.transformer"), /^a0\.1\.2:[\d.]+/);
  assert.match(await page.locator(".chip").first().textContent(), /attention moved at “.+” \(Layer 2, head 3\)/);
  const label = async (head) => {
    await page.getByRole("radio", { name: head }).click();
    await page.waitForTimeout(100);
    return cell.getAttribute("aria-label");
  };
  const weight = async (head) => Number((await label(head)).match(/(\d+) %/)[1]);
  assert.ok((await weight("Layer 2, head 3")) > 85);
  const other = await weight("Layer 1, head 1"); // before the one that was changed
  await page.getByRole("button", { name: "Undo all" }).click();
  await settled(page);
  assert.equal(await weight("Layer 1, head 1"), other);
  assert.deepEqual(await translations(page), [untouched]);
});

await check("5 move attention by touch, and scroll by touch", async (visit) => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const page = await visit(`${LOCAL}&tab=steps&step=3`, phone);
  const client = await page.context().newCDPSession(page);
  const swipe = async (locator, by) => {
    await locator.scrollIntoViewIfNeeded();
    const { x, y, width, height } = await locator.boundingBox();
    const at = [x + width / 2, y + height / 2];
    const touch = (type, points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points });
    await touch("touchStart", [{ x: at[0], y: at[1] }]);
    for (let i = 1; i <= 10; i++) await touch("touchMove", [{ x: at[0], y: at[1] + (by * i) / 10 }]);
    await touch("touchEnd", []);
    await settled(page);
  };
  const edits = () => parameter(page, "edit.luong_local");
  await swipe(page.locator(".source-bar .bar-room").nth(1), -35);
  assert.match(await edits(), /^a3:/);
  await page.getByRole("button", { name: "Undo all" }).click();
  await page.getByRole("tab", { name: "Attention" }).tap();
  await settled(page);
  const cell = page.locator(".heatmap [role=gridcell] rect").nth(14);
  const top = () => page.evaluate(() => scrollY);
  await cell.scrollIntoViewIfNeeded();
  const before = await top();
  await swipe(cell, -100);
  assert.equal(await edits(), null); // that scrolled
  assert.ok((await top()) > before + 30, `${before} ${await top()}`);
  await cell.scrollIntoViewIfNeeded();
  await cell.tap();
  await swipe(cell, -100);
  assert.match(await edits(), /^a1:/);
});

await check("a tagger and a language model, where the page has them", async (visit) => {
  const page = await visit(LOCAL);
  const listed = await page.locator(".presets option").evaluateAll((all) => all.map((one) => one.value));
  for (const name of ["birnn", "lstmn_lm"].filter((one) => listed.includes(one))) {
    const reader = await visit(`models=${name}&step=1`, { reducedMotion: "reduce" });
    assert.match(await reader.locator(".reading-word").nth(1).textContent(), /little/);
    await reader.locator(".reading").nth(2).focus();
    await reader.keyboard.press("Enter");
    assert.match(await reader.locator(".candidates h3").textContent(), /“girl”/);
    assert.equal(await reader.locator(".candidates li").count(), 10);
    await reader.waitForSelector(".formula .katex");
    await reader.evaluate(axe);
    const found = await reader.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].target} ${nodes[0].failureSummary}`), []);
    await reader.context().close();
  }
});

await check("a captioner, where the page has one", async (visit) => {
  const page = await visit(LOCAL);
  const listed = await page.locator(".presets option").evaluateAll((all) => all.map((one) => one.value));
  if (!listed.includes("show_attend_tell")) return;
  await page.context().close();
  const show = await visit("models=show_attend_tell&step=1", { reducedMotion: "reduce" });
  const dims = () => show.$$eval(".column .dim", (all) => all.map((one) => Number(one.style.opacity)));
  assert.ok((await dims()).every((dim) => dim === 0));
  const words = show.locator(".column .caption-word");
  await words.nth(1).hover();
  const dim = await dims();
  assert.ok(Math.min(...dim) === 0 && Math.max(...dim) > 0.5);
  await show.locator(`.column [data-place="${dim.indexOf(0)}"]`).hover();
  const lit = await words.evaluateAll((all) => all.filter((one) => one.style.background).map((one) => one.textContent));
  assert.ok(lit.includes(await words.nth(1).textContent()));
  assert.match(await show.locator(".column .readout").textContent(), /^row \d+, column \d+\. Looked at most by: /);
  // By keys: to the words, along them, over the places, and attention moved.
  await words.nth(0).focus();
  await show.keyboard.press("ArrowRight");
  assert.equal(await show.evaluate(() => document.activeElement.textContent), await words.nth(1).textContent());
  const [untouched] = await translations(show);
  await show.getByLabel("Numbers over the picture").check();
  assert.ok((await show.locator(".tabpanel .place-number").count()) > 3);
  await show.getByText("The same as a table of numbers").click();
  await show.waitForSelector(".as-table tbody tr");
  await show.mouse.move(2, 2);
  await show.locator(".tabpanel .place").first().focus();
  for (const key of ["ArrowDown", "ArrowRight"]) await show.keyboard.press(key);
  for (let i = 0; i < 8; i++) await show.keyboard.press("+");
  await settled(show);
  assert.match(await parameter(show, "edit.show_attend_tell"), /^a1:/);
  assert.equal(await show.locator(".comparison dd").first().textContent(), untouched);
  await show.getByRole("button", { name: "Undo all" }).click();
  // Pictures: an example, and a file of one's own that is chosen, dropped or pasted.
  await show.getByRole("button", { name: "Example picture 2" }).click();
  await settled(show);
  assert.notEqual((await translations(show))[0], untouched);
  assert.equal(await parameter(show, "picture"), "1");
  const source = await show.locator(".thumbnail img").first().getAttribute("src");
  const file = { name: "a.png", mimeType: "image/png", buffer: Buffer.from(source.split(",")[1], "base64") };
  await show.getByLabel("Choose a picture").setInputFiles({ ...file, mimeType: "image/gif", name: "a.gif" });
  await show.waitForSelector(".chooser [role=alert]");
  await show.getByLabel("Choose a picture").setInputFiles(file);
  await show.getByRole("button", { name: "Your picture" }).waitFor();
  assert.equal(await show.locator(".chooser [role=alert]").count(), 0);
  for (const kind of ["drop", "paste"]) {
    await show.getByRole("button", { name: "Example picture 2" }).click();
    await show.evaluate(
      ([kind, content]) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], "a.png", { type: "image/png" }));
        const event =
          kind === "drop"
            ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
            : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        document.querySelector(".chooser").dispatchEvent(event);
      },
      [kind, source.split(",")[1]],
    );
    await show.getByRole("button", { name: "Your picture" }).waitFor();
  }
  await settled(show);
  const events = [];
  show.on("download", (download) => events.push(download));
  await show.getByRole("button", { name: "Save as PNG" }).click();
  for (let i = 0; events.length < 2 && i < 100; i++) await show.waitForTimeout(100);
  for (const event of events) {
    const path = `${downloads}/${event.suggestedFilename()}`;
    await event.saveAs(path);
    const bytes = await readFile(path);
    assert.ok(bytes.subarray(1, 4).toString() === "PNG" && bytes.readUInt32BE(16) > 400);
  }
  assert.equal(events.length, 2);
  const link = await show.evaluate(() => location.hash.slice(1));
  const said = await translations(show);
  await show.context().close();
  const copy = await visit(link);
  assert.deepEqual(await translations(copy), said);
  await copy.context().close();
  for (const colorScheme of ["light", "dark"]) {
    for (const tab of ["attention", "steps", "beam"]) {
      const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
      const seen = await visit(`models=show_attend_tell&tab=${tab}&step=2`, { colorScheme, reducedMotion: "reduce", ...phone });
      if (tab === "steps") await seen.waitForSelector(".formula .katex");
      assert.ok((await seen.evaluate(() => document.documentElement.scrollWidth)) <= 360, tab);
      await seen.evaluate(axe);
      const found = await seen.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      assert.deepEqual(found.violations.map(({ id, nodes }) => `${tab}: ${id}: ${nodes[0].target} ${nodes[0].failureSummary}`), []);
      await seen.context().close();
    }
  }
});

await check("6 the address has the whole state", async (visit) => {
  const page = await visit("models=bahdanau,luong_local");
  await page.getByRole("button", { name: "Look inside" }).click();
  await page.getByRole("tab", { name: "Step by step" }).click();
  await page.getByRole("button", { name: "Last step" }).click();
  await page.getByRole("button", { name: "One step back" }).click();
  await page.locator(".candidates li:not(.chosen) .candidate").first().click();
  await settled(page);
  const link = await page.evaluate(() => location.hash.slice(1));
  const seen = [await translations(page), await page.locator(".panel").textContent()];
  const copy = await visit(link);
  await copy.waitForSelector(".formula .katex");
  assert.deepEqual(await translations(copy), seen[0]);
  assert.equal(await copy.locator(".written").textContent(), await page.locator(".written").textContent());
  assert.equal(await copy.locator(".comparison").textContent(), await page.locator(".comparison").textContent());
  await page.context().close();
});

await check("6 pictures and records to keep", async (visit) => {
  const page = await visit(LOCAL);
  const save = async (format, count) => {
    const events = [];
    page.on("download", (download) => events.push(download));
    await page.getByRole("button", { name: `Save as ${format}` }).click();
    for (let i = 0; events.length < count && i < 100; i++) await page.waitForTimeout(100);
    page.removeAllListeners("download");
    assert.equal(events.length, count);
    const paths = [];
    for (const event of events) {
      paths.push(`${downloads}/${event.suggestedFilename()}`);
      await event.saveAs(paths.at(-1));
    }
    return paths;
  };
  const [svg] = await save("SVG", 2);
  const text = await readFile(svg, "utf8");
  assert.match(text, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.doesNotMatch(text, / (class|style|tabindex|role)=/);
  assert.match(text, /fill="rgb\(/);
  const [png] = await save("PNG", 2);
  const bytes = await readFile(png);
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.readUInt32BE(16) > 400);
  const [json] = await save("JSON", 1);
  const record = JSON.parse(await readFile(json, "utf8"));
  assert.equal(record.alignment.length, record.tokens.length);
  assert.equal([record.text].toString(), (await translations(page))[0]);
});

await check("7 explanations with links, in three languages", async (visit) => {
  const page = await visit(LOCAL);
  const links = await page.$$eval(".explain a", (all) => all.map((one) => one.href));
  assert.ok(links.some((link) => link.includes("arxiv.org")));
  const english = await page.locator(".explain").textContent();
  for (const [language, name, title] of [["de", "Deutsch", "Attention-Explorer"], ["zh", "中文", "注意力浏览器"]]) {
    await page.locator(".settings select").first().selectOption({ label: name });
    assert.equal(await page.locator("h1").textContent(), title);
    assert.equal(await page.evaluate(() => document.documentElement.lang), language);
    assert.notEqual(await page.locator(".explain").textContent(), english);
    assert.equal(await parameter(page, "lang"), language);
  }
  const german = await visit(LOCAL, { locale: "de-AT" });
  assert.equal(await german.locator("h1").textContent(), "Attention-Explorer");
  await page.context().close();
});

// === Good to use ===

for (const scheme of ["light", "dark"]) {
  await check(`axe finds nothing, ${scheme}`, async (visit) => {
    const violations = [];
    for (const tab of ["attention", "steps", "beam"]) {
      const page = await visit(
        `models=luong_local,transformer,seq2seq&tab=${tab}&step=2&edit.luong_local=w2`,
        { colorScheme: scheme, reducedMotion: "reduce" },
      );
      if (tab === "steps") await page.waitForSelector(".formula .katex");
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const { id, nodes } of found.violations) {
        violations.push(`${tab}: ${id}: ${nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(" | ")}`);
      }
      if (tab !== "beam") await page.context().close();
    }
    assert.equal(violations.join("\n"), "");
  });
}

await check("the keyboard alone: every control is reached, and the focus shows", async (visit) => {
  const page = await visit(LOCAL);
  const reached = [];
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const active = document.activeElement;
      if (!active || active === document.body) return null;
      const style = getComputedStyle(active);
      const box = active.querySelector?.("rect");
      const shows = style.outlineStyle !== "none" || (box && getComputedStyle(box).stroke !== "none");
      return { name: active.getAttribute("aria-label") ?? active.textContent.slice(0, 40), tag: active.tagName, role: active.getAttribute("role"), shows };
    });
    if (!at) break;
    assert.ok(at.shows, `the focus does not show on ${JSON.stringify(at)}`);
    reached.push(at);
  }
  facts.reached = reached.map(({ name }) => name);
  for (const wanted of ["SELECT", "TEXTAREA", "A"]) assert.ok(reached.some(({ tag }) => tag === wanted), wanted);
  for (const role of ["tab", "gridcell"]) assert.ok(reached.some((at) => at.role === role), role);
  const words = reached.filter(({ name }) => /word\./.test(name));
  assert.equal(words.length, 2);
  await page.getByRole("tab", { name: "Attention" }).focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await parameter(page, "tab"), "steps");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Step by step");
});

await check("a phone of 360 pixels: nothing sticks out", async (visit) => {
  for (const tab of ["attention", "steps", "beam"]) {
    const page = await visit(`${LOCAL},bahdanau&tab=${tab}&edit.luong_local=w2`, {
      viewport: { width: 360, height: 740 },
      hasTouch: true,
      isMobile: true,
    });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${tab}: ${wide}`);
    if (tab !== "beam") await page.context().close();
  }
});

await check("reduced motion: nothing moves by itself", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps`, { reducedMotion: "reduce" });
  assert.deepEqual(await page.evaluate(() => document.getAnimations().length), 0);
});

await check("hostile texts stay texts", async (visit) => {
  const page = await visit(LOCAL);
  const field = page.getByLabel("Sentence to translate");
  for (const text of [
    "<script>document.title='x'</script><img src=x onerror=\"document.title='x'\">",
    "\u202edog \u2066a\u0000\u0007\u001b[31m cat\ufeff \ud83d",
    "\\input{x} $$ \\href{javascript:alert(1)}{x} `zoo`",
    "🐕".repeat(40),
  ]) {
    await field.fill(text);
    await settled(page);
    for (const tab of ["Step by step", "Beam", "Attention"]) await page.getByRole("tab", { name: tab }).click();
  }
  await field.fill("dog ".repeat(25_000));
  await settled(page);
  assert.equal((await field.inputValue()).length, 1000);
  assert.match(await page.locator(".sentence").textContent(), /Only the first 1000 characters/);
  await field.fill("");
  await settled(page);
  assert.match((await translations(page))[0], /Type a sentence/);
  assert.equal(await page.title(), "Attention explorer");
  assert.equal(await page.evaluate(() => document.querySelectorAll("img, script:not([src])").length), 0);
});

await check("texts from right to left", async (visit) => {
  const page = await visit(`models=bahdanau&text=${encodeURIComponent("كلب أسود يقفز فوق السياج")}`);
  const direction = await page.evaluate(() => getComputedStyle(document.querySelector("textarea")).direction);
  assert.equal(direction, "rtl");
  const xs = await page.$$eval(".threads [data-side=source] text:first-of-type", (all) => all.map((one) => Number(one.getAttribute("x"))));
  assert.deepEqual(xs, [...xs].sort((a, b) => b - a));
});

await check("one heading of the page, and its first paint", async (visit) => {
  const page = await visit(LOCAL);
  assert.equal(await page.locator("h1").count(), 1);
  facts.firstPaint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  );
});

await browser.close();
server.close();
process.stdout.write(JSON.stringify({ checks, problems, facts }));
