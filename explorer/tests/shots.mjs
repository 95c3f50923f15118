/** Pictures of the page to be looked at: `node tests/shots.mjs FOLDER PICTURES [HASH]`. */

import { mkdir } from "node:fs/promises";
import { launch, open, serve } from "./browser.mjs";

const [folder, pictures] = process.argv.slice(2);
await mkdir(pictures, { recursive: true });
const { address, server } = await serve(folder);
const browser = await launch();

const VIEWS = [
  ["light_two", "", {}],
  ["dark_two", "", { colorScheme: "dark" }],
  ["phone", "", { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true }],
  ["light_one", "models=luong_local", {}],
  ["dark_four", "models=luong_local,bahdanau,transformer,seq2seq", { colorScheme: "dark" }],
  ["steps_light", "models=luong_local&tab=steps&step=4", {}],
  ["steps_dark", "models=bahdanau&tab=steps&step=4", { colorScheme: "dark" }],
  ["steps_phone", "models=luong_local&tab=steps&step=3", { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }],
  ["beam_light", "models=luong_local&tab=beam&beam=4", {}],
  ["beam_dark_phone", "models=luong_local&tab=beam&beam=3", { viewport: { width: 360, height: 740 }, colorScheme: "dark", deviceScaleFactor: 2 }],
  ["heads", "models=transformer", {}],
  ["edited", "models=luong_local&edit.luong_local=w2_a4:0.0.0.0.0.0.0.0.0.900.100.0&unit=pieces", {}],
  ["german_arabic", `models=bahdanau,lstmn&lang=de&text=${encodeURIComponent("كلب أسود يقفز فوق السياج")}`, {}],
  ["chinese", "models=luong_local,bahdanau&lang=zh&tab=steps", {}],
];
const only = process.argv[4];
for (const [name, hash, options] of VIEWS) {
  if (only && !name.match(only)) continue;
  const { page, context, problems } = await open(browser, `${address}#${hash}`, options);
  await page.waitForSelector(".translation", { timeout: 60_000 });
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  if (problems.length) console.log(name, problems);
  await context.close();
}
await browser.close();
server.close();
