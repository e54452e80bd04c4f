/*
 * interpreters: the programs that a pool starts in advance, and that then read one piece of code from descriptor 4: jail/warm.c
 * describes their protocol. Each first runs a short piece of code, so that the kernel has already mapped the pages that most code needs.
 * Node also writes nothing to its standard output, by the functions that code writes with, and calls each function of its loop. When a hand-out begins,
 * a byte precedes the code: then each runs a shorter piece once more, because what it needs has left the processor's caches meanwhile.
 *
 * The code runs as a main module does, and ends the program as a main module does: exit status and output at exit. Tracebacks of Python are
 * without the lines of the loop; each stack of Node has three of them.
 *
 * A loop for scripts reads which file to run, and its arguments and variables, instead of the code itself. The file is staged by then.
 */
#include "runtime/library/interpreters.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

#define PYTHON_DEFINE                                                                                        \
	"import gc,io,os,sys\n"                                                                              \
	"def run(source,name,main):\n"                                                                       \
	" main.__builtins__=__builtins__\n"                                                                  \
	" sys.modules['__main__']=main\n"                                                                    \
	" exec(compile(source,name,'exec',0,True),main.__dict__)\n"                                          \
	"new=lambda:type(sys)('__main__')\n"                                                                 \
	"for name in sys.argv[1:]:__import__(name)\n"
#define PYTHON_WARM_UP                                                                                       \
	"out=sys.stdout\n"                                                                                   \
	"sys.stdout=io.StringIO()\n"                                                                         \
	"for i in range(3):run(b'class A:\\n def f(self,x):return [y*2 for y in "                            \
	"range(x)]\\nprint(A().f(50),\"%d\"%7,{1:2.5})\\n','<warm>',new())\n"                                \
	"sys.stdout=out\n"
#define PYTHON_FREEZE "gc.collect();gc.freeze();del sys.modules['gc']\n"
#define PYTHON_REPORT                                                                                        \
	"files={getattr(m,a,None) for m in list(sys.modules.values()) for a in ('__file__','__cached__')}\n" \
	"text=''.join(f+'\\n' for f in files if isinstance(f,str) and f[:1]=='/' and '\\n' not in "          \
	"f)+'\\n'\n"                                                                                         \
	"text=text.encode('utf-8','surrogateescape')\n"                                                      \
	"while text:text=text[os.write(3,text):]\n"
#define PYTHON_PREPARES "os.write(3,b'prepares\\n')\n"
/* The byte, and then the work. */
#define PYTHON_READ                                                                                          \
	"os.read(4,1)\n"                                                                                     \
	"sys.stdout=io.StringIO()\n"                                                                         \
	"run(b'print(1)\\n','<warm>',new())\n"                                                               \
	"sys.stdout=out\n"                                                                                   \
	"os.write(1,b'')\n"                                                                                  \
	"source=b''\n"                                                                                       \
	"while True:\n"                                                                                      \
	" part=os.read(4,len(source)+4096)\n"                                                                \
	" if not part:break\n"                                                                               \
	" source+=part\n"                                                                                    \
	"os.close(4)\n"
/* Loads, warms up, reports its files, and reads its work into `source`. */
#define PYTHON_BEGIN                                                                                         \
	PYTHON_DEFINE PYTHON_DEFINE_CONCLUDE PYTHON_WARM_UP PYTHON_FREEZE PYTHON_PREPARES PYTHON_REPORT      \
	    PYTHON_READ
/* In a fork, the end of Python would write to most pages of what it has loaded, each of which would be copied first. finish() does the part of
 * it that a program can see, in Python's order: other threads end; atexit; standard output is flushed, and a failure becomes exit code 120; the
 * main module and the modules that came after the fork are given up, and then cleared if something still holds them; what remains is
 * flushed, in Python and in libc. Exceptions of each step are reported and end nothing, as in Python. Each collection but the last is also Python's: the
 * first puts a file before its buffer, so that a later one closes the file first.
 *
 * It differs in this: the modules from before the fork stay. Files that they hold are flushed but not closed; other objects that they hold
 * have no __del__ called. These files and the streams of libc are flushed only if no thread runs any more, which could hold the lock of
 * one for ever. Functions that libraries have registered with the atexit() of libc are not called. */
