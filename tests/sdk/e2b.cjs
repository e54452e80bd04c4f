// e2b.cjs: the SDKs of E2B, unchanged, against a running host, as TAP. E2B_API_URL and E2B_SANDBOX_URL are its address, E2B_API_KEY is a
// tenant's token.
'use strict';
const assert = require('node:assert/strict');
const { CommandExitError, Sandbox: Plain } = require('e2b');
const { Sandbox } = require('@e2b/code-interpreter');
const { test, end } = require('./tap.cjs');

async function commands(sandbox) {
	await test('a command ends with its output and exit code', async () => {
		const result = await sandbox.commands.run('echo out; echo err >&2');
		assert.deepEqual([result.exitCode, result.stdout, result.stderr], [0, 'out\n', 'err\n']);
		await assert.rejects(sandbox.commands.run('echo no >&2; exit 3'),
			(error) => error instanceof CommandExitError && error.exitCode === 3 && error.stderr === 'no\n');
	});
	await test('output comes as it is written', async () => {
		const parts = [];
		await sandbox.commands.run('echo one; sleep 1; echo two', { onStdout: (text) => parts.push([text, Date.now()]) });
		assert.equal(parts.map(([text]) => text).join(''), 'one\ntwo\n');
		assert.ok(parts.at(-1)[1] - parts[0][1] > 500, 'the parts came together');
	});
	await test('a command has variables, a directory and input', async () => {
		const result = await sandbox.commands.run('echo $A; pwd', { envs: { A: 'x y' }, cwd: '/' });
		assert.equal(result.stdout, 'x y\n/\n');
		const command = await sandbox.commands.run('read line; echo "got $line"', { background: true, stdin: true });
		await sandbox.commands.sendStdin(command.pid, 'hello\n');
		assert.equal((await command.wait()).stdout, 'got hello\n');
	});
	await test('a command in the background is listed and killed', async () => {
		const command = await sandbox.commands.run('sleep 60', { background: true });
		assert.ok((await sandbox.commands.list()).some((each) => each.pid === command.pid));
		assert.equal(await command.kill(), true);
		await assert.rejects(command.wait());
		assert.equal(await sandbox.commands.kill(command.pid), false);
	});
	await test('a command that takes too long is ended', async () => {
		await assert.rejects(sandbox.commands.run('sleep 60', { timeoutMs: 1000 }), /time|deadline/i);
	});
	await test('two megabytes of output arrive whole', async () => {
		const result = await sandbox.commands.run('head -c 2000000 /dev/zero | tr "\\0" x');
		assert.equal(result.stdout, 'x'.repeat(2000000));
	});
}

async function files(sandbox) {
	await test('a file is written, read, described and removed', async () => {
		const bytes = Uint8Array.from({ length: 70000 }, (_, i) => i % 256);
		await sandbox.files.write('dir/data', bytes.buffer);
		assert.deepEqual(await sandbox.files.read('dir/data', { format: 'bytes' }), bytes);
		assert.equal((await sandbox.files.getInfo('dir/data')).size, 70000);
		await sandbox.files.remove('dir/data');
		assert.equal(await sandbox.files.exists('dir/data'), false);
		await assert.rejects(sandbox.files.read('dir/data'), /NotFound|not.*(found|exist)|No such/i);
	});
	await test('files are listed and renamed', async () => {
		await sandbox.files.write('many/a', 'A');
		await sandbox.files.write('many/b', 'B');
		await sandbox.files.rename('many/b', 'many/c');
		assert.deepEqual((await sandbox.files.list('many')).map((entry) => [entry.name, entry.type]), [['a', 'file'], ['c', 'file']]);
		assert.equal(await sandbox.files.read('many/c'), 'B');
	});
	await test('several files are written at once, listed and renamed', async () => {
		await sandbox.files.write([{ path: 'several/a', data: 'A' }, { path: 'several/b', data: 'B' }]);
		await sandbox.files.rename('several/b', 'several/c');
		assert.deepEqual((await sandbox.files.list('several')).map((entry) => [entry.name, entry.type]), [['a', 'file'], ['c', 'file']]);
		assert.equal(await sandbox.files.read('several/c'), 'B');
	});
	await test('a directory is watched', async () => {
		const seen = [];
		await sandbox.files.makeDir('watched');
		const watch = await sandbox.files.watchDir('watched', (event) => seen.push(`${event.type} ${event.name}`), { recursive: true });
		await sandbox.files.write('watched/below/file', 'W');
		for (let i = 0; i < 300 && !seen.includes('create below/file'); i++)
			await new Promise((done) => setTimeout(done, 100));
		assert.ok(seen.includes('create below') && seen.includes('create below/file'), seen.join());
		await watch.stop();
	});
	await test('a directory is made once', async () => {
		assert.equal(await sandbox.files.makeDir('made'), true);
		assert.equal(await sandbox.files.makeDir('made'), false);
	});
}

async function terminal(sandbox) {
	await test('a terminal takes input, has a size and ends', async () => {
		let screen = '';
		const pty = await sandbox.pty.create({ cols: 77, rows: 20, onData: (data) => (screen += Buffer.from(data).toString()) });
		await sandbox.pty.sendInput(pty.pid, Buffer.from('stty size; exit\n'));
		await pty.wait().catch(() => {});
		assert.match(screen, /20 77/);
	});
}

