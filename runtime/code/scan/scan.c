/*
 * scan: one source, its tokens, the rules.
 *
 * A text that is handed on to a shell or an interpreter is a source of its own, read by the lexer of its language, at most MAX_DEPTH
 * levels deep. Texts of one level do not overlap and lie within those of the level above, so that all of it is linear. A finding
 * in such a text is shown by the line of the whole source on which the text begins.
 *
 * Whether a use of the network is harmless is known at the end, when all hosts of the source have been seen: those may stand in
 * other lines than the call.
 */
#include "runtime/code/scan/scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/code/detect/lexer.h"
#include "runtime/code/detect/pattern.h"
#include "runtime/code/scan/rules.h"
#include "runtime/code/scan/text.h"

#define MAX_DEPTH   3
#define MAX_RULES   320
#define NEAR        6  /* tokens behind a call in which its texts are */
#define MAX_WORDS   24 /* texts of a list that make a command line */
#define MAX_COMMAND 4096

/* Commands of the shell itself; they start no program. */
static const char builtins[] =
    ":|.|[|[[|]]|test|true|false|cd|set|unset|shift|return|exit|local|declare|typeset|readonly|read|export|"
    "printf|let|getopts|break|"
    "continue|wait|trap|umask|type|command|hash|alias|unalias|source|eval|exec|mapfile|readarray|shopt|pushd|"
    "popd|dirs|jobs|fg|bg|"
    "times|ulimit|builtin|enable|caller|complete|compgen|history|disown|kill|((|))";

/* Words behind which a command begins. */
static const char openers[] =
    "if|then|else|elif|do|while|until|!|{|time|exec|command|nohup|builtin|xargs|sudo|doas|env|nice|timeout";
/* Words of the grammar that are no command. */
static const char keywords[] =
    "if|then|else|elif|fi|do|done|while|until|for|case|esac|in|!|{|}|function|select|time|coproc";

/* Calls whose text is a path. */
static const char file_calls[] =
    "open|fopen|Path|File|readFile|readFileSync|writeFile|writeFileSync|createReadStream|file_get_contents|"
    "file_put_contents|read|"
    "ReadFile|Open|OpenFile|readlines|readLines|read.csv|load_dotenv|FileReader|FileInputStream|Paths|get|of|"
    "read_to_string|ifstream|"
    "fstream|access|stat|exists|listdir|glob|copy|copyfile|move|include|require|chmod|unlink";

struct scan {
	const struct scan_policy *policy;
	const struct scan_request *request;
	struct scan_report *report;
	struct pattern patterns[MAX_RULES];
	bool network;      /* the source uses it */
	bool hosts_seen;   /* it names a host */
	bool hosts_denied; /* and one that is not allowed */
	enum scan_severity dropped_worst;
	struct warder_error *err;
};

/* A source or a text in it. */
struct source {
	const char *language;
	const struct language_row *row;
	struct tokens tokens;
	bool shell;
	int depth;
	size_t outer_at; /* where it lies in the whole source; of the whole source itself, its tokens tell */
	uint32_t outer_line; /* 0: it is the whole source */
};

/* ---- findings ---- */

static void raise(struct scan_report *report, enum scan_severity severity)
{
	static const enum scan_decision decisions[] = {
		[SCAN_NONE] = SCAN_ALLOW, [SCAN_LOW] = SCAN_ALLOW,     [SCAN_MEDIUM] = SCAN_REVIEW,
		[SCAN_HIGH] = SCAN_DENY,  [SCAN_CRITICAL] = SCAN_DENY,
	};

	if (severity > report->severity)
		report->severity = severity;
	if (decisions[severity] > report->decision)
		report->decision = decisions[severity];
}

/* Only the last findings can be of the same line, but for texts within texts: a few are looked at. */
static bool is_known(const struct scan_report *report, const char *rule, uint32_t line)
{
	for (size_t i = report->count, looked = 0; i > 0 && looked < 32; i--, looked++) {
		const struct scan_finding *finding = &report->findings[i - 1];

		if (finding->line == line && strcmp(finding->rule, rule) == 0)
			return true;
	}
	return false;
}

