/** Sentences as one types, threads, heatmaps and heads. */

import assert from "node:assert/strict";
import { LOCAL, check, parameter, settled, translations } from "./checks.mjs";

check("1 up to four models translate as one types", async (visit) => {
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

check("1 the newest text wins over those typed before it", async (visit) => {
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

check("2 threads light up in both directions, by pointer and by keys", async (visit) => {
  const page = await visit(LOCAL);
  const lit = (side) =>
    page.$$eval(`.threads [data-side=${side}] .word-box`, (all) => all.filter((one) => one.style.fill).length);
  const word = (side, i) => page.locator(`.threads [data-side=${side}] .word`).nth(i);
  assert.equal(await lit("source"), 0);
  await word("target", 1).hover();
  assert.ok((await lit("source")) > 0);
  assert.match(await page.locator(".threads .weight").first().textContent(), /^\d+ %$/);
  const covered = await page.$$eval(".threads .weight", (all) =>
    all.map(({ firstChild, lastChild }) => {
      const [ground, text] = [firstChild, lastChild].map((one) => one.getBoundingClientRect());
      return ground.left <= text.left && ground.right >= text.right && getComputedStyle(firstChild).fill;
    }),
  );
  assert.deepEqual([...new Set(covered)], ["rgb(255, 255, 255)"]); // no thread crosses a figure
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

check("2 the heatmap has the threads' words, numbers on demand, and the curve of p_t", async (visit) => {
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

check("2 heads of the Transformer by layer", async (visit) => {
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
