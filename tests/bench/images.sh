#!/bin/bash
# Importing an image and starting a program from it, beside podman, if there is one; root.
#
#   tests/bench/images.sh [-n RUNS] [ARCHIVE]
#
# ARCHIVE is a docker archive with one image; without one, a Debian minbase made by mmdebstrap and skopeo. Each import goes into an empty
# store, each of podman's into an empty storage, by turns; then /bin/true is started by turns. Prints medians, and what Warder takes of what
# podman takes. Figures are facts, never a failure.
# shellcheck disable=SC2015 # a failure behind && is one too
set -u
cd "$(dirname "$0")/../.." || exit 1
WARDER=$(realpath "${BUILD:-build}/warder") || exit 1
runs=20
[ "${1:-}" != -n ] || { runs=$2; shift 2; }
[ "$(id -u)" = 0 ] || { echo "images.sh: needs root: both are to keep the image's owners" >&2; exit 2; }
scratch=$(mktemp -d /var/lib/warder-bench.XXXXXX) || exit 1
podman=(podman --root "$scratch/podman" --runroot "$scratch/podman.run")
has_podman=$(command -v podman)
clean() {
	[ -z "$has_podman" ] || "${podman[@]}" system reset --force >/dev/null 2>&1
	umount "$scratch/podman/overlay" 2>/dev/null
	rm -rf "$scratch"
}
trap clean EXIT

archive=${1:-}
if [ -z "$archive" ]; then
	archive=$scratch/archive.tar
	mmdebstrap --quiet --variant=minbase --format=tar bookworm "$scratch/root.tar" && mkdir "$scratch/oci" &&
		(cd "$scratch" && mkdir root && tar -C root --exclude './dev/*' -xf root.tar && umoci init --layout oci && umoci new --image oci:bench &&
			umoci insert --image oci:bench root /) >/dev/null 2>&1 &&
		skopeo copy --quiet "oci:$scratch/oci:bench" "docker-archive:$archive:bench:1" ||
		{ echo "images.sh: no archive: mmdebstrap, umoci and skopeo are needed, and a mirror of Debian; or name an archive" >&2; exit 2; }
fi

# timed FILE COMMAND...: append its milliseconds; its status.
timed() {
	local file=$1 begin end status
	shift
	begin=$(date +%s%N)
	"$@" >"$scratch/out" 2>&1
	status=$?
	end=$(date +%s%N)
	[ "$status" = 0 ] || { echo "images.sh: $* failed: $(tail -n 2 "$scratch/out")" >&2; return 1; }
	echo $(((end - begin) / 1000)) >>"$scratch/$file"
}
median() {
	sort -n "$scratch/$1" 2>/dev/null | awk '{ value[NR] = $1 } END { if (NR) printf "%.1f", value[int((NR + 1) / 2)] / 1000 }'
}
row() {
	local own other
	own=$(median "$2")
	other=$(median "$3")
	printf '%-28s %12s %12s' "$1" "$own" "${other:--}"
	[ -z "$other" ] || awk -v own="$own" -v other="$other" 'BEGIN { printf " %8.2f", own / other }'
	echo
}

imports=$((runs / 5 + 1))
for _ in $(seq "$imports"); do
	rm -rf "$scratch/store"
	timed import "$WARDER" image import "$archive" bench --store "$scratch/store" || exit 1
	timed import.sync sync -f "$scratch"
	[ -n "$has_podman" ] || continue
	"${podman[@]}" system reset --force >/dev/null 2>&1
	timed podman.import "${podman[@]}" load --quiet --input "$archive" || has_podman=
	timed podman.sync sync -f "$scratch"
done
image=$([ -z "$has_podman" ] || "${podman[@]}" images --quiet | head -n 1)
# Where podman may not raise limits, or its runtime does not know the host's control groups: with lower ones, and runc.
limits=(--ulimit nofile=256:256 --ulimit nproc=64:64 --memory=512m --pids-limit=64)
try() { "${podman[@]}" "$@" run --rm --network=none "${limits[@]}" "$image" /bin/true >/dev/null 2>&1; }
if [ -n "$image" ] && ! try; then
	if try --runtime runc; then
		podman+=(--runtime runc)
	else
		limits=(--ulimit nofile=256:256 --ulimit nproc=64:64)
		try || podman+=(--runtime runc)
	fi
fi
for _ in $(seq "$runs"); do
	timed run env "WARDER_STORE=$scratch/store" "$WARDER" run --view image:bench -- /bin/true || exit 1
	[ -n "$has_podman" ] || continue
	timed engine env "WARDER_STORE=$scratch/store" "$WARDER" run --backend podman --view image:bench -- /bin/true
	timed podman.start "${podman[@]}" run --rm --network=none "${limits[@]}" "$image" /bin/true || has_podman=
done
echo "archive: $(stat -c %s "$archive") bytes; medians of $imports imports and $runs runs, in milliseconds"
printf '%-28s %12s %12s %8s\n' "" warder podman ratio
row "import, empty store" import podman.import
row "  and what is to be synced" import.sync podman.sync
row "run /bin/true" run podman.start
row "  by --backend podman" engine podman.start
[ -n "$has_podman" ] || echo "podman is not there, or did not work"
