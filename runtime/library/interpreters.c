/*
 * interpreters: the programs that a pool starts in advance, and that then read one piece of code from descriptor 4: jail/warm.c
 * describes their protocol. Each first runs a short piece of code, so that the kernel has already mapped the pages that most code needs.
 *
 * The code runs as a main module does, and ends the program as a main module does: exit status, output at exit, and tracebacks without the
 * lines of the loop.
 */
#include "runtime/library/interpreters.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"

static const char python_loop[] =
    "import gc,io,os,sys\n"
    "def run(source,name):\n"
    " main=type(sys)('__main__')\n"
    " main.__builtins__=__builtins__\n"
    " sys.modules['__main__']=main\n"
    " exec(compile(source,name,'exec'),main.__dict__)\n"
    "for name in sys.argv[1:]:__import__(name)\n"
    "sys.argv=['<code>']\n"
    "out=sys.stdout\n"
    "sys.stdout=io.StringIO()\n"
    "for i in range(3):run(b'class A:\\n def f(self,x):return [y*2 for y in "
    "range(x)]\\nprint(A().f(50),\"%d\"%7,{1:2.5})\\n','<warm>')\n"
    "sys.stdout=out\n"
    "gc.collect();gc.freeze()\n"
    "files={getattr(m,a,None) for m in list(sys.modules.values()) for a in ('__file__','__cached__')}\n"
    "text=''.join(f+'\\n' for f in files if isinstance(f,str) and f[:1]=='/' and '\\n' not in f)+'\\n'\n"
    "text=text.encode('utf-8','surrogateescape')\n"
    "while text:text=text[os.write(3,text):]\n"
    "source=b''\n"
    "while True:\n"
    " part=os.read(4,1<<20)\n"
    " if not part:break\n"
    " source+=part\n"
    "os.close(4)\n"
    "try:run(source,'<code>')\n"
    "except SystemExit:raise\n"
    "except BaseException:\n"
    " kind,error,trace=sys.exc_info()\n"
    " while trace and trace.tb_frame.f_code.co_filename!='<code>':trace=trace.tb_next\n"
    " sys.excepthook(kind,error.with_traceback(trace),trace)\n"
    " sys.exit(1)\n";

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
    "let text=Buffer.from(Object.keys(require.cache).map(f=>f+'\\n').join('')+'\\n');"
    "while(text.length)text=text.subarray(fs.writeSync(3,text));"
    "const source=fs.readFileSync(4,'utf8');"
    "fs.closeSync(4);"
    "new vm.Script(source,{filename:'<code>'}).runInThisContext();}";

static const struct interpreter {
	const char *name, *program, *flag, *loop;
} interpreters[] = {
	{ "python", "python3", "-c", python_loop },
	{ "node", "node", "-e", node_loop },
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
