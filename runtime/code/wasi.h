/*
 * wasi: what has Node execute a WebAssembly module that asks for WASI (preview 1). Private to code/.
 *
 * The module is given its arguments, the environment, the working directory and /tmp; the jail around Node is what holds it.
 */
#ifndef WARDER_RUNTIME_CODE_WASI_H
#define WARDER_RUNTIME_CODE_WASI_H

static const char wasi_host[] = "import { readFileSync } from 'node:fs';\n"
				"import { WASI } from 'node:wasi';\n"
				"const wasi = new WASI({\n"
				"  version: 'preview1', args: process.argv.slice(2), env: process.env,\n"
				"  preopens: { '.': '.', '/tmp': '/tmp' }, returnOnExit: true,\n"
				"});\n"
				"const module = await WebAssembly.compile(readFileSync(process.argv[2]));\n"
				"const instance = await WebAssembly.instantiate(module, {\n"
				"  wasi_snapshot_preview1: wasi.wasiImport, wasi_unstable: wasi.wasiImport,\n"
				"});\n"
				"process.exitCode = wasi.start(instance);\n";

#endif
