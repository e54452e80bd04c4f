# What the program sees and may do.

needs limits

= a caller without address randomisation does not pass that on
needs setarch
$ setarch -R warder run -- cat /proc/self/personality
| 00000000

= the environment is the documented base only
$ HOME=/root SECRET=1 warder run -- env | sed 's/=.*//' | sort
| HOME
| LANG
| PATH
| TMPDIR

= a variable is set
$ warder run --env MY=1 -- sh -c 'echo $MY'
| 1

= a variable is let in, others are not
$ FOO=1 BAR=2 warder run --env FOO --env UNSET -- sh -c 'echo "$FOO ${BAR-none} ${UNSET-none}"'
| 1 none none

= a value on the command line wins over the policy's
+ echo '{"version": 1, "limits": {"wallTime": "5s"}, "environment": {"set": {"A": "policy"}}}' > p.json
$ warder run --policy p.json --env A=flag -- sh -c 'echo $A'
| flag

= no network: only loopback (and tunnels that some kernels put everywhere), and it is down
needs python3
$ warder run -- sh -c 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "' | grep -vx -e sit0 -e tunl0; warder run -- python3 -c 'import socket; socket.create_connection(("1.1.1.1", 80), 2)' 2>&1 | grep ^OSError
| lo
|~ unreachable

= loopback
needs python3
$ warder run --net loopback -- python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); print("connected")'
| connected

= the host's root is not there
$ warder run -- sh -c 'ls /root /home /var/log /etc/shadow 2>&1 | grep -vc "No such"; grep -c . /etc/passwd | grep -qx "[1-4]" && echo own'
| 0
| own

= nothing can be written but /tmp
$ warder run -- sh -c 'touch /usr/x /x 2>/dev/null; echo x > /tmp/y && cat /tmp/y; ls /x /usr/x 2>/dev/null'
? 2
| x

= a read-only workspace
+ chmod 755 .; echo content > file
$ warder run --workspace . -- sh -c 'cat file; echo no > file'
| content
? 2
!~ Read-only file system

= a read-write workspace
+ chmod 777 .
$ warder run --workspace .:rw --set limits.disk=unlimited -- sh -c 'echo written > file'; cat file
| written

= a preset's workspace is named without a mode
+ chmod 777 .
$ warder run --preset agent --workspace . -- sh -c 'echo written > file'; cat file
| written

= a preset whose workspace is not named
$ warder run --preset agent -- true
!~ ^warder: .*filesystem.workspace
? 125

= an extra path
needs place
+ mkdir -m 755 data; echo 1 > data/x
$ warder run --ro data -- cat "$PWD/data/x"
| 1

= only jail processes in /proc
$ warder run -- sh -c 'ls /proc | grep -c "^[0-9]"'
|~ ^[2345]$

= host name
$ warder run -- hostname
| warder

= mount is refused
$ warder run -- mount -t tmpfs none /tmp
!*
? 32

= no capability, no new privileges, filter on
$ warder run -- grep -E '^(CapEff|CapPrm|CapInh|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status
|~ ^CapInh:.0000000000000000$
|~ ^CapPrm:.0000000000000000$
|~ ^CapEff:.0000000000000000$
|~ ^CapBnd:.0000000000000000$
|~ ^CapAmb:.0000000000000000$
|~ ^NoNewPrivs:.1$
|~ ^Seccomp:.2$

= working directory
$ warder run -- pwd; warder run --cwd /usr -- pwd
| /tmp
| /usr

= a larger /tmp takes limits.disk along, and a smaller limits.disk takes /tmp along
needs limits
$ for flags in '--tmp 128MiB' '--set limits.disk=16MiB'; do warder run $flags -- df -k --output=size /tmp | tail -n 1 | tr -d ' '; warder explain $flags strict | grep -E '^(filesystem.tmp|limits.disk) ' | tr -s ' ' | cut -d' ' -f1,2; done
| 131072
| filesystem.tmp 128MiB
| limits.disk 128MiB
| 16384
| filesystem.tmp 16MiB
| limits.disk 16MiB

= a larger --tmp with a smaller limits.disk is refused
$ warder run --tmp 128MiB --set limits.disk=64MiB -- true
! warder: --tmp 128MiB: filesystem.tmp: 128MiB is more than limits.disk, 64MiB, which holds for /tmp and /dev/shm together; raise limits.disk, or lower filesystem.tmp
? 125

= a size that is no whole pages gives no more than it says
needs limits
$ warder run --tmp 1000001 -- df -B1 --output=size /tmp | tail -n 1 | tr -d " "
| 999424
