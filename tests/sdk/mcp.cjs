// mcp.cjs: the official client of the Model Context Protocol lists and calls every tool of `warder mcp`, and of a host at /mcp, in each version of
// the protocol, as TAP. WARDER is the program, WARDER_URL the host's address, WARDER_TOKEN a tenant's token.
'use strict';
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { test, end } = require('./tap.cjs');

const warder = process.env.WARDER;
const env = { PATH: process.env.PATH, HOME: process.env.HOME ?? '/', XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR };
const limits = ['cpuTime', 'memory', 'swap', 'cpus', 'pids'].flatMap((name) => ['--prefer', `limits.${name}`]);

// The client asks for its newest version; this one asks for a given one, and remembers what both sides agreed on.
const asking = (Base) => class extends Base {
	constructor(version, ...rest) {
		super(...rest);
		this.wanted = version;
	}
	send(message, ...rest) {
		if (message.method === 'initialize')
			message.params.protocolVersion = this.wanted;
		return super.send(message, ...rest);
	}
	setProtocolVersion(version) {
		this.agreed = version;
		super.setProtocolVersion?.(version);
	}
};

const headers = { 'X-API-Key': process.env.WARDER_TOKEN };
const host = new URL('/mcp?template=mcp', process.env.WARDER_URL);
const Stdio = asking(StdioClientTransport);
const Http = asking(StreamableHTTPClientTransport);

async function hostSandboxes() {
	const answer = await fetch(new URL('/v1/sandboxes', host), { headers });
	return (await answer.json()).map((sandbox) => sandbox.id);
}

// How a client reaches the server, which sessions there are, and how a client ends its own.
const ways = {
	stdio: {
		open: (version) => new Stdio(version, { command: warder, args: ['mcp', ...limits, '--timeout', '5s', '--set', 'limits.fileSize=unlimited'], env }),
		sessions: async () => execFileSync(warder, ['session', 'list'], { env, encoding: 'utf8' }).split('\n').filter((line) => /mcp-/.test(line)),
		end: (client) => client.close(),
	},
	http: {
		open: (version) => new Http(version, host, { requestInit: { headers } }),
		sessions: hostSandboxes,
		end: (client, transport) => transport.terminateSession().then(() => client.close()),
	},
};

// Calls of every tool that must succeed, in this order, and what the text of the result must match.
const calls = [
	['describe_policy', {}, /Languages: [^.]*python/],
	['write_file', { path: 'greeting.txt', content: 'good day\n' }, /^9 bytes are written\.$/m],
	['run_command', { command: 'cat greeting.txt; echo oops >&2; exit 3' }, /^Exit code 3, [^]*good day[^]*oops/],
	['run_code', { language: 'python', code: 'import sys\nprint(int(input()) * 2, sys.argv[1:])', stdin: '21', args: ['a b'] }, /^42 \['a b'\]$/m],
	['run_code', { language: 'python', context: 'c', code: 'kept = 6' }, /^Piece 1 of context c ended without an error/],
	['run_code', { language: 'python', context: 'c', code: 'kept * 7' }, /^42$/m],
	['delete_context', { context: 'c' }, /^Context c is gone\.$/m],
	['apply_patch', { patch: '--- a/greeting.txt\n+++ b/greeting.txt\n@@ -1 +1 @@\n-good day\n+good night\n' }, /^The patch is applied\.$/m],
	['read_file', { path: 'greeting.txt' }, /^good night$/m],
	['list_files', {}, /^file \d+ 11 "greeting\.txt"$/m],
];

