# Contexts of JavaScript: the cases of context.t that differ from Python.
needs limits node

= variables, functions and modules stay, names may be declared again, and await stands anywhere
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; sh c run js -c 'const fs = require("fs"); let n = 1; class Box {}'
> sh c run js -c 'const n = await new Promise(done => setTimeout(() => done(41), 10)); process.chdir("/usr"); n + 1'
> sh c run js -c 'console.log(process.cwd()); [n, fs.existsSync("bin"), new Box()]'
> sh c run js -c '(await import("path")).basename("/a/b")'; sh c run js -c '_ + "!"'; sh c run js -c 'undefined'; sh s stop
| js: 42
| /usr
| js: [ 41, true, Box {} ]
| js: 'b'
| js: 'b!'

= an error has the piece's own lines, and the context goes on, also behind one of a timer
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language js; printf 'function half(x) {\n  return x.y.z;\n}\nhalf(4);\n' > piece.js; sh c run js piece.js; echo $?; sh c run js -c 'let 1'; echo $?; sh c run js -c 'setTimeout(() => { throw new Error("late") }, 1); await new Promise(done => setTimeout(done, 50)); "on"' 2> err; head -1 err; sh s stop
| 1
| 1
| js: 'on'
| Uncaught Error: late
! js:
! <piece 1>:2
!   return x.y.z;
!              ^
! 
! TypeError: Cannot read properties of undefined (reading 'z')
!     at half (<piece 1>:2:14)
!     at <piece 1>:4:1
! js:
! <piece 2>:1
! let 1
!     ^
! 
! SyntaxError: Unexpected number

= what is thrown need not be an error, and an error need not have a stack
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; sh c run js -c 'throw null'; sh c run js -c 'const e = new Error("why"); e.stack = undefined; throw e'; sh c run js -c 'setTimeout(() => { throw 5 }); await new Promise((done) => setTimeout(done, 50))' 2>&1; sh s stop
| Uncaught 5
! js:
! Uncaught null
! js:
! Uncaught [Error: why]

= an interrupt ends a loop, a sleep, a program and a promise, and definitions of the piece stay
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; for code in 'kept = 1; while (true);' 'await new Promise(() => {})' 'require("child_process").execSync("sleep 20")'; do sh c run js --timeout 1s -c "$code" 2> err; echo $?; grep warder: err; done; sh c run js -c 'kept'; sh s stop
| 124
| warder: the piece was interrupted at its time limit
| 124
| warder: the piece was interrupted at its time limit
| 124
| warder: the piece was interrupted at its time limit
| js: 1

= rich values and input
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; echo Ada | sh c run js -c '"hello " + prompt("name? ")'; sh c run js -n -c 'prompt()'; sh c run js --json -c 'display({ _toHtml() { return "<b>1</b>" } }); ({ [Symbol.for("Jupyter.display")]() { return { "text/plain": "T", "application/json": [1] } } })' | grep -o '"contextSays".*'; sh s stop
| name? js: 'hello Ada'
| js: null
|~ "value":\{"application/json":"\[1\]","text/plain":"T"\},"shown":\[\{"text/html":"<b>1</b>","text/plain":".*"\}\]

= a context that ends is reported with the cause; code that replaces the loop's functions breaks nothing but itself
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; sh c run js -c 'JSON.stringify = require("fs").writeSync = require("fs").readSync = setImmediate = null; Object.prototype.toString = null; 1'; sh c run js -c '2'; sh c run js -c 'process.exit(3)'; echo $?; sh c restart js; sh c run js -c 'require("fs").closeSync(4)' 2> err; grep -c 'context js has ended' err; sh s stop
| js: 1
| js: 2
| 3
| 1
!~ ^warder: context js has ended \(exit\): .*3.*; "warder context restart" starts it again$

= a text with a NUL is shown
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create js --language javascript; sh c run js -c 'throw new Error("a\0b")' 2>&1 | grep ^Error; sh c run js -c '({ [Symbol.for("nodejs.util.inspect.custom")]() { return "a\0b" } })'; sh s stop
| Error: a\x00b
| js: a\x00b
