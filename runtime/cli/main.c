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
#include "runtime/cli/workspace_remote.h"

static int complete(struct args *args, char **argv);

/* Ends with a row without a name. */
static const struct command commands[] = {
	{ "run", FLAG_RUN, "run [FLAG...] [--] [PROGRAM [ARGUMENT...]]", "run a program under a policy",
	  "The name in parentheses at the end of a flag is the field of the policy that it sets.\n"
	  "Without PROGRAM, --view image:NAME starts the image's entrypoint and command.\n"
	  "Exit status: the program's own; 128+N if signal N ended it; 124 if Warder killed it because its "
	  "time\n"
	  "was over; 137 if Warder killed it for another reason, such as memory; 125 if Warder refused or "
	  "failed;\n126 if the program is not executable; 127 if it was not found.\n",
	  "warder run --timeout 5s --memory 256MiB -- echo hello", run_command },
	{ "code", FLAG_CODE, "code [FLAG...] FILE|- [ARGUMENT...]",
	  "run a piece of code, after compiling it if necessary",
	  "The code writes its result, if it has one, to descriptor 3 ($WARDER_RESULT), and reads the value "
	  "of\n"
	  "--input from descriptor 4 ($WARDER_INPUT). \"warder code --json\" reports the result, compiler\n"
	  "diagnostics and files.\n"
	  "Languages: python, javascript, typescript, bash, sh, ruby, r, perl, lua, php, go, rust, c, c++, "
	  "java, wasm,\n"
	  "and command (one shell command). The jail must see the programs of the language; the default view "
	  "shows\n"
	  "those that are installed on this host.\n"
	  "Exit status: the same as \"warder run\"; 125 also if the code does not compile.\n",
	  "echo 'print(6 * 7)' | warder code --language python -", code_command },
	{ "tool", FLAG_TOOL, "tool [FLAG...]", "run code from JSON requests, and print JSON results",
	  "Reads one request from standard input, or with --stream one from each line. Prints each result as "
	  "one line\n"
	  "of JSON. A request:\n"
	  "{\"language\": \"python\", \"code\": \"print(6 * 7)\"}\n"
	  "The flags set the policy of all requests. A request may not ask for more.\n"
	  "--scopes lists the permissions that requests have. Each permission, and which requests need it:\n"
	  "  code:execute            every request; code:execute:LANGUAGE is enough for code in this "
	  "language\n"
	  "  code:network            a request whose policy has a network other than none and loopback\n"
	  "  code:filesystem:write   a request whose policy lets the program write to a directory of the "
	  "host\n"
	  "  code:execute:host       a request whose policy passes your whole environment to the program\n"
	  "  code:execute:container  a request whose backend makes containers\n"
	  "Exit status: 0 if every request got a result, good or bad; 125 if Warder cannot work.\n",
	  "echo '{\"language\": \"python\", \"code\": \"print(6 * 7)\"}' | warder tool", tool_command },
	{ "mcp", FLAG_MCP, "mcp [FLAG...]", "give a model a sandbox, through the Model Context Protocol",
	  "Reads messages of the protocol (versions 2025-03-26 and 2025-06-18) from standard input, and\n"
	  "writes the answers to standard output. The sandbox is a session: a jail that keeps its files from "
	  "one\n"
	  "call to the next. It ends with the connection. The flags set its policy. A model can narrow the "
	  "policy,\n"
	  "but not widen it. See warder-mcp(1).\n"
	  "Exit status: 0 if the client closes the connection; 125 if Warder cannot work.\n",
	  "echo '{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}' | warder mcp", mcp_command },
	{ "scan", FLAG_SCAN, "scan [FLAG...] FILE|-",
	  "find dangerous operations in a piece of code, without running it",
	  "The result is advice: it prevents nothing, and code can hide an operation from the scan.\n"
	  "The last line is the decision of the scan: allow, review or deny.\n"
	  "Exit status: 0 for allow, 1 for review and deny, 125 if Warder refused or failed.\n",
	  "echo 'print(1)' | warder scan --language python -", scan_command },
	{ "judge", FLAG_JUDGE,
	  "judge [FLAG...] [FILE]\n"
	  "       warder judge --cases DIR [FLAG...] FILE [ARGUMENT...]",
	  "run a program on many inputs, and compare its output with the expected output",
	  "FILE is a document with code and cases; without FILE, it is read from standard input. A "
	  "document:\n"
	  "{\"language\": \"python\", \"code\": \"print(int(input()) * 2)\",\n"
	  " \"cases\": [{\"stdin\": \"21\", \"expected\": \"42\"}]}\n"
	  "With --cases, FILE is the code alone.\n"
	  "The code is built once. Each case has a jail of its own, with the limits that the flags set. The "
	  "document\n"
	  "may set lower limits. Its member \"limits\", such as {\"timeout\": \"1s\", \"cpuTime\": \"1s\", "
	  "\"memory\": \"64MiB\"}, holds\n"
	  "for all cases; a case may have \"timeout\", \"cpuTime\" and \"memory\" of its own. The verdict of "
	  "a case is accepted, "
	  "wrongAnswer, timeLimit, memoryLimit, "
	  "outputLimit,\n"
	  "runtimeError, systemError, compileError or skipped.\n"
	  "--compare compares output and expected output:\n"
	  "  lines      line by line, without blanks at line ends and without empty lines at the end\n"
	  "  exact      byte by byte\n"
	  "  tokens     word by word, with any blanks between the words\n"
	  "  float:E    as tokens, but a number may differ by E, or by E times the expected number\n"
	  "  none       not at all\n"
	  "Exit status: 0 if every case is accepted, 1 if a case is not, 125 if Warder refused or failed.\n",
	  "echo '{\"language\": \"bash\", \"code\": \"cat\", \"cases\": [{\"stdin\": \"1\", \"expected\": "
	  "\"1\"}]}' | "
	  "warder judge",
	  judge_command },
	{ "languages", FLAG_LANGUAGES, "languages [FLAG...]",
	  "list the languages, and whether they are installed and allowed", NULL, "warder languages --json",
	  languages_command },
	{ "changes", FLAG_CHANGES, "changes [FLAG...] show|commit|drop DIR [PATTERN...]",
	  "show, commit or drop the changes that \"warder run --changes\" stored",
	  "A PATTERN is a path (a directory stands for all files in it), or has wildcards: \"*.c\", "
	  "\"src/**\".\n"
	  "commit makes no change at all if one of the files has changed on the host since the run (see "
	  "--force).\n"
	  "The stored changes stay in DIR until \"changes drop\".\n",
	  "mkdir -p work && warder run --workspace work:overlay --changes changes.d -- touch new && warder "
	  "changes "
	  "show changes.d && warder changes drop changes.d",
	  changes_command },
	{ "session", FLAG_SESSION_ANY,
	  "session start NAME [FLAG...]                      start a session\n"
	  "       warder session exec NAME [FLAG...] -- PROGRAM...         run a program in it\n"
	  "       warder session list [--json]                             list the sessions\n"
	  "       warder session status NAME [--json]                      show one session\n"
	  "       warder session stop NAME [--keep-sandbox] | --all        end one session, or all of yours\n"
	  "       warder session restart NAME [--json]                     start it again, without its "
	  "files\n"
	  "       warder session pause NAME | resume NAME                  freeze its processes, or let them "
	  "go on\n"
	  "       warder session extend NAME TIME                          add TIME to its lifetime\n"
	  "       warder session copy SOURCE NAME                          start a copy of SOURCE and its "
	  "files\n"
	  "       warder session changes NAME [DIRECTORY]                  show the changes of its overlay, "
	  "or store them\n"
	  "       warder session list NAME [PATH]                          list files of the session\n"
	  "       warder session read NAME PATH | write NAME PATH          print or write one of its files\n"
	  "       warder session cp NAME:PATH PATH | cp PATH NAME:PATH     copy files out or in\n"
	  "       warder session patch NAME [DIRECTORY]                    apply the patch on standard input",
	  "keep a jail, with its files, and run one program after the other in it",
	  "A program finds the files of the programs before it, and those processes of exec --background "
	  "that "
	  "still run.\n"
	  "The flags of exec may narrow the policy of the session, and set other variables or another "
	  "working\n"
	  "directory. read, write, list, cp and patch have the rights of the session's programs.\n"
	  "Exit status: of exec, the same as \"warder run\"; of status, 0 if the session runs and 1 if it "
	  "does "
	  "not;\n"
	  "of the others, 0. Of all, 125 if Warder refused or failed.\n",
	  "warder session start work && warder session exec work -- sh -c 'date > /tmp/a' && warder session "
	  "exec work -- cat /tmp/a && warder session stop work",
	  session_command },
	{ "context", FLAG_CONTEXT_ANY,
	  "context create SESSION NAME [FLAG...]         start an interpreter\n"
	  "       warder context run SESSION NAME [FLAG...] FILE|-     run a piece of code in it\n"
	  "       warder context run SESSION NAME [FLAG...] -c CODE    run this piece of code in it\n"
	  "       warder context list [SESSION]                        list the contexts\n"
	  "       warder context interrupt|restart|describe|delete SESSION NAME\n"
	  "       warder context fork SESSION NAME BRANCH              make a second one with the same state",
	  "keep an interpreter in a session, with its variables, between pieces of code",
	  "run gives the context a piece of code. One piece runs at a time; others wait. If the "
	  "context NAME\n"
	  "reports a value or an error, run prints it as \"NAME: VALUE\". ctrl-c interrupts the piece, and "
	  "the "
	  "context\n"
	  "stays. Languages: python, javascript, typescript, r, bash.\n"
	  "The new context has the policy of its session. The flags of \"context create\" that set a field "
	  "of\n"
	  "the policy can only narrow it. \"context create --timeout\" limits every piece of code in this "
	  "context.\n"
	  "\"context run --timeout\" limits the piece that it sends.\n"
	  "fork makes a second Python context with the same state, in the same jail.\n"
	  "Exit status of run: 0; 1 if the piece ended with an error; 124 if its time was over; 130 if it "
	  "was\n"
	  "interrupted; 137 if the context was killed; 125 if Warder refused or failed.\n",
	  "warder session start work && warder context create work py && warder context run work py -c 'x = "
	  "6' && "
	  "warder context run work py -c 'x * 7'; warder session stop work",
	  context_command },
	{ "ps", FLAG_PS, "ps [--json] [SESSION]",
	  "list the executions: the programs of \"session exec\" and \"run --detach\"",
	  "An execution that was started with --detach goes on when the command that started it has ended,\n"
	  "and stays in the list for some time after its own end (see --keep of \"warder run\").\n"
	  "Executions in a session on another machine have ids of the form SESSION:ID. They are listed "
	  "only\n"
	  "if SESSION is given.\n",
	  "warder ps", ps_command },
	{ "logs", FLAG_LOGS, "logs [FLAG...] ID", "print the output of an execution",
	  "Prints the program's standard output to standard output, and its standard error to standard "
	  "error.\n"
	  "Warder keeps the last 4 MiB; if output is missing, a message says how much.\n"
	  "Exit status: 0; 125 if Warder refused or failed.\n",
	  "id=$(warder run --detach --keep 1s -- echo hello) && warder wait $id && warder logs $id",
	  logs_command },
	{ "attach", FLAG_ATTACH, "attach [FLAG...] ID", "follow an execution, and write to its input",
	  "Shows the output that Warder has kept (the last 4 MiB), and then what the program writes. If "
	  "both\n"
	  "standard input and the input of the program are terminals, earlier output is left out, and the\n"
	  "program draws its screen again. Several terminals may attach to one execution. The keys\n"
	  "ctrl-p ctrl-q detach this terminal, and so does a signal to \"warder attach\"; the program goes "
	  "on.\n"
	  "Exit status: the same as \"warder run\" if the program ended; 0 if the keys detached this "
	  "terminal, "
	  "128+N\n"
	  "if signal N did.\n",
	  "id=$(warder run --detach --keep 1s -i -- cat) && echo hello | warder attach $id", attach_command },
	{ "write", FLAG_WRITE, "write [FLAG...] ID", "write standard input to the input of an execution",
	  "The program reads the bytes of one \"warder write\" without a byte of another writer between "
	  "them, "
	  "except\n"
	  "on another machine. The execution must have been started with -i or -t.\n"
	  "Exit status: 0; 125 if Warder refused or failed.\n",
	  "id=$(warder run --detach --keep 1s -i -- cat) && echo hello | warder write --close $id && warder "
	  "wait $id",
	  write_command },
	{ "kill", FLAG_KILL, "kill [-s SIGNAL] ID", "send a signal to the program of an execution",
	  "Every process in the program's process group gets the signal. Exit status: 0; 125 if Warder "
	  "refused or "
	  "failed.\n",
	  "id=$(warder run --detach --keep 1s -- sleep 20) && warder kill $id", kill_command },
	{ "wait", FLAG_WAIT, "wait [--json] ID", "wait for the end of an execution",
	  "Exit status: the same as \"warder run\".\n",
	  "id=$(warder run --detach --keep 1s -- true) && warder wait $id", wait_command },
	{ "serve", FLAG_SERVE,
	  "serve --local [--idle-timeout TIME] [--fork-server]\n"
	  "       warder serve --listen ADDR:PORT|inherited [--state DIR] [--config FILE] [--check]\n"
	  "                    [--tls-cert FILE --tls-key FILE] [--domain NAME[:PORT]] [--insecure-http] "
	  "[--log-json]\n"
	  "       warder serve --listen unix:PATH [--socket-mode MODE] [--state DIR] [--config FILE] "
	  "[--check]\n"
	  "                    [--domain NAME[:PORT]] [--log-json]\n"
	  "       warder serve --stop-all [--state DIR]",
	  "park jails for this user's commands, or serve sandboxes over HTTP",
	  "--local: run a service in the foreground. It starts the jails of this user's commands \"warder\n"
	  "run\", \"warder code\", \"warder judge\" and \"warder tool\", which then take a fraction of the "
	  "time.\n"
	  "A command starts its jail itself, for example if the program needs a terminal, an image, "
	  "variables "
	  "of\n"
	  "your environment, or a network other than none and loopback; or if the process \"warder run\" "
	  "itself has\n"
	  "other namespaces, another cgroup, another ulimit or another priority than the service. warder(1) "
	  "lists\n"
	  "all cases.\n"
	  "--listen: clients with a token of \"warder tenant add\" create sandboxes, run programs in them "
	  "and end\n"
	  "them; see warder-serve(1). The sandboxes go on when serve ends, and the next serve takes them "
	  "over.\n"
	  "--stop-all: end these sandboxes, 100 at a time, after serve has ended.\n"
	  "Exit status: 0 if serve ends by itself or by a signal, 125 if Warder refused or failed.\n",
	  "warder serve --local --idle-timeout 1s", serve_command },
	{ "tenant", FLAG_TENANT,
	  "tenant add NAME [--state DIR] [--scopes LIST] [--expires TIME] [--ceiling FILE]\n"
	  "                               [--request-key KEY] [--uid UID] [--old-clients]\n"
	  "       warder tenant list [--state DIR] [--json]\n"
	  "       warder tenant revoke NAME [--state DIR]",
	  "manage the tenants of \"warder serve --listen\": the clients that may use it",
	  "add prints the token of the new tenant, and stores only its digest. With --uid UID, the user\n"
	  "with this uid needs no token at a Unix socket. list prints the tenants.\n"
	  "revoke makes the token of a tenant invalid and ends the sandboxes of the tenant. A running\n"
	  "\"warder serve --listen\" with the same --state obeys add and revoke at once.\n"
	  "Exit status: 0, or 125 if Warder refused or failed.\n",
	  "state=$(mktemp -d) && warder tenant add me --state $state && warder tenant revoke me --state "
	  "$state",
	  tenant_command },
	{ "worker", FLAG_WORKER, "worker --nats URL [FLAG...]",
	  "run the requests of tenants that wait in a NATS server",
	  "Several workers, on several hosts, share one queue. The worker runs a request if a tenant of "
	  "--state "
	  "has\n"
	  "signed it, within the ceiling of this tenant. If a worker dies, another one runs its requests "
	  "again, so "
	  "an\n"
	  "execution may happen twice. The worker prints \"ready\" when it takes requests; see "
	  "warder-fleet(1).\n"
	  "Exit status: 128+N if signal N ended it, 125 if Warder refused or failed.\n",
	  "warder worker --help", worker_command },
	{ "submit", FLAG_SUBMIT,
	  "submit --nats URL --tenant NAME --key FILE [FLAG...]\n"
	  "       warder submit --make-key FILE",
	  "send requests to the workers of a NATS server, and print the results",
	  "Reads one request from each line of standard input, and prints one line for each, with its "
	  "result, as "
	  "soon\n"
	  "as it is there. A request: {\"id\": \"a\", \"argv\": [\"echo\", \"hello\"]}. A wrong line is "
	  "refused in its\n"
	  "result. An execution may happen twice, and the first result counts; see warder-fleet(1).\n"
	  "Exit status: 0 if every line got a result, good or bad; 125 if Warder refused or failed.\n",
	  "key=$(mktemp -u) && warder submit --make-key $key", submit_command },
	{ "explain", FLAG_EXPLAIN, "explain [FLAG...] [PRESET|FILE]",
	  "show how this host enforces each field",
	  "Starts no program and needs no privilege. Exit status: 0 if the policy would run here, 125 if it "
	  "would\nbe refused.\n",
	  "warder explain --memory 256MiB strict", explain_command },
	{ "backend", FLAG_BACKEND,
	  "backend [FLAG...] list | describe NAME | declare NAME [FILE] | trust remote:NAME",
	  "list and describe the backends on this host",
	  "A backend is a kind of isolation, such as local (Warder's own jail) or crun (a container). "
	  "\"warder run "
	  "--backend\n"
	  "NAME\" uses it. describe --for-model prints a paragraph for a model that writes code for the "
	  "backend.\n"
	  "Some providers of models run code for their models, on their own machines; this is the backend "
	  "\"builtin\".\n"
	  "\"declare builtin\" reads a request to such a model (JSON, from FILE or standard input), adds the "
	  "provider's\n"
	  "tool for running code to the request, and prints the result. The operator must have enabled this "
	  "backend.\n"
	  "Warder can enforce no field of the policy there, so every field must be marked as preferred "
	  "(--prefer all).\n"
	  "\"trust remote:NAME\" asks the remote host NAME (another machine that runs \"warder serve "
	  "--listen\") for its\n"
	  "public key, shows the key, and stores it. From then on, Warder uses an answer of this host only "
	  "if "
	  "it is\n"
	  "signed with this key.\n",
	  "warder backend describe local", backend_command },
	{ "policy", FLAG_POLICY,
	  "policy check FILE... | policy show PRESET|FILE | policy ceiling [--for PRESET|FILE]",
	  "validate or print a policy, or compare it with the ceiling (the most that the operator allows)",
	  "The ceiling is a policy of the operator that no other policy may exceed. \"policy ceiling\" "
	  "prints it, "
	  "field by\n"
	  "field. With --for, it compares a policy with the ceiling: \"lowered\" means that the ceiling "
	  "refuses\n"
	  "the value of a field but would grant a narrower one; \"refused\" means that it grants no value of "
	  "this field. In\n"
	  "both cases, Warder refuses a run; it lowers nothing by itself.\n"
	  "Exit status: 0, or 125 if Warder refused or failed. \"policy ceiling --for\" also exits with 125 "
	  "if the ceiling does\n"
	  "not grant the whole policy.\n",
	  "warder policy show strict", policy_command },
	{ "doctor", FLAG_DOCTOR, "doctor [FLAG...]", "probe which restrictions this host can enforce",
	  "Exit status: 0 if this host can enforce the preset strict, else 1, whatever policy you name.\n"
	  "With --attack: 0 if Warder stopped every attack, not counting attacks that do only what the "
	  "policy "
	  "allows; else 1.\n"
	  "With --matrix: 0. In all cases: 125 if Warder refused or failed.\n",
	  "warder doctor", doctor_command },
	{ "blocks", FLAG_BLOCKS, "blocks [FLAG...] [FILE]", "find code blocks in a model's text",
	  "Without FILE, or with -, the text is standard input. Prints for each block a line with its\n"
	  "position in bytes and its language.\n"
	  "Exit status: 0, also if the text has no code block; 125 if Warder refused or failed; with --run, "
	  "1 if a\n"
	  "block failed, 124 if a block ran out of time.\n",
	  "printf '```python\\nprint(1)\\n```\\n' | warder blocks --code 1", blocks_command },
	{ "format", FLAG_FORMAT, "format [FLAG...] [FILE]",
	  "turn the JSON result of a run into text for a model, or extract the output from such text",
	  "Reads FILE or standard input: the JSON that \"warder run --json\" or a similar command has "
	  "printed, "
	  "or with\n"
	  "--extract a text.\n",
	  "warder run --json -- echo hello | warder format", format_command },
	{ "data", FLAG_DATA, "data [FLAG...] [FILE]",
	  "take the tables out of chat messages, and print Python code that loads them",
	  "Without FILE, or with -, the conversation is standard input:\n"
	  "{\"messages\": [[{\"text\": \"Look:\"}, {\"mimeType\": \"text/csv\", \"content\": "
	  "\"a,b\\n1,2\\n\"}]]}\n"
	  "Prints the text of the conversation with a file name in place of each table, and Python code that "
	  "loads the\n"
	  "files. The command itself writes no file: with --json, it prints the name and the content of each "
	  "file, and\n"
	  "the caller has to put the files into the jail in which the code runs.\n",
	  "echo '{\"messages\": [[{\"mimeType\": \"text/csv\", \"content\": \"a,b\"}]]}' | warder data",
	  data_command },
	{ "checkpoint", 0,
	  "checkpoint "
	  "put|get|latest|list|history|rollback|compare|delete|threads|delete-thread|limits|verify|rescue "
	  "[...]",
	  "save and restore the state of an agent's conversations (threads)", NULL, NULL, NULL },
	{ "image", 0, "image import|pull|ensure|build|list|inspect|verify|remove|gc [...]",
	  "keep root file systems for jails (images) in Warder's store", NULL, NULL, NULL },
	{ "events", 0,
	  "events "
	  "request-work|claim|publish|request-feedback|provide-feedback|block|complete|post|wait|follow|"
	  "history|create|list|remove|to-a2a|from-a2a [...]",
	  "publish events, and wait for events of other programs", NULL, NULL, NULL },
	{ "workspace", 0,
	  "workspace "
	  "create|run|list|put|write|read|stage|provision|drive|collect|patch|show|snapshot|resume|remove "
	  "[...]",
	  "keep working directories for programs in Warder's store, from run to run", NULL, NULL, NULL },
	{ "snapshot", 0, "snapshot list|verify|remove|prune [...]",
	  "list, verify and remove saved states of these working directories", NULL, NULL, NULL },
	{ "artifact", 0, "artifact save|take|list|read|verify|remove [...]",
	  "keep the versions of a file in Warder's store, under a name", NULL, NULL, NULL },
	{ "completion", FLAG_COMPLETION, "completion bash|zsh|fish", "print the shell's completion script",
	  NULL, "warder completion bash", complete },
	{ 0 },
};

static int complete(struct args *args, char **argv)
{
	return completion_print(commands, args);
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
	term_title("warder: run untrusted programs, and report which restrictions were enforced");
	printf("\nusage: warder COMMAND [FLAG...]\n\n");
	for (const struct command *command = commands; command->name; command++) {
		printf("  ");
		term_print(TERM_TITLE, 12, command->name);
		printf("%s\n", command->summary);
	}
	printf(
	    "\nWarder's store is a directory: /var/lib/warder for root, ~/.local/share/warder for others.\n"
	    "\"warder COMMAND --help\" says more; \"warder --version\" prints the version.\n"
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
	struct args args;
	int status;

	if (args_parse(command->flags, argv, &args, &err) != 0)
		return command_refuse(&args, &err, EXIT_REFUSED);
	if (args.help || asks_help(command, args.rest))
		return print_help(command);
	status = delegate_begin(&args, command->name, argv);
	if (status == 0)
		status = command->run(&args, argv);
	args_done(&args);
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
	if (!help && strcmp(argv[0], "workspace") == 0 && workspace_remote_is_meant(argv + 1))
		return workspace_remote_command(argv + 1);
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
