// page.cjs: the page of an execution host in headless Chromium, as TAP. WARDER_URL is its address, WARDER_TOKEN a tenant's token. With
// WARDER_SCREENSHOTS, pictures are left in that directory.
'use strict';
const assert = require('node:assert/strict');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { test, end } = require('./tap.cjs');

const url = process.env.WARDER_URL, token = process.env.WARDER_TOKEN;
const patience = 60000 * Number(process.env.WARDER_TEST_SLOW || 1);
const pictures = process.env.WARDER_SCREENSHOTS;
const hostile = `<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>`;

async function api(method, at, body) {
	const answer = await fetch(url + at, { method, headers: { 'X-API-Key': token, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) });
	const text = await answer.text();
	assert.ok(answer.ok, `${method} ${at}: ${answer.status} ${text}`);
	return text ? JSON.parse(text) : null;
}

const start = (box, argv, more) => api('POST', `/v1/sandboxes/${box}/executions`, { argv, ...more });
const ended = (box, one) => api('GET', `/v1/sandboxes/${box}/executions/${one.id}?wait=1`);
const picture = async (page, name) => { if (pictures) await page.screenshot({ path: path.join(pictures, `${name}.png`) }); };

async function fill() {
	const box = (await api('POST', '/v1/sandboxes', { timeoutMs: 3600000, metadata: { name: 'nightly tests' } })).id;
	const other = (await api('POST', '/v1/sandboxes', { timeoutMs: 3600000, metadata: { name: `agent ${hostile}` } })).id;
	await ended(box, await start(box, ['sh', '-c', 'echo compiled 14 files; exit 0']));
	await ended(box, await start(box, ['python3', '-c', 'x = bytearray(900 * 1024 * 1024)']));
	await ended(box, await start(box, ['sleep', '60'], { timeoutMs: 200 }));
	const bad = await start(box, ['sh', '-c', `echo '${hostile}'; echo to stderr >&2; exit 3`]);
	await ended(box, bad);
	const running = await start(box, ['sh', '-c', 'for i in $(seq 1000); do echo test $i passed; sleep 0.3; done']);
	return { box, other, bad, running };
}

async function signIn(page) {
	await page.goto(url);
	await page.fill('#token', token);
	await page.click('#login button');
	await page.waitForSelector('#app:not([hidden])');
}

async function login(context, page, foreign) {
	await test('a visitor gets a form, and a wrong token is refused', async () => {
		await page.goto(url);
		await page.waitForSelector('#login:not([hidden])');
		assert.ok(await page.isHidden('#app'));
		await picture(page, 'login');
		await page.fill('#token', 'e2b_' + '0'.repeat(40));
		await page.click('#login button');
		await page.waitForFunction(() => document.getElementById('login-error').textContent.includes('wrong'));
	});
	await test('a token signs in; the cookie is HttpOnly, SameSite=Strict, and not the token', async () => {
		await signIn(page);
		const [cookie] = await context.cookies();
		assert.deepEqual([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.value.length], ['warder', true, 'Strict', 40]);
		const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }) + document.cookie);
		assert.ok(!kept.includes(token.slice(4)) && !cookie.value.includes(token.slice(4)) && !page.url().includes(token.slice(4)));
	});
	await test('neither half of the token is of any use alone', async () => {
		const [cookie] = await context.cookies();
		const key = await page.evaluate(() => sessionStorage.getItem('warder.key'));
		const status = async (headers) => (await fetch(`${url}/v1/host`, { headers })).status;
		assert.equal(await status({ Cookie: `warder=${cookie.value}` }), 403);
		assert.equal(await status({ Cookie: `warder=${cookie.value}`, 'X-Warder-Page': 'x' }), 403);
		assert.equal(await status({ 'X-Warder-Page': key }), 401);
		assert.equal(await status({ Cookie: `warder=${cookie.value}`, 'X-Warder-Page': key }), 200);
		assert.equal(await status({ Cookie: `warder=${cookie.value}`, 'X-Warder-Page': key, Origin: 'http://evil.test' }), 403);
	});
	await test('a login without the extra header is refused, as that of a form elsewhere', async () => {
		assert.equal((await fetch(`${url}/page/login`, { method: 'POST', body: JSON.stringify({ token }) })).status, 403);
	});
}

