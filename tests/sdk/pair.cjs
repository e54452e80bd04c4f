// pair.cjs: a pair of E2B's SDKs of any age, unchanged, against a host with a domain, as TAP. E2B_DOMAIN is the domain, E2B_API_KEY a tenant's
// token, OLD_TOKEN that of a tenant with --old-clients. What an old pair cannot do fails as warder-e2b(7) says.
'use strict';
const assert = require('node:assert/strict');
const https = require('node:https');
const { Sandbox } = require('@e2b/code-interpreter');
const { CommandExitError } = require('e2b');
const { test, end } = require('./tap.cjs');

const version = process.env.PAIR;
const noCode = version === '1.5.1'; // it shows no token to the code interpreter
const noContexts = version === '1.5.1' || version === '2.0.0'; // these show none for contexts
const old = { apiKey: process.env.OLD_TOKEN };

async function commands(sandbox) {
	await test('a command has output, an exit code, variables and a directory', async () => {
		const result = await sandbox.commands.run('echo $A; pwd; echo err >&2', { envs: { A: 'x y' }, cwd: '/' });
		assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'x y\n/\n', 'err\n']);
		await assert.rejects(sandbox.commands.run('exit 3'), (error) => error instanceof CommandExitError && error.exitCode === 3);
	});
	await test('a command in the background takes input, is listed and killed', async () => {
		const command = await sandbox.commands.run('read line; echo "got $line"; sleep 60', { background: true, stdin: true });
		assert.ok((await sandbox.commands.list()).some((each) => each.pid === command.pid));
		await sandbox.commands.sendStdin(command.pid, 'hello\n');
		for (let i = 0; i < 300 && command.stdout !== 'got hello\n'; i++)
			await new Promise((done) => setTimeout(done, 100));
		assert.equal(command.stdout, 'got hello\n');
		assert.equal(await command.kill(), true);
		await assert.rejects(command.wait());
	});
	await test('a terminal takes input and has a size', async () => {
		let screen = '';
		const pty = await sandbox.pty.create({ cols: 77, rows: 20, onData: (data) => (screen += Buffer.from(data).toString()) });
		await sandbox.pty.sendInput(pty.pid, Buffer.from('stty size; exit\n'));
		await pty.wait().catch(() => {});
		assert.match(screen, /20 77/);
	});
}

async function files(sandbox) {
	await test('a file is written, read, listed, renamed and removed', async () => {
		const bytes = Uint8Array.from({ length: 70000 }, (_, i) => i % 256);
		await sandbox.files.write('dir/data', bytes.buffer);
		assert.deepEqual(await sandbox.files.read('dir/data', { format: 'bytes' }), bytes);
		await sandbox.files.rename('dir/data', 'dir/more');
		assert.deepEqual((await sandbox.files.list('dir')).map((entry) => entry.name), ['more']);
		await sandbox.files.remove('dir/more');
		assert.equal(await sandbox.files.exists('dir/more'), false);
		await assert.rejects(sandbox.files.read('dir/more'), /NotFound|not.*(found|exist)|No such/i);
	});
	await test('a directory is watched', async () => {
		const seen = [];
		await sandbox.files.makeDir('watched');
		const watch = await sandbox.files.watchDir('watched', (event) => seen.push(`${event.type} ${event.name}`));
		await sandbox.files.write('watched/file', 'W');
		for (let i = 0; i < 300 && !seen.includes('create file'); i++)
			await new Promise((done) => setTimeout(done, 100));
		assert.ok(seen.includes('create file'), seen.join());
		await watch.stop();
	});
	await test('the signed URL of a file needs no token', async () => {
		await sandbox.files.write('/tmp/signed', 'S');
		const url = await sandbox.downloadUrl('/tmp/signed', { useSignature: true });
		assert.equal(await (await fetch(url)).text(), 'S');
	});
}

async function code(sandbox) {
	await test('code keeps its variables, and has results and errors', async () => {
		await sandbox.runCode('x = 41');
		assert.equal((await sandbox.runCode('x + 1')).text, '42');
		assert.equal((await sandbox.runCode('1/0')).error.name, 'ZeroDivisionError');
	});
}

async function contexts(sandbox) {
	await test('contexts have variables of their own', async () => {
		await sandbox.runCode('y = 1');
		const context = await sandbox.createCodeContext({ language: 'python' });
		assert.equal((await sandbox.runCode('y', { context })).error.name, 'NameError');
	});
}

