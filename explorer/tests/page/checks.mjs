/** What the files beside this one check the page with: each registers its checks by `check`. */

import assert from "node:assert/strict";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { launch, open, serve } from "../browser.mjs";

export const LOCAL = "models=luong_local";
export const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
/** What is reported and not checked. */
export const facts = {};

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const checks = [];

/**
 * Registers a check. Its function gets `visit`, which opens the page in a browser of its own and
 * closes the last one behind it, and the paths `{ folder, downloads }`.
 */
export function check(name, run) {
  checks.push({ name, run });
}

/**
 * Runs what is registered, one after the other; $ONLY is a part of the names to run. Returns each
 * check's error or null, what the browser complained of, and `facts`.
 */
export async function runChecks(folder, downloads) {
  await mkdir(downloads, { recursive: true });
  const { address, server } = await serve(folder);
  const browser = await launch();
  const results = {};
  const problems = [];
  for (const { name, run } of checks) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
    let page;
    /**
     * `at`: another address of the page; `ready`: whether to wait for its translations; `gone`:
     * whether its server will be, so that complaints of the browser are no problems.
     */
    const visit = async (hash = "", { at = address, ready = true, gone = false, ...options } = {}) => {
      const opened = await open(browser, `${at}#${hash}`, options);
      if (!gone) opened.problems.push = (...entries) => problems.push(...entries);
      page = opened.page;
      if (ready) await settled(page);
      return page;
    };
    try {
      await run(visit, { folder, downloads });
      results[name] = null;
    } catch (error) {
      results[name] = String(error.stack ?? error).slice(0, 1500);
      await page?.screenshot({ path: `${downloads}/failed_${Object.keys(results).length}.png`, fullPage: true });
    } finally {
      await page?.context().close();
    }
  }
  await browser.close();
  server.close();
  return { checks: results, problems, facts };
}

/** Waits until every column has the translation of what is asked for. */
export async function settled(page) {
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

export function translations(page) {
  return page.$$eval(".translation", (all) => all.map((one) => one.textContent));
}

/** A part of the address, which follows the page a moment later. */
export async function parameter(page, name) {
  await page.waitForTimeout(150);
  return page.evaluate((key) => new URLSearchParams(location.hash.slice(1)).get(key), name);
}

/** Saves a page's drawings or record in a format; returns the path of the one file that comes. */
export async function saved(page, format, downloads) {
  const events = [];
  page.on("download", (download) => events.push(download));
  const button = page.getByRole("button", { name: `Save as ${format}` });
  await Promise.all([page.waitForEvent("download"), button.click()]);
  await page.waitForTimeout(500);
  page.removeAllListeners("download");
  assert.equal(events.length, 1);
  const path = `${downloads}/${events[0].suggestedFilename()}`;
  await events[0].saveAs(path);
  return path;
}

/** What axe finds on a page. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const where = (node) => `${node.target} ${node.failureSummary}`;
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(where).join(" | ")}`);
}