/* `at` is a place in the whole source; line 0: none. */
static int add(struct scan *scan, const char *rule, enum scan_severity severity, const char *reason,
	       uint32_t line, size_t at)
{
	struct scan_report *report = scan->report;
	struct scan_finding *findings;
	char *evidence;

	if (is_known(report, rule, line))
		return 0;
	raise(report, severity);
	if (report->count >= SCAN_MAX_FINDINGS) {
		report->dropped++;
		scan->dropped_worst = severity > scan->dropped_worst ? severity : scan->dropped_worst;
		return 0;
	}
	findings = reallocarray(report->findings, report->count + 1, sizeof(*findings));
	if (findings)
		report->findings = findings;
	evidence = line > 0 ? scan_evidence(scan->request->text, scan->request->len, at) : strdup("");
	if (!findings || !evidence) {
		free(evidence);
		return error_no_memory(scan->err, NULL);
	}
	findings[report->count++] = (struct scan_finding){ rule, severity, reason, line, evidence };
	return 0;
}

static int add_at(struct scan *scan, const struct source *source, const struct token *token, const char *rule,
		  enum scan_severity severity, const char *reason)
{
	bool inner = source->outer_line > 0;

	return add(scan, rule, severity, reason, inner ? source->outer_line : token->line,
		   inner ? source->outer_at : token->at);
}

/* ---- texts within a source ---- */

static int scan_text(struct scan *scan, const char *language, const char *text, size_t len,
		     const struct source *outer, const struct token *token);

static int scan_inner(struct scan *scan, const struct source *source, const char *language,
		      const struct token *token)
{
	return scan_text(scan, language, token->text, token->length, source, token);
}

/* The texts behind a call, as one command line: os.system("rm x"), run(["rm", "x"]). */
static int scan_call(struct scan *scan, const struct source *source, size_t i)
{
	const struct tokens *tokens = &source->tokens;
	const struct token *first = NULL;
	char command[MAX_COMMAND];
	size_t used = 0, words = 0;

	for (size_t end = i + NEAR; i < tokens->count && i < end && words < MAX_WORDS; i++) {
		const struct token *token = &tokens->items[i];

		if (token->kind == TOKEN_STRING) {
			if (used + token->length + 1 > sizeof(command))
				return words > 0 ? 0 : scan_inner(scan, source, "sh", token);
			first = first ? first : token;
			memcpy(command + used, token->text, token->length);
			used += token->length;
			command[used++] = ' ';
			words++;
			end = i + 3; /* what stands far from the last text belongs to something else */
		} else if (token->kind == TOKEN_SYMBOL && (token_is(token, ";") || token_is(token, ")"))) {
			break;
		}
	}
	return first ? scan_text(scan, "sh", command, used, source, first) : 0;
}

static int scan_next_text(struct scan *scan, const struct source *source, size_t i)
{
	const struct tokens *tokens = &source->tokens;

	for (size_t end = i + 2; i < tokens->count && i < end; i++) {
		if (tokens->items[i].kind == TOKEN_STRING)
			return scan_inner(scan, source, source->language, &tokens->items[i]);
	}
	return 0;
}

/* ---- the network ---- */

static int see_host(struct scan *scan, const struct source *source, const struct token *token,
		    struct scan_piece host)
{
	static const char *const metadata[] = { "169.254.169.254", "metadata.google.internal",
						"100.100.100.200" };

	scan->hosts_seen = true;
	for (size_t i = 0; i < ARRAY_LENGTH(metadata); i++) {
		if (host.len == strlen(metadata[i]) && memcmp(host.at, metadata[i], host.len) == 0)
			return add_at(scan, source, token, "network.metadata", SCAN_CRITICAL,
				      "asks the cloud's metadata service, which hands out credentials");
	}
	if (scan_domain_allowed(scan->policy, host))
		return 0;
	scan->hosts_denied = true;
	return add_at(scan, source, token, "network.domain", SCAN_LOW,
		      "names a host that is not in allowedDomains");
}

static int see_urls(struct scan *scan, const struct source *source, const struct token *token)
{
	struct scan_piece host;
	size_t at = 0;

	while (scan_next_host(token->text, token->length, &at, &host)) {
		if (host.len > 0 && see_host(scan, source, token, host) != 0)
			return -1;
	}
	return 0;
}

