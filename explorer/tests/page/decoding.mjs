/** Decoding step by step, and the beam as a tree. */

import assert from "node:assert/strict";
import { LOCAL, check, parameter, settled } from "./checks.mjs";

check("3 step by step: play, pause, scrub, ten candidates, input feeding, equations", async (visit) => {
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

check("4 the beam as a tree, with sliders and the n best", async (visit) => {
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
