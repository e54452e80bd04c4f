# man3.awk: makes a manual page of section 3 (mdoc) from a public header.
#
#   awk -v name=libwarder -v about="run an untrusted program under a policy" -v header=warder.h -v flags=-lwarder -v date="November 23, 2026" \
#       -f docs/man3.awk runtime/warder.h >libwarder.3
#   awk -v names=1 -f docs/man3.awk runtime/warder.h          the names of its functions, a line each
#
# The header is read by its form: a comment at the left margin describes the declaration behind it; a comment that begins with
# "---- TITLE ----" begins a section; the first comment is the description of all.

function escaped(line)
{
	gsub(/\\/, "\\e", line)
	return line ~ /^[.']/ ? "\\&" line : line
}

function put(line)
{
	body = body line "\n"
}

# Every sentence on a line of its own, as mdoc wants it.
function put_text(line,    at)
{
	while ((at = match(line, /[.)] [A-Z*`]/)) && substr(line, at, 1) == ".") {
		put(escaped(substr(line, 1, at)))
		line = substr(line, at + 2)
	}
	put(escaped(line))
}

# The text of a comment: a line with more indentation than the others is part of an example or a table, and keeps its form.
function put_comment(text,    lines, count, i, line, literal)
{
	count = split(text, lines, "\n")
	for (i = 1; i <= count; i++) {
		line = lines[i]
		if (line == "" && !literal && lines[i + 1] ~ /^  /)
			continue
		if ((line ~ /^  /) != literal) {
			literal = !literal
			put(literal ? ".Bd -literal -offset indent" : ".Ed")
		}
		if (!literal)
			sub(/^ +/, "", line)
		else
			sub(/^  /, "", line)
		if (line ~ /^[A-Z][a-z ]*: / && body ~ /[.]\n$/)
			put(".Pp")
		if (line != "" && literal)
			put(escaped(line))
		else if (line != "")
			put_text(line)
		else if (i < count && body != "" && body !~ /\n\.(Pp|Ed|Sh [^\n]*)\n$/)
			put(".Pp")
	}
	if (literal)
		put(".Ed")
}

function put_declaration(text)
{
	gsub(/WARDER_API /, "", text)
	put(".Bd -literal")
	body = body text
	put(".Ed")
}

# With its margin and its signs taken off.
function comment_line(line)
{
	sub(/ *\*\/$/, "", line)
	sub(/^ ?\/?\*+ ?/, "", line)
	return line
}

function end_comment()
{
	if (comment ~ /^-+ .* -+/) {
		title = comment
		sub(/\n.*/, "", title)
		gsub(/^-+ | -+ *$/, "", title)
		sub(/^[^\n]*\n*/, "", comment)
		put(".Sh " toupper(title))
		if (comment != "")
			put_comment(comment)
		comment = ""
	} else if (!described) {
		described = 1
		put_comment(comment)
		comment = ""
	}
}

function end_declaration()
{
	if (declaration ~ /WARDER_API/ && match(declaration, /warder_[a-z0-9_]+\(/)) {
		functions[++function_count] = substr(declaration, RSTART, RLENGTH - 1)
		put(".Ss " functions[function_count])
	}
	put_declaration(declaration)
	if (comment != "")
		put_comment(comment)
	comment = declaration = ""
}

in_comment {
	comment = comment "\n" comment_line($0)
	if (/\*\/ *$/) {
		in_comment = 0
		sub(/\n+$/, "", comment)
		end_comment()
	}
	next
}
declaration == "" && /^\/\*/ {
	comment = comment_line($0)
	if (/\*\/ *$/)
		end_comment()
	else
		in_comment = 1
	next
}
declaration == "" && (/^#(if|endif|ifndef|ifdef|include|define WARDER_API|define [A-Z_]+_H$)/ || /^extern "C"/ || /^}$/ || /^$/) {
	if (/^$/)
		comment = ""
	next
}
{
	declaration = declaration escaped($0) "\n"
	deep += gsub(/{/, "{") - gsub(/}/, "}")
	if (deep == 0 && (declaration ~ /^#define/ ? !/\\$/ : /;( *\/\*.*\*\/)?$/))
		end_declaration()
}

END {
	if (names) {
		for (i = 1; i <= function_count; i++)
			print functions[i]
		exit
	}
	printf ".Dd %s\n.Dt %s 3\n.Os\n.Sh NAME\n", date, toupper(name)
	printf ".Nm %s\n.Nd %s\n", name, about
	printf ".Sh LIBRARY\nLink with %s, or ask pkg-config for the flags.\n", flags
	printf ".Sh SYNOPSIS\n.In %s\n.Sh DESCRIPTION\n%s", header, body
	printf ".Sh SEE ALSO\n.Xr warder 1 ,\n.Xr warder-policy 5\n"
}
