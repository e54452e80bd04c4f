/*
 * main: the table of commands.
 *
 * A command that runs a program must not find a file of ours behind the numbers 0 to 2, so closed ones are filled
 * before anything is opened: standard input with /dev/null, which is at its end, the others with /dev/full, where every write
 * fails, as with a closed descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/delegate.h"
#include "runtime/cli/programs.h"
#include "runtime/cli/term.h"

static int complete(struct request *request, char **argv);

/* Ends with a row without a name. */
static const struct command commands[] = {
	{ "run", FLAG_RUN, "run [FLAG...] [--] PROGRAM [ARGUMENT...]", "run a program under a policy",
	  "Without PROGRAM, --view image:NAME starts the image's entrypoint and command.\n"
	  "Exit status: the program's own; 128+N when signal N ended it; 124 out of time; 137 over memory,\n"
	  "or killed by Warder for another reason than time; 125 refused or failed; 126 not executable; 127 "
	  "not found.\n",
	  "warder run --timeout 5s --memory 256MiB -- echo hello", run_command },
	{ "code", FLAG_CODE, "code [FLAG...] FILE|- [ARGUMENT...]",
	  "run a piece of code, after compiling it if necessary",
	  "The code writes its result, if it has one, to descriptor 3 ($WARDER_RESULT), and reads the value "
	  "of\n"
	  "--input from descriptor 4 ($WARDER_INPUT). \"warder code --json\" reports the result, compiler\n"
	  "diagnostics and files. Languages: python javascript typescript bash sh ruby r perl lua php go "
	  "rust c c++ "
	  "java\n"
	  "wasm command; a language must be installed in the jail's view.\n"
	  "Exit status: as run; 125 also when the code does not compile.\n",
	  "echo 'print(6 * 7)' | warder code --language python -", code_command },
	{ "tool", FLAG_TOOL, "tool [FLAG...]", "read requests to run code as JSON, and print results as JSON",
	  "Reads one request, or with --stream one from each line, and prints each result on a line:\n"
	  "{\"language\": \"python\", \"code\": \"print(6 * 7)\"}\n"
	  "The flags set the policy of all requests. A request may not ask for more.\n"
	  "Exit status: 0 when every request has a result, good or bad; 125 when Warder cannot work.\n",
	  "echo '{\"language\": \"python\", \"code\": \"print(6 * 7)\"}' | warder tool", tool_command },
	{ "mcp", FLAG_MCP, "mcp [FLAG...]", "give a model a session, through the Model Context Protocol",
	  "Reads messages of the protocol (versions 2025-03-26 and 2025-06-18) from standard input, and\n"
	  "writes the answers to standard output. The flags set the policy of the session, which ends with\n"
	  "the connection. A model can narrow the policy, but not widen it. See warder-mcp(1).\n"
	  "Exit status: 0 when the client closes the connection; 125 when Warder cannot work.\n",
	  "echo '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}' | warder mcp", mcp_command },
	{ "scan", FLAG_SCAN, "scan [FLAG...] FILE|-",
	  "find dangerous operations in a piece of code, without running it",
	  "It is advice: it enforces nothing, and code can hide from it.\n"
	  "Exit status: 0 allow, 1 review or deny, 125 refused or failed.\n",
	  "echo 'print(1)' | warder scan --language python -", scan_command },
	{ "judge", FLAG_JUDGE, "judge [FLAG...] [FILE] | judge --cases DIR [FLAG...] FILE [ARGUMENT...]",
	  "run a program on many inputs, and compare its output with the expected output",
	  "FILE is a document with code and cases; without FILE, it is read from standard input. With "
	  "--cases,\n"
	  "FILE is the code.\n"
	  "{\"language\": \"python\", \"code\": \"print(int(input()) * 2)\",\n"
	  " \"cases\": [{\"stdin\": \"21\", \"expected\": \"42\"}]}\n"
	  "The code is built once. Exit status: 0 every case is accepted, 1 not, 125 refused.\n",
	  "echo '{\"language\": \"bash\", \"code\": \"cat\", \"cases\": [{\"stdin\": \"1\", \"expected\": "
	  "\"1\"}]}' | "
	  "warder judge",
	  judge_command },
	{ "languages", FLAG_LANGUAGES, "languages [FLAG...]",
	  "list the languages, and whether they are installed and allowed", NULL, "warder languages --json",
	  languages_command },
	{ "changes", FLAG_CHANGES, "changes [FLAG...] show|commit|drop DIR [PATTERN...]",
	  "show, commit or drop the changes that run --changes DIR stored",
	  "A PATTERN is a path (a directory stands for all files in it), or has wildcards: \"*.c\", "
	  "\"src/**\".\n"
	  "commit does nothing if a file changed on the host since; the set stays until you drop it.\n",
	  "mkdir -p work && warder run --workspace work:overlay --changes set -- touch new && warder changes "
	  "show set "
	  "&& warder changes drop set",
	  changes_command },
	{ "session", FLAG_SESSION_ANY,
	  "session start NAME [FLAG...] | exec NAME [FLAG...] -- PROGRAM [ARGUMENT...] | "
	  "list|status|stop|restart "
	  "[NAME] [--json] | pause|resume NAME | extend NAME TIME | read|write|list NAME PATH | "
	  "cp NAME:PATH PATH | cp PATH NAME:PATH | patch NAME [DIRECTORY]",
	  "keep a jail between executions",
	  "\"stop --all\" ends every session of the user.\n"
	  "Files, and processes that --background left running, stay for the next execution. The flags of\n"
	  "exec may narrow the policy of start, and set another environment or working directory.\n"
	  "Exit status: of exec as of run; of status 1 if the session does not "
	  "run.\n"
	  "read, write, list and cp reach the files of a session from outside, with the rights that its "
	  "programs have.\n"
	  "patch applies the patch on standard input to these files.\n",
	  "warder session start work && warder session exec work -- sh -c 'date > /tmp/a' && warder session "
	  "exec work -- cat /tmp/a && warder session stop work",
	  session_command },
	{ "context", FLAG_CONTEXT_ANY,
	  "context create SESSION NAME [FLAG...] | run SESSION NAME [FLAG...] FILE|- | run SESSION NAME -c "
	  "CODE | list [SESSION] | interrupt|restart|describe|delete SESSION NAME",
	  "keep an interpreter in a session, with its variables, between pieces of code",
	  "run gives the context a piece of code. One piece runs at a time; others wait. If the "
	  "context NAME\n"
	  "reports a value or an error, run prints it as \"NAME: VALUE\". The flags of create\n"
	  "may only narrow the session's policy; limits.wallTime is the longest time of a piece. ctrl-c "
	  "interrupts\n"
	  "the piece, and the context stays. Languages: python javascript bash.\n"
	  "Exit status of run: 0; 1 the piece ended with an error; 124 out of time; 130 interrupted; 137 the "
	  "context\n"
	  "was killed; 125 refused or failed.\n",
	  "warder session start work && warder context create work py && warder context run work py -c 'x = "
	  "6' && "
	  "warder context run work py -c 'x * 7'; warder session stop work",
	  context_command },
	{ "ps", FLAG_PS, "ps [--json]", "list the executions that outlive their callers",
	  "These are the programs of \"warder run --detach\" and \"warder session exec --detach\", also for "
	  "a\n"
	  "while after their end.\n",
	  "warder ps", ps_command },
	{ "logs", FLAG_LOGS, "logs [FLAG...] ID", "print the output of an execution",
	  "Standard output and error go to those of this command. The last 4 MiB are kept; where output is\n"
	  "missing, a message says how much. Exit status: 0; 125 refused or failed.\n",
	  "id=$(warder run --detach --keep 1s -- echo hello) && warder wait $id && warder logs $id",
	  logs_command },
	{ "attach", FLAG_ATTACH, "attach [FLAG...] ID", "follow an execution, and write to its input",
	  "Shows what the program writes from now on; if it has a terminal, also the last 4 MiB that it "
	  "wrote.\n"
	  "Several may watch one execution.\n"
	  "ctrl-p ctrl-q, or a signal, detaches: the program goes on. Exit status: as run, when the program "
	  "ends;\n"
	  "0 when it was detached by keys, 128+N by signal N.\n",
	  "id=$(warder run --detach --keep 1s -i -- cat) && echo hello | warder attach $id", attach_command },
	{ "write", FLAG_WRITE, "write [FLAG...] ID", "write standard input to the input of an execution",
	  "Nothing that others write comes between these bytes. The execution must have "
	  "been\n"
	  "started with -i or -t. Exit status: 0; 125 refused or failed.\n",
	  "id=$(warder run --detach --keep 1s -i -- cat) && echo hello | warder write --close $id && warder "
	  "wait $id",
	  write_command },
	{ "kill", FLAG_KILL, "kill [-s SIGNAL] ID", "send a signal to the program of an execution",
	  "Every process in the program's process group gets it. Exit status: 0; 125 refused or failed.\n",
	  "id=$(warder run --detach --keep 1s -- sleep 20) && warder kill $id", kill_command },
	{ "wait", FLAG_WAIT, "wait [--json] ID", "wait for the end of an execution",
	  "Exit status: as for run.\n", "id=$(warder run --detach --keep 1s -- true) && warder wait $id",
	  wait_command },
	{ "serve", FLAG_SERVE,
	  "serve --local [--idle-timeout TIME] | serve --listen ADDR:PORT [--state DIR] [--config FILE] "
	  "[--check] "
	  "[--insecure-http]",
	  "keep jails ready for this user's commands, or serve sandboxes over HTTP",
	  "--local: the commands run, code, judge and tool take a fraction of the time with such a jail. "
	  "They start\n"
	  "the jail themselves if the caller has other namespaces, cgroups, resource limits or priorities "
	  "than "
	  "the\n"
	  "service, or if the program needs variables of the caller, a network other than none and loopback, "
	  "a\n"
	  "terminal or an image.\n"
	  "--listen: clients with a token of \"warder tenant add\" create sandboxes, run programs in them "
	  "and end\n"
	  "them; see warder-serve(1). The sandboxes live on when serve ends, and the next serve adopts "
	  "them.\n"
	  "Exit status: 0 when serve ends by itself or by a signal, 125 refused or failed.\n",
	  "warder serve --local --idle-timeout 1s", serve_command },
	{ "tenant", FLAG_TENANT, "tenant add NAME [FLAG...] | list [--json] | revoke NAME",
	  "say who may use \"warder serve --listen\"",
	  "add prints a token, which is stored nowhere. list prints the tenants. revoke refuses a tenant's "
	  "token\n"
	  "from now on and ends its sandboxes. All take effect on a running host. Exit status: 0, 125 "
	  "refused or\n"
	  "failed.\n",
	  "state=$(mktemp -d) && warder tenant add me --state $state && warder tenant revoke me --state "
	  "$state",
	  tenant_command },
	{ "explain", FLAG_EXPLAIN, "explain [FLAG...] [PRESET|FILE]",
	  "show how this host enforces each field",
	  "Starts no program and needs no privilege. Exit status: 0 it would run, 125 it would be refused.\n",
	  "warder explain --memory 256MiB strict", explain_command },
	{ "backend", FLAG_BACKEND, "backend [FLAG...] list | describe NAME | declare NAME [FILE]",
	  "list and describe the backends on this host",
	  "describe --for-model prints a paragraph for a model that writes code for it. declare adds the "
	  "code\n"
	  "executor of a model's provider to a request to its model (FILE, or standard input). The operator "
	  "must have\n"
	  "enabled it. The provider enforces no field, so the policy must prefer every field.\n",
	  "warder backend describe local", backend_command },
	{ "policy", FLAG_POLICY,
	  "policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]",
	  "validate or print policies, and the most that the ceiling grants",
	  "ceiling prints the ceiling in force, field by field; with --for, which fields of a policy it "
	  "grants.\n"
	  "\"lowered\": it grants only a narrower value of the field; \"refused\": it grants no such value. "
	  "A run\n"
	  "under a policy with such a field is refused.\n"
	  "Exit status of ceiling --for: 0 the whole policy is granted, 125 it would be refused.\n",
	  "warder policy show strict", policy_command },
	{ "doctor", FLAG_DOCTOR, "doctor [FLAG...]", "probe which restrictions this host can enforce",
	  "Exit status: 0 when the strict preset can be enforced, 1 when it cannot; with --attack 0 when "
	  "every\n"
	  "attempt that the policy does not allow is stopped, else 1.\n",
	  "warder doctor", doctor_command },
	{ "blocks", FLAG_BLOCKS, "blocks [FLAG...] [FILE]", "find code blocks in a model's text",
	  "Without FILE, or with -, the text is standard input. Prints for each block a line with its\n"
	  "position in bytes and its language. Exit status: 0, also if there is none; 125 refused;\n"
	  "with --run 1 if a block failed, 124 if the time of a block was over.\n",
	  "printf '```python\\nprint(1)\\n```\\n' | warder blocks --code 1", blocks_command },
	{ "format", FLAG_FORMAT, "format [FLAG...] [FILE]",
	  "write a result in JSON as text for a model, or extract it from such text",
	  "Without FILE, or with -, the result to format is read from standard input.\n",
	  "warder run --json -- echo hello | warder format", format_command },
	{ "data", FLAG_DATA, "data [FLAG...] [FILE]",
	  "write the tables of a chat with a model into files, with code that loads them",
	  "Without FILE, or with -, the conversation is standard input:\n"
	  "{\"messages\": [[{\"text\": \"Look:\"}, {\"mimeType\": \"text/csv\", \"content\": "
	  "\"a,b\\n1,2\\n\"}]]}\n"
	  "Prints the text with a file name in the place of each table, and Python that loads the tables. "
	  "--json\n"
	  "prints the files, too.\n",
	  "echo '{\"messages\": [[{\"mimeType\": \"text/csv\", \"content\": \"a,b\"}]]}' | warder data",
	  data_command },
	{ "checkpoint", 0,
	  "checkpoint put|get|latest|list|history|rollback|compare|delete|threads|delete-thread|limits [...]",
	  "save and restore the state of an agent's conversations (threads)", NULL, NULL, NULL },
	{ "image", 0, "image import|pull|ensure|build|list|inspect|verify|remove|gc [...]",
	  "store root file systems by name", NULL, NULL, NULL },
	{ "events", 0,
	  "events "
	  "request-work|claim|publish|request-feedback|provide-feedback|block|complete|post|wait|follow|"
	  "history|create|list|remove|to-a2a|from-a2a [...]",
	  "publish and await events between programs in one workspace", NULL, NULL, NULL },
	{ "workspace", 0,
	  "workspace create|run|list|put|write|read|stage|collect|patch|show|snapshot|resume|remove [...]",
	  "keep directories between runs: inputs, outputs", NULL, NULL, NULL },
	{ "snapshot", 0, "snapshot list|verify|remove|prune [...]",
	  "list, verify and remove saved states of workspaces", NULL, NULL, NULL },
	{ "artifact", 0, "artifact save|take|list|read|verify|remove [...]",
	  "store content under a name, in versions", NULL, NULL, NULL },
	{ "completion", FLAG_COMPLETION, "completion bash|zsh|fish", "print the shell's completion script",
	  NULL, "warder completion bash", complete },
	{ 0 },
};

