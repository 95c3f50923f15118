/** The page with the engine of the tests: `vite build --config tests/fake.config.ts --outDir FOLDER`. */

import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vitest/config";
import page from "../vite.config";

const replacement = fileURLToPath(new URL("../src/engine/fake.ts", import.meta.url));

export default mergeConfig(page, defineConfig({ resolve: { alias: [{ find: /^\.\/engine$/, replacement }] } }));
