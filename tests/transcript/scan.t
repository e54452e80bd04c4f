# Advice on code: `warder scan`, and `warder code --scan`.

= dangerous operations are named, and the decision is advice
+ printf 'import os\nos.system("rm -rf /")\n' >a.py
$ warder scan a.py
|~ ^line 1: low: python\.import-os: 
|*
? 1

= nothing to say
+ printf 'print(1)\n' >a.py
$ warder scan a.py
| allow (advice: nothing is enforced by it)

= operations in comments and strings are not reported
+ printf '# rm -rf /\nx = "os.system"\nprint(x)\n' >a.py
$ warder scan a.py
| allow (advice: nothing is enforced by it)

= one JSON object, which says that it is advice
+ printf 'rm -rf /\n' >a.sh
$ warder scan --json --language bash a.sh | grep -o '"advisory":true,"decision":"deny"'
| "advisory":true,"decision":"deny"

= a language that is not certain
$ echo 'hello world' | warder scan -
! warder: the code's language is not certain from its file name, first line and content; name it ("warder languages" lists them)
? 125

= each decision is a line of the audit log
+ printf 'print(1)\n' >a.py
$ warder scan --audit log a.py; warder scan --audit log a.py; wc -l <log; grep -c '"decision":"allow"' log
| allow (advice: nothing is enforced by it)
| allow (advice: nothing is enforced by it)
| 2
| 2

= an audit log that is a link is not followed
+ printf 'print(1)\n' >a.py; ln -s /nowhere/log log
$ warder scan --audit log a.py
!~ ^warder: the decision cannot be appended to log: 
? 125

= code that is advised against is refused before anything starts
needs limits place
+ printf 'import os\nos.system("rm -rf /")\n' >a.py
$ warder code --scan-deny a.py
!~ ^warder: the scan advises against this code: line 2, shell\.rm-root: 
? 125

= advice is part of the result, and changes nothing else
needs limits place
+ printf 'import os\nprint(os.getpid() > 0)\n' >a.py
$ warder code --scan --json a.py | grep -oE '^."status":"success"|"advisory":true|"text":"True'
| {"status":"success"
| "text":"True
| "advisory":true