#define PYTHON_DEFINE_END                                                                                    \
	"import _signal,_thread,_weakref,atexit,ctypes\n"                                                    \
	"libc=ctypes.PyDLL(None)\n"                                                                          \
	"madvise,fflush,leave,kill,getpid=libc.madvise,libc.fflush,os._exit,os.kill,os.getpid\n"             \
	"modules,default=sys.modules,_signal.signal\n"                                                       \
	"streams=sys.stdout,sys.stderr\n"                                                                    \
	"writers=io.TextIOWrapper,io.BufferedWriter,io.BufferedRandom\n"                                     \
	"ignored,space=sys.__unraisablehook__,globals()\n"                                                   \
	"class Bad:\n"                                                                                       \
	" def __del__(self):1/0\n"                                                                           \
	"sys.unraisablehook=lambda words:space.__setitem__('unraisable',type(words))\n"                      \
	"Bad()\n"                                                                                            \
	"sys.unraisablehook=ignored\n"                                                                       \
	"bool,int,object,reversed,str=bool,int,object,reversed,str\n"                                        \
	"def say(value):\n"                                                                                  \
	" file=getattr(sys,'stderr',None)\n"                                                                 \
	" if file is None:file=streams[1]\n"                                                                 \
	" for part in value,'\\n':\n"                                                                        \
	"  try:file.write(str(part))\n"                                                                      \
	"  except BaseException:pass\n"                                                                      \
	"def attempt(step,subject):\n"                                                                       \
	" try:step()\n"                                                                                      \
	" except BaseException as error:\n"                                                                  \
	"  trace=exc_info()[2]\n"                                                                            \
	"  while trace and trace.tb_frame.f_globals is space:trace=trace.tb_next\n"                          \
	"  words=unraisable((type(error),error,trace,None,subject))\n"                                       \
	"  try:(getattr(sys,'unraisablehook',None)or ignored)(words)\n"                                      \
	"  except BaseException as later:\n"                                                                 \
	"   ignored(unraisable((type(later),later,exc_info()[2].tb_next,'Exception ignored in "              \
	"sys.unraisablehook',sys.unraisablehook)))\n"                                                        \
	"  words=trace=None\n"                                                                               \
	"  return True\n"                                                                                    \
	"def flush(file):\n"                                                                                 \
	" try:closed=file is None or bool(file.closed)\n"                                                    \
	" except BaseException:closed=False\n"                                                               \
	" return not closed and attempt(lambda:file.flush(),file)\n"                                         \
	"def finish(code):\n"                                                                                \
	" global main\n"                                                                                     \
	" threading=modules.get('threading')\n"                                                              \
	" if threading is not None:\n"                                                                       \
	"  attempt(lambda:threading._shutdown(),threading)\n"                                                \
	"  try:threading.excepthook=lambda error:None\n"                                                     \
	"  except BaseException:pass\n"                                                                      \
	" attempt(atexit._run_exitfuncs,atexit)\n"                                                           \
	" for name in 'stdout','stderr':\n"                                                                  \
	"  if flush(getattr(sys,name,None))and code is not None:code=120\n"                                  \
	" gc.collect()\n"                                                                                    \
	" sys.last_type=sys.last_value=sys.last_traceback=sys.last_exc=None\n"                               \
	" sys.stdout,sys.stderr=streams\n"                                                                   \
	" late=[main]+[modules.pop(name) for name in [*modules] if name not in known]\n"                     \
	" left=[_weakref.ref(module) for module in late if issubclass(type(module),type(sys))]\n"            \
	" main=late=None\n"                                                                                  \
	" gc.collect()\n"                                                                                    \
	" for module in reversed(left):\n"                                                                   \
	"  module=module()\n"                                                                                \
	"  names={} if module is None else object.__getattribute__(module,'__dict__')\n"                     \
	"  for name in [*names]:\n"                                                                          \
	"   if name!='__builtins__':names[name]=None\n"                                                      \
	" module=names=None\n"                                                                               \
	" gc.collect()\n"                                                                                    \
	" rest=[*streams]\n"                                                                                 \
	" alone=not _thread._count()\n"                                                                      \
	" if alone:rest+=[file for file in gc.get_objects() if issubclass(type(file),writers)]\n"            \
	" for file in rest:\n"                                                                               \
	"  try:file.flush()\n"                                                                               \
	"  except BaseException:pass\n"                                                                      \
	" if alone:fflush(None)\n"                                                                           \
	" if code is None:\n"                                                                                \
	"  code=130\n"                                                                                       \
	"  default(2,0)\n"                                                                                   \
	"  kill(getpid(),2)\n"                                                                               \
	" code=int.__index__(code)\n"                                                                        \
	" leave(code&255 if -2**63<=code<2**63 else 255)\n"                                                  \
	"known={*modules,'threading'}-{'__main__'}\n"
