# warder image: root file systems in the store, by name.

= an archive is imported, listed, inspected, verified, removed
+ mkdir -p root/etc root/bin && echo one > root/etc/version && echo tool > root/bin/tool && chmod 755 root root/* root/bin/tool && chmod 644 root/etc/version && tar --owner=0 --group=0 --mtime=@0 -C root -cf root.tar .
$ warder image import root.tar small:1; warder image list | sed -E 's/ [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5}$/ WHEN/; s/[0-9a-f]{12}/DIGEST/'; warder image inspect small:1 | sed -E 's/[0-9a-f]{12,}/DIGEST/'; warder image verify small:1; warder image verify; warder image remove small:1; warder image list; warder image inspect small:1
|~ ^small:1  [0-9a-f]{12}  1 layer \(1 new\), 9 B$
| NAME                             DIGEST        LAYERS        SIZE  STORED (UTC)
| small:1                          DIGEST       1         9 B  WHEN
| name         small:1
| digest       DIGEST
| source       tar
|~ ^owners +(image|caller)$
|~ ^layer +DIGEST  [0-9]+ files, 9 B$
|~ ^small:1: 
|~ ^small:1: 
|~ ^1 layer removed, .* free$
! warder: there is no image small:1 in the store (no other name stands for it, and nothing is fetched); "warder image list" lists the images, "warder image import" imports one
? 125

= long names keep the columns
+ mkdir root && echo a > root/a && long=registry.example.org/a-team/with-a-long-name/and-a-longer-one:2026-01-31
$ long=registry.example.org/a-team/with-a-long-name/and-a-longer-one:2026-01-31; warder image import root $long > /dev/null; warder image import root b > /dev/null; warder image list | sed -E 's/(LAYERS| {5}1) .*//' | awk '{ print length($0) }'
| 87
| 87
| 87

= in JSON
+ mkdir root && echo a > root/a
$ warder image import root b --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["name"], r["layers"], r["bytes"], r["layersStored"])'; warder image list --json | python3 -c 'import json, sys; [print(i["name"], i["damaged"], i["layers"]) for i in json.load(sys.stdin)]'; warder image inspect b --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["name"], len(r["layers"]))'; warder image gc --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["layersRemoved"])'
| b 1 2 1
| b False 1
| b 1
| 0

= damage is found, reported by layer, and mended by another import
+ mkdir root && echo a > root/a
$ warder image import root b > /dev/null; chmod u+w store/images/layers/*/tree/a; echo x > store/images/layers/*/tree/a; warder image verify b ; echo $?; warder image remove b > /dev/null; warder image import root b > /dev/null; warder image verify b
| b: damaged
|~ ^  layer [0-9a-f]{12}: its files are not those that were stored$
| 1
| b: good

= invalid sources and names of images are refused
+ mkdir root && echo text > file && ln -s /etc out
$ warder image import gone a; warder image import ./gone a; warder image import file a; warder image import root; warder image import root 'A B'; warder image import root warder.unfinished.x; warder image import root debootstrap/x; warder image import root debootstrap:x; warder image import root a --format rpm; warder image import root a --max-size 1XB; warder image remove gone; warder image verify gone; warder image build root; warder image build root a; warder image inspect; warder image foo; warder image import root a --net host
! warder: there is no file or directory gone here; "warder image pull" fetches an image of a registry by its name
! warder: ./gone cannot be opened: No such file or directory
!~ no tar archive
!~ name
!~ A B
!~ name
!~ names that begin with debootstrap/ or debootstrap:
!~ names that begin with debootstrap/ or debootstrap:
!~ rpm
!~ --max-size
!~ there is no image gone in the store .*nothing is fetched.*"warder image import" imports one
!~ there is no image gone in the store .*nothing is fetched.*"warder image import" imports one
!~ too few arguments
!~ Dockerfile
!~ too few arguments
! warder: unknown command foo; "warder image --help" lists them
!~ has no such flag
? 125

= references that are not fetched
$ for r in docker://a ../a:x 'a b' user@host/a '' a/../b; do warder image pull "$r"; done; warder image ensure python lua; warder image ensure klingon; ls store/images/layers 2>/dev/null | wc -l
!~ has a scheme
!~ not a valid image name
!~ has a character that no reference of an image has
!~ has an @ without sha256: behind it
!~ is no reference of an image
!~ not a valid image name
!~ no image is known for lua
!~ "klingon" is not a language that Warder knows
| 0
? 0

= help describes each flag as its command uses it
$ for words in 'image import' 'workspace collect' 'artifact save'; do warder $words --help | grep -E -- '--max-(size|files)'; done; warder checkpoint list --help | grep -e "^  --limit"; warder events history --help | grep -e --limit -e --after
|   --max-size SIZE          refuse more than SIZE of all files together (default: 16GiB)
|   --max-files N            refuse more than N files, directories and links (default: 1000000)
|   --max-size SIZE          collect at most SIZE of all files together (default: 64MiB)
|   --max-files N            collect at most N files (default: 100)
|   --max-size SIZE          save no content that is larger than SIZE (default: 16GiB)
|   --limit N                print at most N checkpoints (default: 100)
| print the existing events, oldest first; --limit N prints only the last N of them
|   --limit N                print at most N events (default: all)
|   --after N                only events with a higher number

= a name that no policy takes is not a valid image name
+ mkdir root && echo one > root/a && tar -C root -cf root.tar .
$ for name in a/../../b ../a a//b .. .a '' 'a b' $(printf '%0300d' 0); do warder image import root.tar "$name" 2>&1 | grep -o 'is not a valid image name'; done; warder image list
| is not a valid image name
| is not a valid image name
| is not a valid image name
| is not a valid image name
| is not a valid image name
| is not a valid image name
| is not a valid image name
| is not a valid image name
