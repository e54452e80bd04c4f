/*
 * wasi: what has Node execute a WebAssembly module that asks for WASI (preview 1). Private to code/.
 *
 * The module is given its arguments, the environment, the working directory and /tmp; the jail around Node is what holds it. WASI
 * has no path that leads to a descriptor: what $WARDER_INPUT and $WARDER_RESULT name are files below /tmp, copied from and to
 * the descriptors before and after.
 */
#ifndef WARDER_RUNTIME_CODE_WASI_H
#define WARDER_RUNTIME_CODE_WASI_H

static const char wasi_host[] =
    "import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';\n"
    "import { WASI } from 'node:wasi';\n"
    "const env = { ...process.env };\n"
    "const exchange = mkdtempSync('/tmp/exchange-');\n"
    "const result = env.WARDER_RESULT, input = env.WARDER_INPUT;\n"
    "env.WARDER_RESULT = `${exchange}/result`;\n"
    "if (input) writeFileSync(env.WARDER_INPUT = `${exchange}/input`, readFileSync(input));\n"
    "const wasi = new WASI({\n"
    "  version: 'preview1', args: process.argv.slice(2), env,\n"
    "  preopens: { '.': '.', '/tmp': '/tmp' }, returnOnExit: true,\n"
    "});\n"
    "const module = await WebAssembly.compile(readFileSync(process.argv[2]));\n"
    "const instance = await WebAssembly.instantiate(module, {\n"
    "  wasi_snapshot_preview1: wasi.wasiImport, wasi_unstable: wasi.wasiImport,\n"
    "});\n"
    "try {\n"
    "  process.exitCode = wasi.start(instance);\n"
    "} finally {\n"
    "  if (existsSync(env.WARDER_RESULT)) writeFileSync(result, readFileSync(env.WARDER_RESULT));\n"
    "}\n";

#endif