/* The same in a zygote: what follows the fork is the jail's program (jail/inside/forked.h). os.fork() runs the at-fork hooks, by which random and
 * others renew what they have. numpy's old generator has no such hook. The handlers of signals that Python sets at its start (SIGINT,
 * SIGPIPE, SIGXFSZ) are set again, and the pages that most code needs are written to once more. */
#define PYTHON_FORK                                                                                          \
	PYTHON_DEFINE PYTHON_DEFINE_CONCLUDE PYTHON_WARM_UP PYTHON_DEFINE_END                                \
	    "lib=ctypes.PyDLL('/proc/self/fd/5')\n"                                                          \
	    "os.close(5)\n"                                                                                  \
	    "with open('/proc/self/comm','rb') as file:comm=file.read().strip()\n"                           \
	    "with open('/proc/self/maps') as file:maps=[line.split() for line in file]\n"                    \
	    "maps=[[int(n,16) for n in line[0].split('-')] for line in maps if line[5:]and "                 \
	    "line[5][0]=='/']\n"                                                                             \
	    "_signal.signal(17,1)\n" PYTHON_FREEZE PYTHON_REPORT "while True:\n"                             \
	    " ordered=lib.forked_wait()\n"                                                                   \
	    " if ordered<0:os._exit(0)\n"                                                                    \
	    " if ordered:continue\n"                                                                         \
	    " lib.forked_init()\n"                                                                           \
	    " try:pid=os.fork()\n"                                                                           \
	    " except OSError as error:pid=-error.errno\n"                                                    \
	    " if pid:lib.forked_go_on(pid)\n"                                                                \
	    " break\n"                                                                                       \
	    "for start,end in maps:madvise(ctypes.c_void_p(start),ctypes.c_size_t(end-start),22)\n"          \
	    "lib.forked_payload(comm)\n"                                                                     \
	    "_signal.signal(17,0)\n"                                                                         \
	    "for i in 2,13,25:_signal.signal(i,_signal.getsignal(i))\n"                                      \
	    "if 'numpy.random' in sys.modules:sys.modules['numpy.random'].seed()\n" PYTHON_WARM_UP           \
	    "out=sys.stdout\n"                                                                               \
	    "with open('/dev/null','w') as sys.stdout:run(b'print(1)','<warm>',new())\n"                     \
	    "sys.stdout=out\n" PYTHON_PREPARES PYTHON_REPORT PYTHON_READ
/* The work is the main module, which is named `name`. Only the frame of the loop's own module is below it. What it ends with is kept until the loop
 * holds nothing of it any more. As Python does after a file, the loop then flushes the streams, because threads may still run for long. A profiler
 * that the code has left on sees the calls of this. conclude() does what Python does with an exception: it calls sys.excepthook without the line of
 * the loop, and raises what ends Python in the same way, SystemExit or KeyboardInterrupt itself. */
