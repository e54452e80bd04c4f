// tap.cjs: the Test Anything Protocol for tests of SDKs.
//   await test(name, body)   one test: passes unless the body throws
//   end()                    the plan, last
'use strict';

let count = 0;
let failed = 0;

async function test(name, body) {
	let fault;
	try {
		await body();
	} catch (error) {
		fault = error ?? new Error('nothing was thrown');
	}
	count++;
	console.log(`${fault ? 'not ok' : 'ok'} ${count} - ${name}`);
	if (fault) {
		failed++;
		console.log(String(fault.stack ?? fault).replace(/^/gm, '# '));
	}
}

function end() {
	console.log(`1..${count}`);
	process.exitCode = failed > 0 ? 1 : 0;
}

module.exports = { test, end };
