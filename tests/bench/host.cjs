// host.cjs: rounds of E2B's SDKs for host.py: each line of input is answered with a line of JSON, the milliseconds of each step.
'use strict';
const readline = require('node:readline');
const { Sandbox } = require('@e2b/code-interpreter');

const bytes = new Uint8Array(65536).fill(7).buffer;

async function main() {
	const stays = await Sandbox.create({ timeoutMs: 3600000 });
	await stays.runCode('1');
	for await (const line of readline.createInterface({ input: process.stdin })) {
		if (!line) continue;
		const times = {};
		let at = performance.now();
		const note = (name) => { times[name] = performance.now() - at; at = performance.now(); };
		const begin = at;
		const sandbox = await Sandbox.create();
		note('create');
		await sandbox.commands.run('true');
		note('command');
		await sandbox.kill();
		note('end');
		times['create, command, end'] = performance.now() - begin;
		await stays.runCode('1 + 1');
		note('a piece of code');
		await stays.files.write('/tmp/g', bytes);
		await stays.files.read('/tmp/g', { format: 'bytes' });
		note('a file written and read');
		console.log(JSON.stringify(times));
	}
	await stays.kill();
}

main();
