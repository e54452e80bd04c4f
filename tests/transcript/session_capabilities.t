# What a session grants its callers, and the changes of its overlay.
needs python3

= shell: programs, code and contexts, but not its files
+ echo 'print(6 * 7)' > code.py
$ . "$TOP/tests/transcript/context.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --capabilities shell; sh s exec -- echo run; warder code --session $name code.py; sh c create py; sh c run py -c 1; sh s read /etc/hostname; sh s list; echo x | sh s write /tmp/x; warder session cp "$PWD/code.py" $name:/tmp; echo x | sh s patch; sh s copy other; sh s stop
| run
| 42
| py: 1
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "filesystem", and so refuses its files; .*

= filesystem: its files, patches too, but no program
needs git
+ . "$TOP/tests/transcript/context.sh"
+ printf -- '--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+patched\n' > patch
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --capabilities filesystem; sh s patch /tmp < patch; sh s read /tmp/new; sh s exec -- true; echo $?; sh s exec --detach -- true; sh c create py; sh s start --capabilities filesystem; sh s start --capabilities shell,filesystem; sh s status --json | grep -o '"capabilities":\[[^]]*\]'; sh s restart; sh s exec -- true; sh s stop
| patched
| 125
| "capabilities":["filesystem"]
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "shell", and so refuses programs, code and contexts; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "shell", and so refuses programs, code and contexts; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "shell", and so refuses programs, code and contexts; .*
!~ ^warder: session [a-zA-Z0-9]* runs already, with another capabilities; .*
!~ ^warder: session [a-zA-Z0-9]* was started without the capability "shell", and so refuses programs, code and contexts; .*

= the agent, which reads files for clients of a host, belongs to filesystem
needs python3
+ cat > agent.py <<'END'
+ import os, socket, struct, sys
+ s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
+ s.connect(("/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"]) + "/warder/sessions/" + sys.argv[1] + ".sock")
+ for kind in (1, 26):  # RECORD_HELLO, RECORD_AGENT
+     s.send(struct.pack("<IHHII24s", 0x58455257, 3, kind, 0, 0, b""))
+     answer = s.recv(65536)
+ print(b'without the capability "filesystem"' in answer)
+ END
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start --capabilities shell; python3 agent.py $name; sh s stop
| True

= a program of the session can send no descriptors to a client of its agent
needs python3
+ cat > agent.py <<'END'
+ import array, os, socket, struct, sys
+ s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
+ s.connect(("/run" if os.geteuid() == 0 else os.environ["XDG_RUNTIME_DIR"]) + "/warder/sessions/" + sys.argv[1] + ".sock")
+ for kind in (1, 26):  # RECORD_HELLO, RECORD_AGENT
+     s.send(struct.pack("<IHHII24s", 0x58455257, 3, kind, 0, 0, b""))
+     answer, fds, _, _ = socket.recv_fds(s, 65536, 1)
+ try:
+     print(socket.socket(fileno=fds[0]).getsockopt(socket.SOL_SOCKET, 83))  # SO_PASSRIGHTS
+ except OSError:
+     print(0)  # before Linux 6.16
+ END
+ cp "$BUILD/warder-agent" "$(dirname "$(command -v warder)")"
$ . "$TOP/tests/transcript/session.sh"; export XDG_RUNTIME_DIR=$PWD/rt; sh s start; python3 agent.py $name; sh s stop
| 0

= wrong words
$ . "$TOP/tests/transcript/session.sh"; sh s start --capabilities network; sh s start --capabilities shell,; sh s start --snapshot-on-stop
! warder: --capabilities network: the capabilities are "shell" and "filesystem", with a comma between them for both
! warder: --capabilities shell,: the capabilities are "shell" and "filesystem", with a comma between them for both
! warder: --snapshot-on-stop stores workspaces: name them with --workspace-id
? 125

= the changes of an overlay: shown while the session runs, stored, and committed
needs place
+ . "$TOP/tests/transcript/session.sh"
+ mkdir -p work/sub; echo one > work/a; echo two > work/sub/b; chmod 755 work/sub; chmod 644 work/a
$ export XDG_RUNTIME_DIR=$PWD/rt; sh s start --workspace "$PWD/work:overlay"; sh s changes; sh s exec -- sh -c 'echo more >> a; rm -r sub; echo new > new'; sh s changes; sh s changes "$PWD/set"; sh s exec -- rm new; sh s changes --json | grep -o '"path":"[^"]*"' | tr '\n' ' '; sh s exec --detach -- sleep 60 > id; sh s changes; sh s stop; ls work; warder changes commit set | cut -c1-14; ls work
| 0 added, 0 changed, 0 removed
| M a 9 bytes sha256:5f25b257b30c
| A new 4 bytes sha256:7aa7a5359173
| D sub directory
| D sub/b
| 1 added, 1 changed, 2 removed
| M a 9 bytes sha256:5f25b257b30c
| A new 4 bytes sha256:7aa7a5359173
| D sub directory
| D sub/b
| 1 added, 1 changed, 2 removed
| "path":"a" "path":"sub" "path":"sub/b" a
| sub
| 4 changes made
| a
| new
!~ ^warder: programs run in session [a-zA-Z0-9]*, and could change its files during the copy; .*

= without an overlay there are none
$ . "$TOP/tests/transcript/session.sh"; sh s start; sh s changes; sh s stop
!~ ^warder: there is nothing to tell changes of: .*
