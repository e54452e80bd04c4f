// demo-e2b.cjs: E2B's own SDK, unchanged, uses a host. E2B_API_URL and E2B_SANDBOX_URL are its address, E2B_API_KEY is a tenant's token.
'use strict';
const { Sandbox } = require('@e2b/code-interpreter');

const plot = `
class Plot:
    def _repr_svg_(self):
        points = " ".join("%d,%d" % (x, (x - 10) ** 2) for x in range(21))
        return '<svg xmlns="http://www.w3.org/2000/svg"><polyline points="%s"/></svg>' % points
Plot()`;

async function main() {
	const sandbox = await Sandbox.create({ timeoutMs: 60000 });
	console.log('create    sandbox', sandbox.sandboxId);
	const { results } = await sandbox.runCode(plot);
	console.log('runCode   a plot of', results[0].svg.length, 'bytes of SVG');
	await sandbox.files.write('/tmp/plot.svg', results[0].svg);
	const files = await sandbox.files.list('/tmp');
	console.log('files     /tmp has', files.map((each) => each.name).join(' '));
	let screen = '';
	const pty = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => (screen += Buffer.from(data).toString()) });
	await sandbox.pty.sendInput(pty.pid, Buffer.from('stty size; exit\n'));
	await pty.wait().catch(() => {}); // an exit code other than 0 is an error
	console.log('terminal ', /24 80/.exec(screen)[0], '(rows and columns)');
	console.log('kill     ', await sandbox.kill());
}

main().catch((error) => {
	console.error(error);
	process.exitCode = 1;
});