/* Hosts without a scheme: texts near a call, and the last word of a shell's command. */
static int see_bare_hosts(struct scan *scan, const struct source *source, size_t i)
{
	const struct tokens *tokens = &source->tokens;
	size_t end = source->shell ? i + PATTERN_GAP : i + NEAR;
	const struct token *last = NULL;
	struct scan_piece host;

	for (; i < tokens->count && i < end; i++) {
		const struct token *token = &tokens->items[i];

		if (source->shell && (pattern_ends_command(token) || token->first))
			break;
		if (source->shell && token->kind == TOKEN_WORD) {
			if (memmem(token->text, token->length, "://", 3))
				return 0;
			if (token->length > 0 && token->text[0] != '-')
				last = token;
		} else if (token->kind == TOKEN_STRING && scan_is_host(token->text, token->length, &host) &&
			   see_host(scan, source, token, host) != 0) {
			return -1;
		}
	}
	if (last && scan_is_host(last->text, last->length, &host))
		return see_host(scan, source, last, host);
	return 0;
}

/* What was found of the network, now that all hosts are known. */
static void judge_network(struct scan *scan)
{
	struct scan_report *report = scan->report;
	bool harmless = scan->hosts_seen && !scan->hosts_denied;

	report->severity = SCAN_NONE;
	report->decision = SCAN_ALLOW;
	raise(report, scan->dropped_worst);
	for (size_t i = 0; i < report->count; i++) {
		struct scan_finding *finding = &report->findings[i];
		size_t length = strlen(finding->rule);

		if (strcmp(finding->rule, "network.domain") == 0 && scan->network)
			finding->severity = SCAN_HIGH;
		else if (harmless && length > 8 && strcmp(finding->rule + length - 8, ".network") == 0)
			finding->severity = SCAN_LOW;
		raise(report, finding->severity);
	}
}

/* ---- rules ---- */

static bool is_member(const struct tokens *tokens, size_t i)
{
	return i > 0 && tokens->items[i - 1].kind == TOKEN_SYMBOL &&
	       (token_is(&tokens->items[i - 1], ".") || token_is(&tokens->items[i - 1], "->") ||
		token_is(&tokens->items[i - 1], "::"));
}

static bool word_is(const struct token *token, const char *spellings)
{
	return token->kind == TOKEN_WORD &&
	       pattern_spelling(spellings, strlen(spellings), token->text, token->length);
}

static bool is_assignment(const struct token *token)
{
	const char *equals = token->length > 0 ? memchr(token->text, '=', token->length) : NULL;

	if (!equals || equals == token->text || isdigit((unsigned char)token->text[0]))
		return false;
	for (const char *c = token->text; c < equals; c++) {
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '+')
			return false;
	}
	return true;
}

/* Whether token i lies in [[ ]], or is the first of an array: x=(a b). */
static bool is_operand(const struct tokens *tokens, size_t i)
{
	if (i >= 2 && token_is(&tokens->items[i - 1], "(") && is_assignment(&tokens->items[i - 2]) &&
	    tokens->items[i - 2].text[tokens->items[i - 2].length - 1] == '=')
		return true;
	for (size_t back = i; back > 0 && i - back < 24; back--) {
		const struct token *before = &tokens->items[back - 1];

		if (token_is(before, "[[") || token_is(before, "]]"))
			return token_is(before, "[[");
		if (before->first)
			break;
	}
	return false;
}

/* Whether token i is one of "a | b )" in a case. */
static bool is_case_pattern(const struct tokens *tokens, size_t i)
{
	size_t from = i, to = i + 1;

	while (from >= 2 && i - from < 16 && !tokens->items[from].first &&
	       token_is(&tokens->items[from - 1], "|"))
		from -= 2;
	while (to + 1 < tokens->count && to - i < 16 && token_is(&tokens->items[to], "|"))
		to += 2;
	if (to >= tokens->count || !token_is(&tokens->items[to], ")"))
		return false;
	return tokens->items[from].first || from == 0 || token_is(&tokens->items[from - 1], "in") ||
	       token_is(&tokens->items[from - 1], ";;");
}