#define PYTHON_DEFINE_CONCLUDE                                                                               \
	"show,settrace,setprofile=sys.__excepthook__,sys.settrace,sys.setprofile\n"                          \
	"exc_info,type,issubclass,getattr=sys.exc_info,type,issubclass,getattr\n"                            \
	"BaseException,SystemExit=BaseException,SystemExit\n"                                                \
	"KeyboardInterrupt,AttributeError=KeyboardInterrupt,AttributeError\n"                                \
	"def tell(text):\n"                                                                                  \
	" try:sys.stderr.write(text+'\\n')\n"                                                                \
	" except BaseException:pass\n"                                                                       \
	"def conclude():\n"                                                                                  \
	" global failure\n"                                                                                  \
	" kind,error,trace=failure\n"                                                                        \
	" failure=None\n"                                                                                    \
	" try:\n"                                                                                            \
	"  if issubclass(kind,SystemExit):raise error\n"                                                     \
	"  trace=trace.tb_next\n"                                                                            \
	"  error=BaseException.with_traceback(error,trace)\n"                                                \
	"  sys.last_type,sys.last_value,sys.last_traceback=kind,error,trace\n"                               \
	"  if sys.version_info>(3,12):sys.last_exc=error\n"                                                  \
	"  later=report(kind,error,trace)\n"                                                                 \
	"  if later:raise later\n"                                                                           \
	"  if kind is KeyboardInterrupt:\n"                                                                  \
	"   sys.excepthook=lambda *words:None\n"                                                             \
	"   raise error\n"                                                                                   \
	"  raise SystemExit(1)\n"                                                                            \
	" finally:error=trace=later=None\n"                                                                  \
	"def report(kind,error,trace):\n"                                                                    \
	" try:\n"                                                                                            \
	"  hook=sys.excepthook\n"                                                                            \
	" except AttributeError:\n"                                                                          \
	"  tell('sys.excepthook is missing')\n"                                                              \
	"  hook=show\n"                                                                                      \
	" try:hook(kind,error,trace)\n"                                                                      \
	" except SystemExit as later:return later\n"                                                         \
	" except BaseException as later:\n"                                                                  \
	"  trace_of_later=exc_info()[2].tb_next\n"                                                           \
	"  second=BaseException.with_traceback(later,trace_of_later)\n"                                      \
	"  tell('Error in sys.excepthook:')\n"                                                               \
	"  show(type(second),second,trace_of_later)\n"                                                       \
	"  tell('\\nOriginal exception was:')\n"                                                             \
	"  show(kind,error,trace)\n"
#define PYTHON_WORK                                                                                          \
	"failure=None\n"                                                                                     \
	"main.__builtins__=__builtins__\n"                                                                   \
	"sys.modules['__main__']=main\n"                                                                     \
	"try:exec(compile(source,name,'exec',0,True),main.__dict__)\n"                                       \
	"except BaseException:failure=exc_info()\n"                                                          \
	"for file in 'stderr','stdout':\n"                                                                   \
	" try:getattr(sys,file).flush()\n"                                                                   \
	" except BaseException:pass\n"
#define PYTHON_END                                                                                           \
	"main=out=None\n"                                                                                    \
	"if failure:\n"                                                                                      \
	" settrace(None)\n"                                                                                  \
	" setprofile(None)\n"                                                                                \
	" conclude()\n"
#define PYTHON_FORK_END                                                                                      \
	"settrace(None)\n"                                                                                   \
	"setprofile(None)\n"                                                                                 \
	"code=0\n"                                                                                           \
	"try:\n"                                                                                             \
	" if failure:conclude()\n"                                                                           \
	"except KeyboardInterrupt:code=None\n"                                                               \
	"except SystemExit as error:\n"                                                                      \
	" try:code=error.code\n"                                                                             \
	" except BaseException:code=error\n"                                                                 \
	" if code is None:code=0\n"                                                                          \
	" elif not issubclass(type(code),int):\n"                                                            \
	"  say(code)\n"                                                                                      \
	"  code=1\n"                                                                                         \
	"finish(code)\n"

#define PYTHON_CODE                                                                                          \
	"name='<code>'\n"                                                                                    \
	"sys.argv=[name]\n"                                                                                  \
	"main=new()\n" PYTHON_WORK
/* The work: "SCRIPT", the number of arguments, these, and variables; each ends with a NUL. */
#define PYTHON_SCRIPT                                                                                        \
	"words=[os.fsdecode(word) for word in source.split(b'\\0')][:-1]\n"                                  \
	"count=2+int(words[1])\n"                                                                            \
	"for word in words[count:]:os.environ.__setitem__(*word.split('=',1))\n"                             \
	"sys.argv=words[:1]+words[2:count]\n"                                                                \
	"sys.orig_argv=sys.orig_argv[:1]+sys.argv\n"                                                         \
	"sys.path_importer_cache.pop(os.getcwd(),None)\n"                                                    \
	"name=os.path.abspath(words[0])\n"                                                                   \
	"sys.path[0]=os.path.dirname(os.path.realpath(name))\n"                                              \
	"main=new()\n"                                                                                       \
	"main.__file__=name\n"                                                                               \
	"main.__cached__=None\n"                                                                             \
	"main.__annotations__={}\n"                                                                          \
	"main.__loader__=sys.modules['_frozen_importlib_external'].SourceFileLoader('__main__',name)\n"      \
	"with io.open_code(name) as file:source=file.read()\n" PYTHON_WORK