static int complete(struct request *request, char **argv)
{
	return completion_print(commands, request);
}

static void fill_closed_streams(void)
{
	struct pollfd streams[3] = { { .fd = 0 }, { .fd = 1 }, { .fd = 2 } };

	if (poll(streams, 3, 0) <= 0)
		return;
	for (size_t i = 0; i < 3; i++) { /* from 0 up, so that each open() takes the number it is meant for */
		if (streams[i].revents & POLLNVAL)
			open(i == 0 ? "/dev/null" : "/dev/full", i == 0 ? O_RDONLY : O_WRONLY);
	}
}

static int print_usage(void)
{
	term_title("warder: run untrusted programs, and prove which restrictions were enforced");
	printf("\nusage: warder COMMAND [FLAG...]\n\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("  ");
		term_print(TERM_TITLE, 12, command->name);
		printf("%s\n", command->summary);
	}
	printf("\n\"warder COMMAND --help\" says more; \"warder --version\" prints the version.\n"
	       "\nExample:\n  warder run -- echo hello\n");
	return 0;
}

static int print_help(const struct command *command)
{
	printf("usage: warder %s\n\n%s\n\n", command->usage, command->summary);
	flags_print(command->flags);
	if (command->details)
		printf("\n%s", command->details);
	if (command->flags == FLAG_POLICY) {
		printf("\nPresets:\n");
		for (size_t i = 0; i < policy_preset_count(); i++)
			printf("  %-15s %s\n", policy_preset_name(i), policy_preset_summary(i));
		printf(
		    "\nagent and build do not name the directory of their workspace: give it with "
		    "--workspace "
		    "DIR, or\nwrite it behind \"readWrite:\" in the policy that \"policy show\" prints.\n");
	}
	printf("\nExample:\n  %s\n", command->example);
	return 0;
}

