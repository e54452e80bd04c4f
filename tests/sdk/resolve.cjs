// resolve.cjs: for node --require. The names below DOMAIN lead to this machine's loopback, without a change of the machine.
'use strict';
const dns = require('node:dns');

const real = dns.lookup;
const below = `.${process.env.E2B_DOMAIN.replace(/:\d+$/, '')}`;

dns.lookup = (name, options, done) => {
	const answer = done ?? options;
	if (!name.endsWith(below))
		return real(name, options, done);
	process.nextTick(() => (options?.all ? answer(null, [{ address: '127.0.0.1', family: 4 }]) : answer(null, '127.0.0.1', 4)));
	return {};
};
