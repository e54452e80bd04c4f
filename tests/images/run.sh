#!/bin/bash
# run.sh: images brought in from archives that other tools made, from damaged and from hostile ones; the store when imports are killed,
# and when many work on it at once; as TAP.
#
#   tests/images/run.sh [PART...]      WARDER=build/warder by default; parts: good damaged hostile names context implied foreign shared killed build debian recipes
#
# WARDER_TEST_RECIPES: which of recipes/ are built and a real program run in each (perl; "all" takes half an hour), and debootstrap: the
# way by debootstrap; WARDER_TEST_RECIPES_STORE: where the images are looked for first, and stay.
# WARDER_TEST_KILLS: how many imports are killed at random moments (20). archives.py makes the archives, and says what is
# to be said of the bad ones.
# shellcheck disable=SC2015,SC2016 # a failure behind && is one too; code in quotes is for eval
set -u
LC_ALL=C.UTF-8 export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
. "$top/tests/lib/tap.sh"
WARDER=$(realpath "${WARDER:-$top/build/warder}") || exit 1
[ $# -gt 0 ] || set -- good damaged hostile names context implied foreign shared killed build debian recipes
kills=${WARDER_TEST_KILLS:-20}

# Not below /tmp, of which every jail has its own. Nobody else may be able to put something in the store's place.
for base in "${WARDER_TEST_DIR:-/srv}" /opt /var/tmp; do
	scratch=$(mktemp -d "$base/warder-images.XXXXXX" 2>/dev/null) && break
done
[ -d "$scratch" ] || { echo "Bail out! no directory for the tests; name one in WARDER_TEST_DIR"; exit 1; }
clean() {
	chmod -R u+rwX "$scratch" 2>/dev/null
	rm -rf "$scratch"
}
trap clean EXIT
store=$scratch/store

# image ARGUMENT...: its output goes to $scratch/out, its status to $got.
image() {
	timeout 120 "$WARDER" image "$@" --store "$store" >"$scratch/out" 2>&1 </dev/null
	got=$?
}
new_store() {
	store=$scratch/store-$1
}
exited() {
	[ "$got" = "$1" ] || { echo "exit status $got, expected $1:"; cat "$scratch/out"; return 1; }
}
says() {
	grep -qF -- "$1" "$scratch/out" || { echo "does not say: $1"; cat "$scratch/out"; return 1; }
}
succeeds() {
	image "$@"
	exited 0
}
# No unfinished work, nothing without a name.
nothing_left() {
	local left
	left=$(find "$store/images" -mindepth 2 -maxdepth 2 -name '.*')
	[ -z "$left" ] || { echo "left behind: $left"; return 1; }
}
layers() {
	find "$store/images/layers" -mindepth 1 -maxdepth 1 | wc -l
}
has_layers() {
	[ "$(layers)" = "$1" ] || { echo "$(layers) layers, expected $1"; return 1; }
}
is() {
	[ "$1" = "$2" ] || { echo "\"$1\", expected \"$2\""; return 1; }
}

# ---- what is good ----

# find_tree PATH: the tree of the layer that has it
find_tree() {
	local each
	for each in "$store"/images/layers/*/tree; do
		[ ! -e "$each/$1" ] || { echo "$each"; return; }
	done
}

check_lower() {
	local tree
	tree=$(find_tree etc/kept) && [ -n "$tree" ] &&
		is "$(cat "$tree/etc/kept")" kept &&
		is "$(readlink "$tree/bin")" usr/bin &&
		is "$(readlink "$tree/usr/bin/absolute")" /etc/kept &&
		is "$(stat -c %i "$tree/usr/bin/tool")" "$(stat -c %i "$tree/usr/bin/again")" &&
		is "$(stat -c %a "$tree/usr/bin/tool")" 755 &&
		is "$(stat -c %a "$tree/tmp")" 1777 &&
		is "$(stat -c %F "$tree/pipe")" fifo &&
		is "$(stat -c %Y "$tree/etc/kept")" 1000000000 &&
		is "$(stat -c %Y "$tree/private")" 1000000000 &&
		is "$(cat "$tree/etc/ümläut")" name &&
		[ ! -e "$tree/dev/null" ] || { echo "dev/null is there"; return 1; }
	if [ "$(id -u)" = 0 ]; then
		is "$(stat -c %u:%g:%a "$tree/private")" 1234:4321:700 && is "$(stat -c %u:%g "$tree/private/deep/er/file")" 1234:4321 &&
			is "$(stat -c %a "$tree/locked")" 555
	else
		is "$(stat -c %u "$tree/private")" "$(id -u)" && is "$(stat -c %a "$tree/locked")" 755
	fi
}
check_upper() {
	local tree
	tree=$(find_tree opaque/upper) && [ -n "$tree" ] &&
		is "$(stat -c %F:%t:%T "$tree/etc/hidden")" "character special file:0:0" &&
		is "$(cat "$tree/etc/both")" upper &&
		is "$(cat "$tree/etc/both-here/new")" new &&
		[ ! -e "$tree/.wh..wh.plnk" ] && [ ! -e "$tree/opaque/.wh..wh..opq" ] && [ ! -e "$tree/etc/.wh.hidden" ] &&
		python3 -IS - "$tree" <<-'END'
			import os, sys
			name = "trusted.overlay.opaque" if os.getuid() == 0 else "user.overlay.opaque"
			for path, opaque in (("opaque", True), ("etc/both-here", True), ("etc", False)):
			    if (name in os.listxattr(sys.argv[1] + "/" + path)) != opaque:
			        sys.exit(path + ": opaque is not " + str(opaque))
		END
}
check_attributes() {
	python3 -IS - "$(find_tree etc/kept)/capable" <<-'END'
		import os, sys
		names = os.listxattr(sys.argv[1])
		if "user.note" not in names or "security.capability" in names:
		    sys.exit("attributes: " + str(names))
	END
}
inspect() {
	image inspect "$1" --json && python3 -IS - "$scratch/out" "$2" <<-'END'
		import json, sys
		image = json.load(open(sys.argv[1]))
		if not eval("(" + sys.argv[2] + ")"):
		    sys.exit(json.dumps(image, indent=1))
	END
}
part_good() {
	local archives=$scratch/good names
	new_store good
	python3 -IS "$here/archives.py" good "$archives" || exit 1
	check "good: an OCI layout" succeeds import "$archives/layout"
	check "good: notes tell what was left out" says "file capabilities were left out"
	check "good: the lower layer has what the archive has" check_lower
	check "good: the upper layer hides and replaces" check_upper
	check "good: attributes of users are kept, capabilities are not" check_attributes
	check "good: the configuration is in the record" inspect good:1 \
		"image['env'] == ['PATH=/usr/bin:/bin', 'A=b c'] and image['workingDirectory'] == '/etc' and image['user'] == '1234:4321'
		 and image['entrypoint'] == ['/bin/sh'] and image['cmd'] == ['-c', 'true'] and image['labels'] == ['maker=test']
		 and image['source'] == 'oci' and len(image['layers']) == 2 and image['platform'].startswith('linux/')"
	check "good: who owns the files is in the record" inspect good:1 \
		"image['owners'] == ('image' if $(id -u) == 0 else 'caller')"
	check "good: a tar archive of the layout is the same image" bash -c \
		"[ \"\$1\" = \"\$('$WARDER' image import '$archives/layout.tar' tarred --store '$store' | awk 'NR == 1 {print \$2}')\" ]" - \
		"$("$WARDER" image inspect good:1 --store "$store" | awk '$1 == "digest" {print substr($2, 1, 12)}')"
	check "good: a docker archive" succeeds import "$archives/docker.tar"
	check "good: a docker archive with links for its layers" succeeds import "$archives/old-docker.tar"
	check "good: an index in an index" succeeds import "$archives/nested.tar"
	check "good: all of them share their two layers" has_layers 2
	check "good: an archive on standard input" bash -c "'$WARDER' image import - piped --store '$store' <'$archives/layout.tar'"
	# A name that only the archive says takes nobody's place.
	check "good: an image of one's own" succeeds import "$archives/plain.tar" good:1
	check "good: that is told when it was another's" says "another image had that name"
	image import "$archives/layout"
	check "good: an archive with that name does not replace it" refused "it calls itself good:1, which is another image"
	check "good: it is still one's own" inspect good:1 "image['source'] == 'tar'"
	check "good: unless that is asked for" succeeds import "$archives/layout" --replace
	check "good: the same image again replaces nothing" eval 'succeeds import "$archives/layout" && ! says "another image" >/dev/null'
	image import "$archives/base.tar"
	check "good: a base that is built is no name for an archive" refused "names that begin with debootstrap/ or"
	image import "$archives/plain.tar" debootstrap/bookworm-minbase
	check "good: nor for an import" refused "names that begin with debootstrap/ or"
	image inspect debootstrap/bookworm-minbase
	check "good: so there is none" refused "there is no image"
	image import "$archives/several.tar"
	check "good: of several images one is to be named" refused "choose one with --ref: one, two"
	check "good: one of several images" succeeds import "$archives/several.tar" --ref two
	check "good: it has that name" inspect two "len(image['layers']) == 1"
	image import "$archives/several.tar" --ref three
	check "good: one that is not there" refused "no image named three"
	check "good: a plain archive has no name" eval 'image import "$archives/plain.tar"; exited 125 && says "it does not say its name"'
	check "good: a plain archive" succeeds import "$archives/plain.tar" plain
	check "good: the same, compressed with gzip" succeeds import "$archives/plain.tar.gz" plain.gz
	check "good: gzip's members one after the other, and zeros behind them" eval 'succeeds import "$archives/members.tar.gz" members && image remove members'
	check "good: one block of zeros is an end, too" eval 'succeeds import "$archives/one-block.tar" one-block && image remove one-block'
	check "good: the same, compressed with xz" succeeds import "$archives/plain.tar.xz" plain.xz
	if zstd -q "$archives/plain.tar" 2>/dev/null; then
		check "good: the same, compressed with zstd" succeeds import "$archives/plain.tar.zst" plain.zst
	else
		skip "good: the same, compressed with zstd" "there is no zstd"
	fi
	check "good: they are the lower layer" has_layers 2
	# 15 GiB of zeros cannot be read in the time that the tests have on their processor.
	check "good: holes are not read" bash -c "ulimit -t 8; '$WARDER' image import '$archives/holes.tar' holes --store '$store' && '$WARDER' image verify holes --store '$store'"
	check "good: they have their size, and what is between them" eval 'holes=$(find_tree hole0)/hole0 && is "$(stat -c %s "$holes")" 3221225472 && is "$(tail -c 513 "$holes" | tr "\0" 0)" "0$(printf "x%.0s" {1..512})"'
	check "good: they are not stored, either" eval '[ "$(du -k "$(find_tree hole0)/hole0" | cut -f 1)" -lt 4096 ]'
	image remove holes
	mkdir -p "$scratch/root/etc" && echo content >"$scratch/root/etc/file" && ln "$scratch/root/etc/file" "$scratch/root/etc/link" &&
		ln -s etc/file "$scratch/root/.wh.name" && chmod 4755 "$scratch/root/etc/file"
	check "good: a directory" succeeds import "$scratch/root" from/directory:1.0
	check "good: a file of a directory that is called like a whiteout is a file" \
		eval '[ -L "$(find_tree .wh.name)/.wh.name" ] || [ -L "$(find_tree etc/link)/.wh.name" ]'
	check "good: set-user-id is gone" eval 'is "$(stat -c %a "$(find_tree etc/link)/etc/file")" 755'
	check "good: the same directory again is the same layer" eval 'succeeds import "$scratch/root" other && says "(0 new)"'
	check "good: all is as it was stored" succeeds verify
	names=$("$WARDER" image list --store "$store" | awk 'NR > 1 {print $1}')
	check "good: the list has all" is "$(wc -w <<<"$names")" \
		"$(find "$store/images/names" -mindepth 1 -name '*.json' | wc -l)"
	for name in "../../etc" "" "-x" "a b" ".hidden" "$(printf 'a%.0s' {1..200})"; do
		image import "$archives/plain.tar" "$name"
		image inspect "$name"
		check "good: \"${name:0:20}\" is no name" exited 125
	done
	part_changed
	for name in $names; do
		check "good: $name is removed" succeeds remove "$name"
	done
	check "good: nothing is left" eval 'has_layers 0 && nothing_left'
}

# A stored tree that is changed is seen, whatever it is. The layer is the one of from/directory:1.0.
part_changed() {
	local tree
	tree=$(find_tree etc/link)
	changed() {
		local name=$1 change=$2 undo=$3
		(cd "$tree" && eval "$change") || return 1
		image verify from/directory:1.0
		(cd "$tree" && eval "$undo") || return 1
		check "changed: $name" eval 'exited 1 && says "its files are not those that were stored"'
	}
	changed "a file's content" 'printf c0ntent >etc/file' 'echo content >etc/file'
	changed "a file's size" 'echo >>etc/file' 'echo content >etc/file'
	changed "a file's mode" 'chmod 700 etc/file' 'chmod 755 etc/file'
	changed "a directory's mode" 'chmod 700 etc' 'chmod 755 etc'
	changed "another file" 'touch etc/more' 'rm etc/more'
	changed "a file that is gone" 'mv etc/link ../link' 'mv ../link etc/link'
	changed "a link's target" 'ln -sfn etc/link .wh.name' 'ln -sfn etc/file .wh.name'
	changed "a hard link that is a copy" 'mv etc/link ../link && cp -p etc/file etc/link' 'mv ../link etc/link'
	changed "an attribute" 'setfattr -n user.x -v y etc/file 2>/dev/null || python3 -IS -c "import os; os.setxattr(\"etc/file\", \"user.x\", b\"y\")"' \
		'python3 -IS -c "import os; os.removexattr(\"etc/file\", \"user.x\")"'
	[ "$(id -u)" != 0 ] || changed "a file's owner" 'chown 7 etc/file' 'chown 0 etc/file'
	image verify from/directory:1.0
	check "changed: as it was, it is good again" exited 0
	echo '{"version": 1' >"$store/images/names/other.json"
	image inspect other
	check "changed: a damaged record is told of" eval 'exited 125 && says "other.json"'
	image remove from/directory:1.0
	check "changed: with a damaged record nothing that it may use is removed" eval 'exited 125 && says "damaged" && has_layers 3'
	check "changed: it can be replaced" succeeds import "$scratch/root" other
	check "changed: and so can the other" succeeds import "$scratch/root" from/directory:1.0
}

# ---- what is not ----

refused() {
	exited 125 && says "$1"
}
# each KIND: all archives of a kind, each into a store of its own.
each() {
	local kind=$1 name expected limits
	shift
	python3 -IS "$here/archives.py" "$kind" "$scratch/$kind" >"$scratch/$kind.txt" || { tap_not_ok "$kind: archives"; return; }
	while IFS='|' read -r name expected; do
		limits=()
		[[ $name != LIMIT* ]] || limits=(--max-files 30 --max-file-size 2MiB --max-size 5MiB)
		new_store "$kind-$name"
		image import "${limits[@]}" "$scratch/$kind/$name" bad
		check "$kind: $name" refused "$expected"
		image inspect bad
		check "$kind: $name is no image" exited 125
		image gc
		check "$kind: $name leaves nothing" eval 'exited 0 && has_layers 0 && nothing_left && is "$(find "$store" -name out)" ""'
		rm -rf "$store" "${scratch:?}/$kind/$name"
	done <"$scratch/$kind.txt"
}
part_damaged() {
	each damaged
}
part_hostile() {
	mkdir -p "$scratch/hostile"
	: >"$scratch/stamp"
	each hostile
	# What a member that got out would have made: on the host, by its time of birth, or beside its layer.
	check "hostile: nothing got out" eval '[ -z "$(find /tmp/out /tmp/b/c/out /etc/out -name out -cnewer "$scratch/stamp" 2>/dev/null)" ]'
}

# A tree's name is never an archive's, whatever the files are called.
part_names() {
	local tree
	new_store names
	python3 -IS "$here/archives.py" two-names "$scratch/names" 2>"$scratch/err" ||
		{ skip "names: a tree and an archive" "there are no attributes: $(tail -n 1 "$scratch/err")"; return; }
	check "names: a tree" eval 'succeeds import "$scratch/names/tree" tree && is "$(cat "$(find_tree z/f)/z/f")" EVIL'
	tree=$(find_tree z/f)
	check "names: an archive with the bytes of its digest is another layer" \
		eval 'image import "$scratch/names/layout" layout; { exited 125 && says "layer"; } || has_layers 2'
	check "names: the tree is what it was" eval 'is "$(cat "$tree/z/f")" EVIL && succeeds verify tree'
}

# A directory to build from may be somebody else's, and so may its recipe.
part_context() {
	local context=$scratch/foreign
	new_store context
	mkdir -p "$context" && echo secret >"$scratch/outside" && echo content >"$context/file"
	ln -s ../outside "$context/Dockerfile"
	image build "$context" bad
	check "context: a recipe that is a link out of the directory" eval 'refused "leads out of its directory" && ! says secret >/dev/null'
	rm "$context/Dockerfile" && mkfifo "$context/Dockerfile"
	image build "$context" bad
	check "context: a recipe that is a pipe" refused "is not a regular file"
	rm "$context/Dockerfile" && mkdir "$context/Dockerfile"
	image build "$context" bad
	check "context: a recipe that is a directory" refused "is not a regular file"
	rmdir "$context/Dockerfile"
	image build "$context" bad
	check "context: no recipe" refused "Dockerfile"
	printf 'FROM scratch\nCOPY file /file\n' >"$context/recipe" && ln -s recipe "$context/Dockerfile"
	check "context: a link within the directory" succeeds build "$context" good
	ln -s /nowhere/ignore "$context/.dockerignore"
	image build "$context" bad
	check "context: .dockerignore is a link out of the directory" refused "has a .dockerignore"
	image inspect bad
	check "context: nothing was built" refused "there is no image"
}

# Directories that a layer has no member for are what they are below it: mode 700 stays that, and what is the same layer otherwise is
# another one on top of other layers.
part_implied() {
	local archives=$scratch/implied tree
	python3 -IS "$here/archives.py" implied "$archives" || exit 1
	# like IMAGE NAME MODE: of the directory in the upper layer
	like() {
		tree=$(image inspect "$1" --json; python3 -IS -c "import json; print(json.load(open('$scratch/out'))['layers'][-1]['digest'])") &&
			is "$(stat -c %a "$store/images/layers/$tree/tree/$2")" "$3"
	}
	for order in "alone closed other" "closed alone other"; do
		new_store "implied-${order// /-}"
		for image in $order; do
			check "implied: $order: $image" succeeds import "$archives/$image" "$image"
		done
		check "implied: a directory stays closed" like closed priv 700
		check "implied: or as open as it is" like other priv 711
		check "implied: alone nothing is known of it" like alone priv 755
		check "implied: below it nothing is known, either" like closed priv/in 755
		check "implied: the root, too" like closed . 750
		check "implied: a member goes before" like closed told 710
		check "implied: so does what hides the directory" like closed replaced/in/deep 755
		[ "$(id -u)" != 0 ] || check "implied: the owner" eval 'like closed priv 700 && is "$(stat -c %u:%g "$store/images/layers/$tree/tree/priv")" 1234:4321'
		for image in $order; do
			check "implied: $image again has nothing new" eval 'succeeds import "$archives/$image" again && says "(0 new)"'
		done
		check "implied: all is as it was stored" succeeds verify
	done
}

# A directory that is no store stays what it is.
part_foreign() {
	local place
	new_store foreign
	for place in nothing empty; do
		mkdir -p "$scratch/foreign-$place" && chmod 755 "$scratch/foreign-$place"
		[ "$place" = nothing ] || { mkdir -p "$scratch/foreign-$place/images" && chmod 755 "$scratch/foreign-$place/images"; }
		store=$scratch/foreign-$place
		check "foreign: $place: there are no images" eval 'succeeds list && is "$(cat "$scratch/out")" ""'
		check "foreign: $place: all of them are good" succeeds verify
		check "foreign: $place: there is nothing to remove" succeeds gc
		image inspect any
		check "foreign: $place: one is not there" refused "there is no image any"
		image remove any
		check "foreign: $place: and cannot be removed" refused "there is no image any"
		check "foreign: $place: nothing was made" is "$(find "$store" -mindepth 1 ! -name images)" ""
	done
	check "foreign: nor changed" is "$(stat -c %a "$scratch/foreign-empty/images")" 755
	check "foreign: not even a directory for images" eval '[ ! -e "$scratch/foreign-nothing/images" ]'
	echo picture >"$store/images/picture"
	for what in list verify gc "inspect any" "import $scratch/foreign-nothing any"; do
		# shellcheck disable=SC2086 # words
		image $what
		check "foreign: pictures are no images: ${what%% *}" refused "has something else in it than images"
	done
	check "foreign: they are what they were" eval 'is "$(stat -c %a "$store/images")" 755 && is "$(ls "$store/images")" picture'
}

# ---- many at once ----

part_shared() {
	local archives=$scratch/shared i failed=0 jobs=()
	new_store shared
	python3 -IS "$here/archives.py" good "$archives" || exit 1
	for i in 1 2 3 4 5 6 7 8; do
		timeout 300 "$WARDER" image import "$archives/layout.tar" "same" --store "$store" >/dev/null 2>"$scratch/err.$i" &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait "$i" || failed=$((failed + 1))
	done
	check "shared: eight imports of one image at once" is "$failed" 0
	check "shared: there is one image with its layers" eval 'succeeds verify && has_layers 2 && nothing_left'
	# Imports, removals and collections of the same layers: an import that has succeeded has all of its layers.
	jobs=()
	for i in 1 2 3; do
		(
			for _ in 1 2 3 4 5 6 7 8; do
				timeout 300 "$WARDER" image import "$archives/layout.tar" "mine-$i" --store "$store" || exit 1
				timeout 300 "$WARDER" image verify "mine-$i" --store "$store" || exit 1
				timeout 300 "$WARDER" image remove "mine-$i" --store "$store" || exit 1
			done
		) >"$scratch/out.$i" 2>&1 &
		jobs+=($!)
	done
	(
		for _ in $(seq 40); do
			timeout 300 "$WARDER" image gc --store "$store" || exit 1
		done
	) >"$scratch/out.gc" 2>&1 &
	jobs+=($!)
	failed=0
	"$WARDER" image remove same --store "$store" >/dev/null 2>&1
	for i in "${jobs[@]}"; do
		wait "$i" || failed=$((failed + 1))
	done
	check "shared: imports, removals and collections at once" eval 'is "$failed" 0 || { tail -n 3 "$scratch"/out.[0-9] "$scratch/out.gc"; false; }'
	image gc
	check "shared: nothing is left" eval 'exited 0 && has_layers 0 && nothing_left'
	# While somebody looks whether a layer is used, it is there: whoever needs it waits.
	image import "$archives/plain.tar" held
	flock -x "$(find "$store/images/layers" -name lock | head -n 1)" -c "touch $scratch/locked; sleep 1" &
	until [ -e "$scratch/locked" ]; do sleep 0.05; done
	image verify held
	check "shared: a layer that is being looked at is there" eval 'exited 0 && says "held: good"'
	wait "$!"
	# A layer that somebody holds stays.
	exec 9<"$(find "$store/images/layers" -name lock | head -n 1)"
	flock -s 9
	image remove held
	check "shared: a layer that is held stays" eval 'exited 0 && says "1 held" && has_layers 1'
	image gc
	check "shared: also when it is collected" eval 'exited 0 && says "1 held" && has_layers 1'
	exec 9<&-
	image gc
	check "shared: afterwards it goes" eval 'exited 0 && says "1 layer removed" && has_layers 0'
}

# ---- killed ----

# An image that takes a while: some thousand files in two layers.
part_killed() {
	local root=$scratch/many i pid started=0 good=0 begin took
	new_store killed
	mkdir -p "$root"
	python3 -IS - "$root" <<-'END'
		import os, sys
		for d in range(40):
		    os.mkdir("%s/%d" % (sys.argv[1], d))
		    for f in range(50):
		        with open("%s/%d/%d" % (sys.argv[1], d, f), "w") as out:
		            out.write("%d %d\n" % (d, f) * 300)
	END
	tar -C "$root" -czf "$scratch/many.tar.gz" .
	begin=$(date +%s%N)
	succeeds import "$scratch/many.tar.gz" whole || { tap_not_ok "killed: the image"; return; }
	took=$((($(date +%s%N) - begin) / 1000))
	image remove whole
	image gc
	for i in $(seq "$kills"); do
		timeout 120 "$WARDER" image import "$scratch/many.tar.gz" "n$((i % 3))" --store "$store" >/dev/null 2>&1 &
		pid=$!
		python3 -IS -c "import random, time; time.sleep(random.uniform(0, $took * 1.1 / 1e6))"
		# timeout passes nothing on when it is killed itself: its child is the one.
		pkill -KILL -P "$pid" 2>/dev/null && started=$((started + 1))
		wait "$pid" 2>/dev/null
		if [ $((i % 4)) = 0 ]; then # and a removal, too
			timeout 120 "$WARDER" image remove "n$((i % 3))" --store "$store" >/dev/null 2>&1 &
			pid=$!
			python3 -IS -c "import random, time; time.sleep(random.uniform(0, 0.1))"
			pkill -KILL -P "$pid" 2>/dev/null
			wait "$pid" 2>/dev/null
		fi
		image verify
		[ "$got" = 0 ] && good=$((good + 1)) || cp "$scratch/out" "$scratch/bad"
		image remove "n$((i % 3))" # so that the next one has to do it all again
	done
	echo "# note: $kills imports, $started of them killed on their way"
	check "killed: after each of $kills kills the store is whole" eval 'is "$good" "$kills" || { cat "$scratch/bad"; false; }'
	check "killed: most imports were met on their way" eval '[ "$started" -gt $((kills / 3)) ]'
	check "killed: the next import works" succeeds import "$scratch/many.tar.gz" after
	check "killed: and is right" succeeds verify after
	check "killed: what the dead have left is collected" eval 'succeeds gc && nothing_left && has_layers 1'
}

# ---- built ----

# in_image NAME COMMAND...: run in the jail.
in_image() {
	local name=$1
	shift
	WARDER_STORE=$store timeout 120 "$WARDER" run "${easy[@]}" --view "image:$name" -- "$@" >"$scratch/out" 2>&1 </dev/null
	got=$?
}
shows() {
	local expected=$1
	shift
	in_image "$@"
	exited 0 && is "$(cat "$scratch/out")" "$expected"
}
# recipe LINE...: the recipe of the directory
recipe() {
	printf '%s\n' "$@" >"$scratch/context/Dockerfile"
}
# not_built SAYS LINE...
not_built() {
	local expected=$1
	shift
	recipe "$@"
	image build "$scratch/context" bad
	refused "$expected"
}
refuses() {
	check "build: refused: $1" not_built "$@"
}
part_build() {
	local box=$scratch/box context=$scratch/context busybox kept
	new_store build
	busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1 || { skip "build: images" "there is no static busybox"; return; }
	easy=()
	if [ "$("$WARDER" explain strict | tail -n 1)" != "It would run." ]; then
		for limit in memory swap cpus pids cpuTime; do
			easy+=(--prefer "limits.$limit")
		done
	fi
	mkdir -p "$box/usr/bin" "$box/etc" "$box/srv" "$box/dev" "$box/proc" "$box/tmp" "$box/job" && cp "$busybox" "$box/usr/bin/busybox"
	for tool in sh cat id ls mkdir rm echo touch ln test stat true false sleep; do
		ln "$box/usr/bin/busybox" "$box/usr/bin/$tool"
	done
	ln -s usr/bin "$box/bin" && chmod 1777 "$box/srv" && printf 'root:x:0:0::/:/bin/sh\nuser:x:7:8::/:/bin/sh\n' >"$box/etc/passwd" &&
		printf 'root:x:0:\ngroup:x:9:\n' >"$box/etc/group" && echo gone >"$box/etc/gone" && chmod 644 "$box"/etc/*
	mkdir -p "$context/tree/sub" && echo one >"$context/one" && echo two >"$context/two" && echo 'in tree' >"$context/tree/file" &&
		echo deep >"$context/tree/sub/deep" && ln -s one "$context/link" && ln -s /etc/hostname "$context/out" && mkdir -p "$context/linked/bin" && echo x >"$context/linked/bin/x" && chmod -R go+rX "$context"
	check "build: the base" succeeds import "$box" box
	in_image box true
	if [ "$got" != 0 ]; then
		skip "build: images" "view image does not work here: $(head -n 1 "$scratch/out")"
		return
	fi
	recipe 'ARG BASE=box' 'FROM $BASE' 'ARG WORD=default' 'ENV A=1 B="two words"' 'ENV C=${A}${WORD}' 'LABEL l=m' \
		'COPY one two /bin/' 'COPY --chmod=750 --chown=user:group one /srv/new/renamed' 'COPY tree /srv' 'COPY l* t?? /job/' \
		'WORKDIR /job/deeper' 'COPY ["two", "two words"]' \
		'RUN echo "$C $WORD" >/etc/made; rm /etc/gone; mkdir /srv/dir; ln -s dir /srv/link' 'RUN ["/bin/sh", "-c", "id -u >/job/uid; pwd >/job/pwd; ls /proc/self/ns | true"]' \
		'CMD ["cat", "/etc/made"]' 'ENTRYPOINT ["/bin/sh", "-c"]'
	check "build: a recipe" succeeds build "$context" built --build-arg WORD=given
	check "build: files come where links lead" shows "one" built cat /usr/bin/one
	check "build: the link is still there" shows "two" built cat /bin/two
	check "build: into directories" shows "in tree" built cat /srv/file
	check "build: with directories" shows "deep" built cat /srv/sub/deep
	check "build: by patterns, and where links of the directory lead" shows "one" built cat /job/link
	check "build: with blanks in a name" shows "two" built cat "/job/deeper/two words"
	check "build: a directory that was there keeps its mode" shows "1777" built stat -c %a /srv
	check "build: a new one is root's" shows "755" built stat -c %a /srv/new
	check "build: with a mode" shows "750" built stat -c %a /srv/new/renamed
	[ "$(id -u)" != 0 ] || check "build: with owners" shows "7:9" built stat -c %u:%g /srv/new/renamed
	check "build: RUN has environment and arguments" shows "1given given" built cat /etc/made
	check "build: RUN is the image's root" shows "0" built cat /job/uid
	check "build: RUN begins in WORKDIR" shows "/job/deeper" built cat /job/pwd
	check "build: what RUN has removed is gone" shows "gone" built sh -c 'test -e /etc/gone || echo gone'
	check "build: links that RUN has made" shows "dir" built sh -c 'ls -l /srv/link | while read -r a b c d e f g h i j k; do echo "$k"; done'
	check "build: the configuration" inspect built \
		"image['env'] == ['A=1', 'B=two words', 'C=1given'] and image['cmd'] == ['cat', '/etc/made'] and image['entrypoint'] == ['/bin/sh', '-c']
		 and image['workingDirectory'] == '/job/deeper' and image['labels'] == ['l=m'] and image['source'] == 'build'"
	check "build: it is as it was stored" succeeds verify built
	kept=$(layers)
	recipe 'FROM built' 'RUN rm -rf /srv/dir /srv/sub && mkdir /srv/sub && touch /srv/sub/new' 'USER user' 'RUN id -u >/srv/user' 'RUN true' 'CMD echo'
	check "build: on what was built" succeeds build "$context" second
	check "build: a directory in the place of another hides it" shows "new" second ls /srv/sub
	check "build: RUN as USER" shows "7" second cat /srv/user
	check "build: a step that changes nothing makes no layer" has_layers $((kept + 2))
	check "build: the base's entry point stays, its command does not" inspect second \
		"image['entrypoint'] == ['/bin/sh', '-c'] and image['cmd'] == ['/bin/sh', '-c', 'echo']"
	recipe 'FROM scratch' 'COPY one /one'
	check "build: on nothing" succeeds build "$context" empty
	check "build: with the recipe elsewhere" eval 'echo "FROM box" >"$scratch/elsewhere" && succeeds build "$context" elsewhere --file "$scratch/elsewhere"'
	refuses 'Dockerfile:2: RUN: it ended with status 3' 'FROM box' 'RUN exit 3'
	recipe 'FROM box' 'RUN : apt-get; read -r line <"$APT_CONFIG" && echo "$line" >/srv/apt && touch /tmp/warder-apt/lists/partial/x /tmp/warder-apt/cache/archives/partial/x /tmp/warder-apt/log/x' \
		'RUN : adaptation; echo "${APT_CONFIG-none}" >/srv/none; ls /tmp >>/srv/none' 'RUN : apt; rm /tmp/warder-apt/apt.conf'
	check "build: a RUN with apt-get has its configuration" succeeds build "$context" apt
	check "build: which is its own" shows 'APT::Sandbox::User "root";' apt cat /srv/apt
	check "build: and no other's" shows none apt cat /srv/none
	refuses 'apt-get had no network: build with --net host' 'FROM box' 'RUN exit 3; apt-get update'
	refuses 'Dockerfile:2: RUN: it was ended by signal 9' 'FROM box' 'RUN kill -9 $$'
	refuses 'Dockerfile:2: RUN' 'FROM box' 'RUN ["/no/such/program"]'
	refuses 'there is nothing to run in an empty image' 'FROM scratch' 'RUN true'
	refuses 'Dockerfile:2: RUN: --network=host is not allowed; build with --net host' 'FROM box' 'RUN --network=host true'
	refuses 'Dockerfile:1: FROM: there is no image none:1' 'FROM none:1'
	refuses 'Dockerfile:2: COPY: cannot open "missing"' 'FROM box' 'COPY missing /x'
	refuses 'leads out of its directory' 'FROM box' 'COPY ../box/etc/passwd /x'
	refuses 'leads out of its directory' 'FROM box' 'COPY out /x'
	refuses 'matches nothing' 'FROM box' 'COPY none* /x/'
	refuses 'is not a directory; end it with /' 'FROM box' 'COPY one two /srv/x'
	refuses 'is a link in the image, and would become a directory; copy to /usr/bin' 'FROM box' 'COPY linked /'
	refuses 'is not a directory in the image' 'FROM box' 'COPY one /etc/passwd/x'
	refuses 'fetch it before, and COPY it' 'FROM box' 'ADD https://example.org/x /x'
	refuses 'would be unpacked by ADD' 'FROM box' 'ADD one.tar.gz /x'
	refuses 'is not in the image' 'FROM box' 'COPY --chown=nobody one /x'
	refuses 'is not a mode' 'FROM box' 'COPY --chmod=u+x one /x'
	refuses 'is not a directory in the image' 'FROM box' 'WORKDIR /etc/passwd'
	refuses 'is not a suite of Debian' 'FROM debootstrap:../x'
	refuses 'is not a list of packages' 'FROM --include=-x debootstrap:bookworm'
	recipe 'FROM box' 'ARG A'
	image build "$context" bad --build-arg B=1
	check "build: an argument that nobody asks for" refused "the recipe has no ARG B"
	echo one >"$context/.dockerignore"
	check "build: a .dockerignore" not_built "has a .dockerignore" 'FROM box'
	rm "$context/.dockerignore"
	image inspect bad
	check "build: what failed has no name" exited 125
	# A build that is killed leaves nothing that stays.
	recipe 'FROM box' 'COPY one /srv/other' 'RUN touch /srv/begun; sleep 30'
	timeout 120 "$WARDER" image build "$context" killed --store "$store" >"$scratch/out" 2>&1 &
	kept=$!
	for _ in $(seq 300); do
		grep -q 'step 3' "$scratch/out" && find "$store/images/names" -name 'warder.unfinished.*' | grep -q . && break
		sleep 0.1
	done
	check "build: an image on its way has a name of its own" eval '[ -n "$(find "$store/images/names" -name "warder.unfinished.*")" ]'
	check "build: which is in no list" eval 'image list; exited 0 && ! grep -q unfinished "$scratch/out"'
	pkill -KILL -P "$kept"
	wait "$kept" 2>/dev/null
	check "build: what a killed one has left is collected" eval 'succeeds gc && nothing_left && [ -z "$(find "$store/images/names" -name "warder.unfinished.*")" ]'
	check "build: all is as it was stored" succeeds verify
}

# ---- a real one ----

part_debian() {
	local tar=${WARDER_TEST_DEBIAN:-$scratch/debian.tar}
	new_store debian
	for tool in mmdebstrap umoci; do
		command -v "$tool" >/dev/null || { skip "debian: a root made by mmdebstrap" "there is no $tool"; return; }
	done
	local alone=() # what it mounts is nobody else's
	[ "$(id -u)" != 0 ] || alone=(unshare --mount)
	if [ ! -f "$tar" ] && ! timeout 300 "${alone[@]}" mmdebstrap --quiet --variant=minbase --format=tar bookworm "$tar" >"$scratch/err" 2>&1; then
		skip "debian: a root made by mmdebstrap" "it cannot be made here: $(grep -m 1 '^E:' "$scratch/err" | tr -d '#')"
		return
	fi
	(
		cd "$scratch" && umoci init --layout debian && umoci new --image debian:minbase && mkdir bundle &&
			umoci config --image debian:minbase --config.cmd /bin/bash --config.env LANG=C.UTF-8 --config.workingdir /root
	) >"$scratch/err" 2>&1 || { tap_not_ok "debian: umoci works"; return; }
	mkdir "$scratch/debian-root" && tar -C "$scratch/debian-root" --no-same-owner --exclude './dev/*' -xf "$tar" &&
		(cd "$scratch" && umoci insert --rootless --image debian:minbase debian-root /) >"$scratch/err" 2>&1 ||
		{ tap_not_ok "debian: umoci inserts"; sed 's/^/# /' "$scratch/err" | tail -n 5; return; }
	check "debian: an OCI layout that umoci made is imported" succeeds import "$scratch/debian" debian:12
	check "debian: and verified" succeeds verify debian:12
	check "debian: its configuration" inspect debian:12 "image['cmd'] == ['/bin/bash'] and image['workingDirectory'] == '/root' and 'LANG=C.UTF-8' in image['env']"
	if command -v skopeo >/dev/null; then
		check "debian: skopeo makes a docker archive of it" skopeo copy --quiet "oci:$scratch/debian:minbase" "docker-archive:$scratch/docker.tar:debian:docker"
		check "debian: which is imported" succeeds import "$scratch/docker.tar" debian:docker
		check "debian: and shares the layer" has_layers 1
	else
		skip "debian: a docker archive" "there is no skopeo"
	fi
	check "debian: the archive of mmdebstrap itself" succeeds import "$tar" debian:tar
	check "debian: all are as they were stored" succeeds verify
	easy=()
	[ "$(id -u)" = 0 ] || easy=(--prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids --prefer limits.cpuTime)
	in_image debian:12 /bin/cat /etc/os-release
	check "debian: a program is started in it" eval 'exited 0 && says "PRETTY_NAME=\"Debian"'
}

# ---- the recipes that come with Warder ----

# recipe | language | program of tests/languages
recipes='
shell|bash|main.bash
c|c|main.c
cpp|c++|main.cpp
go|go|main.go
java|java|Numbers.java
lua|lua|main.lua
node|javascript|main.js
node|typescript|main.ts
perl|perl|main.pl
php|php|main.php
python|python|main.py
r|r|main.R
ruby|ruby|main.rb
rust|rust|main.rs
'
build_recipe() {
	"$WARDER" image inspect "recipe-$1" --store "$store" >/dev/null 2>&1 && return
	mkdir -p "$scratch/nothing"
	timeout "${2:-1800}" "$WARDER" image build "$scratch/nothing" "recipe-$1" --file "$top/recipes/$1" --store "$store" >"$scratch/out" 2>&1 </dev/null &
	while kill -0 $! 2>/dev/null; do
		grep mmdebstrap /proc/self/mounts >>"$scratch/mounted"
		sleep 0.2
	done
	wait $!
}
# The program of the language's own tests; its compiler and all are the image's.
run_recipe() {
	local program=$top/tests/languages/$2/$3
	timeout 300 env WARDER_STORE="$store" "$WARDER" code "${easy[@]}" --json --timeout 200s --memory 2GiB --cpus 2 --tmp 512MiB \
		--view "image:recipe-$1" --language "$2" --no-cache --stdin "$scratch/numbers" --input '{"factor": 2, "name": "Zoë"}' \
		"$program" alpha "two words" >"$scratch/result" 2>"$scratch/err" </dev/null
	python3 -IS "$top/tests/languages/holds.py" "$scratch/result" 'r.status == "success" and r.exitCode == 0' \
		'out == "sum 6\nalpha|two words\n"' 'r.output == {"scaled": 12, "name": "Zoë", "sorted": [1, 2, 3]}' ||
		{ cat "$scratch/err"; head -c 2000 "$scratch/result"; return 1; }
}
part_recipes() {
	local wanted=${WARDER_TEST_RECIPES:-perl} recipe language program built=''
	[ "$wanted" != all ] || wanted="$(ls "$top/recipes") debootstrap"
	new_store recipes
	[ -z "${WARDER_TEST_RECIPES_STORE:-}" ] || store=$WARDER_TEST_RECIPES_STORE
	command -v mmdebstrap >/dev/null || { skip "recipes: an image of a language" "there is no mmdebstrap"; return; }
	easy=()
	[ "$(id -u)" = 0 ] || easy=(--prefer limits.memory --prefer limits.swap --prefer limits.cpus --prefer limits.pids --prefer limits.cpuTime)
	printf '3\n1\n2\n' >"$scratch/numbers"
	while IFS='|' read -r recipe language program; do
		[ -n "$recipe" ] && [[ " $wanted " == *[[:space:]]"$recipe"[[:space:]]* ]] || continue
		if [ "$built" != "$recipe" ] && ! build_recipe "$recipe"; then
			if grep -q '^E:' "$scratch/out"; then # of mmdebstrap; ours begin otherwise
				skip "recipes: $recipe" "it cannot be made here: $(grep -m 1 '^E:' "$scratch/out" | tr -d '#')"
			else
				tap_not_ok "recipes: $recipe is built"
				tail -n 5 "$scratch/out" | sed 's/^/# /'
			fi
			continue
		fi
		built=$recipe
		check "recipes: a program in $language runs in the image of $recipe" run_recipe "$recipe" "$language" "$program"
	done <<<"$recipes"
	if [[ " $wanted " == *[[:space:]]perl[[:space:]]* ]] && ! "$WARDER" image inspect recipe-perl --store "$store" >/dev/null 2>&1; then
		skip "recipes: apt-get installs in a RUN with a network" "it cannot be made here: there is no image of perl"
	elif [[ " $wanted " == *[[:space:]]perl[[:space:]]* ]]; then
		printf 'FROM recipe-perl\nRUN apt-get update && apt-get install -y --no-install-recommends lua5.4\nRUN lua5.4 -e "print(6 * 7)"\n' >"$scratch/recipe"
		check "recipes: apt-get installs in a RUN with a network" eval 'timeout 600 "$WARDER" image build "$scratch/nothing" apt --net host \
			--file "$scratch/recipe" --store "$store" >"$scratch/out" 2>&1 </dev/null; grep -qx 42 "$scratch/out" || { tail -n 5 "$scratch/out"; false; }'
	fi
	[ ! -f "$scratch/mounted" ] || check "recipes: what is mounted for a root is not mounted on the host" eval '! grep . "$scratch/mounted"'
	[[ " $wanted " != *[[:space:]]debootstrap[[:space:]]* ]] || part_debootstrap
	[ "$wanted" = perl ] || check "recipes: all are as they were stored" succeeds verify
}
# The other program that makes roots of Debian's packages: where mmdebstrap is not to be found.
part_debootstrap() {
	[ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null || { skip "recipes: debootstrap" "not root, or not installed"; return; }
	command -v unshare >/dev/null || { skip "recipes: debootstrap" "there is no unshare"; return; }
	mkdir -p "$scratch/nothing"
	printf 'FROM --include=lua5.4 debootstrap:bookworm\nCMD ["lua5.4"]\n' >"$scratch/recipe"
	check "recipes: an image by debootstrap, without mmdebstrap" timeout 1800 unshare --mount --propagation private sh -c '
		mount --bind /dev/null "$(command -v mmdebstrap)" && exec "$0" "$@"' "$WARDER" image build "$scratch/nothing" by-debootstrap \
		--file "$scratch/recipe" --store "$scratch/store-debootstrap"
	store=$scratch/store-debootstrap
	check "recipes: which has what was asked for" eval 'in_image by-debootstrap lua5.4 -e "print(6 * 7)"; exited 0 && says 42'
}

for part in "$@"; do
	case $part in
	good | damaged | hostile | names | context | implied | foreign | shared | killed | build | debian | recipes) "part_$part" ;;
	*) echo "Bail out! there is no part $part" && exit 1 ;;
	esac
done
tap_end