async function code(sandbox) {
	await test('code keeps its variables, and has results, output and errors', async () => {
		await sandbox.runCode('x = 41');
		const printed = [];
		const execution = await sandbox.runCode('print("hi")\nx + 1', { onStdout: (message) => printed.push(message.line) });
		assert.equal(execution.text, '42');
		assert.equal(printed.join(''), 'hi\n');
		assert.equal((await sandbox.runCode('1/0')).error.name, 'ZeroDivisionError');
	});
	await test('a picture is a result', async () => {
		const execution = await sandbox.runCode('class P:\n    def _repr_png_(self):\n        return b"\\x89PNG"\nP()');
		assert.equal(Buffer.from(execution.results[0].png, 'base64').toString('latin1'), '\x89PNG');
	});
	await test('contexts have variables of their own', async () => {
		const context = await sandbox.createCodeContext({ language: 'python' });
		assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError');
		assert.ok((await sandbox.listCodeContexts()).some((each) => each.id === context.id));
		await sandbox.runCode('x = 1', { context });
		await sandbox.restartCodeContext(context);
		assert.equal((await sandbox.runCode('x', { context })).error.name, 'NameError');
		await sandbox.removeCodeContext(context);
		assert.equal((await sandbox.runCode('x')).text, '41');
	});
	await test('another language runs', async () => {
		assert.equal((await sandbox.runCode('[1, 2].map((n) => n * 2).join()', { language: 'javascript' })).text, '2,4');
	});
}

async function life(sandbox, make) {
	await test('a sandbox is described, listed and connected to', async () => {
		assert.equal((await sandbox.getInfo()).sandboxId, sandbox.sandboxId);
		assert.ok((await make.list({ query: { metadata: { who: 'test' } } }).nextItems()).some((each) => each.sandboxId === sandbox.sandboxId));
		const again = await make.connect(sandbox.sandboxId);
		assert.equal((await again.commands.run('echo same')).stdout, 'same\n');
		assert.equal(await sandbox.isRunning(), true);
	});
	await test('a sandbox has metrics', async () => {
		const [metrics] = await sandbox.getMetrics();
		assert.equal(metrics.memTotal, 512 * 1024 * 1024);
		assert.ok(metrics.memUsed > 0 && metrics.cpuUsedPct >= 0 && metrics.diskTotal > 0);
	});
	await test('a request narrows the network, and never widens it', async () => {
		await assert.rejects(make.create({ network: { allowOut: ['example.org'] } }), /example.org/);
		const narrow = await make.create({ allowInternetAccess: false, network: { denyOut: ['0.0.0.0/0'] } });
		assert.equal(await narrow.kill(), true);
	});
	await test('what the host has not is refused with a message', async () => {
		await assert.rejects(sandbox.fork(), /501: this call is not there on a Warder host/);
	});
	await test('the files of a sandbox are stored, and others begin with them', async () => {
		await sandbox.files.write('stored/file', 'before');
		const snapshot = await sandbox.createSnapshot({ name: 'mine' });
		assert.deepEqual(snapshot.names, ['mine']);
		await sandbox.files.write('stored/file', 'after');
		assert.deepEqual(await sandbox.listSnapshots().nextItems(), [snapshot]);
		assert.deepEqual(await make.listSnapshots({ sandboxId: 'other' }).nextItems(), []);
		for (const name of [snapshot.snapshotId, 'mine']) {
			const other = await make.create(name);
			assert.equal(await other.files.read('stored/file'), 'before');
			await other.kill();
		}
		assert.equal(await make.deleteSnapshot(snapshot.snapshotId), true);
		assert.equal(await make.deleteSnapshot(snapshot.snapshotId), false);
		await assert.rejects(make.create(snapshot.snapshotId), /404/);
	});
	await test('a sandbox ends at its time', async () => {
		const short = await make.create({ timeoutMs: 60000 });
		await short.setTimeout(2000);
		for (let i = 0; i < 100 && (await short.isRunning()); i++)
			await new Promise((done) => setTimeout(done, 200));
		assert.equal(await short.isRunning(), false);
	});
	await test('a sandbox is killed once', async () => {
		assert.equal(await sandbox.kill(), true);
		assert.equal(await sandbox.kill(), false);
		assert.equal(await sandbox.isRunning(), false);
		await assert.rejects(sandbox.commands.run('true'));
	});
}

(async () => {
	let sandbox;
	await test('a wrong token is refused', async () => {
		await assert.rejects(Plain.create({ apiKey: `e2b_${'0'.repeat(40)}` }), /401|auth|token|key/i);
	});
	await test('a sandbox is made', async () => {
		sandbox = await Sandbox.create({ timeoutMs: 300000, requestTimeoutMs: 20000, metadata: { who: 'test' }, envs: { GIVEN: 'yes' } });
		assert.equal((await sandbox.commands.run('echo $GIVEN')).stdout, 'yes\n');
	});
	if (sandbox) {
		await commands(sandbox);
		await files(sandbox);
		await terminal(sandbox);
		await code(sandbox);
		await life(sandbox, Sandbox);
	}
	end();
})();
