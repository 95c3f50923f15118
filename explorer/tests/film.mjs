/**
 * Pictures of a short visit, which `tools/explorer_film.py` puts together:
 * `node tests/film.mjs FOLDER PICTURES`. FOLDER is an export of `zoo explore` with
 * `luong_local`, `bahdanau` and `transformer`.
 */

import { mkdir, writeFile } from "node:fs/promises";
import { launch, open, serve } from "./browser.mjs";

const [folder, pictures] = process.argv.slice(2);
await mkdir(pictures, { recursive: true });
const { address, server } = await serve(folder);
const browser = await launch();
const models = "models=luong_local,bahdanau,transformer";
const { page, context } = await open(browser, `${address}#${models}&text=A`, {
  viewport: { width: 1180, height: 940 },
  colorScheme: "light",
});
const frames = [];

/** Takes a picture that is shown for some milliseconds. */
async function shoot(milliseconds) {
  const name = `${String(frames.length).padStart(3, "0")}.png`;
  await page.screenshot({ path: `${pictures}/${name}` });
  frames.push([name, milliseconds]);
}

/** Waits until every column shows the translation of what is asked for. */
async function settled() {
  await page.waitForTimeout(250);
  await page.waitForFunction(
    () => document.querySelectorAll(".column .translation").length === 3 && !document.querySelector(".stale"),
    null,
    { timeout: 120_000 },
  );
  await page.waitForTimeout(150);
}

await settled();
const box = page.getByLabel("Sentence to translate");
await box.fill("");
for (const word of "A black dog jumps over a fence into the water.".split(/(?= )/)) {
  await box.pressSequentially(word);
  await settled();
  await shoot(350);
}
await shoot(900);
const words = page.locator(".column").first().locator(".threads [tabindex]");
for (let word = 0; word < (await words.count()); word += 2) {
  await words.nth(word).hover();
  await page.waitForTimeout(150);
  await shoot(450);
}
await page.mouse.move(5, 5);
await page.getByRole("tab", { name: "Step by step" }).click();
await page.locator(".panel").evaluate((panel) => panel.scrollIntoView());
await page.waitForTimeout(600);
for (let step = 0; step < 8; step++) {
  await shoot(600);
  await page.getByRole("button", { name: "One step on" }).click();
  await page.waitForTimeout(250);
}
await page.getByRole("tab", { name: "Beam" }).click();
await settled();
await shoot(2000);
await writeFile(`${pictures}/frames.json`, JSON.stringify(frames));
await context.close();
await browser.close();
server.close();