async function policy(page) {
	await test('the policy of the page lets nothing foreign in, and no frame around it', async () => {
		const answer = await fetch(url);
		const rules = answer.headers.get('content-security-policy');
		for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
			"require-trusted-types-for 'script'"])
			assert.ok(rules.includes(rule), `${rule}: ${rules}`);
		assert.ok(!rules.includes('unsafe') && !rules.includes('*') && !rules.includes('http'), rules);
		assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
	});
	await test('a script that is put into the page does not run', async () => {
		const ran = await page.evaluate(async () => {
			try { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.pwned=3">'); } catch { return 'refused'; }
			await new Promise((go) => setTimeout(go, 300));
			return window.pwned;
		});
		assert.equal(ran, 'refused');
	});
}

async function activity(page, made) {
	await test('the first look says what runs and what failed', async () => {
		await page.waitForFunction(() => document.querySelectorAll('#executions li').length === 5, null, { timeout: patience });
		const tiles = await page.locator('#tiles .tile').allTextContents();
		assert.deepEqual(tiles, ['1running now', '3failed', '1succeeded', '0waiting']);
		const badges = await page.locator('#executions .badge').allTextContents();
		assert.deepEqual(badges.sort(), ['exit code 3', 'memory limit', 'running', 'succeeded', 'time limit']);
		assert.deepEqual(await page.locator('#executions h2').allTextContents(), ['Running now · 1', 'Failed · 3', 'Succeeded · 1']);
		await picture(page, 'activity');
	});
	await test('an execution that failed shows its cause, its output and its receipt', async () => {
		await page.click(`#executions li[data-id="${made.bad.id}"]`);
		await page.waitForSelector('#detail .receipt', { timeout: patience });
		const text = await page.locator('#detail').innerText();
		assert.ok(text.includes('Exit code 3') && text.includes('Wall time') && text.includes('controls read back as enforced'), text);
		assert.equal(await page.locator('#detail pre .stderr').textContent(), 'to stderr\n');
		await page.click('#detail .receipt summary');
		assert.ok((await page.locator('#detail .receipt td').allTextContents()).includes('syscalls'));
		await picture(page, 'failed');
		await page.click('#detail .receipt summary');
	});
	await test('what a sandbox writes is text on the page', async () => {
		assert.equal(await page.locator('#detail pre span').first().textContent(), hostile + '\n');
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await page.locator('#app img, #app pre script').count(), 0);
		assert.ok((await page.locator('#sandboxes').innerText()).includes('onerror'));
	});
	await test('one that runs shows its output as it comes, and can be stopped', async () => {
		await page.click(`#executions li[data-id="${made.running.id}"]`);
		const lines = () => page.locator('#detail pre').innerText();
		await page.waitForFunction(() => document.querySelector('#detail pre').textContent.includes('passed'), null, { timeout: patience });
		const before = (await lines()).length;
		await page.waitForFunction((length) => document.querySelector('#detail pre').textContent.length > length + 30, before, { timeout: patience });
		await picture(page, 'running');
		await page.click('#detail button:has-text("Kill")');
		await page.waitForSelector('#detail .verdict.bad', { timeout: patience });
		assert.match(await page.locator('#detail .verdict').innerText(), /Killed by SIGKILL/);
	});
	await test('a sandbox is created, paused, resumed and ended', async () => {
		await page.click('#create');
		await page.waitForFunction(() => document.querySelectorAll('#sandboxes .card').length === 3, null, { timeout: patience });
		const newest = () => page.locator('#sandboxes .card', { hasNotText: /nightly|agent/ });
		await newest().locator('button:has-text("Pause")').click();
		await Promise.race([newest().locator('.badge:has-text("paused")').waitFor({ timeout: patience }), page.waitForSelector('#notice:not([hidden])', { timeout: patience })]);
		if (await newest().locator('button:has-text("Resume")').count()) {
			await newest().locator('button:has-text("Resume")').click();
			await newest().locator('.badge:has-text("running")').waitFor({ timeout: patience });
		} else {
			assert.ok((await page.locator('#notice').innerText()).includes('group')); // a host that cannot freeze says so
		}
		await newest().locator('button:has-text("End")').click();
		await page.waitForFunction(() => document.querySelectorAll('#sandboxes .card').length === 2, null, { timeout: patience });
	});
}

