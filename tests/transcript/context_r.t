# Contexts of R: the cases of context.t that differ from Python.
needs limits Rscript

= variables, functions and packages stay; values of a piece are printed, the last one is its value
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create r --language r; sh c run r -c 'library(stats); radius <- 2; setwd("/usr"); area <- function(r) pi * r^2'; sh c run r -c 'getwd(); 1:3; round(area(radius), 3)'; sh c run r -c 'invisible(4)'; sh c run r -c 'cat("out\n"); message("err")'; sh s stop
| [1] "/usr"
| [1] 1 2 3
| r: [1] 12.566
| out
! err

= an error has the calls of the piece, and the context goes on
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create r --language r; sh c run r -c 'half <- function(x) {
>   stop("no half of ", x)
> }
> kept <- 1; half(4)'; echo $?; sh c run r -c 'if ('; echo $?; sh c run r -c 'kept'; sh s stop
| 1
| 1
| r: [1] 1
! r:
! Error in half(4): no half of 4
!   half(4)
!   stop("no half of ", x) at <piece 1>, line 2
! r:
! <piece 2>:2:0: unexpected end of input
! 1: if (
!    ^

= a table is also HTML, a plot is a PNG, and display shows a value at once
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create r --language r; sh c run r --json -c 'display("first"); plot(1:3); data.frame(a = 1:2, b = c("x", "<y>"))' > result; /usr/bin/python3 -c '
> import json, base64; says = json.load(open("result"))["contextSays"]
> print(says["value"]["text/html"]); print(says["value"]["text/plain"]); print(says["shown"][0]); print(base64.b64decode(says["shown"][1]["image/png"])[:4])'; sh s stop
| <table><tr><th></th><th>a</th><th>b</th></tr><tr><th>1</th><td>1</td><td>x  </td></tr><tr><th>2</th><td>2</td><td>&lt;y&gt;</td></tr></table>
|   a   b
| 1 1   x
| 2 2 <y>
| {'text/plain': '[1] "first"'}
| b'\x89PNG'

= input, an interrupt, and the end
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create r --language r; echo Ada | sh c run r -c 'n <- readline("name? "); paste("hi", n)'; sh c run r -n -c 'readline()' 2>&1 | sed -n 2p; sh c run r --timeout 500ms -c 'kept <- 5; Sys.sleep(20)' 2> err; echo $?; grep -c 'at its time limit' err; sh c run r --timeout 500ms -c 'repeat kept <- kept + 1' 2> /dev/null; echo $?; sh c run r -c 'kept > 5'; sh c run r -c 'q(status = 3)' 2> /dev/null; echo $?; sh s stop
| name? r: [1] "hi Ada"
| Error: there is no more input
| 124
| 1
| 124
| r: [1] TRUE
| 3

= code that replaces functions of the loop breaks only itself; a policy without processes.spawn is refused
+ . "$TOP/tests/transcript/context.sh"
$ sh s start; sh c create r --language r; sh c run r -c 'pipe <- readBin <- paste0 <- function(...) stop("mine"); c <- NULL; 1'; sh c run r -c '2'; sh c create other --language r --set processes.spawn=false; sh s stop
| r: [1] 1
| r: [1] 2
! warder: a context of r starts programs for each piece; allow processes.spawn
