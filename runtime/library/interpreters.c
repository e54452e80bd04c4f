/*
 * interpreters: the programs that a pool starts in advance, and that then read one piece of code from descriptor 4: jail/warm.c
 * describes their protocol. Each first runs a short piece of code, so that the kernel has already mapped the pages that most code needs.
 * Node also writes nothing to its standard output, by the functions that code writes with.
 *
 * The code runs as a main module does, and ends the program as a main module does: exit status, output at exit, and tracebacks without the
 * lines of the loop.
 *
 * A loop for scripts reads which file to run, and its arguments and variables, instead of the code itself. The file is staged by then.
 */
#include "runtime/library/interpreters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"

/* Loads, warms up, reports its files, and reads its work into `source`. */
#define PYTHON_BEGIN                                                                                         \
	"import gc,io,os,sys\n"                                                                              \
	"def run(source,name,main):\n"                                                                       \
	" main.__builtins__=__builtins__\n"                                                                  \
	" sys.modules['__main__']=main\n"                                                                    \
	" exec(compile(source,name,'exec',0,True),main.__dict__)\n"                                          \
	"new=lambda:type(sys)('__main__')\n"                                                                 \
	"for name in sys.argv[1:]:__import__(name)\n"                                                        \
	"out=sys.stdout\n"                                                                                   \
	"sys.stdout=io.StringIO()\n"                                                                         \
	"for i in range(3):run(b'class A:\\n def f(self,x):return [y*2 for y in "                            \
	"range(x)]\\nprint(A().f(50),\"%d\"%7,{1:2.5})\\n','<warm>',new())\n"                                \
	"sys.stdout=out\n"                                                                                   \
	"gc.collect();gc.freeze();del sys.modules['gc']\n"                                                   \
	"files={getattr(m,a,None) for m in list(sys.modules.values()) for a in ('__file__','__cached__')}\n" \
	"text=''.join(f+'\\n' for f in files if isinstance(f,str) and f[:1]=='/' and '\\n' not in "          \
	"f)+'\\n'\n"                                                                                         \
	"text=text.encode('utf-8','surrogateescape')\n"                                                      \
	"while text:text=text[os.write(3,text):]\n"                                                          \
	"source=b''\n"                                                                                       \
	"while True:\n"                                                                                      \
	" part=os.read(4,1<<20)\n"                                                                           \
	" if not part:break\n"                                                                               \
	" source+=part\n"                                                                                    \
	"os.close(4)\n"
/* Runs it as the main module, which is named `name`. An interrupt ends Python by its signal. */
#define PYTHON_END                                                                                           \
	"try:run(source,name,main)\n"                                                                        \
	"except SystemExit:raise\n"                                                                          \
	"except BaseException:\n"                                                                            \
	" kind,error,trace=sys.exc_info()\n"                                                                 \
	" while trace and trace.tb_frame.f_code.co_filename!=name:trace=trace.tb_next\n"                     \
	" sys.excepthook(kind,error.with_traceback(trace),trace)\n"                                          \
	" if issubclass(kind,KeyboardInterrupt):\n"                                                          \
	"  import signal\n"                                                                                  \
	"  sys.stdout.flush()\n"                                                                             \
	"  signal.signal(2,signal.SIG_DFL)\n"                                                                \
	"  os.kill(os.getpid(),2)\n"                                                                         \
	" sys.exit(1)\n"

static const char python_loop[] = PYTHON_BEGIN "name='<code>'\n"
					       "sys.argv=[name]\n"
					       "main=new()\n" PYTHON_END;

/* The work: "SCRIPT", the number of arguments, these, and variables; each ends with a NUL. */
static const char python_script[] = PYTHON_BEGIN
    "words=[os.fsdecode(word) for word in source.split(b'\\0')][:-1]\n"
    "count=2+int(words[1])\n"
    "for word in words[count:]:os.environ.__setitem__(*word.split('=',1))\n"
    "sys.argv=words[:1]+words[2:count]\n"
    "sys.orig_argv=sys.orig_argv[:1]+sys.argv\n"
    "sys.path_importer_cache.pop(os.getcwd(),None)\n"
    "name=os.path.abspath(words[0])\n"
    "sys.path[0]=os.path.dirname(os.path.realpath(name))\n"
    "main=new()\n"
    "main.__file__=name\n"
    "main.__cached__=None\n"
    "main.__annotations__={}\n"
    "main.__loader__=sys.modules['_frozen_importlib_external'].SourceFileLoader('__main__',name)\n"
    "with io.open_code(name) as file:source=file.read()\n" PYTHON_END;

