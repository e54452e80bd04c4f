/*
 * syntax: what an interpreter says when it refuses a source, read from the standard error of the run itself. Private to
 * runtime/code.
 *
 * A program can print such lines too, so they count only where the run has ended as the interpreter ends on a syntax error: by its
 * exit status, in its form, about a file of the program, and, where it reads the whole source first, with nothing on standard
 * output. What is left to a program is to fail in just that way; a result says where its diagnostics come from.
 * Pure, linear in the text, any thread.
 */
#ifndef WARDER_RUNTIME_CODE_DIAGNOSTICS_SYNTAX_H
#define WARDER_RUNTIME_CODE_DIAGNOSTICS_SYNTAX_H

#include "rootfs/rootfs.h"
#include "runtime/code/diagnostics/diagnostics.h"

enum syntax_form {
	SYNTAX_NONE,
	SYNTAX_PYTHON,
	SYNTAX_NODE,
	SYNTAX_RUBY,
	SYNTAX_PERL,
	SYNTAX_PHP,
	SYNTAX_BASH,
	SYNTAX_SH,
	SYNTAX_LUA,
	SYNTAX_R,
	SYNTAX_COUNT,
};

/* How the run ended. */
struct syntax_run {
	int exit_status;  /* -1: by a signal */
	bool printed;     /* something came on standard output */
	const char *text; /* all of standard error */
	size_t len;
};

/* Adds an entry for each syntax error that the run ended by, with its file named as in `files` without the directory `box` and the
 * text of its line. Returns 0, also if there is none; -1 with *err (INTERNAL: no memory). */
int syntax_read(enum syntax_form form, const struct syntax_run *run, const char *box,
		const struct rootfs_file *files, size_t file_count, struct diagnostics *list,
		struct warder_error *err);

#endif
