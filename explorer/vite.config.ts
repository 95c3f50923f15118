import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const packages = "node_modules";
const wasm = readFileSync(`${packages}/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm`);
const RUNTIME = "assets/ort.wasm.gz";

/** ONNX Runtime's WebAssembly, packed: the page unpacks it, so that any server will do. */
function runtime(): Plugin {
  return {
    name: "runtime",
    configureServer(server) {
      server.middlewares.use(`/${RUNTIME}`, (_, response) => response.end(wasm));
    },
    generateBundle(_, bundle) {
      // Its script names the file that it would fetch if it were not given one.
      for (const name of Object.keys(bundle)) if (name.endsWith(".wasm")) delete bundle[name];
      if (this.environment.name === "client") {
        this.emitFile({ type: "asset", fileName: RUNTIME, source: gzipSync(wasm, { level: 9 }) });
      }
    },
  };
}

/** KaTeX's fonts in one format, WOFF2, which every browser with WebAssembly reads. */
function fonts(): Plugin {
  return {
    name: "fonts",
    enforce: "pre",
    transform(code, id) {
      if (!/katex(\.min)?\.css$/.test(id)) return undefined;
      return code.replace(/,\s*url\([^)]*\.(woff|ttf)\)\s*format\([^)]*\)/g, "");
    },
  };
}

/** The licences of the packages that the built page carries. */
function licenses(): Plugin {
  return {
    name: "licenses",
    generateBundle() {
      const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
      const texts = Object.keys(dependencies).map((name) => {
        const { version, license } = JSON.parse(
          readFileSync(`${packages}/${name}/package.json`, "utf8"),
        );
        const file = `${packages}/${name}/LICENSE`; // or one here, if the package has none
        const text = readFileSync(existsSync(file) ? file : `licenses/${name}`, "utf8");
        return `${name} ${version} (${license})\n\n${text}`;
      });
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join("\n\n") });
    },
  };
}

export default defineConfig({
  base: "./", // any path will do
  define: { __RUNTIME_SHA256__: JSON.stringify(createHash("sha256").update(wasm).digest("hex")) },
  plugins: [runtime(), fonts(), licenses()],
  build: {
    outDir: "../zoo/explorer/static",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: but pictures
    modulePreload: { polyfill: false },
    rollupOptions: {
      // The engine is a file of its own, which tests and other pages import.
      input: { page: "index.html", engine: "src/engine/index.ts" },
      preserveEntrySignatures: "strict",
      output: {
        // The page asks for names with a hash of the content, that a host may let
        // browsers keep for ever. engine.js hands on what one of those files exports.
        entryFileNames: ({ name }) => `assets/${name}${name === "engine" ? "" : "-[hash]"}.js`,
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  worker: {
    format: "es",
    plugins: () => [runtime()],
    rollupOptions: { output: { entryFileNames: "assets/worker-[hash].js" } },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"] },
});