async function snapshots(page, made) {
	await test('the files of a sandbox are stored, shown, begun with and removed', async () => {
		assert.ok(await page.isHidden('#stored'));
		await ended(made.box, await start(made.box, ['sh', '-c', 'echo kept >/tmp/kept']));
		await page.locator('#sandboxes .card', { hasText: 'nightly' }).locator('button:has-text("Store")').click();
		await page.waitForFunction(() => document.querySelectorAll('#snapshots .card').length === 1, null, { timeout: patience });
		const [stored] = await api('GET', '/v1/snapshots');
		const text = await page.locator('#snapshots .card').innerText();
		assert.ok(text.includes(stored.id) && text.includes(`of sandbox ${made.box.slice(0, 8)}`) && text.includes(' ago'), text);
		await picture(page, 'snapshots');
		const before = (await api('GET', '/v1/sandboxes')).map((box) => box.id);
		await page.click('#snapshots button:has-text("New sandbox")');
		await page.waitForFunction((count) => document.querySelectorAll('#sandboxes .card').length === count, before.length + 1, { timeout: patience });
		const added = async () => (await api('GET', '/v1/sandboxes')).find((box) => !before.includes(box.id));
		const { id } = await added();
		while ((await added()).state === 'starting')
			await new Promise((resume) => setTimeout(resume, 20));
		const result = await ended(id, await start(id, ['grep', '-qx', 'kept', '/tmp/kept']));
		assert.equal(result.exitCode, 0);
		await api('DELETE', `/v1/sandboxes/${id}`);
		await page.click('#snapshots button:has-text("Remove")');
		await page.waitForSelector('#stored', { state: 'hidden', timeout: patience });
		assert.deepEqual(await api('GET', '/v1/snapshots'), []);
	});
}

async function code(page, made) {
	await test('code runs in a jail of its own, with cause and receipt', async () => {
		await page.click('[data-view=code]');
		await page.click('#code-run');
		await page.waitForSelector('#code-out .receipt', { timeout: patience });
		const text = await page.locator('#code-out').innerText();
		assert.ok(text.includes('Succeeded') && text.includes('hello from'), text);
	});
	await test('code runs in a sandbox, and keeps its variables', async () => {
		await page.selectOption('#code-place', made.box);
		for (const [piece, wanted] of [['x = 20', ''], ['print("sum", x + 22)\nx * 2', 'sum 42']]) {
			await page.fill('#code-text', piece);
			await page.click('#code-run');
			await page.waitForSelector('#code-out .verdict', { timeout: patience });
			assert.ok((await page.locator('#code-out').innerText()).includes(wanted));
		}
		assert.equal(await page.locator('#code-out pre').last().innerText(), '40');
	});
	await test('a rich result is in a frame that has no origin and runs nothing', async () => {
		await page.fill('#code-text', `class Rich:\n    def _repr_html_(self): return ${JSON.stringify(`<table><tr><th>city</th><th>people</th></tr><tr><td>Ulm</td><td>128928</td></tr></table>${hostile}<script>parent.pwned=4</script><a id=out href="http://evil.test/">x</a>`)}\nRich()`);
		await page.click('#code-run');
		await page.waitForSelector('#code-out iframe', { timeout: patience });
		const frame = await (await page.$('#code-out iframe')).contentFrame();
		await frame.waitForSelector('td', { timeout: patience });
		assert.equal(await page.getAttribute('#code-out iframe', 'sandbox'), '');
		assert.equal(await frame.locator('td').first().innerText(), 'Ulm');
		for (let i = 0; i < 100 && await frame.evaluate(() => getComputedStyle(document.querySelector('table')).borderCollapse) !== 'collapse'; i++)
			await page.waitForTimeout(100);
		assert.equal(await frame.evaluate(() => getComputedStyle(document.querySelector('table')).borderCollapse), 'collapse', 'the style of results was not loaded');
		await page.waitForTimeout(500);
		assert.equal(await page.evaluate(() => window.pwned), undefined);
		assert.equal(await frame.evaluate(() => [window.pwned, self.origin].join()), ',null');
		await picture(page, 'code');
	});
	await test('an error of the code is shown with its traceback', async () => {
		await page.fill('#code-text', '1/0');
		await page.click('#code-run');
		await page.waitForSelector('#code-out .verdict.bad', { timeout: patience });
		assert.ok((await page.locator('#code-out').innerText()).includes('ZeroDivisionError'));
	});
}