/* Whether a command's name stands at token i of a shell. */
static bool is_command(const struct tokens *tokens, size_t i)
{
	size_t back = i;

	if (tokens->items[i].kind != TOKEN_WORD || is_operand(tokens, i) || is_case_pattern(tokens, i))
		return false;
	while (back > 0 && i - back < 8 && !tokens->items[back].first) {
		const struct token *before = &tokens->items[back - 1];

		if (pattern_ends_command(before) || word_is(before, openers))
			return true;
		/* assignments, and options of what starts another command */
		if (!is_assignment(before) && !(before->length > 0 && before->text[0] == '-' && back >= 2))
			return false;
		back--;
	}
	return back == 0 || tokens->items[back].first;
}

/* Seconds in the pattern's last token: "600", "10m". */
static bool waits_too_long(const struct scan *scan, const struct tokens *tokens, size_t i, size_t length)
{
	double seconds = -1;

	for (size_t j = i; j < i + length && j < tokens->count; j++) {
		const struct token *token = &tokens->items[j];
		char number[32];
		char *end;

		if (token->length == 0 || token->length >= sizeof(number) ||
		    !isdigit((unsigned char)token->text[0]))
			continue;
		memcpy(number, token->text, token->length);
		number[token->length] = '\0';
		seconds = strtod(number, &end);
		seconds *= *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 1;
	}
	return seconds * 1000 > (double)scan->policy->max_timeout_ms;
}

/* The rule's pattern is at token i. Returns 1 if the rule holds there, 0 if not, -1 with an error. */
static int apply(struct scan *scan, const struct source *source, const struct scan_rule *rule, size_t i,
		 size_t length)
{
	const struct tokens *tokens = &source->tokens;

	if ((rule->marks & SCAN_BARE) && is_member(tokens, i))
		return 0;
	if ((rule->marks & SCAN_COMMAND) && !is_command(tokens, i))
		return 0;
	if ((rule->marks & SCAN_WAIT) && !waits_too_long(scan, tokens, i, length))
		return 0;
	if (add_at(scan, source, &tokens->items[i], rule->id, rule->severity, rule->reason) != 0)
		return -1;
	if (rule->marks & SCAN_NETWORK) {
		scan->network = true;
		if (see_bare_hosts(scan, source, i + 1) != 0)
			return -1;
	}
	if ((rule->marks & SCAN_SHELL) && scan_call(scan, source, i + 1) != 0)
		return -1;
	if ((rule->marks & SCAN_CODE) && scan_next_text(scan, source, i + length - 1) != 0)
		return -1;
	return 1;
}

static int apply_rules(struct scan *scan, const struct source *source)
{
	for (size_t r = 0; r < MAX_RULES && scan_rules[r].id; r++) {
		const struct scan_rule *rule = &scan_rules[r];
		bool once = !(rule->marks & (SCAN_SHELL | SCAN_CODE |
					     SCAN_NETWORK)); /* a line need not be looked at again */
		uint32_t line = 0;

		if (!pattern_spelling(rule->languages, strlen(rule->languages), source->language,
				      strlen(source->language)))
			continue;
		for (size_t i = 0; i < source->tokens.count; i++) {
			uint32_t here = source->tokens.items[i].line;
			size_t length =
			    once && here == line
				? 0
				: pattern_match(&scan->patterns[r], &source->tokens, i, source->shell);
			int status = length > 0 ? apply(scan, source, rule, i, length) : 0;

			if (status < 0)
				return -1;
			if (status > 0)
				line = here;
		}
	}
	return 0;
}

/* ---- words and texts ---- */

static bool is_file_call(const struct tokens *tokens, size_t i)
{
	return i >= 2 && token_is(&tokens->items[i - 1], "(") && word_is(&tokens->items[i - 2], file_calls);
}

/* --file=/etc/shadow, @/etc/shadow, if=/dev/mem: what is behind the sign. */
static struct scan_piece path_part(const struct token *token)
{
	struct scan_piece text = { token->text, token->length };
	const char *equals = text.len > 0 ? memchr(text.at, '=', text.len) : NULL;

	if (equals)
		text = (struct scan_piece){ equals + 1, (size_t)(text.at + text.len - equals) - 1 };
	if (text.len > 1 && text.at[0] == '@')
		text = (struct scan_piece){ text.at + 1, text.len - 1 };
	return text;
}

