# warder artifact: named, versioned content.

= versions from 1 upwards, read by number or the latest
$ echo one | warder artifact save a/b.txt; printf '{}' > f.json; warder artifact save a/b.txt f.json --type text/plain; warder artifact save f.json f.json --json; warder artifact read a/b.txt@1; warder artifact read a/b.txt; echo; warder artifact list | cut -d' ' -f1-12,14-; warder artifact list f.json | wc -l
| a/b.txt@1
| a/b.txt@2
|~ ^\{"name":"f.json","version":1,"contentType":"application/json","createdAt":"[0-9TZ:-]+","size":2,"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"\}$
| one
| {}
|            4 a/b.txt@1 text/plain
|            2 a/b.txt@2 text/plain
|            2 f.json@1 application/json
| 1

= invalid names and versions are refused
$ for name in '' ../x /x a@x a@0 a@1@2 a@ $'a\nb' $'\377' .; do warder artifact read "$name"; done; warder artifact save a@1 < /dev/null; warder artifact save ../x < /dev/null; warder artifact read gone; echo x | warder artifact save a > /dev/null; warder artifact read a@7; warder artifact list gone
!~ is empty
!~ not a relative path
!~ not a relative path
!~ names no version
!~ names no version
!~ names no version
!~ names no version
!~ control character
!~ is not UTF-8
!~ not a relative path
!~ has a @ in it
!~ not a relative path
!~ there is no artifact gone
!~ there is no version 7 of the artifact a; its last one is 1
!~ there is no artifact gone
? 125

= equal content is stored once, and removed with the last version that has it
$ head -c 9000000 /dev/urandom > big; for name in a b c; do warder artifact save $name big > /dev/null; done; test $(du -sk store/artifacts | cut -f1) -lt 9100 && echo once; warder artifact remove a; warder artifact remove b@1; warder artifact read c | cmp - big; warder artifact verify; warder artifact remove c@1; warder artifact list; ls store/artifacts/content; warder artifact remove c
| once
| 1 as they were saved
!~ there is no artifact c
? 125

= the number of a version that was removed is not given again
$ for i in 1 2 3; do echo $i | warder artifact save a > /dev/null; done; warder artifact remove a@3; echo 4 | warder artifact save a; warder artifact read a@3; warder artifact read a@2
| a@4
!~ there is no version 3
| 2

= many at once
$ for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5; do echo $i $j | warder artifact save a > /dev/null; done & done; wait; warder artifact list a | wc -l; warder artifact verify; for v in $(seq 40); do warder artifact read a@$v; done | sort | uniq | wc -l
| 40
| 40 as they were saved
| 40

= too large
$ head -c 1001 /dev/zero | warder artifact save a --max-size 1000B; head -c 1000 /dev/zero | warder artifact save a --max-size 1000B
! warder: a is larger than 1000 bytes; nothing is saved
| a@1

= damaged content is reported
$ echo content | warder artifact save a > /dev/null; f=$(echo store/artifacts/content/*); chmod 600 $f; echo cOntent > $f; warder artifact read a; warder artifact verify
!~ has other bytes: the store is damaged
!~ a@1: the content .* has other bytes
? 125

= a named store that does not exist is reported, and not made
+ mkdir here
$ at=$PWD/here/typo; for words in 'artifact list' 'artifact read a' 'artifact verify' 'artifact remove a' 'image list' 'image verify' 'image gc' 'workspace list' 'workspace read a b' 'snapshot list' 'snapshot verify' 'snapshot prune' 'checkpoint threads' 'checkpoint latest a' 'events list' 'events history a' 'events follow a' 'workspace snapshot a' 'workspace resume a'; do warder $words --store $at 2>&1 | grep -c "there is no store at $at" | sed "/^1/d;s/^0/$words/"; done; ls here; warder artifact list --store $at --json | cut -c1-60; echo x | warder artifact save a --store $at; warder artifact list --store $at | grep -o 'a@1'
| {"status":"rejected","error":{"kind":"notFound","field":"--s
| a@1
| a@1

= several at once, each by its descriptor
+ echo one > 1; echo two > 2
$ warder artifact take -- a/1 3 '../x' 4 b/2 4 c x 3<1 4<2 | python3 -c 'import json, sys; [print(a.get("name"), a.get("size"), a.get("error", {}).get("message", "")[:24]) for a in json.load(sys.stdin)]'; warder artifact read a/1; warder artifact read b/2; warder artifact take -- a; warder artifact take
| a/1 4 
| None None "../x" is not a relative
| b/2 4 
| None None x is not a descriptor ab
| one
| two
!~ write pairs
!~ write pairs
? 125

= a removal waits for savers that began earlier, and later savers wait for it
+ echo 1 | warder artifact save a > /dev/null; echo 1 | warder artifact save b > /dev/null
$ saving() { while [ ! -e stop ]; do date +%N | warder artifact save c > /dev/null || echo refused; done; }; for i in 1 2 3; do saving & done; for name in a b; do warder artifact remove $name > /dev/null; echo $?; done; touch stop; wait; warder artifact list | grep -c '^[ab]@'
| 0
| 0
| 0
? 1
