/*
 * commands: what the words after "warder" do. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_COMMANDS_H
#define WARDER_RUNTIME_CLI_COMMANDS_H

#include "runtime/cli/args.h"
#include "runtime/session/session.h"

/* Exit status when Warder itself refused or failed, and nothing was started. */
#define EXIT_REFUSED 125

struct command {
	const char *name;
	enum flag_command flags;
	const char *usage; /* what follows "warder" */
	const char *summary;
	const char *details; /* more lines of help, or NULL */
	const char *example; /* works as printed */
	/* request is parsed, not loaded; argv are the arguments that it was parsed from. Returns the exit status. NULL: a command
	 * of warder-store, with its subcommands in `usage`. */
	int (*run)(struct args *args, char **argv);
};

struct report;
/* Run args->rest in a template, with this process's streams; spill: as of struct warder_command, or NULL. Returns the exit status. */
int run_launch(struct report *report, struct warder_template *tmpl, const struct warder_spill *spill);
/* Start report->args->rest as an execution that outlives this process, and print its id: in a session, or (NULL) in one of its own. Returns the
 * exit status. */
int detach_launch(struct report *report, struct warder_session *session);
/* The words read, write, list and cp of `warder session`: `name` is the first word behind, and flags are all others. */
int session_read_word(struct args *outer, const char *name, char **flags);
int session_write_word(struct args *outer, const char *name, char **flags);
int session_list_word(struct args *outer, const char *name, char **flags);
int session_cp_word(struct args *outer, const char *name, char **flags);
/* What cp copies. */
struct session_cp_places {
	bool in; /* into the session */
	const char *host, *path;
	char session[SESSION_NAME_MAX + 2];
};
/* Of the two words, one is NAME:PATH. -1 with *err. */
int session_cp_places(const char *from, const char *to, struct session_cp_places *ret,
		      struct warder_error *err);
/* Tell the user that a copy lacks this file, and why. */
void session_say_omitted(const char *path, const char *why);
/* Print the JSON array of a directory's entries for people. -1 with *err. */
int session_print_files(const char *json, struct warder_error *err);
int session_exec_word(struct args *outer, const char *name, char **flags);
int session_patch_word(struct args *outer, const char *name, char **flags);
/* As session_patch_word(), but `execute` runs git: the exec word of another kind of session. */
int session_patch(struct args *outer, const char *name, char **words,
		  int (*execute)(struct args *outer, const char *name, char **flags));
int session_command(struct args *args, char **argv);
/* Start the session that the flags ask for. -1 with *err. */
int session_start_asked(const struct args *args, const char *name, struct warder_session **ret,
			struct warder_error *err);
/* The policy that the session has, for the flags of a command to narrow; one that is named is taken as it is. -1 with *err. */
int session_load_policy(const struct warder_session *session, enum flag_command command, char **flags,
			struct args *args, struct warder_error *err);
/* Run what the keeper of the session launches and supervises, and pass this process's signals on. 0 with *ret, the caller's;
 * 1: the keeper is a process of another program, and nothing was started; -1 with *err. */
struct remote_command;
int session_run_command(struct report *report, struct warder_session *session,
			const struct remote_command *command, struct warder_result **ret,
			struct warder_error *err);
/* Refuse the flags that only the start of a session can have. -1 with *err. */
int session_check_start_flags(const struct args *args, struct warder_error *err);
/* Whether the session itself is within the ceiling, as it is now. -1 with *err. */
int session_check_ceiling(const struct warder_session *session, const struct args *args,
			  struct warder_error *err);
int context_command(struct args *args, char **argv);
/* `warder code --context`: argv are its arguments. */
int context_code(char **argv);
int ps_command(struct args *args, char **argv);
int logs_command(struct args *args, char **argv);
struct session_run;
struct function_answers;
/* Our terminal is that of the program, which session_run_start() has started with one, until it has ended or gives_up says so; meanwhile its
 * calls are answered. -1 with *err: the program may go on. *ret_taken is always written. */
struct attach_taken {
	uint64_t bytes; /* of the program's output */
	int failed;     /* errno of our output, or 0 */
};
int attach_own(const struct session_run *run, struct function_answers *answers, bool (*gives_up)(void),
	       struct attach_taken *ret_taken, struct warder_error *err);
int attach_command(struct args *args, char **argv);
int write_command(struct args *args, char **argv);
int kill_command(struct args *args, char **argv);
int serve_command(struct args *args, char **argv);
int worker_command(struct args *args, char **argv);
int submit_command(struct args *args, char **argv);
int tenant_command(struct args *args, char **argv);
int wait_command(struct args *args, char **argv);
int run_command(struct args *args, char **argv);
int code_command(struct args *args, char **argv);
int scan_command(struct args *args, char **argv);
int languages_command(struct args *args, char **argv);
int judge_command(struct args *args, char **argv);
int tool_command(struct args *args, char **argv);
int mcp_command(struct args *args, char **argv);
int changes_command(struct args *args, char **argv);
int backend_command(struct args *args, char **argv);
int explain_command(struct args *args, char **argv);
int policy_command(struct args *args, char **argv);
int doctor_command(struct args *args, char **argv);
/* doctor --attack; changes *policy. */
int attack_command(struct args *args, struct policy *policy);
int blocks_command(struct args *args, char **argv);
int format_command(struct args *args, char **argv);
int data_command(struct args *args, char **argv);
/* Print the script of the shell that the request names, for these commands; a row without a name ends them. Returns the exit status. */
int completion_print(const struct command *commands, const struct args *args);

/* Read what `blocks`, `format` and `data` look at: the one file that was named, or standard input. *ret_text is heap. -1 with
 * *err (INVALID_REQUEST). */
int command_input(const struct args *args, char **ret_text, size_t *ret_len, struct warder_error *err);

/* Tell of an error of Warder's own: a line on standard error, or with --json an object on standard output. Returns
 * `status`. */
int command_refuse(const struct args *args, const struct warder_error *err, int status);

#endif
