// Runs jobs by the page's engine in headless Chromium.
//
//     node tests/engine.mjs ADDRESS < jobs.json > results.json
//
// A job is {name, text, options}, or {name, aborted: text, options}.
// The result has one entry a job, all that the browser fetched, and what it complained of.
// $CHROMIUM is the browser's path.

import { readFileSync } from "node:fs";
import { chromium } from "playwright-core";

const [address] = process.argv.slice(2);
const jobs = JSON.parse(readFileSync(0, "utf8"));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await browser.newPage();
const fetched = [];
const complaints = [];
page.on("request", (request) => fetched.push(request.url()));
page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("crash", () => complaints.push("the page crashed"));
await page.goto(address);
const results = await page.evaluate(async (jobs) => {
  const { createEngine } = await import(new URL("assets/engine.js", document.baseURI));
  const engine = await createEngine();
  const models = {};
  const progress = {};
  const results = [];
  for (const { name, text, options, aborted } of jobs) {
    try {
      models[name] ??= await engine.load(name, (done, total) => {
        (progress[name] ??= []).push([done, total]);
      });
      const model = models[name];
      if (aborted !== undefined) {
        const controller = new AbortController();
        const waiting = model.run(aborted, options, controller.signal);
        setTimeout(() => controller.abort(), 1);
        const name = await waiting.then(() => "done", (error) => error.name);
        results.push(name);
      } else {
        results.push(await model.run(text, options));
      }
    } catch (error) {
      results.push({ error: String(error) });
    }
  }
  return { models: await engine.models(), progress, results };
}, jobs);
await browser.close();
process.stdout.write(JSON.stringify({ ...results, fetched, complaints }));
