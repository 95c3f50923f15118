/**
 * Goes through the page by real clicks and keys in headless Chromium.
 *
 *     node tests/page.mjs FOLDER DOWNLOADS
 *
 * FOLDER is a built page, with the engine of the tests or an export with `luong_local`,
 * `bahdanau` and `transformer`. Prints a JSON object: each check's error or null, and what
 * the browser complained of. $CHROMIUM is the browser's path. The checks are in page/.
 */

import { runChecks } from "./page/checks.mjs";
import "./page/attention.mjs";
import "./page/decoding.mjs";
import "./page/what_if.mjs";
import "./page/sharing.mjs";
import "./page/good_to_use.mjs";

process.stdout.write(JSON.stringify(await runChecks(...process.argv.slice(2))));