static const char python_loop[] = PYTHON_BEGIN PYTHON_CODE PYTHON_END;
static const char python_script[] = PYTHON_BEGIN PYTHON_SCRIPT PYTHON_END;
static const char python_fork_loop[] = PYTHON_FORK PYTHON_CODE PYTHON_FORK_END;
static const char python_fork_script[] = PYTHON_FORK PYTHON_SCRIPT PYTHON_FORK_END;

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
    "const byte=Buffer.alloc(1);"
    "const read=fd=>{const source=fs.readFileSync(fd,'utf8');fs.closeSync(fd);return source;};"
    "const importModuleDynamically=vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;"
    "const run=source=>new vm.Script(source,{filename:'<code>',importModuleDynamically})"
    ".runInThisContext();"
    "const prepare=fd=>{fs.readSync(fd,byte);run('process.stdout.write(String())');};"
    "for(let i=0;i<20;i++){const fd=fs.openSync('/dev/null');prepare(fd);run(read(fd));}"
    /* Node warns about the loader once. A name without "node:" would make it read and remember the package.json of the directory. */
    "const {emitWarning}=process;"
    "process.emitWarning=()=>{};"
    "run('import(\\'node:\\').catch(()=>0)');"
    "process.emitWarning=emitWarning;"
    "process._tickCallback?.();"
    "let text=Buffer.from('prepares\\n'+Object.keys(require.cache).map(f=>f+'\\n').join('')+'\\n');"
    "while(text.length)text=text.subarray(fs.writeSync(3,text));"
    "prepare(4);"
    "run(read(4));}";

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

/* The loops that a zygote can have. */
static const struct fork_loop {
	const char *loop, *zygote;
} fork_loops[] = {
	{ python_loop, python_fork_loop },
	{ python_script, python_fork_script },
};

static const struct fork_loop *find_fork_loop(const char *word)
{
	for (size_t i = 0; i < ARRAY_LENGTH(fork_loops); i++)
		if (strcmp(fork_loops[i].loop, word) == 0)
			return &fork_loops[i];
	return NULL;
}

/* A comment like "# coding: latin-1", unless the name is UTF-8 (PEP 263). */
static bool names_coding(const char *line, size_t len)
{
	const char *end = line + len, *at = line;

	while (at < end && strchr(" \t\f", *at))
		at++;
	if (at == end || *at != '#')
		return false;
	while ((at = memmem(at, (size_t)(end - at), "coding", strlen("coding")))) {
		at += strlen("coding");
		if (at == end || !strchr(":=", *at))
			continue;
		at++;
		while (at < end && strchr(" \t", *at))
			at++;
		return end - at < 5 || strncasecmp(at, "utf-8", 5) != 0 ||
		       (end - at > 5 && (strchr("-_.", at[5]) || isalnum((unsigned char)at[5])));
	}
	return false;
}

bool interpreters_read(const char *source, size_t len)
{
	const char *line = source;

	for (size_t i = 0, length; i < len; i += length) {
		length = utf8_length(source + i, len - i);
		if (length == 0)
			return false;
	}
	if (len >= 3 && memcmp(source, "\xEF\xBB\xBF", 3) == 0)
		line += 3;
	for (int i = 0; i < 2; i++) {
		const size_t left = (size_t)(source + len - line);
		size_t length = 0;

		while (length < left && line[length] != '\n' && line[length] != '\r')
			length++;
		if (names_coding(line, length))
			return false;
		if (length < left)
			length += left - length > 1 && memcmp(line + length, "\r\n", 2) == 0 ? 2 : 1;
		line += length;
	}
	return true;
}

bool interpreters_take(char *const *words, const char *source, size_t len)
{
	for (; words && *words; words++)
		if (strcmp(*words, python_loop) == 0)
			return interpreters_read(source, len);
	return true;
}

bool interpreters_fork(char *const *words)
{
	for (; words && *words; words++)
		if (find_fork_loop(*words))
			return true;
	return false;
}

char **interpreters_zygote_words(char *const *words, struct warder_error *err)
{
	char **copy = interpreters_copy(words, err);

	for (size_t i = 0; copy && copy[i]; i++) {
		const struct fork_loop *row = find_fork_loop(copy[i]);

		if (!row)
			continue;
		free(copy[i]);
		copy[i] = strdup(row->zygote);
		if (!copy[i]) {
			interpreters_free(copy, text_count(words));
			error_no_memory(err, NULL);
			return NULL;
		}
		break;
	}
	return copy;
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