static int see_path(struct scan *scan, const struct source *source, size_t i)
{
	const struct token *token = &source->tokens.items[i];
	struct scan_piece text =
	    source->shell ? path_part(token) : (struct scan_piece){ token->text, token->length };
	bool is_path = source->shell || is_file_call(&source->tokens, i);

	if (!scan_path_denied(scan->policy, text.at, text.len, is_path))
		return 0;
	return add_at(scan, source, token, "path.denied", SCAN_HIGH, "names a path in deniedPaths");
}

static int see_secret(struct scan *scan, const struct source *source, const struct token *token)
{
	bool inner = source->outer_line > 0;
	const char *text = inner ? token->text : scan->request->text + token->at;
	size_t len = inner ? token->length : token->size;

	/* With what it is assigned to, if that is near. */
	for (size_t i = 0; !inner && i < 80 && i < token->at && text[-1] != '\n'; i++, len++)
		text--;
	if (!scan_has_secret(text, len))
		return 0;
	return add_at(scan, source, token, "secret.literal", SCAN_MEDIUM,
		      "contains something that looks like a key or a password");
}

/* What a command of a shell starts that the operator did not list. */
static int see_command(struct scan *scan, const struct source *source, size_t i)
{
	const struct token *token = &source->tokens.items[i];
	const char *slash = token->length > 0 ? memrchr(token->text, '/', token->length) : NULL;
	struct scan_piece name = { token->text, token->length };

	if (slash && slash + 1 < token->text + token->length)
		name = (struct scan_piece){ slash + 1, (size_t)(token->text + token->length - slash) - 1 };
	if (token->length == 0 || is_assignment(token) || word_is(token, keywords) ||
	    word_is(token, builtins) || token->text[0] == '-' || !is_command(&source->tokens, i))
		return 0;
	/* A function's definition. */
	if (i + 1 < source->tokens.count && token_is(&source->tokens.items[i + 1], "("))
		return 0;
	if (token->text[0] == '$')
		return add_at(scan, source, token, "command.dynamic", SCAN_MEDIUM,
			      "starts a program that a variable names");
	if (scan_command_allowed(scan->policy, name))
		return 0;
	return add_at(scan, source, token, "command.unlisted", SCAN_MEDIUM,
		      "starts a program that is not in allowedCommands");
}

/* sh -c TEXT, python3 -c TEXT, eval TEXT, and "...$(...)..." */
static int see_shell_text(struct scan *scan, const struct source *source, size_t i)
{
	const struct tokens *tokens = &source->tokens;
	const struct token *token = &tokens->items[i];

	const struct language_row *row;

	for (size_t j = 0; i >= 2 && (row = language_row(j)); j++) {
		if (row->programs && word_is(&tokens->items[i - 1], row->options) &&
		    word_is(&tokens->items[i - 2], row->programs))
			return scan_inner(scan, source, row->name, token);
	}
	if (i >= 1 && word_is(&tokens->items[i - 1], "eval|trap"))
		return scan_inner(scan, source, "sh", token);
	if (token->quoted && token->length > 2) {
		const char *dollar = memmem(token->text, token->length, "$(", 2);
		const char *tick = memchr(token->text, '`', token->length);
		const char *from = dollar && (!tick || dollar < tick) ? dollar : tick;

		if (from && token->text + token->length - from < (ptrdiff_t)token->length + 1)
			return scan_text(scan, "sh", from, (size_t)(token->text + token->length - from),
					 source, token);
	}
	return 0;
}

/* A heredoc is a source, if its line starts an interpreter. */
static int see_heredoc(struct scan *scan, const struct source *source, size_t i)
{
	const struct tokens *tokens = &source->tokens;
	const struct language_row *row;

	for (size_t back = i; back > 0 && i - back < 16; back--) {
		const struct token *token = &tokens->items[back - 1];

		for (size_t j = 0; (row = language_row(j)); j++) {
			if (row->programs && word_is(token, row->programs))
				return scan_inner(scan, source, row->name, &tokens->items[i]);
		}
		if (token_is(token, "ssh"))
			return scan_inner(scan, source, "sh", &tokens->items[i]);
		if (token->first)
			break;
	}
	return 0;
}

