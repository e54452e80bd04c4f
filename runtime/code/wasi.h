/*
 * wasi: what has Node execute a WebAssembly module that asks for WASI (preview 1). Private to code/.
 *
 * The module is given its arguments, the environment, and as directories the working directory, /tmp and what the policy grants
 * (--dir=PATH, before the module's name). It is linked with the functions of WASI and nothing else, by their names. The jail around
 * Node is what holds it: Node says of its WASI that it does not keep a module from following links out of these directories.
 * Therefore a module makes no links here and follows none, and no path of its leads into a /proc, where the descriptors and the
 * memory of Node are. What $WARDER_INPUT and $WARDER_RESULT name are files below /tmp, copied from and to the descriptors.
 *
 * The look at a path comes before its use. A module has one thread, and cannot change a path between the two; another process can,
 * where it may write to the same directory (a workspace that is shared, read-write). Then the module comes to what else the jail
 * shows, but not to its engine: what it opens is looked at once more, by its descriptor.
 *
 * How the module ended is told on descriptor 3 before its result, between two NUL bytes: "trap: MESSAGE", "refused: MESSAGE" where
 * the engine does not take it, or nothing. It is always told, so that the first bytes are never the module's: it reaches no such
 * descriptor, and its result is copied when it has ended, behind these words. A host that dies before has copied none of it.
 */
#ifndef WARDER_RUNTIME_CODE_WASI_H
#define WARDER_RUNTIME_CODE_WASI_H