static const char node_loop[] =
    "{const fs=require('fs'),vm=require('vm');" /* a block, so that the code can use these names */
    "globalThis.require=require;"
    "for(const name of process.argv.slice(1))require(name);"
    "process.stdout;"
    "const none=fs.openSync('/dev/null','w');"
    "globalThis.w=text=>fs.writeSync(none,text);"
    "for(let i=0;i<20;i++)new vm.Script('(function(){const a=[];for(let i=0;i<50;i++)a.push({x:i});"
    "w(JSON.stringify(a)+String(7));return a.length})()').runInThisContext();"
    "delete globalThis.w;"
    "const to={write(){},once(){},on(){},removeListener(){}};"
    "const {log}=new console.Console(to,to);"
    "for(let i=0;i<20;i++){log(i,[String(i)]);process.stdout.write('');}"
    "let text=Buffer.from(Object.keys(require.cache).map(f=>f+'\\n').join('')+'\\n');"
    "while(text.length)text=text.subarray(fs.writeSync(3,text));"
    "const source=fs.readFileSync(4,'utf8');"
    "fs.closeSync(4);"
    "new vm.Script(source,{filename:'<code>'}).runInThisContext();}";

static const struct interpreter {
	const char *name, *program, *flag, *loop;
	const char *script; /* the loop for scripts, or NULL */
} interpreters[] = {
	{ "python", "python3", "-c", python_loop, python_script },
	{ "node", "node", "-e", node_loop, NULL },
};

char **interpreters_words(const char *name, const char *const *imports, struct warder_error *err)
{
	const struct interpreter *row = interpreters;
	char shown[80];
	size_t count = 0;
	char **words;

	while (row < interpreters + ARRAY_LENGTH(interpreters) && strcmp(row->name, name) != 0)
		row++;
	if (row == interpreters + ARRAY_LENGTH(interpreters)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "interpreter",
			  "interpreter is %s; use \"python\" or \"node\", or set program",
			  json_quote(name, shown, sizeof(shown)));
		return NULL;
	}
	while (imports && imports[count])
		count++;
	words = calloc(count + 4, sizeof(*words));
	if (words) {
		words[0] = strdup(row->program);
		words[1] = strdup(row->flag);
		words[2] = strdup(row->loop);
	}
	for (size_t i = 0; words && i < count; i++)
		words[3 + i] = strdup(imports[i]);
	for (size_t i = 0; words && i < count + 3; i++)
		if (!words[i]) {
			interpreters_free(words, count + 3);
			words = NULL;
		}
	if (!words)
		error_no_memory(err, NULL);
	return words;
}

static const struct interpreter *find_scripts(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(interpreters); i++)
		if (strcmp(interpreters[i].name, name) == 0 && interpreters[i].script)
			return &interpreters[i];
	return NULL;
}

bool interpreters_run_scripts(const char *name)
{
	return find_scripts(name) != NULL;
}

char **interpreters_script_words(const char *name, char *const *argv, size_t script, struct warder_error *err)
{
	const struct interpreter *row = find_scripts(name);
	char **words = calloc(script + 3, sizeof(*words));

	for (size_t i = 0; words && i < script + 2; i++) {
		words[i] = strdup(i < script ? argv[i] : i == script ? row->flag : row->script);
		if (!words[i]) {
			interpreters_free(words, script + 2);
			words = NULL;
		}
	}
	if (!words)
		error_no_memory(err, NULL);
	return words;
}

static char *add_word(char *at, const char *word)
{
	const size_t len = strlen(word) + 1;

	memcpy(at, word, len);
	return at + len;
}

char *interpreters_script_work(char *const *words, char *const *environment, size_t *ret_len,
			       struct warder_error *err)
{
	size_t len = 24;
	char count[24];
	char *work, *at;

	for (char *const *word = words; *word; word++)
		len += strlen(*word) + 1;
	for (char *const *word = environment; word && *word; word++)
		len += strlen(*word) + 1;
	work = malloc(len);
	if (!work) {
		error_no_memory(err, NULL);
		return NULL;
	}
	snprintf(count, sizeof(count), "%zu", text_count(words) - 1);
	at = add_word(add_word(work, words[0]), count);
	for (char *const *word = words + 1; *word; word++)
		at = add_word(at, *word);
	for (char *const *word = environment; word && *word; word++)
		at = add_word(at, *word);
	*ret_len = (size_t)(at - work);
	return work;
}

char **interpreters_copy(char *const *from, struct warder_error *err)
{
	const size_t count = text_count(from);
	char **words = calloc(count + 1, sizeof(*words));

	for (size_t i = 0; words && i < count; i++) {
		words[i] = strdup(from[i]);
		if (!words[i]) {
			interpreters_free(words, count);
			words = NULL;
		}
	}
	if (!words)
		error_no_memory(err, NULL);
	return words;
}

void interpreters_free(char **words, size_t count)
{
	for (size_t i = 0; words && i < count; i++)
		free(words[i]);
	free(words);
}
