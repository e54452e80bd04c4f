/*
 * wasi: what has Node execute a WebAssembly module that asks for WASI (preview 1). Private to code/.
 *
 * The module is given its arguments, the environment, and as directories the working directory, /tmp and what the policy grants
 * (--dir=PATH, before the module's name). The jail around Node is what holds it: Node says of its WASI that it does not keep a
 * module from following links out of these directories. WASI has no path that leads to a descriptor: what $WARDER_INPUT and
 * $WARDER_RESULT name are files below /tmp, copied from and to the descriptors before and after.
 *
 * How the module ended is told on descriptor 3 before its result, between two NUL bytes: "trap: MESSAGE", or "refused: MESSAGE"
 * where the engine does not take it. A module cannot do that itself: it has no such descriptor, and a result with a NUL is no JSON.
 */
#ifndef WARDER_RUNTIME_CODE_WASI_H
#define WARDER_RUNTIME_CODE_WASI_H

static const char wasi_host[] =
    "import { closeSync, constants, mkdtempSync, openSync, readFileSync, writeFileSync, writeSync } from "
    "'node:fs';\n"
    "import { WASI } from 'node:wasi';\n"
    "const args = process.argv.slice(2), env = { ...process.env };\n"
    "const preopens = { '.': '.', '/tmp': '/tmp' };\n"
    "while (args[0].startsWith('--dir=')) {\n"
    "  const path = args.shift().slice(6);\n"
    "  preopens[path] = path;\n"
    "}\n"
    "const exchange = mkdtempSync('/tmp/exchange-');\n"
    "const held = openSync(exchange, constants.O_RDONLY | constants.O_DIRECTORY);\n"
    "const spare = openSync('/dev/null', constants.O_RDONLY);\n" /* a module may leave no descriptor */
    "const result = openSync(env.WARDER_RESULT, constants.O_WRONLY), input = env.WARDER_INPUT;\n"
    "env.WARDER_RESULT = `${exchange}/result`;\n"
    "if (input) writeFileSync(env.WARDER_INPUT = `${exchange}/input`, readFileSync(input));\n"
    "function tell(kind, error) {\n"
    "  const text = String(error?.message ?? error).replaceAll('\\0', '?').slice(0, 150);\n"
    "  process.exitCode = 1;\n"
    "  try { writeSync(2, `wasm ${kind}: ${text}\\n`); } catch {}\n"
    "  writeSync(result, `\\0${kind}: ${text}\\0`);\n"
    "}\n"
    "let running = false;\n"
    "try {\n"
    "  const wasi = new WASI({ version: 'preview1', args, env, preopens, returnOnExit: true });\n"
    "  const module = await WebAssembly.compile(readFileSync(args[0]));\n"
    "  const instance = await WebAssembly.instantiate(module, {\n"
    "    wasi_snapshot_preview1: wasi.wasiImport, wasi_unstable: wasi.wasiImport,\n"
    "  });\n"
    "  running = true;\n"
    "  process.exitCode = wasi.start(instance);\n"
    "} catch (error) {\n"
    "  const refused = !running || error?.code === 'ERR_INVALID_ARG_TYPE';\n"
    "  tell(refused && !(error instanceof WebAssembly.RuntimeError) ? 'refused' : 'trap', error);\n"
    "}\n"
    "try {\n"
    "  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;\n"
    "  closeSync(spare);\n"
    "  writeFileSync(result, readFileSync(openSync(`/proc/self/fd/${held}/result`, flags)));\n"
    "} catch (error) {\n"
    "  if (error.code !== 'ENOENT') {\n"
    "    process.exitCode = 1;\n"
    "    try { writeSync(2, `wasm: no result: ${error.message}\\n`); } catch {}\n"
    "  }\n"
    "}\n";

#endif
