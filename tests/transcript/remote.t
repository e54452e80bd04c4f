# A host on another machine as a backend, as far as this machine alone can tell. tests/remote has hosts.

= a host needs a document that enables it
$ warder run --backend remote:big -- true
!~ ^warder: remote:big runs programs on another machine and is disabled; the operator enables it with \{"enable": \["remote"\], "remote": \{\.\.\.\}\} in
? 125

= an entry that nobody enabled, an unknown kind, a URL with credentials, an unknown member
+ host() { printf '{"enable": ["remote"], "remote": {"big": {%s}}}' "$1" > "$2"; }
+ host '"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "cube"' kind.json
+ host '"url": "https://me:secret@h.example", "tokenFile": "/t", "kind": "warder"' url.json
+ host '"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "warder", "token": "x"' member.json
+ echo '{"remote": {"big": {"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "warder"}}}' > off.json
$ for each in off kind url member; do warder run --backends $each.json --backend remote:big -- true; done
! warder: off.json: "remote" names hosts, and "enable" does not hold "remote"; add it, or remove the hosts
! warder: kind.json:1: remote "big": unknown "kind" "cube"; known: "warder", "e2b"
! warder: url.json:1: remote "big": "url" holds credentials; the token stands in the file that "tokenFile" names
! warder: member.json:1: remote "big": unknown member "token"; known: "url", "tokenFile", "kind", "caFile", "insecure", "hostKey", "template", "sandboxUrl", "executeTimeout", "idleTimeout"
? 125

= http only to this machine
+ echo '{"enable": ["remote"], "remote": {"big": {"url": "http://192.0.2.1", "tokenFile": "/t", "kind": "warder"}}}' > b.json
$ warder run --backends b.json --backend remote:big -- true
!~ ^warder: b\.json:1: remote "big": "url" is http, which is for 127\.0\.0\.1 and \[::1\]; use https, or say "insecure": true
? 125

= paths and flags that need this machine are refused before anything is sent
+ echo '{"enable": ["remote"], "remote": {"big": {"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "warder"}}}' > b.json
$ warder run --backends b.json --backend remote:big --ro /srv -- true; warder run --backends b.json --backend remote:big --detach -- true
! warder: --ro /srv: filesystem.paths.readOnly: remote:big: a path of this machine is not there; send the data by standard input
! warder: --detach works with programs on this machine only; leave it out, or --backend remote:big
? 125

= a host whose key is not trusted
+ echo '{"enable": ["remote"], "remote": {"big": {"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "warder"}}}' > b.json
$ warder run --backends b.json --backend remote:big -- true
! warder: remote:big: no key of this host is trusted yet; run "warder backend trust remote:big", and compare the key that it shows with the host's
? 125

= trust needs a host, and its key
+ echo '{"enable": ["remote"], "remote": {"big": {"url": "http://127.0.0.1:1", "tokenFile": "/t", "kind": "warder"}}}' > b.json
$ for name in "" remote:small remote:big; do warder backend --backends b.json trust $name; done
! warder: warder backend trust [FLAG...] remote:NAME
! warder: there is no host "remote:small"; known: "remote:big"
!~ ^warder: remote:big: "tokenFile" /t: No such file or directory$
? 125

= a token that others can read
+ echo secret > token; chmod 644 token
+ echo "{\"enable\": [\"remote\"], \"remote\": {\"big\": {\"url\": \"http://127.0.0.1:1\", \"tokenFile\": \"$PWD/token\", \"kind\": \"warder\", \"hostKey\": \"ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}}}" > b.json
$ warder run --backends b.json --backend remote:big -- true
!~ ^warder: remote:big: "tokenFile" /.*/token has a mode that lets others in; run: chmod 600 on it$
? 125

= a host that does not answer
+ (umask 077; echo secret > token)
+ echo "{\"enable\": [\"remote\"], \"remote\": {\"big\": {\"url\": \"http://127.0.0.1:1\", \"tokenFile\": \"$PWD/token\", \"kind\": \"warder\", \"hostKey\": \"ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}}}" > b.json
$ warder run --backends b.json --backend remote:big -- true; warder explain --backends b.json --backend remote:big
!~ ^warder: remote:big: Couldn't connect to server$
| 
|~ ^It would be refused: remote:big: Couldn't connect to server$
? 125

= the other commands have no host
$ warder backend describe remote:big
! warder: remote:big is a host on another machine, which only "warder run", "code", "session" and "explain" use
? 125