// Calls that break the policy or the schema: the members that the first line of the result, which is JSON, must have.
const violations = [
	['a program that takes too long', 'run_command', { command: 'exec sleep 60' },
		{ error: 'execution_error', cause: 'wallTime', field: 'limits.wallTime' }],
	['a program that takes longer than the call gave it', 'run_command', { command: 'exec sleep 60', timeout_seconds: 0.3 },
		{ error: 'execution_error', cause: 'wallTime', field: 'timeout_seconds' }],
	['a program that fills /tmp', 'run_command', { command: 'head -c 200M /dev/zero >/tmp/big' },
		{ error: 'execution_error', cause: 'disk', field: 'filesystem.tmp' }],
	['more time than the policy grants', 'run_command', { command: 'true', timeout_seconds: 6 },
		{ error: 'invalid_arguments', field: 'timeout_seconds' }],
	['a language that the policy does not know', 'run_code', { language: 'cobol', code: '' },
		{ error: 'invalid_arguments', field: 'language' }],
	['a path that climbs', 'read_file', { path: '../etc/shadow' },
		{ error: 'path_traversal', field: 'path', path: '../etc/shadow' }],
	['a file outside of the directories that may be written', 'write_file', { path: '/usr/x', content: '' },
		{ error: 'write_error', path: '/usr/x' }],
	['a patch that climbs', 'apply_patch', { patch: '--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n' },
		{ error: 'path_traversal', field: 'patch' }],
];

// The text of a result, which is all that a model reads.
async function call(client, name, args, options) {
	const result = await client.callTool({ name, arguments: args }, undefined, options);
	assert.equal(result.content.length, 1);
	assert.equal(result.content[0].type, 'text');
	assert.ok(result.content[0].text.length <= 25000, 'the result is too long');
	return { isError: result.isError, text: result.content[0].text };
}

async function talk(name, version) {
	const client = new Client({ name: 'warder-tests', version: '1' });
	const way = ways[name];
	const transport = way.open(version);
	const at = `${name}, ${version}`;
	let offered = [];

	await test(`${at}: the client connects`, async () => {
		await client.connect(transport);
		assert.equal(transport.agreed, version);
		assert.equal(client.getServerVersion().name, 'warder');
		await client.ping();
	});
	await test(`${at}: the client lists the tools, and this test calls each of them`, async () => {
		offered = (await client.listTools()).tools;
		assert.deepEqual(offered.map((tool) => tool.name).sort(), [...new Set(calls.map(([name]) => name))].sort());
		for (const tool of offered)
			assert.ok(tool.description && tool.inputSchema.additionalProperties === false, tool.name);
	});
	for (const [name, args, pattern] of calls)
		await test(`${at}: ${name}${args.context ? ' in a context' : ''}`, async () => {
			const { isError, text } = await call(client, name, args);
			assert.equal(isError, false, text);
			assert.match(text, pattern);
		});
	for (const [what, name, args, members] of violations)
		await test(`${at}: ${what} gives a result that a model can act on`, async () => {
			const { isError, text } = await call(client, name, args);
			const failure = JSON.parse(text.split('\n', 1)[0]);
			assert.equal(isError, true);
			for (const [key, value] of Object.entries(members))
				assert.equal(failure[key], value, text);
			assert.ok(failure.message, text);
			assert.ok(failure.remedy || /write|use|known|cannot/.test(failure.message), text);
		});
	await test(`${at}: a call that the client gives up ends, and the next one works`, async () => {
		const controller = new AbortController();
		setTimeout(() => controller.abort(), 500);
		await assert.rejects(call(client, 'run_command', { command: 'exec sleep 4' }, { signal: controller.signal }));
		const begin = Date.now();
		assert.match((await call(client, 'run_command', { command: 'echo there' })).text, /^there$/m);
		assert.ok(Date.now() - begin < 3000, 'the call waited for the one that was given up');
	});
	await test(`${at}: a tool that is not there is an error of the protocol`, async () => {
		await assert.rejects(client.callTool({ name: 'sudo', arguments: {} }), /"sudo" is not a tool/);
	});
	await test(`${at}: the session ends with the connection`, async () => {
		assert.equal((await way.sessions()).length, 1);
		await way.end(client, transport);
		assert.deepEqual(await way.sessions(), []);
	});
}

(async () => {
	for (const way of Object.keys(ways))
		for (const version of ['2025-06-18', '2025-03-26'])
			await talk(way, version);
	end();
})();
