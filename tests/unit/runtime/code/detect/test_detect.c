#include "base/array.h"
#include "runtime/code/detect/detect.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/code/detect/lexer.h"

#define CORPUS "tests/fuzz/corpus/detect/"

static struct detection detect(const char *hint, const char *file, const char *fence, const char *text,
			       size_t len)
{
	struct detect_request request = { hint, file, fence, text, len };
	struct detection found = { 0 };
	struct warder_error err = { 0 };

	cr_assert(detect_language(&request, &found, &err) == 0, "%s", err.text);
	return found;
}

static const char *name_of(const struct detection *found)
{
	return found->language ? found->language : "unknown";
}

Test(detect, what_is_said_goes_first, .timeout = 20)
{
	static const char python[] = "import os\nfor n in os.listdir():\n    print(n)\n";
	static const char bang[] = "#!/bin/sh\necho hi\n";
	static const struct {
		const char *label, *hint, *file, *fence, *text, *language;
		enum detect_by by;
	} rows[] = {
		{ "a hint as it is", "py", "a.rb", "js", bang, "py", DETECT_BY_HINT },
		{ "an empty hint is none", "", "a.rb", "js", bang, "ruby", DETECT_BY_FILE_NAME },
		{ "name before shebang", NULL, "dir.d/a.rb", "js", bang, "ruby", DETECT_BY_FILE_NAME },
		{ "shebang before fence", NULL, NULL, "js", bang, "sh", DETECT_BY_SHEBANG },
		{ "an unknown name says nothing", NULL, "a.xyz", "js", bang, "sh", DETECT_BY_SHEBANG },
		{ "a name without extension", NULL, "script", NULL, bang, "sh", DETECT_BY_SHEBANG },
		{ "fence before content", NULL, NULL, "js", python, "javascript", DETECT_BY_FENCE },
		{ "a fence of data", NULL, NULL, "json", python, "unknown", DETECT_BY_FENCE },
		{ "an unknown fence says nothing", NULL, NULL, "tool_code", python, "python",
		  DETECT_BY_CONTENT },
		{ "an empty fence says nothing", NULL, NULL, "", python, "python", DETECT_BY_CONTENT },
		{ "content", NULL, NULL, NULL, python, "python", DETECT_BY_CONTENT },
		{ "nothing at all", NULL, NULL, NULL, "", "unknown", DETECT_BY_NOTHING },
		{ "a name alone", NULL, "main.go", NULL, "", "go", DETECT_BY_FILE_NAME },
		{ "a header of C", NULL, "a.h", NULL, "int f(void);\n", "c", DETECT_BY_FILE_NAME },
		{ "a header of C++", NULL, "a.h", NULL, "namespace a {\ntemplate <class T> class B;\n}\n",
		  "c++", DETECT_BY_CONTENT },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct detection found =
		    detect(rows[i].hint, rows[i].file, rows[i].fence, rows[i].text, strlen(rows[i].text));

		cr_expect_str_eq(name_of(&found), rows[i].language, "%s: %s", rows[i].label, name_of(&found));
		cr_expect(found.by == rows[i].by, "%s: %s", rows[i].label, detect_by_name(found.by));
	}
}

