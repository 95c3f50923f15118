/** Accessibility, phones, hostile texts, directions, the first paint. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { serve } from "../browser.mjs";
import { LOCAL, PHONE, check, facts, parameter, settled, translations, violations } from "./checks.mjs";

for (const scheme of ["light", "dark"]) {
  check(`axe finds nothing, ${scheme}`, async (visit) => {
    for (const tab of ["attention", "steps", "beam"]) {
      const page = await visit(
        `models=luong_local,transformer,seq2seq&tab=${tab}&step=2&edit.luong_local=w2`,
        { colorScheme: scheme, reducedMotion: "reduce" },
      );
      if (tab === "steps") await page.waitForSelector(".formula .katex");
      assert.deepEqual(await violations(page), [], tab);
      if (tab !== "beam") await page.context().close();
    }
  });
}

check("the keyboard alone: every control is reached, and the focus shows", async (visit) => {
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

check("a phone of 360 pixels: nothing sticks out", async (visit) => {
  for (const tab of ["attention", "steps", "beam"]) {
    const page = await visit(`${LOCAL},bahdanau&tab=${tab}&edit.luong_local=w2`, PHONE);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 360, `${tab}: ${wide}`);
    // What is cut at the edge fades there, until it is scrolled to its end.
    for (const cut of { steps: [".formula"], beam: [".tree .scroll"] }[tab] ?? []) {
      await page.waitForSelector(`${cut}[data-more~=right]`);
      await page.$$eval(cut, (boxes) => boxes.forEach((box) => (box.scrollLeft = box.scrollWidth)));
      await page.waitForSelector(`${cut}[data-more~=left]`);
      assert.equal(await page.locator(`${cut}[data-more~=right]`).count(), 0);
    }
    if (tab !== "beam") await page.context().close();
  }
});

check("reduced motion: nothing moves by itself", async (visit) => {
  const page = await visit(`${LOCAL}&tab=steps`, { reducedMotion: "reduce" });
  assert.deepEqual(await page.evaluate(() => document.getAnimations().length), 0);
});

check("hostile texts stay texts", async (visit) => {
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

check("texts from right to left", async (visit) => {
  const page = await visit(`models=bahdanau&text=${encodeURIComponent("كلب أسود يقفز فوق السياج")}`);
  const direction = await page.evaluate(() => getComputedStyle(document.querySelector("textarea")).direction);
  assert.equal(direction, "rtl");
  const xs = await page.$$eval(".threads [data-side=source] text:first-of-type", (all) => all.map((one) => Number(one.getAttribute("x"))));
  assert.deepEqual(xs, [...xs].sort((a, b) => b - a));
});

check("one heading of the page, and its first paint", async (visit) => {
  const page = await visit(LOCAL);
  assert.equal(await page.locator("h1").count(), 1);
  facts.firstPaint = await page.evaluate(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null,
  );
});

check("the page is there before a model's files are", async (visit, { folder }) => {
  if (!existsSync(join(folder, "models.json"))) return; // the engine of the tests fetches nothing
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  const asked = [];
  const { address, server } = await serve(folder, (path) => {
    if (!/^\/models\/|ort\.wasm/.test(path)) return;
    asked.push(path);
    return answered;
  });
  try {
    const page = await visit(LOCAL, { at: address, ready: false });
    await page.locator(".column progress").waitFor();
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length);
    assert.equal(await page.locator("h1").count(), 1);
    assert.equal(await page.getByLabel("Sentence to translate").inputValue(), "A little girl is playing with a ball in the park.");
    for (const shown of [".examples button", ".presets select", ".column h2"]) {
      assert.ok(await page.locator(shown).first().isVisible(), shown);
    }
    await page.getByLabel("Sentence to translate").fill("A dog.");
    assert.equal(await parameter(page, "text"), "A dog.");
    assert.ok(asked.length > 0);
    assert.equal(await page.locator(".translation").count(), 0);
    answer();
    await settled(page);
    assert.notEqual((await translations(page))[0], "");
  } finally {
    answer();
    server.close();
  }
});

check("a page whose server is gone says so, and goes on when it is back", async (visit, { folder }) => {
  if (!existsSync(join(folder, "models.json"))) return;
  const { address, server } = await serve(folder);
  try {
    const page = await visit(LOCAL, { at: address, gone: true });
    const { port } = server.address();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await page.getByLabel("Add a model").selectOption("bahdanau");
    await page.getByRole("alert").waitFor();
    assert.match(await page.getByRole("alert").textContent(), /^The server of this page does not answer/);
    await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
    await page.getByRole("button", { name: "Try again" }).click();
    await settled(page);
    assert.equal((await translations(page)).length, 2);
  } finally {
    server.close();
  }
});