// The status and the body at the name of a port.
function get(sandbox, port, headers) {
	return new Promise((done, failed) => {
		https.get(`https://${sandbox.getHost(port)}/index`, { headers }, (answer) => {
			let text = '';
			answer.on('data', (part) => (text += part));
			answer.on('end', () => done([answer.statusCode, text]));
		}).on('error', failed);
	});
}

async function ports(sandbox) {
	await test('getHost() leads to a server in the sandbox', async () => {
		assert.match(sandbox.getHost(8000), new RegExp(`^8000-${sandbox.sandboxId}\\.${process.env.E2B_DOMAIN}$`));
		await sandbox.files.write('/tmp/www/index', 'served');
		await sandbox.commands.run('python3 -m http.server -d /tmp/www 8000', { background: true, timeoutMs: 0 });
		let found;
		for (let i = 0; i < 300 && found?.[0] !== 200; i++) {
			found = await get(sandbox, 8000, { 'X-API-Key': process.env.E2B_API_KEY });
			await new Promise((done) => setTimeout(done, 100));
		}
		assert.deepEqual(found, [200, 'served']);
		assert.equal((await get(sandbox, 8000, {}))[0], 401);
		assert.equal((await get(sandbox, 8001, { 'X-API-Key': process.env.E2B_API_KEY }))[0], 502);
		if (sandbox.trafficAccessToken)
			assert.deepEqual(await get(sandbox, 8000, { 'E2b-Traffic-Access-Token': sandbox.trafficAccessToken }), [200, 'served']);
	});
}

// Every pair but the two oldest takes the host's URL in place of the domain. The older ones reach the code interpreter by the domain alone.
async function single() {
	const url = `https://api.${process.env.E2B_DOMAIN}`;
	let sandbox;
	Object.assign(process.env, { E2B_API_URL: url, E2B_SANDBOX_URL: url });
	await test('with a single URL, a sandbox is made, runs commands and has files', async () => {
		sandbox = await Sandbox.create({ timeoutMs: 300000, requestTimeoutMs: 20000 });
		assert.equal((await sandbox.commands.run('echo one')).stdout, 'one\n');
		await sandbox.files.write('dir/data', 'D');
		assert.equal(await sandbox.files.read('dir/data'), 'D');
		assert.deepEqual((await sandbox.files.list('dir')).map((entry) => entry.name), ['data']);
		assert.equal((await sandbox.runCode('6 * 7')).text, '42');
		assert.equal(await sandbox.isRunning(), true);
		await sandbox.kill();
		assert.equal(await sandbox.isRunning(), false);
	});
}

async function life(sandbox) {
	await test('a sandbox is connected to, gets another end, and is killed', async () => {
		const again = await Sandbox.connect(sandbox.sandboxId);
		assert.equal((await again.commands.run('echo same')).stdout, 'same\n');
		await again.setTimeout(60000);
		assert.equal(await sandbox.isRunning(), true);
		assert.notEqual(await sandbox.kill(), false); // the oldest pair says nothing
		assert.equal(await sandbox.isRunning(), false);
		await assert.rejects(sandbox.commands.run('true'));
	});
}

(async () => {
	let sandbox;
	await test('a sandbox is made', async () => {
		sandbox = await Sandbox.create({ timeoutMs: 300000, requestTimeoutMs: 20000, envs: { GIVEN: 'yes' }, secure: true });
		assert.equal((await sandbox.commands.run('echo $GIVEN')).stdout, 'yes\n');
	});
	if (sandbox) {
		await commands(sandbox);
		await files(sandbox);
		if (noCode)
			await test('code is refused: this pair sends no token', () => assert.rejects(sandbox.runCode('1'), /401|old-clients/));
		else
			await code(sandbox);
		if (noContexts)
			await test('contexts are refused: this pair sends no token', () => assert.rejects(sandbox.createCodeContext(), /401|old-clients/));
		else
			await contexts(sandbox);
		await ports(sandbox);
		await life(sandbox);
	}
	if (!noContexts)
		await single();
	if (noContexts) {
		let other;
		await test('a tenant may let old clients in', async () => {
			other = await Sandbox.create({ timeoutMs: 300000, requestTimeoutMs: 20000, secure: true, ...old });
		});
		if (other) {
			await code(other);
			await contexts(other);
			await other.kill();
		}
	}
	end();
})();