static int refuse_command(const char *name)
{
	const char *words[ARRAY_LENGTH(commands)] = { NULL };
	char remedy[256];

	for (size_t i = 0; commands[i].name; i++)
		words[i] = commands[i].name;
	term_complain("unknown command %.64s; %s", name, policy_suggest(words, name, remedy, sizeof(remedy)));
	return EXIT_REFUSED;
}

/* Behind a word of the command's own, as in "policy show --help". What run has there is the program's. */
static bool asks_help(const struct command *command, char *const *rest)
{
	for (; command->flags != FLAG_RUN && *rest && strcmp(*rest, "--") != 0; rest++) {
		if (strcmp(*rest, "--help") == 0)
			return true;
	}
	return false;
}

static int dispatch(const struct command *command, char **argv)
{
	struct warder_error err = { 0 };
	struct request request;
	int status;

	if (request_parse(command->flags, argv, &request, &err) != 0)
		return command_refuse(&request, &err, EXIT_REFUSED);
	if (request.help || asks_help(command, request.rest))
		return print_help(command);
	status = delegate_begin(&request, command->name, argv);
	if (status == 0)
		status = command->run(&request, argv);
	request_done(&request);
	return status;
}

/* A command of warder-store, which knows the rest. Returns only if that cannot be executed. */
static int leave_to_store(char **argv)
{
	struct warder_error err = { 0 };

	programs_become_store(argv, &err);
	term_error(&err);
	return EXIT_REFUSED;
}