static int see_shell_word(struct scan *scan, const struct source *source, size_t i)
{
	if (see_command(scan, source, i) != 0)
		return -1;
	return see_shell_text(scan, source, i);
}

static int see_token(struct scan *scan, const struct source *source, size_t i)
{
	const struct token *token = &source->tokens.items[i];
	bool word = source->shell && token->kind == TOKEN_WORD;
	bool shell_text = token->quote == '`' && source->row->backticks;

	if (token->kind != TOKEN_STRING && !word)
		return 0;
	if (see_urls(scan, source, token) != 0 || see_path(scan, source, i) != 0 ||
	    see_secret(scan, source, token) != 0)
		return -1;
	if (word)
		return see_shell_word(scan, source, i);
	if (source->shell && token->quote == '<')
		return see_heredoc(scan, source, i);
	if (shell_text) {
		if (add_at(scan, source, token, "text.shell", SCAN_MEDIUM, "starts a program") != 0)
			return -1;
		return scan_inner(scan, source, "sh", token);
	}
	return 0;
}

static int scan_tokens(struct scan *scan, const struct source *source)
{
	for (size_t i = 0; i < source->tokens.count; i++) {
		if (see_token(scan, source, i) != 0)
			return -1;
	}
	return apply_rules(scan, source);
}

static int scan_text(struct scan *scan, const char *language, const char *text, size_t len,
		     const struct source *outer, const struct token *token)
{
	const struct language_row *row = lexer_rules(language);
	struct source source = { .language = language,
				 .row = row,
				 .shell = (row->lexer & LEXER_SHELL) != 0,
				 .depth = outer ? outer->depth + 1 : 0 };
	int status;

	if (source.depth > MAX_DEPTH)
		return 0;
	if (outer) {
		source.outer_line = outer->outer_line > 0 ? outer->outer_line : token->line;
		source.outer_at = outer->outer_line > 0 ? outer->outer_at : token->at;
	}
	if (lexer_read(row, text, len, 0, &source.tokens, scan->err) != 0)
		return -1;
	scan->report->cut |= source.tokens.cut;
	status = scan_tokens(scan, &source);
	tokens_done(&source.tokens);
	return status;
}

/* ---- the door ---- */

static int check_limits(struct scan *scan)
{
	if (scan->request->timeout_ms > scan->policy->max_timeout_ms &&
	    add(scan, "limits.timeout", SCAN_HIGH, "asks for more time than maxTimeout", 0, 0) != 0)
		return -1;
	if (scan->request->output_bytes > scan->policy->max_output_bytes)
		return add(scan, "limits.output", SCAN_HIGH, "asks for more output than maxOutput", 0, 0);
	return 0;
}

static int run(struct scan *scan)
{
	const struct scan_request *request = scan->request;
	size_t len = request->len < SCAN_MAX_BYTES ? request->len : SCAN_MAX_BYTES;

	scan->report->cut = request->len > len;
	for (size_t r = 0; r < MAX_RULES && scan_rules[r].id; r++)
		pattern_compile(scan_rules[r].pattern, &scan->patterns[r]);
	if (check_limits(scan) != 0 ||
	    scan_text(scan, request->language, request->text, len, NULL, NULL) != 0)
		return -1;
	judge_network(scan);
	if (scan->report->cut)
		return add(scan, "source.cut", SCAN_MEDIUM, "is too large to be read to its end", 0, 0);
	return 0;
}

int scan_source(const struct scan_policy *policy, const struct scan_request *request, struct scan_report *ret,
		struct warder_error *err)
{
	struct scan_report report = { 0 };
	struct scan *scan;
	int status;

	report.known_language =
	    request->language && strcmp(request->language, "text") != 0 && lexer_rules(request->language);
	if (!report.known_language) {
		*ret = report;
		return 0;
	}
	scan = calloc(1, sizeof(*scan));
	if (!scan)
		return error_no_memory(err, NULL);
	scan->policy = policy;
	scan->request = request;
	scan->report = &report;
	scan->err = err;
	status = run(scan);
	free(scan);
	if (status == 0)
		*ret = report;
	else
		scan_report_done(&report);
	return status;
}
