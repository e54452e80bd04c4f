# headers.awk: is every header documented? Each opens with a block comment that names it; in the installed header, every group of
# functions (declarations without a blank line between them) has a comment.

function fault(line, text) {
	printf "%s:%d: %s\n", FILENAME, line, text
	faults++
}

FNR == 1 {
	public = FILENAME ~ /(runtime\/warder|store\/warder-store)\.h$/
	opened = 0
	commented = 0
	if ($0 != "/*")
		fault(1, "a header opens with a block comment")
}
FNR == 2 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.h$/, "", name)
	if ($0 !~ "^ \\* (lib)?" name ": ")
		fault(2, "the block comment begins with \"" name ": what it is\"")
}
/^$/ { commented = 0 }
/^\/\*/ && $0 !~ /^\/\* ----/ { commented = 1 }
public && /^WARDER_API/ && !commented { fault(FNR, "a function without a comment") }

END { exit faults > 0 }
