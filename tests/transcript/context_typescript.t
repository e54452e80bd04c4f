# Contexts of TypeScript: a piece is transpiled, without a check of its types, and then runs as in a context of JavaScript.
needs limits node tsc

= types, enumerations, classes and imports; the definitions stay
+ . "$TOP/tests/transcript/context.sh"
+ cat > one.ts <<'END'
+ interface Point { x: number; y: number }
+ import { basename } from "path"; import fs from "fs";
+ enum Color { Red, Green }
+ export class Box<T> { constructor(public content: T) {} }
+ const p: Point = { x: 1, y: 2 };
+ END
$ sh s start; sh c create ts --language typescript; sh c run ts one.ts; sh c run ts -c 'p.x + Color.Green'; sh c run ts -c '[basename("/a/b"), fs.existsSync("/"), new Box<number>(3)]'; sh c run ts -c 'const p: number = await Promise.resolve(5); p as number'; sh c run ts -c 'import { Point } from "./nowhere"' 2>&1 | grep -o 'Cannot find module'; sh c run ts -c 'import type { Point } from "./nowhere"; 7'; sh s stop
| ts: 2
| ts: [ 'b', true, Box { content: 3 } ]
| ts: 5
| Cannot find module
| ts: 7

= errors name the lines of the source
+ . "$TOP/tests/transcript/context.sh"
+ cat > deep.ts <<'END'
+ type Odd = string;
+ // wide
+ interface Wide {
+   a: Odd;
+ }
+ function half(x: any): Odd {
+   return x.y.z;
+ }
+ half(4);
+ END
$ sh s start; sh c create ts --language ts; sh c run ts deep.ts 2>&1 | grep 'piece 1'; sh c run ts -c 'let a: = 1'; echo $?; sh c run ts -c '"on"'; sh s stop
| <piece 1>:7
|     at half (<piece 1>:7:14)
|     at <piece 1>:9:1
| 1
| ts: 'on'
! ts:
! <piece 2>:1:8
! let a: = 1
!        ^
! 
! SyntaxError: Type expected.

= an interrupt, input, and the end
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create ts --language typescript; sh c run ts -c 'let kept: number = 1'; sh c run ts --timeout 1s -c 'while (true);' 2> /dev/null; echo $?; sh c run ts -c 'kept'; echo Ada | sh c run ts -c 'const n: string | null = prompt("name? "); `hi ${n}`'; sh c run ts -c 'process.exit(3)' 2> /dev/null; echo $?; sh s stop
| 124
| ts: 1
| name? ts: 'hi Ada'
| 3

= without the module, create says what to install
+ . "$TOP/tests/transcript/context.sh"; mkdir empty
$ sh s start --ro "$PWD/empty:/usr/share/nodejs"; sh c create ts --language typescript; sh s stop
!~ ^warder: the interpreter of context ts ended at its start: exited with 1: "the module typescript is not installed \(node-typescript of Debian\)"$
