# Code that is a function: `warder code --function` calls it with the value of --input, and its return value is the result.
needs limits

= Python: the source is the body of a function; input is its argument, return its result
needs python3
+ cat > area.py <<'END'
+ import math
+ def area(r):
+     return math.pi * r ** 2
+ print("called")
+ text = """two
+ lines"""
+ return {"area": round(area(input["r"]), 2), "text": text, "odd": [float("nan"), -float("inf"), 1.5], "pair": (1, None)}
+ END
$ warder code --function --input '{"r": 2}' --json area.py | tee result | grep -o '"output":{[^}]*}\|"text":"called[^"]*"'; echo 'input' > none.py; warder code --function --json none.py | grep -o '"output":null'
| "text":"called\n"
| "output":{"area":12.57,"text":"two\nlines","odd":[null,null,1.5],"pair":[1,null]}
| "output":null

= an error names the lines of the source, and the harness stays out of it
needs python3
+ printf 'a = 1\nreturn a / 0\n' > zero.py; printf 'a = 1\nif\n' > wrong.py; echo 'return {1, 2}' > set.py; echo 'return input' > same.py
$ warder code --function zero.py; echo $?; warder code --function wrong.py; echo $?; warder code --function set.py; echo $?; warder code --function same.py
| 1
| 1
| 2
! Traceback (most recent call last):
!~ ^  File ".*main.py", line 2, in main$
!     return a / 0
!~ ^           ~~\^~~$
! ZeroDivisionError: division by zero
!~ ^  File ".*main.py", line 2$
!     if
!       ^
! SyntaxError: invalid syntax
! warder: the value that the function returned is no JSON: Object of type set is not JSON serializable

= nor does it show itself when an error hides its traceback, is no Exception, or meets a failing hook
needs python3
+ echo 'raise KeyboardInterrupt' > interrupt.py; printf 'class E(Exception): __traceback__ = None\nraise E(1)\n' > hides.py; printf 'import sys\ndef hook(*words): 1 / 0\nsys.excepthook = hook\nraise ValueError(2)\n' > hook.py; printf 'class D(dict):\n  def items(self): 1 / 0\nreturn D(a=1)\n' > items.py
$ for i in interrupt hides hook items; do warder code --function $i.py 2> err; echo $?; grep -c harness err; tail -n 1 err; done
| 130
| 0
| KeyboardInterrupt
| 1
| 0
| main.<locals>.E: 1
| 1
| 0
| ValueError: 2
| 2
| 0
| warder: the value that the function returned is no JSON: division by zero

= the same for a value that cannot be written, an error without a text, and a source that is too deep
needs python3
+ printf 'class D(dict):\n  def items(self): raise KeyboardInterrupt\nreturn D(a=1)\n' > stop.py; printf 'class E(Exception): __str__ = None\nclass D(dict):\n  def items(self): raise E\nreturn D(a=1)\n' > mute.py; python3 -c "print('return ' + '-' * 100000 + '1')" > deep.py
$ for i in stop mute deep; do warder code --function $i.py 2> err; echo $?; grep -c harness err; tail -n 1 err | cut -c 1-80; done
| 130
| 0
| KeyboardInterrupt
| 2
| 0
| warder: the value that the function returned is no JSON: (it has no text)
| 1
| 0
|~ ^(RecursionError|MemoryError|SyntaxError)

= JavaScript: the same; undefined, NaN and the infinities are null, a BigInt is a string
needs node
+ cat > values.js <<'END'
+ const { basename } = require("path");
+ return [input.a, undefined, NaN, Infinity, 12345678901234567890n, basename("/x/y"), () => 1, Symbol("s")];
+ END
+ echo 'const wait = (ms) => new Promise((done) => setTimeout(done, ms)); await wait(10); return await input;' > later.js
+ printf 'let a = 1;\nreturn a.b.c;\n' > error.js; printf 'let a = 1;\nreturn (;\n' > wrong.js; echo 'return new Promise(() => {});' > never.js; echo 'const a = []; a.push(a); return a;' > ring.js; echo 'return { toJSON() { throw null; } };' > null.js; echo 'return { toJSON() { throw Symbol("s"); } };' > symbol.js; echo 'return { toJSON() { throw Object.create(null); } };' > bare.js; echo '1;' > nothing.js; echo 'return (await import/*c*/("node:path")).sep;' > comment.js; echo 'return (await import("node:path")).sep;' > import.js
$ warder code --function --input '{"a": "ä"}' --json values.js | grep -o '"output":\[[^]]*\]'; warder code --function --input '[1]' --json later.js | grep -o '"output":\[[^]]*\]'; warder code --function --json nothing.js | grep -o '"output":null'; warder code --function error.js 2>&1 | grep -c 'main.js:2\|^TypeError'; for i in import comment; do warder code --function $i.js 2>&1 | grep -c 'Warning'; done; for i in wrong never ring null symbol bare; do warder code --function $i.js 2> err; echo $?; grep -o 'SyntaxError: .*\|^warder: [^:]*' err; done
| "output":["ä",null,null,null,"12345678901234567890","y",null,null]
| "output":[1]
| "output":null
| 3
| 0
| 0
| 1
| SyntaxError: Unexpected token ';'
| 2
| warder: the promise that the function returned was never settled
| 2
| warder: the value that the function returned is no JSON
| 2
| warder: the value that the function returned is no JSON
| 2
| warder: the value that the function returned is no JSON
| 2
| warder: the value that the function returned is no JSON

= --check compiles the body and does not call it; other languages are refused by name
needs python3 node
+ echo 'print("called"); return 1' > good.py; echo 'console.log("called"); return 1' > good.js; echo 'return (' > bad.py; echo 'return (' > bad.js
$ for i in good.py good.js bad.py bad.js; do warder code --function --check $i > out 2> err; echo $i $? $(wc -c < out) $(grep -c 'main\.' err); done; warder code --function --language bash good.py
| good.py 0 0 0
| good.js 0 0 0
| bad.py 125 0 1
| bad.js 125 0 1
! warder: a function is called in python, javascript and rust only; write a program in bash
? 125

= a request of tool
needs python3
$ echo '{"id": "a", "language": "python", "code": "return [input, 1]", "function": true, "input": "x"}' | warder tool | grep -o '"output":\["x",1\]'
| "output":["x",1]
