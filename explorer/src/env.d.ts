/** Of ONNX Runtime's WebAssembly, unpacked: vite.config.ts packs it. */
declare const __RUNTIME_SHA256__: string;
