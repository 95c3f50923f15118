/** The address, files to keep, explanations in both languages. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { LOCAL, check, parameter, saved, settled, translations } from "./checks.mjs";

check("6 the address has the whole state", async (visit) => {
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

check("6 pictures and records to keep", async (visit, { downloads }) => {
  const page = await visit(LOCAL);
  const svg = await saved(page, "SVG", downloads);
  const text = await readFile(svg, "utf8");
  assert.match(text, /^<svg [^>]*xmlns="http:\/\/www.w3.org\/2000\/svg"/);
  assert.doesNotMatch(text, / (class|style|tabindex|role)=/);
  assert.match(text, /fill="rgb\(/);
  assert.equal(text.match(/<svg /g).length, 3); // threads and heatmap, on one sheet
  const png = await saved(page, "PNG", downloads);
  const bytes = await readFile(png);
  assert.equal(bytes.subarray(1, 4).toString(), "PNG");
  assert.ok(bytes.readUInt32BE(16) > 400);
  const json = await saved(page, "JSON", downloads);
  const record = JSON.parse(await readFile(json, "utf8"));
  assert.equal(record.alignment.length, record.tokens.length);
  assert.equal([record.text].toString(), (await translations(page))[0]);
});

check("7 explanations with links, in both languages", async (visit) => {
  const page = await visit(LOCAL);
  const links = await page.$$eval(".explain a", (all) => all.map((one) => one.href));
  assert.ok(links.some((link) => link.includes("arxiv.org")));
  const english = await page.locator(".explain").textContent();
  await page.locator(".settings select").first().selectOption({ label: "中文" });
  assert.equal(await page.locator("h1").textContent(), "注意力浏览器");
  await page.waitForFunction(() => document.documentElement.lang === "zh", null, { polling: 100 }); // after the heading
  assert.notEqual(await page.locator(".explain").textContent(), english);
  assert.equal(await parameter(page, "lang"), "zh");
  const chinese = await visit(LOCAL, { locale: "zh-CN" });
  assert.equal(await chinese.locator("h1").textContent(), "注意力浏览器");
  await page.context().close();
});
