# layers.awk: does every #include point the right way? Reads layers.txt, then the sources named after it. Prints one line per
# fault and ends with 1 if there was one.
#
# A file may include headers of its own folder, and each header and the door of each folder that its row names; from the system anything,
# except inside the jail: there no libc exists, so only the kernel's headers and the compiler's own.

function folder_of(path,    best, folder) {
	for (folder in door)
		if (index(path, folder "/") == 1 && length(folder) > length(best))
			best = folder
	return best
}

function fault(text) {
	printf "%s:%d: %s\n", FILENAME, FNR, text
	faults++
}

FNR == NR {
	if ($0 !~ /^#/ && NF >= 4) {
		door[$1] = $2
		system_headers[$1] = $NF
		for (i = 3; i < NF; i++)
			may[$1, $i] = 1
	}
	next
}

FNR == 1 {
	own = folder_of(FILENAME)
	if (own == "")
		fault("its folder is not in tests/lint/layers.txt")
}

own != "" && /^[ \t]*#[ \t]*include[ \t]*"/ {
	split($0, part, "\"")
	target = folder_of(part[2])
	name = substr(part[2], length(target) + 2)
	# The freestanding init's interface belongs to the whole jail folder.
	if (target == own || (target == "jail/inside" && own ~ /^jail/))
		next
	if ((own, part[2]) in may)
		next
	# A folder may use everything of the one that it lies in.
	if (index(own, target "/") == 1)
		next
	if (target == "")
		fault("\"" part[2] "\" is to be named by its path from the top")
	else if (!((own, target) in may))
		fault(own " may not include " part[2] ": tests/lint/layers.txt says what it may")
	else if (door[target] != "*" && index("," door[target] ",", "," name ",") == 0)
		fault(part[2] " is private to " target "/; its door is " target "/" door[target])
}

own != "" && /^[ \t]*#[ \t]*include[ \t]*</ && system_headers[own] == "kernel" {
	if ($0 !~ /<(linux|asm|asm-generic)\/|<std(int|def|bool|arg)\.h>/)
		fault("no libc inside the jail: " $0)
}

END { exit faults > 0 }