static const struct command *find(const char *name)
{
	for (const struct command *command = commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

static int choose(char **argv)
{
	const struct command *command;
	bool help = false;

	if (!argv[0]) {
		term_complain("which command? \"warder --help\" lists them");
		return EXIT_REFUSED;
	}
	if (strcmp(argv[0], "help") == 0 && argv[1]) {
		help = true;
		argv++;
	}
	if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "help") == 0)
		return print_usage();
	if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
		printf("warder %s\n", warder_version());
		return 0;
	}
	command = find(argv[0]);
	if (!command)
		return refuse_command(argv[0]);
	if (!command->run)
		return leave_to_store(help ? argv - 1 : argv);
	return help ? print_help(command) : dispatch(command, argv + 1);
}

/* A write that failed earlier leaves its errno, if nothing else has failed since: only what a write can give is told. */
static void complain_unwritten(int error)
{
	static const int reasons[] = { ENOSPC, EPIPE, EIO, EFBIG, EDQUOT, EBADF };

	for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++) {
		if (error == reasons[i]) {
			term_complain("standard output cannot be written: %s", strerror(error));
			return;
		}
	}
	term_complain("standard output cannot be written");
}

int main(int argc, char **argv)
{
	int status;

	fill_closed_streams();
	status = choose(argc > 0 ? argv + 1 : argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == 0) { /* a part may have failed before */
		complain_unwritten(errno);
		status = EXIT_REFUSED;
	}
	return status;
}
