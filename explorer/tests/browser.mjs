/** Chromium and a static server for the scripts beside this one. */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};

/** Serves a folder on 127.0.0.1, each path after what `hold` returns for it; returns its address and the server. */
export async function serve(folder, hold = () => {}) {
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname));
    await hold(path);
    try {
      const content = await readFile(join(folder, path.endsWith("/") ? `${path}index.html` : path));
      const type = TYPES[extname(path) || ".html"] ?? "application/octet-stream";
      response.writeHead(200, { "Content-Type": type }).end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, server };
}

/** Starts Debian's Chromium; no other is downloaded. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
}

/** A page whose errors, policy violations and foreign requests are noted in `problems`. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: "en-GB",
    acceptDownloads: true,
    ...options,
  });
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error" || /Content Security Policy/.test(message.text())) {
      problems.push(`console: ${message.text()}`);
    }
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(new URL(address).origin) && !/^(blob|data):/.test(url)) {
      problems.push(`foreign request: ${url}`);
    }
  });
  await page.goto(address);
  return { page, context, problems };
}
