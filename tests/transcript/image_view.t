# The view of an image, where an image asks something special of who mounts it.

needs limits place python3 busybox

= an opaque marker at the top of a layer hides the lower layers at every level
+ python3 $TOP/tests/lib/layers.py opaque opaque && warder image import opaque opaque
$ warder run --view image:opaque -- /bin/sh -c 'ls /etc; cat /etc/new'
| new
| shown

= a layer that comes again is mounted once
+ python3 $TOP/tests/lib/layers.py again again && warder image import again again
$ warder run --view image:again -- /bin/cat /etc/old
| hidden

= an image without layers is refused before anything starts
+ python3 $TOP/tests/lib/layers.py none none && warder image import none none
$ warder run --view image:none -- /bin/true
! warder: --view image:none: filesystem.view: the image none has no layers, so that there is nothing in it; name another one
? 125

= the receipt counts the variables of an image
+ python3 $TOP/tests/lib/layers.py environment environment && warder image import environment environment
$ warder run --json --view image:environment -- env | python3 -c 'import json, sys; r = json.load(sys.stdin); print("LD_PRELOAD=/x" in r["stdout"]["text"], next(c["value"] for c in r["receipt"]["controls"] if c["control"] == "environment"))'
| True 5 variables (image: 2), and 0 of the command

= an image that a ceiling names is no path
+ python3 $TOP/tests/lib/layers.py again again && warder image import again again
+ echo '{"version": 1, "limits": {"wallTime": "60s", "disk": "unlimited"}, "filesystem": {"view": "image:again"}}' > ceiling.json
$ warder run --ceiling ceiling.json --view image:again -- /bin/cat /etc/old
| hidden

= without a program, the entrypoint and command of the image are started
+ for i in own again; do python3 $TOP/tests/lib/layers.py $i $i && warder image import $i $i; done
$ warder run --view image:own; warder run --view image:own -- /bin/sh -c 'echo another'; warder run --view image:again; echo $?
| own,two  words
| another
! warder: there is no program to run, and the image again names none; say which one
| 125