async function terminal(page, made) {
	const screen = () => page.locator('#screen').innerText();
	const shows = (text) => page.waitForFunction((wanted) => document.getElementById('screen').innerText.includes(wanted), text, { timeout: patience });
	await test('a terminal takes keys and shows what the shell answers', async () => {
		await page.click('[data-view=shell]');
		await page.selectOption('#shell-place', made.box);
		await page.click('#shell-open');
		await page.waitForFunction(() => document.getElementById('shell-state').textContent.startsWith('connected'), null, { timeout: patience });
		await shows('$');
		await page.focus('#screen');
		await page.keyboard.type('stty size; printf "\\033[31mred\\033[0m %s\\n" $((40+2))\n');
		await shows('25 100');
		await shows('red 42');
		assert.equal(await page.locator('#screen .f1').last().textContent(), 'red');
		await picture(page, 'terminal');
	});
	await test('it edits lines, and interrupts with Ctrl C', async () => {
		await page.keyboard.type('echo wrong');
		for (let i = 0; i < 5; i++) await page.keyboard.press('Backspace');
		await page.keyboard.type('right | tr a-z A-Z\n');
		await shows('RIGHT');
		await page.keyboard.type('sh -c "echo begun\$((1+1)); exec sleep 1000"\n');
		await shows('begun2'); // by now the program has the terminal, and not the shell
		await page.keyboard.press('Control+c');
		await page.keyboard.type('echo next$((1+1))\n');
		await shows('next2');
		await page.keyboard.type('clear; echo alone\n');
		await page.waitForFunction(() => /^\s*alone/m.test(document.getElementById('screen').innerText), null, { timeout: patience });
		assert.ok(!(await screen()).split('\n').slice(-25).join('\n').includes('next2'));
	});
	await test('and says how the shell ended', async () => {
		await page.keyboard.type('exit 7\n');
		await page.waitForFunction(() => document.getElementById('shell-state').textContent.includes('exit code 7'), null, { timeout: patience });
	});
}

async function policies(page) {
	await test('two policies stand side by side, with what differs', async () => {
		await page.click('[data-view=policies]');
		await page.waitForFunction(() => document.querySelectorAll('#policy-table tbody tr').length > 15, null, { timeout: patience });
		assert.ok((await page.locator('#policy-table tr.differs').allInnerTexts()).some((row) => row.includes('limits.memory') && row.includes('512MiB') && row.includes('128MiB')));
		await picture(page, 'policies');
		await page.check('#policy-differs');
		await page.waitForFunction(() => [...document.querySelectorAll('#policy-table tbody tr')].every((row) => row.className === 'differs'));
		await page.fill('#policy-text', '{"version": 1, "limits": {"wallTime": "30s", "memory": "900GiB"}}');
		await page.click('#policy-explain');
		await page.waitForFunction(() => document.querySelector('#policy-table .error'), null, { timeout: patience });
		assert.ok((await page.locator('#policy-table .error').innerText()).includes('memory'));
	});
}

async function main() {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
	});
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await context.newPage();
	const faults = [], foreign = [];
	page.setDefaultTimeout(patience);
	page.on('pageerror', (error) => faults.push(String(error)));
	page.on('dialog', (dialog) => { faults.push('a dialog'); dialog.dismiss(); });
	page.on('request', (request) => { if (!request.url().startsWith(url) && !/^(data|about|blob):/.test(request.url())) foreign.push(request.url()); });
	try {
		const made = await fill();
		await login(context, page);
		await policy(page);
		await activity(page, made);
		await snapshots(page, made);
		await code(page, made);
		await terminal(page, made);
		await policies(page);
		await test('the page stays signed in when it is loaded again, and signs out', async () => {
			await page.reload();
			await page.waitForSelector('#app:not([hidden])');
			await page.click('#logout');
			await page.waitForSelector('#login:not([hidden])');
			assert.deepEqual(await context.cookies(), []);
		});
		await test('no request went to another host, and no script failed', async () => {
			assert.deepEqual([foreign, faults], [[], []]);
		});
	} finally {
		await browser.close();
	}
}

main().catch((error) => test('the page can be tested', () => { throw error; })).finally(end);