Test(detect, file_names, .timeout = 20)
{
	static const struct {
		const char *file, *language;
	} rows[] = {
		{ "a.py", "python" },
		{ "A.PY", "python" },
		{ "a.pyw", "python" },
		{ "a.js", "javascript" },
		{ "a.mjs", "javascript" },
		{ "a.ts", "typescript" },
		{ "a.tsx", "typescript" },
		{ "a.d.ts", "typescript" },
		{ "a.sh", "sh" },
		{ "a.bash", "bash" },
		{ ".bashrc", "bash" },
		{ ".profile", "sh" },
		{ "a.rb", "ruby" },
		{ "Rakefile", "ruby" },
		{ "x/Gemfile", "ruby" },
		{ "a.R", "r" },
		{ "a.r", "r" },
		{ "a.pl", "perl" },
		{ "a.pm", "perl" },
		{ "Makefile.PL", "perl" },
		{ "a.lua", "lua" },
		{ "a.php", "php" },
		{ "a.go", "go" },
		{ "a.rs", "rust" },
		{ "a.c", "c" },
		{ "a.C", "c++" },
		{ "a.cpp", "c++" },
		{ "a.cc", "c++" },
		{ "a.hpp", "c++" },
		{ "a.H", "c++" },
		{ "A.java", "java" },
		{ "a.wasm", "wasm" },
		{ "a.csv", "unknown" },
		{ "a", "unknown" },
		{ ".py", "unknown" },
		{ "a.", "unknown" },
		{ "a.py/", "unknown" },
		{ "a.py.bak", "unknown" },
		{ "py", "unknown" },
		{ "", "unknown" },
		{ "Makefile", "unknown" },
		{ "a.p|y", "unknown" },
		{ "a.*", "unknown" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct detection found = detect(NULL, rows[i].file, NULL, "", 0);

		cr_expect_str_eq(name_of(&found), rows[i].language, "\"%s\": %s", rows[i].file,
				 name_of(&found));
	}
}

Test(detect, shebangs, .timeout = 20)
{
	static const struct {
		const char *line, *language;
	} rows[] = {
		{ "#!/bin/sh", "sh" },
		{ "#!/bin/sh -e", "sh" },
		{ "#! /bin/bash", "bash" },
		{ "#!/usr/bin/dash\r", "sh" },
		{ "#!/usr/bin/python3", "python" },
		{ "#!/usr/bin/python3.11 -u", "python" },
		{ "#!/usr/bin/env python3", "python" },
		{ "#!/usr/bin/env -S python3 -u", "python" },
		{ "#!/usr/bin/env -Spython3 -u", "python" },
		{ "#!/usr/bin/env --split-string=python3 -u", "python" },
		{ "#!/usr/bin/env -S A=1 B=2 /opt/bin/ruby3.1", "ruby" },
		{ "#!/usr/bin/env -i -u HOME lua5.4", "lua" },
		{ "#!/usr/bin/env node", "javascript" },
		{ "#!/usr/bin/env -S deno run", "typescript" },
		{ "#!/usr/bin/env Rscript", "r" },
		{ "#!/usr/bin/perl5.36.0 -w", "perl" },
		{ "#!/usr/bin/php8.2", "php" },
		{ "\xef\xbb\xbf#!/bin/bash", "bash" },
		{ "#!/usr/bin/awk -f", "unknown" },
		{ "#!/usr/bin/make -f", "unknown" },
		{ "#!/bin/pythonista", "unknown" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char text[160];
		struct detection found;

		snprintf(text, sizeof(text), "%s\nimport os\nfor n in os.listdir():\n    print(n)\n",
			 rows[i].line);
		found = detect(NULL, NULL, NULL, text, strlen(text));
		cr_expect_str_eq(name_of(&found), rows[i].language, "\"%s\": %s", rows[i].line,
				 name_of(&found));
		cr_expect(found.by == DETECT_BY_SHEBANG, "\"%s\"", rows[i].line);
	}
}

Test(detect, fences, .timeout = 20)
{
	static const struct {
		const char *fence, *language;
	} rows[] = {
		{ "python", "python" },
		{ "Python", "python" },
		{ "py", "python" },
		{ "js", "javascript" },
		{ "ts", "typescript" },
		{ "bash", "bash" },
		{ "shell", "sh" },
		{ "rb", "ruby" },
		{ "R", "r" },
		{ "golang", "go" },
		{ "rs", "rust" },
		{ "cpp", "c++" },
		{ "c++", "c++" },
		{ "C", "c" },
		{ "console", "unknown" },
		{ "text", "unknown" },
		{ "output", "unknown" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct detection found = detect(NULL, NULL, rows[i].fence, "x", 1);

		cr_expect_str_eq(name_of(&found), rows[i].language, "%s: %s", rows[i].fence, name_of(&found));
		cr_expect(found.by == DETECT_BY_FENCE, "%s", rows[i].fence);
	}
}

Test(detect, wasm_by_its_first_bytes, .timeout = 20)
{
	struct detection found = detect(NULL, NULL, NULL, "\0asm\1\0\0\0", 8);

	cr_expect_str_eq(name_of(&found), "wasm");
	cr_expect(found.by == DETECT_BY_CONTENT);
}

/* Comments and strings mention things; code is what counts. */
Test(detect, mentioned_is_not_used, .timeout = 20)
{
	static const struct {
		const char *label, *text, *language;
	} rows[] = {
		{ "Python in a string of JavaScript",
		  "const s = `\nimport os\ndef main():\n    pass\n`;\nconsole.log(s);\n", "javascript" },
		{ "JavaScript in a comment of Python",
		  "# const x = 1; console.log(x); function f() {}\nimport os\nprint(os.getcwd())\n",
		  "python" },
		{ "C in a heredoc of a shell",
		  "cat > a.c <<'EOF'\n#include <stdio.h>\nint main(void) { printf(\"x\"); return 0; "
		  "}\nEOF\ngcc a.c && ./a.out\n",
		  "sh" },
		{ "C in a docstring of Python",
		  "\"\"\"Write C.\n\n#include <stdio.h>\nint main(void) { printf(\"hi\"); return 0; "
		  "}\n\"\"\"\n"
		  "print(1)\n",
		  "python" },
		{ "C in a docstring with single quotes",
		  "'''\n#include <stdlib.h>\n#include <string.h>\nint main(int argc, char **argv) { return "
		  "0; }\n"
		  "'''\nx = 1\nprint(x)\n",
		  "python" },
		{ "C in a long string of Python",
		  "SRC = \"\"\"\n#include <stdio.h>\nint main(void)\n{\n\tprintf(\"hello\\n\");\n\treturn "
		  "0;\n}\n"
		  "\"\"\"\nprint(SRC)\n",
		  "python" },
		{ "JavaScript in a docstring of Python",
		  "\"\"\"function foo() { console.log(1); }\nconst x = require(\"fs\");\nlet y = 2;\n\"\"\"\n"
		  "print(2)\n",
		  "python" },
		{ "Go in a docstring of Python",
		  "\"\"\"\npackage main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"x\")\n}\n\"\"\"\n"
		  "print(2)\n",
		  "python" },
		{ "a text block of Java",
		  "class A {\n  public static void main(String[] args) {\n    String s = \"\"\"\n      "
		  "import os\n"
		  "      def f():\n          pass\n      \"\"\";\n    System.out.println(s);\n  }\n}\n",
		  "java" },
		{ "PHP outside of its tags",
		  "<p>import os; def main(): console.log(1)</p>\n<?php echo $x; ?>\n", "php" },
		{ "nothing but a comment", "# import os\n# def main():\n#     pass\n", "unknown" },
		{ "nothing but a string", "\"import os; def main(): pass\"\n", "unknown" },
		{ "bytes", "import os\n\0for n in os.listdir():\n    print(n)\n", "python" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct detection found = detect(NULL, NULL, NULL, rows[i].text, strlen(rows[i].text));

		cr_expect_str_eq(name_of(&found), rows[i].language, "%s: %s %d", rows[i].label,
				 name_of(&found), found.score);
	}
	cr_expect(!detect(NULL, NULL, NULL, "import os\n\0def f():\n", 20).language, "a NUL: no text");
}

/* Files of the corpus are called by their language and a number. */
Test(detect, corpus, .timeout = 120)
{
	DIR *dir = opendir(CORPUS);
	struct dirent *entry;
	static char text[65536];
	size_t files = 0, right = 0;

	cr_assert(dir, CORPUS " is read from the top of the tree");
	while ((entry = readdir(dir)) != NULL) {
		char path[300], expected[64];
		const char *dash = strrchr(entry->d_name, '-');
		struct detection found;
		FILE *file;
		size_t len;

		if (!dash || strlen(entry->d_name) >= sizeof(expected))
			continue;
		snprintf(path, sizeof(path), CORPUS "%s", entry->d_name);
		snprintf(expected, sizeof(expected), "%.*s", (int)(dash - entry->d_name), entry->d_name);
		file = fopen(path, "r");
		cr_assert(file, "%s", path);
		len = fread(text, 1, sizeof(text), file);
		fclose(file);
		found = detect(NULL, NULL, NULL, text, len);
		files++;
		right += strcmp(name_of(&found), expected) == 0;
		cr_expect_str_eq(name_of(&found), expected, "%s: %s %d", entry->d_name, name_of(&found),
				 found.score);
	}
	closedir(dir);
	cr_expect(files >= 15 * 8 + 10, "%zu files", files);
	fprintf(stderr, "note: %zu of %zu texts\n", right, files);
}

/* ---- the lexer ---- */

/* Words, symbols and strings with '|' between; strings in quotes. */
static void join(const struct tokens *tokens, char *ret, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < tokens->count && used < len; i++) {
		const struct token *token = &tokens->items[i];
		const char *mark = token->kind == TOKEN_STRING ? "\"" : "";

		used += (size_t)snprintf(ret + used, len - used, "%s%s%.*s%s", i ? "|" : "", mark,
					 (int)token->length, token->text, mark);
	}
	if (tokens->count == 0)
		ret[0] = '\0';
}

Test(lexer, rows, .timeout = 20)
{
	static const struct {
		const char *language, *text, *tokens;
	} rows[] = {
		{ "python", "x = 'a\\'b' # c 'd'\ny", "x|=|\"a\\'b\"|y" },
		{ "python", "f'''a\n'b''' + r\"\\\"", "\"a\n'b\"|+|\"\\\"\"" },
		{ "python", "a // b  # not a comment before", "a|//|b" },
		{ "python", "'open\nnext", "\"open\"|next" },
		{ "javascript", "a = /[/'\"]+/g.test(b) / 2 // c", "a|=|\"[/'\"]+\"|g|.|test|(|b|)|/|2" },
		{ "javascript", "`a\n${b}` /* c\n */ $d", "\"a\n${b}\"|$d" },
		{ "sh", "echo \"a b\"'c'd\\ e; f", "echo|a bcd e|;|f" },
		{ "sh", "a=$(b c) # d", "a=|$(|b|c|)" },
		{ "sh", "echo a#b $# ${c#d}", "echo|a#b|$#|${c#d}" },
		{ "sh", "cat <<E >f\nx | y\nE\nz", "cat|<<|E|>|f|\"x | y\n\"|z" },
		{ "sh", "cat <<-'E'\n\tx\n\tE\nz", "cat|<<-|E|\"\tx\n\t\"|z" },
		{ "sh", "x=$((1<<y))\nz", "x=|$((|1|<<|y|))|z" },
		{ "sh", "a \\\n b", "a|b" },
		{ "sh", "it's\nnext", "its|next" },
		{ "ruby", "x = %w[a 'b'] # c\n=begin\nd\n=end\ne", "x|=|\"a 'b'\"|e" },
		{ "ruby", "x = <<~A + y\n  'b\n  A\nc", "x|=|<<|~|A|+|y|\"  'b\n  \"|c" },
		{ "perl", "my $x = q{a'b}; $y =~ s/'/\"/g; # c", "my|$x|=|\"a'b\"|;|$y|=~|\"'\"|g|;" },
		{ "perl", "=pod\n\nit's\n\n=cut\n\nprint", "print" },
		{ "perl", "%h = (s => 1, y => 2); $#a", "%|h|=|(|s|=>|1|,|y|=>|2|)|;|$#|a" },
		{ "lua", "a --[[ b\n]] [==[c]]d]==] -- e\nf", "a|\"c]]d\"|f" },
		{ "php", "<b>it's</b><?php echo 'x'; ?>y<?= $z ?>",
		  "\"<b>it's</b>\"|<?php|echo|\"x\"|;|?>|\"y\"|<?=|$z|?>" },
		{ "go", "a := `b\\` // c\nd := '\\''", "a|:=|\"b\\\"|d|:=|\"\\'\"" },
		{ "rust", "fn f<'a>(x: &'a str) { 'b'; '\\''; r#\"c\"d\"#; b'\"' }",
		  "fn|f|<|'a|>|(|x|:|&|'a|str|)|{|\"b\"|;|\"\\'\"|;|\"c\"d\"|;|\"\"\"|}" },
		{ "rust", "/* a /* b */ c */ d r#fn", "d|fn" },
		{ "c++", "auto s = R\"x(a)\" b)x\"; // c", "auto|s|=|\"a)\" b\"|;" },
		{ "c", "char q = '\"'; /* \" */ #include <x.h>", "char|q|=|\"\"\"|;|#|include|<|x|.|h|>" },
		{ "java", "s = \"\"\"\n a \"b\" \"\"\"; c", "s|=|\"\n a \"b\" \"|;|c" },
		{ "r", "read.csv(x) # y\nz", "read.csv|(|x|)|z" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct tokens tokens = { 0 };
		struct warder_error err;
		char joined[400];

		cr_assert(lexer_read(lexer_rules(rows[i].language), rows[i].text, strlen(rows[i].text), 0,
				     &tokens, &err) == 0);
		join(&tokens, joined, sizeof(joined));
		cr_expect_str_eq(joined, rows[i].tokens, "%s %zu: %s", rows[i].language, i, joined);
		tokens_done(&tokens);
	}
}

Test(lexer, lines_and_limits, .timeout = 20)
{
	struct tokens tokens = { 0 };
	struct warder_error err;
	static const char text[] = "a /* b\n */ c\n  d e\n";
	static const struct {
		uint32_t line;
		bool first;
	} expected[] = { { 1, true }, { 2, true }, { 3, true }, { 3, false } };

	cr_assert(lexer_read(lexer_rules("c"), text, strlen(text), 0, &tokens, &err) == 0);
	cr_assert(tokens.count == ARRAY_LENGTH(expected));
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		cr_expect(tokens.items[i].line == expected[i].line &&
			      (i == 1 || tokens.items[i].first == expected[i].first),
			  "%zu: line %u", i, tokens.items[i].line);
	tokens_done(&tokens);
	cr_assert(lexer_read(lexer_rules("c"), text, strlen(text), 2, &tokens, &err) == 0);
	cr_expect(tokens.count == 2 && tokens.cut);
	tokens_done(&tokens);
	cr_expect(!lexer_rules("brainfuck"));
}
