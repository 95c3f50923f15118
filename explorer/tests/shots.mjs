/**
 * Pictures of the page to be looked at: `node tests/shots.mjs PAGE PICTURES [NAMES]`. PAGE is a
 * folder or an address, NAMES a pattern.
 */

import { mkdir } from "node:fs/promises";
import { launch, open, serve } from "./browser.mjs";

const [folder, pictures, only] = process.argv.slice(2);
await mkdir(pictures, { recursive: true });
const { address, server } = /^https?:/.test(folder) ? { address: folder } : await serve(folder);
const browser = await launch();

const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true };
const DARK = { colorScheme: "dark" };
const ARABIC = `text=${encodeURIComponent("كلب أسود يقفز فوق السياج")}`;
const MOVED = "edit.luong_local=w2_a4:0.0.0.0.0.0.0.0.0.900.100.0";
const VIEWS = [
  ["light_two", "", {}],
  ["dark_two", "", DARK],
  ["phone", "", PHONE],
  ["dark_four", "models=luong_local,bahdanau,transformer,seq2seq", DARK],
  ["heads", "models=transformer&head=1.2", {}],
  ["edited", `models=luong_local&${MOVED}&unit=pieces`, {}],
  ["right_to_left", `models=bahdanau,luong_local&${ARABIC}`, {}],
  ["right_to_left_steps_dark", `models=luong_local&tab=steps&step=2&${ARABIC}`, DARK],
  ["right_to_left_phone", `models=bahdanau&${ARABIC}`, PHONE],
  ["bahdanau_steps", "models=bahdanau&tab=steps&step=3", {}],
];
for (const language of ["en", "zh"]) {
  for (const tab of ["attention", "steps", "beam"]) {
    const hash = `models=luong_local,transformer&lang=${language}&tab=${tab}&step=4`;
    VIEWS.push([`${language}_${tab}`, hash, {}]);
    VIEWS.push([`${language}_${tab}_dark`, `${hash}&${MOVED}`, DARK]);
    VIEWS.push([`${language}_${tab}_phone`, `${hash}&${MOVED}`, PHONE]);
  }
}
for (const [name, hash, options] of VIEWS) {
  if (only && !name.match(only)) continue;
  const { page, context, problems } = await open(browser, `${address}#${hash}`, options);
  await page.waitForSelector(".measure", { timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector(".loading"), null, { timeout: 60_000 });
  await page.waitForTimeout(1000);
  await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  if (problems.length) console.log(name, problems);
  await context.close();
}
await browser.close();
server?.close();
