// harness: what stands around a piece of JavaScript that is the body of a function of JSON to JSON.
//
// The user's source lies beside this file as main.js. It is compiled as the body of a function with the parameter `input`; the value that it
// returns is the result, and null is the result without one. A body with `await` is that of an async function. In the result, undefined, NaN,
// the infinities, functions and symbols become null, and a BigInt becomes a string.
"use strict";
const fs = require("node:fs"), path = require("node:path"), vm = require("node:vm");

const file = path.join(__dirname, "main.js");
const names = ["input", "require", "module", "exports", "__filename", "__dirname"];
const asynchronous = "return (async () => {";

function end(text) {
	process.stderr.write("warder: " + text + "\n");
	process.exit(2);
}

// What a toJSON() throws may be anything.
function describe(error) {
	try {
		return String(error?.message ?? error);
	} catch {
		return "(it has no text)";
	}
}

// Node warns of the loader for import() once. A name without "node:" would make it read and remember the package.json of the directory.
function quieten(options) {
	const { emitWarning } = process;
	process.emitWarning = () => {};
	new vm.Script("import('node:').catch(() => {})", options).runInThisContext();
	process.emitWarning = emitWarning;
}

// An error of code that does not parse is V8's about the text as it is, unless the text parses as that of an async function.
function compile() {
	const source = fs.readFileSync(file, "utf8");
	const options = { filename: file, importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER };
	if (/\bimport\b/.test(source))
		quieten(options);
	try {
		return vm.compileFunction(source, names, options);
	} catch (error) {
		try {
			return vm.compileFunction(asynchronous + source + "\n})();", names,
				{ ...options, columnOffset: -asynchronous.length });
		} catch {
			throw error;
		}
	}
}

function readInput() {
	const name = process.env.WARDER_INPUT;
	const text = name ? fs.readFileSync(name, "utf8") : "";
	try {
		return text.trim() ? JSON.parse(text) : null;
	} catch (error) {
		return end("the input is no JSON: " + error.message);
	}
}

function writeResult(value) {
	let text;
	try {
		text = JSON.stringify(value, (key, member) => (typeof member === "bigint" ? String(member) : member)) ?? "null";
	} catch (error) {
		end("the value that the function returned is no JSON: " + describe(error));
	}
	if (process.env.WARDER_RESULT)
		fs.writeFileSync(process.env.WARDER_RESULT, text);
	else
		process.stdout.write(text + "\n");
}

function main() {
	const loaded = require("node:module").createRequire(file);
	const whole = { exports: {} };
	const value = compile()(readInput(), loaded, whole, whole.exports, file, __dirname);
	if (typeof value?.then !== "function")
		return writeResult(value);
	let settled = false;
	process.on("exit", (status) => {
		if (!settled && !status)
			end("the promise that the function returned was never settled");
	});
	return value.then((found) => {
		settled = true;
		writeResult(found);
	});
}

module.exports = { check: compile };
if (require.main === module)
	main();
