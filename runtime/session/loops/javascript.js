// The loop of a JavaScript context, for Node. The keeper of the session sends this text as the first message of descriptor 4, and then
// pieces of code; frames.h says how. The loop keeps its own references to what it calls, so that code which replaces fs.writeSync or
// JSON.stringify breaks its own context at most.
//
// The same loop runs TypeScript, which it transpiles; its word behind -e is then "typescript". A piece's types are not checked.
//
// A piece may declare names again that another has declared, and may use `await` outside of functions, as in the console of a browser. Node's
// own parser and REPL have the functions for this; --expose-internals makes them available. Between pieces nothing of the context runs, and
// timers wait for the next piece.
(() => {
	"use strict";
	const fs = require("node:fs"), vm = require("node:vm"), util = require("node:util");
	const { parse } = require("internal/deps/acorn/acorn/dist/acorn");
	const { processTopLevelAwait } = require("internal/repl/await");
	const CHANNEL = 4, MAGIC = 0x58544357, HEAD = 16, BODY = 65536 - HEAD, TEXT_MOST = 1 << 20;
	const PIECE = 1, INPUT = 2, READY = 3, BEGUN = 4, SHOWN = 5, ASKS = 6, DONE = 7, TAKEN = 8;
	const MORE = 1, AT_END = 2, MIME_MOST = 128;
	const { readSync, writeSync } = fs;
	const { inspect } = util;
	const { SourceMap } = require("node:module");
	const maps = new Map(); // of the last pieces of TypeScript: from their lines to those of the source
	const stringify = JSON.stringify, read = JSON.parse, exit = process.reallyExit.bind(process), later = setImmediate;
	const every = setInterval, stop = clearInterval;
	const typescript = process.argv[1] === "typescript" ? loadTypescript() : null;
	// Node's handler of SIGINT for scripts that an interrupt is to end. It stays from the first piece to the last: process.on("SIGINT")
	// would be exchanged for it around each script, and a signal in between would end the process.
	const watchdog = require("internal/test/binding").internalBinding("contextify");
	const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;
	const nothing = new vm.Script("0"), pause = new Int32Array(new SharedArrayBuffer(4)), wait = Atomics.wait;
	const LOOK_MS = 20;
	const listenerCount = process.listenerCount.bind(process);
	const removeAllListeners = process.removeAllListeners.bind(process);
	const stderr = process.stderr, writeError = stderr.write.bind(stderr);
	const room = Buffer.alloc(BODY + HEAD);
	const state = { count: 0, piece: 0 };
	const DISPLAY = Symbol.for("Jupyter.display"), PIECE_KEY = Symbol.for("warder.piece");
	// What an interrupt may end from its first to its last instruction.
	const guarded = new vm.Script('globalThis[Symbol.for("warder.piece")]()', { filename: "<warder>" });

	// ---- frames ----

	function send(kind, text) {
		const body = Buffer.from(text);
		let at = 0;
		do {
			const part = body.subarray(at, at + BODY), frame = Buffer.alloc(HEAD + part.length);
			at += BODY;
			[MAGIC, kind, kind === READY ? 0 : state.piece, at < body.length ? MORE : 0]
				.forEach((number, i) => frame.writeUInt32LE(number, 4 * i));
			part.copy(frame, HEAD);
			try {
				writeSync(CHANNEL, frame);
			} catch {
				exit(0); // the keeper is gone
			}
		} while (at < body.length);
	}

	// A whole text. Ends this process if the keeper is gone.
	function receive() {
		const parts = [];
		for (;;) {
			let length = 0;
			try {
				length = readSync(CHANNEL, room);
			} catch (error) {
				if (error.code === "EINTR")
					return null; // an interrupt
			}
			if (length < HEAD)
				exit(0);
			parts.push(Buffer.from(room.subarray(HEAD, length)));
			const [kind, piece, flags] = [4, 8, 12].map((at) => room.readUInt32LE(at));
			if (!(flags & MORE))
				return { kind, piece, flags, text: Buffer.concat(parts).toString() };
		}
	}

	// ---- what a value looks like ----

	const RICH = [["_toHtml", "text/html"], ["_toMarkdown", "text/markdown"], ["_toSvg", "image/svg+xml"],
		["_toPng", "image/png"], ["_toJpeg", "image/jpeg"]];

	// Warder's texts have no NUL.
	function cut(text) {
		return (text.length <= TEXT_MOST ? text : text.slice(0, TEXT_MOST) + "...").replaceAll("\0", "\\x00");
	}

	// If a value cannot be shown, the reason.
	function show(value) {
		try {
			return cut(inspect(value, { maxArrayLength: 100, maxStringLength: 10000 }));
		} catch (error) {
			return cut("(it cannot be shown: " + attempt(() => String(error), "no reason") + ")");
		}
	}

	function attempt(call, otherwise) {
		try {
			return call();
		} catch {
			return otherwise;
		}
	}

	function encode(mime, data) {
		if (data instanceof Uint8Array)
			return Buffer.from(data).toString("base64");
		return typeof data === "string" ? cut(data) : mime === "application/json" ? stringify(data) : undefined;
	}

	// Objects show themselves by the function that Deno's notebooks know, or by those of IJavascript.
	function bundle(value) {
		const found = {}, rich = {};
		const owner = (typeof value === "object" && value !== null) || typeof value === "function";
		if (owner) {
			if (attempt(() => typeof value[DISPLAY] === "function", false))
				Object.assign(found, attempt(() => value[DISPLAY](), {}));
			for (const [name, mime] of RICH)
				if (!(mime in found) && attempt(() => typeof value[name] === "function", false))
					found[mime] = attempt(() => value[name](), undefined);
		}
		for (const mime of Object.keys(found).sort()) {
			const text = attempt(() => encode(mime, found[mime]), undefined);
			if (typeof text === "string" && mime.includes("/") && mime.length <= MIME_MOST)
				rich[mime] = text;
		}
		rich["text/plain"] ??= show(value);
		return rich;
	}

	function display(...values) {
		for (const value of values) {
			let said;
			send(SHOWN, stringify(bundle(value)));
			do // what is written behind the value waits until it has its place; null: an interrupt
				said = receive();
			while (said && said.kind !== TAKEN);
		}
	}

	// What the user types, or null if there is no more.
	function prompt(text = "") {
		send(ASKS, String(text));
		for (;;) {
			const said = receive();
			// An interrupt, which ends the script a moment later.
			if (!said)
				wait(pause, 0, 0);
			if (said.kind === INPUT && said.piece === state.piece)
				return said.flags & AT_END ? null : said.text;
		}
	}

	// ---- errors ----

	function in_source(text, piece, line, column) {
		const found = maps.has(piece) ? maps.get(piece).findEntry(line - 1, column ? column - 1 : 1e6) : {};
		return found.originalLine === undefined
			? text
			: `<piece ${piece}>:${found.originalLine + 1}${column ? ":" + (found.originalColumn + 1) : ""}`;
	}

	// Without the loop's own part of the stack.
	function trace(error) {
		const lines = String(error.stack).split("\n");
		const end = lines.findIndex((line) => /\((node:vm:|<warder>:)/.test(line));
		return (end < 0 ? lines : lines.slice(0, end)).join("\n").replace(/<piece (\d+)>:(\d+)(?::(\d+))?/g,
			(text, piece, line, column) => in_source(text, Number(piece), Number(line), Number(column))) + "\n";
	}

	function describe(error) {
		const isError = attempt(() => util.types.isNativeError(error) || error instanceof Error, false);
		const name = isError ? attempt(() => String(error.name), "Error") : "Error";
		let value = isError ? attempt(() => String(error.message), "") : show(error);
		const isTraced = isError && attempt(() => typeof error.stack === "string", false);
		const text = isTraced ? attempt(() => trace(error), "") : "Uncaught " + show(error) + "\n";
		return { name: cut(name), value: cut(value), traceback: cut(text) };
	}

	function interrupted() {
		return { name: "Interrupted", value: "the piece was interrupted", traceback: "" };
	}

	// ---- a piece ----

	// An import of modules as variables, which stay for later pieces.
	function load(node) {
		const from = `require(${stringify(node.source.value)})`, names = [];
		let text = node.specifiers.length ? "" : from + ";";
		for (const { type, imported, local } of node.specifiers)
			if (type === "ImportNamespaceSpecifier")
				text += `var ${local.name} = ${from};`;
			else if (type === "ImportDefaultSpecifier" || imported.name === "default")
				text += `var ${local.name} = ((m) => m?.__esModule ? m.default : m)(${from});`;
			else
				names.push((imported.name ?? stringify(imported.value)) + ": " + local.name);
		return text + (names.length ? `var { ${names.join(", ")} } = ${from};` : "");
	}

	// What takes the place of a statement; its lines stay as many.
	function restate(node, text) {
		const whole = text.slice(node.start, node.end), newlines = "\n".repeat(whole.split("\n").length - 1);
		switch (node.type) {
		case "VariableDeclaration":
			return "var".padEnd(node.kind.length) + whole.slice(node.kind.length);
		case "ClassDeclaration":
			return `var ${node.id.name} = ${whole};`;
		case "ImportDeclaration":
			return load(node) + newlines;
		case "ExportNamedDeclaration":
			return node.declaration
				? text.slice(node.start, node.declaration.start).replace("export", "      ") +
					restate(node.declaration, text)
				: newlines;
		default:
			return whole;
		}
	}

	// What a piece declares with const, let or class would be the only declaration of that name for ever.
	function let_redeclare(source) {
		const { body } = parse(source, { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowHashBang: true,
			allowImportExportEverywhere: true });
		let text = source;
		for (const node of body.reverse())
			text = text.slice(0, node.start) + restate(node, source) + text.slice(node.end);
		return text;
	}

	function loadTypescript() {
		const places = ["typescript", "/usr/share/nodejs/typescript", "/usr/lib/node_modules/typescript",
			"/usr/local/lib/node_modules/typescript"];
		for (const place of places) {
			try {
				return require(place);
			} catch {
				continue;
			}
		}
		writeSync(2, "the module typescript is not installed (node-typescript of Debian)\n");
		exit(1);
	}

	// Imports stay, also those that only a later piece uses.
	function transpile(source) {
		const { ScriptTarget, ModuleKind, flattenDiagnosticMessageText } = typescript;
		const name = `<piece ${state.count}>`;
		const { outputText, sourceMapText, diagnostics } = typescript.transpileModule(source, {
			fileName: name + ".ts", reportDiagnostics: true,
			compilerOptions: { target: ScriptTarget.ES2022, module: ModuleKind.ESNext, isolatedModules: true,
				preserveValueImports: true, sourceMap: true } });
		const [first] = diagnostics;
		if (first) {
			const { line, character } = first.file.getLineAndCharacterOfPosition(first.start);
			const error = new SyntaxError(flattenDiagnosticMessageText(first.messageText, "\n"));
			error.stack = `${name}:${line + 1}:${character + 1}\n${source.split("\n")[line]}\n` +
				" ".repeat(character) + `^\n\nSyntaxError: ${error.message}`;
			throw error;
		}
		maps.set(state.count, new SourceMap(read(sourceMapText)));
		maps.delete(state.count - 1000);
		return outputText.replace(/\/\/# sourceMappingURL=.*\s*$/, "");
	}

	// V8 reports the errors of code that does not parse.
	function prepare(piece) {
		const source = typescript ? transpile(piece) : piece;
		const text = attempt(() => let_redeclare(source), source);
		const wrapped = attempt(() => processTopLevelAwait(text), null);
		return { text: wrapped ?? text, awaits: wrapped !== null };
	}

	// Calls `answer` with {value} or {error}, perhaps later. An interrupt while the script runs is the answer then.
	function evaluate(source, answer) {
		const failed = (error) => answer({ error });
		try {
			const { text, awaits } = prepare(source);
			const script = new vm.Script(text, { filename: `<piece ${state.count}>`, importModuleDynamically });
			globalThis[PIECE_KEY] = () => {
				send(BEGUN, "");
				return script.runInThisContext();
			};
			const value = guarded.runInThisContext({ breakOnSigint: true });
			if (awaits)
				value.then((found) => answer({ value: found?.value }), failed);
			else
				answer({ value });
		} catch (error) {
			if (attempt(() => error.code, "") === "ERR_SCRIPT_EXECUTION_INTERRUPTED")
				answer({ interrupted: true });
			else
				failed(error);
		} finally {
			delete globalThis[PIECE_KEY];
		}
	}

	function tell(found) {
		const said = { status: "ok", executionCount: state.count };
		if ("value" in found && found.value !== undefined) {
			globalThis._ = found.value;
			said.value = bundle(found.value);
		} else if (!("value" in found)) {
			said.status = "error";
			said.error = found.interrupted ? interrupted() : describe(found.error);
		}
		send(DONE, stringify(said));
	}

	// An interrupt while the piece waits for a promise gives the promise up. The timer also keeps Node from ending for want of work. No
	// promise of the loop's is involved: V8 drops those that are due where it ends a script.
	function run(source, finish) {
		let found = null, over = false;
		const look = () => {
			if (!found && watchdog.watchdogHasPendingSigint())
				found = { interrupted: true };
			if (!found || over)
				return;
			over = true;
			stop(timer);
			finish(found);
		};
		const timer = every(look, LOOK_MS);
		evaluate(source, (result) => {
			found ??= result;
			later(look);
		});
	}

	// An interrupt that came after the end of the last piece is ignored. The listeners of a piece are removed with the piece.
	function forget_interrupts() {
		if (listenerCount("SIGINT")) {
			removeAllListeners("SIGINT");
			watchdog.stopSigintWatchdog();
			watchdog.startSigintWatchdog();
		}
		attempt(() => nothing.runInThisContext({ breakOnSigint: true }));
	}

	// Timers that are due have their turn before the piece.
	function next() {
		const piece = receive();
		if (!piece)
			wait(pause, 0, 0, 2); // for Node's thread that is told of it
		if (!piece || piece.kind !== PIECE)
			return later(next);
		forget_interrupts();
		later(() => {
			state.piece = piece.piece;
			state.count++;
			run(piece.text, (found) => {
				tell(found);
				later(next);
			});
		});
	}

	function complain(error) {
		const said = describe(error), text = said.traceback || said.value + "\n";
		writeError(text.startsWith("Uncaught ") ? text : "Uncaught " + text);
	}

	watchdog.startSigintWatchdog();
	process.on("uncaughtException", complain); // of a timer: the context goes on
	process.on("unhandledRejection", complain);
	process.argv.length = 1;
	for (const [name, value] of Object.entries({ require, module, exports, display, prompt }))
		Object.defineProperty(globalThis, name, { configurable: true, writable: true, value });
	send(READY, stringify({ interpreter: "Node " + process.versions.node }));
	next();
})();
