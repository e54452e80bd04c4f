#include "base/array.h"
#include "runtime/code/diagnostics/syntax.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct rootfs_file files[] = {
	{ .path = "box/main.src", .bytes = "x = 1\n    if y\nlast\n", .len = 21 },
	{ .path = "box/lib/help.src", .bytes = "broken (\n", .len = 9 },
	{ .path = "support/main.src", .bytes = "", .len = 0 },
};

struct row {
	const char *label;
	enum syntax_form form;
	int exit_status;
	bool printed;
	const char *text;
	const char *message, *file; /* NULL: nothing is read */
	uint32_t line, column;
};

static const struct row rows[] = {
	{ "python", SYNTAX_PYTHON, 1, false,
	  "  File \"/tmp/box/main.src\", line 2\n    if y\n        ^\nSyntaxError: expected ':'\n",
	  "SyntaxError: expected ':'", "main.src", 2, 9 },
	{ "python, a module", SYNTAX_PYTHON, 1, false,
	  "Traceback (most recent call last):\n  File \"/tmp/box/main.src\", line 1, in <module>\n    import "
	  "help\n"
	  "  File \"/tmp/box/lib/help.src\", line 1\n    broken (\n           ^\nSyntaxError: '(' was never "
	  "closed\n",
	  "SyntaxError: '(' was never closed", "lib/help.src", 1, 8 },
	{ "python, another exit status", SYNTAX_PYTHON, 2, false,
	  "  File \"main.src\", line 2\nSyntaxError: x\n", NULL, NULL, 0, 0 },
	{ "python, something ran", SYNTAX_PYTHON, 1, true, "  File \"main.src\", line 2\nSyntaxError: x\n",
	  NULL, NULL, 0, 0 },
	{ "python, another error", SYNTAX_PYTHON, 1, false,
	  "  File \"main.src\", line 2, in f\nValueError: x\n", NULL, NULL, 0, 0 },
	{ "python, a file of nobody", SYNTAX_PYTHON, 1, false,
	  "  File \"/etc/passwd\", line 2\nSyntaxError: x\n", NULL, NULL, 0, 0 },
	{ "python, text that was compiled at the run", SYNTAX_PYTHON, 1, false,
	  "  File \"/tmp/box/main.src\", line 1, in <module>\n  File \"<string>\", line 1\nSyntaxError: x\n",
	  NULL, NULL, 0, 0 },
	{ "node", SYNTAX_NODE, 1, false,
	  "/tmp/box/main.src:1\nx = 1\n  ^\n\nSyntaxError: Unexpected token\n    at wrapSafe "
	  "(node:internal/modules:1:1)\n",
	  "SyntaxError: Unexpected token", "main.src", 1, 3 },
	{ "node, a module", SYNTAX_NODE, 1, false,
	  "file:///tmp/box/main.src:1\nx = 1\n  ^\n\nSyntaxError: Unexpected\n    at compile "
	  "(node:internal/vm:1:1)\n",
	  "SyntaxError: Unexpected", "main.src", 1, 3 },
	{ "node, thrown by the code", SYNTAX_NODE, 1, false,
	  "/tmp/box/main.src:1\nthrow new SyntaxError('x')\n^\n\nSyntaxError: x\n    at Object.<anonymous> "
	  "(/tmp/box/main.src:1:7)\n",
	  NULL, NULL, 0, 0 },
	{ "ruby", SYNTAX_RUBY, 1, false,
	  "main.src:1: warning: unused\nmain.src:3: syntax error, unexpected end\n",
	  "syntax error, unexpected end", "main.src", 3, 0 },
	{ "ruby, an exception", SYNTAX_RUBY, 1, false, "main.src:3:in `<main>': no (RuntimeError)\n", NULL,
	  NULL, 0, 0 },
	{ "perl", SYNTAX_PERL, 255, false,
	  "syntax error at main.src line 2, near \"= ;\"\nExecution of main.src aborted due to compilation "
	  "errors.\n",
	  "syntax error", "main.src", 2, 0 },
	{ "perl, died", SYNTAX_PERL, 255, false, "no at main.src line 2.\n", NULL, NULL, 0, 0 },
	{ "php", SYNTAX_PHP, 255, false, "PHP Parse error:  syntax error in /tmp/box/main.src on line 3\n",
	  "syntax error", "main.src", 3, 0 },
	{ "php, a fatal error", SYNTAX_PHP, 255, false,
	  "PHP Fatal error:  no in /tmp/box/main.src on line 3\n", NULL, NULL, 0, 0 },
	{ "bash, after output", SYNTAX_BASH, 2, true,
	  "main.src: line 3: syntax error: unexpected end of file\n", "syntax error: unexpected end of file",
	  "main.src", 3, 0 },
	{ "bash, a command that is missing", SYNTAX_BASH, 2, false,
	  "main.src: line 3: no: command not found\n", NULL, NULL, 0, 0 },
	{ "sh", SYNTAX_SH, 2, false, "main.src: 3: Syntax error: \")\" unexpected\n",
	  "Syntax error: \")\" unexpected", "main.src", 3, 0 },
	{ "lua", SYNTAX_LUA, 1, false, "/usr/bin/lua5.4: main.src:1: unexpected symbol near '='\n",
	  "unexpected symbol near '='", "main.src", 1, 0 },
	{ "lua, an error of the run", SYNTAX_LUA, 1, false,
	  "lua5.4: main.src:1: no\nstack traceback:\n\t[C]: in function 'error'\n", NULL, NULL, 0, 0 },
	{ "r, looked up", SYNTAX_R, 1, true,
	  "Error: unexpected symbol in:\n\"x = 1\n    if y\"\nExecution halted\n", "unexpected symbol",
	  "main.src", 2, 8 },
	{ "none", SYNTAX_NONE, 1, false, "main.src:3: syntax error\n", NULL, NULL, 0, 0 },
	{ "nothing", SYNTAX_PYTHON, 1, false, "", NULL, NULL, 0, 0 },
	{ "a number that is too long", SYNTAX_RUBY, 1, false, "main.src:99999999999: syntax error\n", NULL,
	  NULL, 0, 0 },
	{ "a line that is not there", SYNTAX_RUBY, 1, false, "main.src:999: syntax error\n", "syntax error",
	  "main.src", 999, 0 },
};

Test(syntax, forms, .timeout = 20)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		const struct syntax_run run = { row->exit_status, row->printed, row->text,
						strlen(row->text) };
		struct diagnostics list = { 0 };
		struct warder_error err = { 0 };

		cr_assert(syntax_read(row->form, &run, "/tmp/box", files, 3, &list, &err) == 0);
		cr_expect(list.count == (row->message != NULL), "%s: %zu rows", row->label, list.count);
		if (list.count && row->message) {
			const struct diagnostic_span *span = &list.items[0].spans[0];

			cr_expect_str_eq(list.items[0].message, row->message, "%s", row->label);
			cr_expect_str_eq(span->file, row->file, "%s", row->label);
			cr_expect(span->line_start == row->line && span->column_start == row->column,
				  "%s: %u:%u", row->label, span->line_start, span->column_start);
		}
		diagnostics_done(&list);
	}
}
