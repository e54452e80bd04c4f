#!/bin/bash
# analyze.sh: the analyzers of clang and gcc over the sources, as TAP: what they say must be in analyze.txt with its reason,
# and what is there must still be said.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. tests/lib/tap.sh
flags=(-std=gnu11 -D_GNU_SOURCE -I. -idirafter runtime -DWARDER_VERSION='"0"' -DWARDER_ANALYZED)
mapfile -t sources < <(find base policy rootfs edge remote jail backends runtime store host fleet -name '*.c' 2>/dev/null | sort)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# each COMMAND...: run it on every source, several at a time, and fail if it does. What each says is kept apart until the end.
each() {
	rm -rf "$scratch/each" && mkdir "$scratch/each" || return
	# Appended: process numbers come back.
	# shellcheck disable=SC2016 # expanded by the shell that xargs starts
	printf '%s\0' "${sources[@]}" |
		EACH=$scratch/each xargs -0 -n 1 -P "$(nproc)" bash -c '"$@" >>"$EACH/$BASHPID" 2>&1' each "$@"
	local status=$?
	cat "$scratch"/each/* >"$scratch/log"
	return "$status"
}

# judge TOOL: from the log: what is not excused, and excuses that excuse nothing.
judge() {
	awk -v tool="$1" '
		FILENAME ~ /analyze.txt$/ {
			if (!/^(#|$)/ && split($0, cell) && cell[1] == tool)
				excused[cell[3] " " cell[2]] = 1
			next
		}
		match($0, /^(\.\/)?[a-z0-9_\/]+\.[chS]:[0-9]+:[0-9]+: (warning|error): /) {
			sub(/^\.\//, "") # a header, found by -I.
			file = $0
			sub(/:.*/, "", file)
			name = $NF
			gsub(/[][]/, "", name)
			key = file " " name
			if (key in excused)
				used[key] = 1
			else
				print
		}
		END {
			for (key in excused)
				if (!(key in used))
					print "analyze.txt: nothing to excuse any more: " key
		}' tests/lint/analyze.txt "$scratch/log" | sort -u >"$scratch/said"
	cat "$scratch/said"
	[ ! -s "$scratch/said" ]
}

# Both end with 0 whatever they find, unless they cannot read a source.
clang_analyzer() {
	each clang --analyze "${flags[@]}" -Xclang -analyzer-output=text -o /dev/null || { tail -n 20 "$scratch/log" && return 1; }
	judge clang
}
gcc_analyzer() {
	each gcc -O0 -fanalyzer -fdiagnostics-plain-output "${flags[@]}" -c -o /dev/null || { tail -n 20 "$scratch/log" && return 1; }
	judge gcc
}

[ "${#sources[@]}" -gt 50 ] || tap_not_ok "only ${#sources[@]} sources were found"
check "clang's analyzer, ${#sources[@]} files" clang_analyzer
check "gcc's analyzer, ${#sources[@]} files" gcc_analyzer
tap_end
