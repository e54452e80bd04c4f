#include "base/language.h"

#include <ctype.h>
#include <string.h>

#include "base/array.h"

#define SHELL_RULES (LEXER_SHELL | LEXER_HASH_COMMENT | LEXER_HEREDOC)

static const struct language_row rows[] = {
	{ .name = "command", .lexer = SHELL_RULES },
	{ .name = "python",
	  .extensions = "py|pyw|pyi",
	  .files = "SConstruct|SConscript|wscript",
	  .interpreters = "python|pypy",
	  .fences = "py|python3|py3|ipython",
	  .media_type = "text/x-python",
	  .lexer = LEXER_HASH_COMMENT | LEXER_TRIPLE | LEXER_PREFIXES,
	  .programs = "python|python3|*/python3",
	  .options = "-c" },
	{ .name = "javascript",
	  .extensions = "js|mjs|cjs|jsx",
	  .files = "Jakefile",
	  .interpreters = "node|nodejs|qjs",
	  .fences = "js|node|jsx|nodejs|ecmascript",
	  .media_type = "text/javascript",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_BACKTICK | LEXER_REGEX | LEXER_SIGILS,
	  .programs = "node|nodejs",
	  .options = "-e|--eval|-p" },
	{ .name = "typescript",
	  .extensions = "ts|mts|cts|tsx",
	  .interpreters = "deno|bun|ts-node|tsx",
	  .fences = "ts|tsx",
	  .media_type = "text/x-typescript",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_BACKTICK | LEXER_REGEX | LEXER_SIGILS },
	{ .name = "bash",
	  .extensions = "bash",
	  .files = ".bashrc|.bash_profile|.bash_logout|.bash_aliases|PKGBUILD",
	  .interpreters = "bash",
	  .media_type = "text/x-shellscript",
	  .lexer = SHELL_RULES },
	{ .name = "sh",
	  .extensions = "sh|dash",
	  .files = ".profile|.xinitrc",
	  .interpreters = "sh|dash|ash",
	  .fences = "shell|posix|dash|shellscript",
	  .media_type = "text/x-shellscript",
	  .lexer = SHELL_RULES,
	  .programs = "sh|bash|dash|zsh|*/sh|*/bash",
	  .options = "-c|-lc|-ec|-xc" },
	{ .name = "ruby",
	  .extensions = "rb|rake|gemspec|ru",
	  .files = "Rakefile|Gemfile|Vagrantfile|Guardfile|Podfile|Fastfile|Brewfile",
	  .interpreters = "ruby|jruby",
	  .fences = "rb",
	  .media_type = "text/x-ruby",
	  .lexer = LEXER_HASH_COMMENT | LEXER_LONG_QUOTES | LEXER_BACKTICK | LEXER_SIGILS | LEXER_REGEX |
		   LEXER_HEREDOC | LEXER_POD | LEXER_RUBY,
	  .programs = "ruby",
	  .options = "-e",
	  .backticks = true },
	{ .name = "r",
	  .extensions = "R|r",
	  .files = ".Rprofile",
	  .interpreters = "Rscript|littler",
	  .fences = "R|rscript",
	  .media_type = "text/x-r",
	  .lexer = LEXER_HASH_COMMENT | LEXER_LONG_QUOTES | LEXER_BACKTICK | LEXER_DOTTED,
	  .programs = "Rscript",
	  .options = "-e" },
	{ .name = "perl",
	  .extensions = "pl|pm|perl|PL",
	  .files = "cpanfile|Makefile.PL|Build.PL",
	  .interpreters = "perl",
	  .fences = "pl",
	  .media_type = "text/x-perl",
	  .lexer = LEXER_HASH_COMMENT | LEXER_LONG_QUOTES | LEXER_BACKTICK | LEXER_SIGILS | LEXER_REGEX |
		   LEXER_HEREDOC | LEXER_POD | LEXER_PERL,
	  .programs = "perl",
	  .options = "-e|-E|-ne|-pe",
	  .backticks = true },
	{ .name = "lua",
	  .extensions = "lua|rockspec",
	  .files = ".luacheckrc",
	  .interpreters = "lua|luajit|texlua",
	  .media_type = "text/x-lua",
	  .lexer = LEXER_LUA,
	  .programs = "lua",
	  .options = "-e" },
	{ .name = "php",
	  .extensions = "php|phtml|php3|php4|php5|phps",
	  .interpreters = "php",
	  .media_type = "text/x-php",
	  .lexer = LEXER_HASH_COMMENT | LEXER_SLASH_COMMENT | LEXER_LONG_QUOTES | LEXER_BACKTICK |
		   LEXER_SIGILS | LEXER_HEREDOC | LEXER_PHP,
	  .programs = "php",
	  .options = "-r",
	  .backticks = true },
	{ .name = "go",
	  .extensions = "go",
	  .interpreters = "gorun|yaegi",
	  .fences = "golang",
	  .media_type = "text/x-go",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_BACKTICK | LEXER_CHARACTER },
	{ .name = "rust",
	  .extensions = "rs",
	  .interpreters = "rust-script",
	  .fences = "rs",
	  .media_type = "text/x-rust",
	  .lexer =
	      LEXER_SLASH_COMMENT | LEXER_NESTED_COMMENT | LEXER_LONG_QUOTES | LEXER_CHARACTER | LEXER_RUST },
	{ .name = "c",
	  .extensions = "c",
	  .interpreters = "tcc",
	  .fences = "h",
	  .media_type = "text/x-c",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_CHARACTER },
	{ .name = "c++",
	  .extensions = "cc|cpp|cxx|c++|C|hpp|hh|hxx|h++|H|ipp|tpp",
	  .interpreters = "cling",
	  .fences = "cpp|cxx|cc|hpp",
	  .media_type = "text/x-c++",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_CHARACTER | LEXER_CPP_RAW },
	{ .name = "java",
	  .extensions = "java",
	  .interpreters = "java",
	  .media_type = "text/x-java",
	  .lexer = LEXER_SLASH_COMMENT | LEXER_CHARACTER | LEXER_TRIPLE },
	{ .name = "wasm",
	  .extensions = "wasm",
	  .interpreters = "wasmtime|wasmer",
	  .media_type = "application/wasm" },
	/* Comments of any kind. */
	{ .name = "text", .lexer = LEXER_HASH_COMMENT | LEXER_SLASH_COMMENT | LEXER_LUA, .no_code = true },
};

const struct language_row *language_row(size_t i)
{
	return i < ARRAY_LENGTH(rows) ? &rows[i] : NULL;
}

const struct language_row *language_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	}
	return NULL;
}

static bool has_word(const char *list, const char *word, size_t len)
{
	while (list && *list) {
		const size_t own = strcspn(list, "|");

		if (own == len && memcmp(list, word, len) == 0)
			return true;
		list += own + (list[own] == '|');
	}
	return false;
}

/* MAIN.PY is Python's, and .C is not .c's. */
const struct language_row *language_of_extension(const char *extension, size_t len)
{
	char lower[16];

	if (len == 0 || len >= sizeof(lower))
		return NULL;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (has_word(rows[i].extensions, extension, len))
			return &rows[i];
	}
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)extension[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (has_word(rows[i].extensions, lower, len))
			return &rows[i];
	}
	return NULL;
}
