# The examples of documents, as they are printed there.

needs limits place python3 curl

= every example of README prints what it shows
$ "$TOP"/tests/transcript/readme.sh "$TOP"/README.md
| 6 examples

= every example of docs/from-other-systems.md prints what it shows
$ "$TOP"/tests/transcript/readme.sh "$TOP"/docs/from-other-systems.md
| 4 examples

= the licence, and how to contribute and to report a hole, are there
$ cd $TOP; grep -o -m 1 'Apache License' LICENSE; grep -o -m 1 'Version 2.0' LICENSE; for file in CONTRIBUTING.md SECURITY.md; do grep -c . $file; done
| Apache License
| Version 2.0
|~ ^[1-9]
|~ ^[1-9]

= the demo ends with at most 12 lines: what each part has shown, what is left on the host, and the next command
needs user
+ cat > jailer <<'END'
+ #!/bin/sh
+ [ "$1" != doctor ] || { echo '{"leftovers": 0}'; exit 0; }
+ [ "$2" != --receipt ] || : > "$3"
+ case $* in
+ *'--memory 64MiB'*) exit 137 ;;
+ *'--timeout 1s'*) exit 124 ;;
+ *'--memory 1B'*) exit 125 ;;
+ *create_connection*|tenant*) exit 1 ;;
+ esac
+ END
+ chmod 755 jailer
$ $TOP/docs/demo.sh jailer > out; tail -n 12 out
| 
| In short
| A Python script reads a real file                  exit status 0
| A C program is compiled and run inside             exit status 0
| A pipeline of the shell                            exit status 0
| A program that takes too much memory is killed     exit status 137
| A program that runs too long is killed             exit status 124
| The network is not there                           exit status 1
| A policy that cannot be enforced is refused        exit status 125
| An execution host that speaks E2B's protocol       exit status 1
| Left on this host by all of this                   0 leftovers
| Now your own program: jailer run -- PROGRAM (run --json prints the result as JSON)