static const char wasi_host[] =
    "import { closeSync, constants, fstatSync, mkdtempSync, openSync, readFileSync, readdirSync, statSync, "
    "writeFileSync, writeSync } from 'node:fs';\n"
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
    "let words = '';\n"
    "function tell(kind, error) {\n"
    "  const text = String(error?.message ?? error).replaceAll('\\0', '?').slice(0, 150);\n"
    "  process.exitCode = 1;\n"
    "  try { writeSync(2, `wasm ${kind}: ${text}\\n`); } catch {}\n"
    "  words = `${kind}: ${text}`;\n"
    "}\n"
    /* errno of WASI */
    "const FAULT = 21, INVALID = 28, LOOP = 32, TOO_LONG = 37, ABSENT = 44, NO_DIRECTORY = 54, DENIED = 63, "
    "OUTSIDE = 76;\n"
    "const LINK = 7, ABOUT = 64, STAT = 1n << 21n;\n" /* type of a file, size of what is told about one, the right to ask */
    /* Where a path's directory and the path itself are among the arguments. */
    "const paths = {\n"
    "  path_create_directory: [[0, 1]], path_filestat_get: [[0, 2]], path_filestat_set_times: [[0, 2]],\n"
    "  path_link: [[0, 2], [4, 5]], path_open: [[0, 2]], path_readlink: [[0, 1]],\n"
    "  path_remove_directory: [[0, 1]], path_rename: [[0, 1], [3, 4]], path_unlink_file: [[0, 1]],\n"
    "};\n"
    "const reads = { path_readlink: () => true, path_unlink_file: () => true,\n" /* the link itself */
    "                path_filestat_get: (args) => !(args[1] & 1) };\n"
    "let instance;\n"
    /* What WASI itself says of a file, in the module's memory, which is as it was afterwards. */
    "function ask(bytes, call) {\n"
    "  const kept = bytes.slice(0, ABOUT + 1);\n"
    "  bytes[ABOUT] = 46;\n" /* "." */
    "  const errno = call(), view = new DataView(bytes.buffer);\n"
    "  const told = { errno, dev: view.getBigUint64(0, true), ino: view.getBigUint64(8, true), "
    "type: bytes[16] };\n"
    "  bytes.set(kept);\n"
    "  return told;\n"
    "}\n"
    "function checkPath(wasi, procs, bytes, fd, at, length, readsLink) {\n"
    "  if (length > 4096) return TOO_LONG;\n"
    "  if (at + length > bytes.length) return FAULT;\n"
    "  const path = bytes.slice(at, at + length);\n"
    "  if (path.includes(0)) return INVALID;\n"
    "  if (path[0] === 47) return OUTSIDE;\n"
    /* WASI goes by the name that a directory was opened with: another may have it now. */
    "  const base = ask(bytes, () => wasi.fd_filestat_get(fd, 0));\n"
    "  if (base.errno) return base.errno;\n"
    "  const named = ask(bytes, () => wasi.path_filestat_get(fd, 0, ABOUT, 1, 0));\n"
    "  if (named.errno) return named.errno;\n"
    "  if (named.dev !== base.dev || named.ino !== base.ino || procs.has(base.dev)) return OUTSIDE;\n"
    "  for (let end = 1; end <= length; end++) {\n"
    "    if (end < length && path[end] !== 47) continue;\n"
    "    const step = ask(bytes, () => wasi.path_filestat_get(fd, 0, at, end, 0));\n"
    "    if (step.errno === ABSENT || step.errno === NO_DIRECTORY) continue;\n"
    "    if (step.errno) return step.errno;\n"
    "    if (procs.has(step.dev)) return OUTSIDE;\n"
    "    if (step.type === LINK && !(readsLink && end === length)) return LOOP;\n"
    "  }\n"
    "  return 0;\n"
    "}\n"
    /* What was opened is looked at by its own descriptor: it is neither of a /proc nor the engine's, whoever moved the path. */
    "function guardedOpen(wasi, outside, bytes, args) {\n"
    "  const at = args[8] >>> 0;\n"
    "  if (at + 4 > bytes.length) return FAULT;\n"
    "  args[5] |= STAT;\n"
    "  args[6] |= STAT;\n"
    "  const errno = wasi.path_open(...args);\n"
    "  if (errno) return errno;\n"
    "  const fd = new DataView(bytes.buffer).getUint32(at, true);\n"
    "  const told = ask(bytes, () => wasi.fd_filestat_get(fd, 0));\n"
    "  if (!told.errno && !outside.procs.has(told.dev) && !outside.own.has(`${told.dev}:${told.ino}`)) "
    "return "
    "0;\n"
    "  wasi.fd_close(fd);\n"
    "  return OUTSIDE;\n"
    "}\n"
    "function guarded(wasi, outside, name) {\n"
    "  if (name === 'path_symlink') return () => DENIED;\n"
    "  return (...args) => {\n"
    "    const bytes = new Uint8Array(instance.exports.memory.buffer);\n"
    "    if (bytes.length <= ABOUT) return FAULT;\n"
    "    for (const [fd, at] of paths[name]) {\n"
    "      const errno = checkPath(wasi, outside.procs, bytes, args[fd], args[at] >>> 0, args[at + 1] >>> "
    "0,\n"
    "                              reads[name]?.(args));\n"
    "      if (errno) return errno;\n"
    "    }\n"
    "    return name === 'path_open' ? guardedOpen(wasi, outside, bytes, args) : wasi[name](...args);\n"
    "  };\n"
    "}\n"
    /* The devices that are a /proc, and what the engine holds that has no name but there: pipes, sockets, nameless files. */
    "function findOutside() {\n"
    "  const mounts = readFileSync('/proc/self/mountinfo', 'latin1').split('\\n');\n"
    "  const procs = new Set(mounts.filter((line) => line.includes(' - proc '))\n"
    "    .map((line) => statSync(line.split(' ')[4], { bigint: true }).dev));\n"
    "  const own = new Set();\n"
    "  for (const fd of readdirSync('/proc/self/fd')) {\n"
    "    let st;\n"
    "    try { st = fstatSync(+fd, { bigint: true }); } catch { continue; }\n" /* the list's own */
    "    if (st.isFIFO() || st.isSocket() || !st.nlink) own.add(`${st.dev}:${st.ino}`);\n"
    "  }\n"
    "  return { procs, own };\n"
    "}\n"
    "function functionsOf(wasi) {\n"
    "  const outside = findOutside();\n"
    "  const functions = Object.create(null);\n"
    "  for (const name of Object.keys(wasi))\n"
    "    if (/^(args|environ|clock|fd|path|poll|proc|random|sched|sock)_[a-z_]+$/.test(name) &&\n"
    "        typeof wasi[name] === 'function')\n"
    "      functions[name] = name.startsWith('path_') ? guarded(wasi, outside, name) : wasi[name];\n"
    "  return functions;\n"
    "}\n"
    "let running = false;\n"
    "try {\n"
    "  const wasi = new WASI({ version: 'preview1', args, env, preopens, returnOnExit: true });\n"
    "  const module = await WebAssembly.compile(readFileSync(args[0]));\n"
    "  const functions = functionsOf(wasi.wasiImport), imports = Object.create(null);\n"
    "  imports.wasi_snapshot_preview1 = imports.wasi_unstable = functions;\n"
    "  for (const { module: from, name, kind } of WebAssembly.Module.imports(module))\n"
    "    if (!(from in imports) || !(name in functions) || kind !== 'function')\n"
    "      throw new Error(`it imports ${from}.${name}, which is not WASI`);\n"
    "  instance = await WebAssembly.instantiate(module, imports);\n"
    /* WASI wants a memory; in an empty one, each call that needs it fails. */
    "  if (!('memory' in instance.exports))\n"
    "    instance = { exports: { ...instance.exports, memory: new WebAssembly.Memory({ initial: 0, maximum: "
    "0 }) } };\n"
    "  running = true;\n"
    "  process.exitCode = wasi.start(instance);\n"
    "} catch (error) {\n"
    "  const refused = !running || error?.code === 'ERR_INVALID_ARG_TYPE';\n"
    "  tell(refused && !(error instanceof WebAssembly.RuntimeError) ? 'refused' : 'trap', error);\n"
    "}\n"
    "writeSync(result, `\\0${words}\\0`);\n"
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
