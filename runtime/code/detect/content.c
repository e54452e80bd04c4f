/*
 * detect_content: tables of features, and the arithmetic of the score.
 *
 * Each language reads the text with its own lexer, so that its comments and strings are out of the way, and adds up its
 * features. A feature that is found again counts half each time, up to FEATURE_HITS: a long file must not turn many weak signs
 * into a strong one. Negative features are signs of something else.
 *
 * A dialect (TypeScript, bash, C++) has features over those of the language that it grew out of; it is taken if they are strong
 * enough, and competes with the score of both. There are rows for languages that cannot be run as well: their texts look like
 * others', and the answer is then "unknown".
 */
#include "runtime/code/detect/content.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "runtime/code/detect/pattern.h"

#define FEATURE_HITS     3
#define MAX_TOKENS       8192 /* more are not looked at */
#define CONTENDERS       4    /* candidates that are looked for inside of each other */
#define MOST_CONTENDERS  12   /* the same, where there is a string that may hold any of them */
#define DIALECT_STRENGTH 4    /* points over its base that make a dialect */
#define DOCSTRING_POINTS 6 /* of Python: no other language has a statement that is a string of three quotes */

struct feature {
	const char *pattern;
	int points;
};

static const struct feature python[] = {
	{ "^ def %w ( %* ) :", 5 },
	{ "^ def %w ( %* ) -> %* :", 5 },
	{ "^ async def %w (", 5 },
	{ "^ class %w :", 5 },
	{ "^ class %w ( %* ) : %$", 5 },
	{ "^ from %* import", 4 },
	{ "^ import %w %$", 3 },
	{ "^ import %w . %w %$", 3 },
	{ "^ import "
	  "os|sys|re|json|math|time|random|csv|datetime|itertools|collections|subprocess|numpy|pandas|"
	  "requests",
	  2 },
	{ "^ import %w as %w", 4 },
	{ "if __name__ ==", 5 },
	{ "^ if %* : %$", 2 },
	{ "^ elif %* :", 4 },
	{ "^ else : %$", 3 },
	{ "^ for %* in %* : %$", 4 },
	{ "^ while %* : %$", 3 },
	{ "^ with %* as %w :", 4 },
	{ "^ try|finally : %$", 4 },
	{ "^ except %* :", 4 },
	{ "^ print (", 1 },
	{ "print ( %* , %w = %*  )", 2 },
	{ "self . %w", 2 },
	{ "( self", 3 },
	{ "None|True|False", 2 },
	{ "lambda %* :", 3 },
	{ "is not|None", 2 },
	{ "not in", 2 },
	{ "in range (", 3 },
	{ "[ %w %* for %w in", 4 },
	{ "( %w %* for %w in %w", 3 },
	{ "len|str|int|isinstance|enumerate|sorted|zip|float|input (", 1 },
	{ "^ raise %w", 2 },
	{ "^ await %w", 1 },
	{ "^ yield %w", 1 },
	{ "^ @ %w %$", 2 },
	{ "^ pass %$", 3 },
	{ "^ del|global|nonlocal|assert %w", 2 },
	{ "; %$", -2 },
	{ "{ %$", -1 },
	{ "^ }", -1 },
	{ "^ end %$", -3 },
	{ "$", -2 },
	{ "<-", -2 },
	{ "func|fn|let|const|var %w", -2 },
	{ 0 },
};

static const struct feature javascript[] = {
	{ "console . log|error|warn|info|table (", 5 },
	{ "const %w =", 3 },
	{ "const { %* } =", 4 },
	{ "const [ %* ] =", 4 },
	{ "let %w =", 3 },
	{ "let %w ;", 3 },
	{ "var %w =", 2 },
	{ "for ( const|let|var %* of|in", 5 },
	{ "for ( let|var %w =", 4 },
	{ "===", 3 },
	{ "!==", 3 },
	{ "=> {", 3 },
	{ ") =>", 3 },
	{ "%w => %w", 2 },
	{ "function %w ( %* ) {", 3 },
	{ "function (", 2 },
	{ "async function", 4 },
	{ "async (", 3 },
	{ "await %w", 2 },
	{ "require ( %s )", 3 },
	{ "module . exports", 5 },
	{ "exports . %w =", 4 },
	{ "^ import %* from %s", 5 },
	{ "^ import %s ;", 2 },
	{ "^ export default|const|function|class|async|let|{", 4 },
	{ "document . getElementById|querySelector|createElement|addEventListener|body (", 5 },
	{ "document|window . %w", 2 },
	{ "new Promise|Map|Set|Date|Error|RegExp|Array|Uint8Array (", 3 },
	{ "JSON . stringify|parse (", 4 },
	{ ". map|filter|forEach|reduce|then|push|catch (", 2 },
	{ "Object . keys|values|entries|assign|freeze (", 4 },
	{ "Math . floor|random|round|PI|sqrt|max|min", 2 },
	{ "parseInt|parseFloat|setTimeout|setInterval|isNaN|alert (", 3 },
	{ "typeof %w", 3 },
	{ "process . %w", 3 },
	{ "undefined", 2 },
	{ "constructor (", 3 },
	{ "this . %w =", 2 },
	{ "; %$", 1 },
	{ "throw new Error (", 3 },
	{ "?.", 1 },
	{ "%w : function", 3 },
	{ ":=", -3 },
	{ "=== ===", -6 },
	{ "^ fn|func|def %w", -3 },
	{ "^ end %$", -3 },
	{ "public|private static", -1 },
	{ "< ? php", -9 },
	{ "$* =", -1 },
	{ 0 },
};

static const struct feature typescript[] = {
	{ ": string|number|boolean|any|void|unknown|never", 4 },
	{ ": %w [ ] =", 4 },
	{ ": %C =", 3 },
	{ ": Promise|Array|Record|Map|Set|Partial|Readonly <", 4 },
	{ "^ interface %w {", 4 },
	{ "interface %w extends", 3 },
	{ "^ export interface|type|enum|abstract|declare", 5 },
	{ "^ type %w =", 4 },
	{ "type %w < %* > =", 5 },
	{ "^ enum %w {", 3 },
	{ "as string|const|unknown|any|number|boolean", 4 },
	{ "import type", 5 },
	{ "readonly %w :", 4 },
	{ "private|public|protected readonly|static %w :", 4 },
	{ "private|public|protected %w :", 4 },
	{ "private|protected %w = new", 4 },
	{ "%w ? : %w", 3 },
	{ ") : %w {", 2 },
	{ "keyof|satisfies|infer %w", 4 },
	{ "abstract class", 3 },
	{ "class %w < %w >", 4 },
	{ "new %w < %w", 3 },
	{ "implements %w", 2 },
	{ "declare module|const|function|global", 4 },
	{ 0 },
};

static const struct feature sh[] = {
	{ "^ if [|[[|!|test|command", 4 },
	{ "^ if %* ; then", 4 },
	{ "^ if [|[[", 2 },
	{ "; then", 3 },
	{ "^ then %$", 3 },
	{ "^ fi", 3 },
	{ "; fi", 3 },
	{ "; do", 4 },
	{ "^ do %$", 3 },
	{ "^ done", 3 },
	{ "; done", 3 },
	{ "^ esac", 5 },
	{ "case %w in", 4 },
	{ ";;", 3 },
	{ "^ echo|printf %w", 4 },
	{ "then|do|else echo", 2 },
	{ "^ export *=*", 4 },
	{ "^ [a-zA-Z_]*=*", 0 },
	{ "^ *=$*", 3 },
	{ "^ *= $(", 4 },
	{ "$(", 3 },
	{ "$((", 3 },
	{ "| grep|awk|sed|sort|wc|head|tail|xargs|cut|tr|uniq|tee|jq|sh|bash|cat|less", 4 },
	{ "^ "
	  "cd|ls|mkdir|rm|cp|mv|chmod|chown|curl|wget|cat|grep|sed|awk|tar|git|apt-get|apt|pip|npm|docker|"
	  "sudo|source|touch|kill|ps|df|du|sort|make|cmake|ssh|scp|ln|gcc|sleep|env|uname|whoami|pwd",
	  2 },
	{ "^ %w -*", 2 },
	{ "^ for %w in", 2 },
	{ "&& %w", 1 },
	{ "2 >& 1", 4 },
	{ ">> /dev/null", 4 },
	{ "<< %w", 4 },
	{ "> /dev/null", 4 },
	{ ">& 2", 4 },
	{ "^ set -e|-u|-x|-eu|-ex|-euo|-eux|-o", 5 },
	{ "^ %w ( ) {", 4 },
	{ "^ exit 0|1|2|$?", 2 },
	{ "*$1*|*$@*|$#|$?|$$|*$2*|*$0*", 3 },
	{ "*$*", 1 },
	{ "*${*", 1 },
	{ "^ while read", 5 },
	{ "read -r", 4 },
	{ "< %w", 1 },
	{ "^ local|readonly *=*", 3 },
	{ "|| exit|true|return", 4 },
	{ "^ . ./*|/*", 4 },
	{ "^ %w = ", -3 },
	{ "^ $* = ", -3 },
	{ "; %$", -2 },
	{ "^ %w (", -1 },
	{ "^ def|func|fn|let|const|var|import|class|public|use|my|function|from|package", -2 },
	{ "^ FROM|RUN|COPY|CMD|ENTRYPOINT|WORKDIR", -4 },
	{ "^ *: %$", -2 },
	{ "^ - %w", -3 },
	{ "=>|:=|->|==|<-", -3 },
	{ "< ?php|?=", -9 },
	{ 0 },
};

static const struct feature bash[] = {
	{ "[[", 4 },
	{ "^ declare|shopt|mapfile|readarray|typeset|pushd|popd", 4 },
	{ "^ function %w {", 4 },
	{ "^ function %w ( ) {", 4 },
	{ "^ ((", 4 },
	{ "if|while|for|&& ((", 4 },
	{ "<<<", 4 },
	{ "<(", 4 },
	{ ">(", 4 },
	{ "*= (", 4 },
	{ "&>", 4 },
	{ "|&", 4 },
	{ "^ source %w", 4 },
	{ "*${*[*]*", 4 },
	{ "*${*^^}*|*${*,,}*|*${*//*|*${!*|*${*:?:*|*${*:?}*", 4 },
	{ "*$RANDOM*|*$BASH_*|*${BASH_*|$SECONDS|*$PIPESTATUS*|*$FUNCNAME*|*$LINENO*", 4 },
	{ "{*..*}", 4 },
	{ "-*pipefail|pipefail", 4 },
	{ "read -a|-ra|-d|-p|-rp", 4 },
	{ "read -r -a", 4 },
	{ "$'*", 2 },
	{ 0 },
};

static const struct feature ruby[] = {
	{ "^ def %w %$", 4 },
	{ "^ def %w ( %* ) %$", 4 },
	{ "^ def self . %w", 5 },
	{ "^ def %w ? ", 3 },
	{ "^ require %s", 3 },
	{ "^ require_relative %s", 5 },
	{ "^ puts", 4 },
	{ "^ p %w %$", 1 },
	{ "do | %* |", 5 },
	{ "{ | %* |", 5 },
	{ "^ end %$", 2 },
	{ "^ end .", 3 },
	{ "attr_accessor|attr_reader|attr_writer :", 5 },
	{ ". each|times|map|select|reject|inject|each_with_index do|{|(", 3 },
	{ ". each do", 3 },
	{ "^ class %C < %C", 5 },
	{ "^ class %C %$", 4 },
	{ "^ module %C %$", 4 },
	{ "^ elsif", 3 },
	{ "^ unless %w", 3 },
	{ "unless %w", 1 },
	{ ": %w =>", 4 },
	{ "( & : %w )", 5 },
	{ "( : %w", 1 },
	{ "||=", 3 },
	{ "nil", 1 },
	{ ". nil|empty|zero|include|any ?", 4 },
	{ "^ begin %$", 3 },
	{ "^ rescue", 4 },
	{ "^ ensure %$", 4 },
	{ "gets . chomp", 5 },
	{ "gets", 1 },
	{ ". to_s|to_i|to_sym|to_a|to_f|to_h|upcase|downcase|chomp|freeze", 3 },
	{ "@* =", 3 },
	{ "^ raise %C", 2 },
	{ "%C . new %$", 3 },
	{ "%C . new (", 2 },
	{ "lambda {", 2 },
	{ "-> ( %* ) {", 3 },
	{ "ARGV [", 2 },
	{ "^ include|extend %C", 3 },
	{ "^ private|protected %$", 2 },
	{ "; %$", -2 },
	{ "^ local %w", -4 },
	{ "then %$", -1 },
	{ "let|const|var %w", -2 },
	{ "$* =", -1 },
	{ "my $*|@*", -4 },
	{ "^ import", -3 },
	{ 0 },
};

static const struct feature r[] = {
	{ "<- function (", 6 },
	{ "%w <-", 3 },
	{ "<- c|data.frame|list|read.csv|matrix|seq|rep (", 4 },
	{ "library ( %w )", 5 },
	{ "= c ( %s", 2 },
	{ "%>%", 5 },
	{ "|>", 2 },
	{ "data.frame|read.csv|ggplot|paste0|sapply|lapply|tapply|vapply|nrow|ncol|rnorm|runif|as.numeric|as."
	  "character|is.na|is.null|set.seed|write.csv|geom_point|aes|str_c|stopifnot|seq_along|tryCatch|do."
	  "call|rbind|cbind (",
	  4 },
	{ "paste|cat|print|mean|sum|seq|rep|length|summary|head|plot|matrix|apply (", 1 },
	{ "TRUE|FALSE|NULL|NA", 1 },
	{ "na.rm =", 4 },
	{ "%w :: %w (", 2 },
	{ "expect_equal|test_that|expect_error (", 3 },
	{ "for ( %w in", 3 },
	{ "%w $ %w", 3 },
	{ "%w ~ %w", 3 },
	{ "%n : %n", 1 },
	{ "[ , ", 2 },
	{ ", ]", 2 },
	{ "} else if (", 1 },
	{ "; %$", -2 },
	{ "let|const|var|def|func|fn|local %w", -3 },
	{ "function %w (", -2 },
	{ "=>", -2 },
	{ "->  %w (", -1 },
	{ "#", -1 },
	{ "package|import %w", -3 },
	{ "chan|<- %w %$", -1 },
	{ ":=", -2 },
	{ 0 },
};

static const struct feature perl[] = {
	{ "^ use strict|warnings ;", 6 },
	{ "^ use %w", 1 },
	{ "^ use %w :: %* ;", 3 },
	{ "my $*|@*", 5 },
	{ "my % %w", 5 },
	{ "my ( $*|@*", 5 },
	{ "our|local $*|@*", 4 },
	{ "^ sub %w {", 5 },
	{ "$_|@_|@ARGV|$0", 3 },
	{ "print %s ;", 2 },
	{ "print %s , ", 1 },
	{ "foreach my", 5 },
	{ "elsif (", 3 },
	{ "=~ %s", 5 },
	{ "!~ %s", 5 },
	{ "-> {", 4 },
	{ "-> [", 3 },
	{ "@ {", 3 },
	{ "$* { %w }", 2 },
	{ "$* {", 1 },
	{ "= shift", 4 },
	{ "or die", 5 },
	{ "die|chomp|warn $*", 3 },
	{ "die|warn %s", 3 },
	{ "push @*", 4 },
	{ "keys|values|each % %w", 4 },
	{ "sort|map|grep {", 4 },
	{ "< STDIN > ", 5 },
	{ "STDIN|STDERR|STDOUT", 2 },
	{ "bless", 4 },
	{ "unless (", 3 },
	{ "$* <=> $*", 4 },
	{ "$* . %s", 1 },
	{ "eq|ne|lt|gt %s", 3 },
	{ "$* eq|ne|lt|gt", 3 },
	{ "qw", 2 },
	{ "; %$", 1 },
	{ "^ 1 ;", 4 },
	{ "< ? php", -9 },
	{ "function %w (", -4 },
	{ "foreach ( $* as", -6 },
	{ "$this", -2 },
	{ "echo", -3 },
	{ "^ def|puts|end", -3 },
	{ 0 },
};

static const struct feature lua[] = {
	{ "local function %w (", 6 },
	{ "local %w =", 4 },
	{ "local %w , %w", 4 },
	{ "local %w %$", 2 },
	{ "if %* then", 3 },
	{ "^ end %$", 2 },
	{ "end )", 3 },
	{ "^ elseif %* then", 5 },
	{ "function %w ( %* ) %$", 3 },
	{ "^ function %w . %w (", 5 },
	{ "^ function %w : %w (", 5 },
	{ "function ( %* ) %$", 3 },
	{ "in pairs|ipairs (", 6 },
	{ "for %w = %* do", 5 },
	{ "while %* do %$", 3 },
	{ "~=", 4 },
	{ "%s .. %w", 3 },
	{ "%w .. %s", 3 },
	{ "nil", 1 },
	{ "print (", 1 },
	{ "^ repeat %$", 3 },
	{ "^ until", 3 },
	{ "table . insert|concat|remove|sort|unpack (", 6 },
	{ "string . format|gsub|sub|match|gmatch|rep|find|byte (", 5 },
	{ "math . floor|random|max|min|huge|sqrt", 2 },
	{ "io . write|read|open|lines|stderr", 5 },
	{ "os . time|clock|getenv|exit (", 1 },
	{ "setmetatable|tostring|tonumber|pcall (", 4 },
	{ ". __index =", 5 },
	{ "= require", 1 },
	{ "= # %w", 3 },
	{ "( # %w", 3 },
	{ ", # %w", 3 },
	{ "self . %w", 1 },
	{ "; %$", -1 },
	{ "^ }", -1 },
	{ "^ def|class|puts|module|begin|import|const|let|var", -3 },
	{ "do |", -5 },
	{ "!=", -3 },
	{ "&&", -2 },
	{ "$", -2 },
	{ 0 },
};

static const struct feature php[] = {
	{ "<?php", 9 },
	{ "<?=", 6 },
	{ "^ echo %* ;", 3 },
	{ "$* = %* ;", 3 },
	{ "$this ->", 6 },
	{ "$* -> %w (", 3 },
	{ "$* -> %w", 1 },
	{ "function %w ( $*", 5 },
	{ "function %w ( %w $*", 5 },
	{ "function ( $*", 4 },
	{ "= array (", 4 },
	{ "foreach ( $* as", 7 },
	{ "$* => $*", 2 },
	{ "%s => ", 1 },
	{ "public|private|protected static|function|string|int|array|?string $*", 3 },
	{ "public|private|protected function", 5 },
	{ "^ namespace %w \\ ", 5 },
	{ "^ use %w \\ ", 5 },
	{ "$* . %s", 2 },
	{ "%s . $*", 2 },
	{ "isset|empty|unset|array_*|count|strlen|explode|implode|json_encode|json_decode|var_dump|print_r|"
	  "htmlspecialchars|in_array|str_replace|file_get_contents|preg_* (",
	  3 },
	{ "isset|array_*|var_dump|print_r|explode|implode|json_decode|json_encode|preg_* (", 2 },
	{ "$_GET|$_POST|$_SERVER|$_SESSION|$_FILES|$_COOKIE|$_REQUEST", 5 },
	{ "PHP_EOL", 5 },
	{ "; %$", 1 },
	{ "new %C (", 1 },
	{ "===", 1 },
	{ "elseif (", 3 },
	{ "declare ( strict_types", 6 },
	{ "%C :: %w (", 2 },
	{ "for ( $*", 4 },
	{ "my $*|@*|(", -6 },
	{ "^ sub %w", -6 },
	{ "elsif", -4 },
	{ "=~", -4 },
	{ "let|const|var|def|fn|func %w =", -3 },
	{ 0 },
};

static const struct feature go[] = {
	{ "^ package %w %$", 6 },
	{ "^ import (", 5 },
	{ "^ import %s %$", 4 },
	{ "^ func %w (", 5 },
	{ "^ func ( %w", 6 },
	{ "func ( ) {", 3 },
	{ "func ( %* ) %* {", 2 },
	{ ":=", 4 },
	{ "fmt . %C", 6 },
	{ "if err != nil", 7 },
	{ "!= nil {", 3 },
	{ "chan %w", 4 },
	{ "go func", 5 },
	{ "^ go %w", 2 },
	{ "^ defer %w", 4 },
	{ "= range %w", 5 },
	{ "map [ string|int ]", 5 },
	{ "[ ] string|int|byte|float64|rune|bool", 4 },
	{ "[ ] %w {", 2 },
	{ "^ type %w struct {", 7 },
	{ "^ type %w interface {", 7 },
	{ "^ type %w func (", 6 },
	{ "^ var %w %w %$", 3 },
	{ "^ var %w string|int|bool|float64|error|sync", 4 },
	{ "errors|os|strings|strconv|time|http|json|log|sync|bufio|sort . %C", 2 },
	{ "make|append|len|panic|cap (", 2 },
	{ "^ for {", 3 },
	{ "^ const (", 4 },
	{ "^ var (", 5 },
	{ "iota", 3 },
	{ "& %C {", 2 },
	{ "nil", 1 },
	{ "; %$", -2 },
	{ "let|fn|def|local %w", -2 },
	{ "-> %w", -2 },
	{ "=>", -3 },
	{ "^ end %$", -3 },
	{ "===", -2 },
	{ 0 },
};

static const struct feature rust[] = {
	{ "fn %w ( %* ) -> ", 5 },
	{ "fn %w (", 4 },
	{ "fn %w <", 4 },
	{ "fn main ( ) {", 2 },
	{ "let mut %w", 6 },
	{ "let %w : %w", 2 },
	{ "let %w =", 2 },
	{ "let Some|Ok|Err (", 5 },
	{ "-> Result|Option|Vec|String|Self|&|Box|impl|i32|u32|i64|u64|usize|f64|bool", 4 },
	{ "println|format|vec|panic|eprintln|assert_eq|assert|write|print|matches|json ! (", 6 },
	{ "vec ! [", 5 },
	{ "^ impl %w", 4 },
	{ "^ impl <", 5 },
	{ "pub fn|struct|enum|mod|trait|use|const|static|type|async", 5 },
	{ "pub ( crate", 5 },
	{ "^ use std|crate|super|self|serde|tokio ::", 6 },
	{ ":: new|from|default|with_capacity (", 2 },
	{ "& mut %w", 5 },
	{ "& str", 4 },
	{ "& self", 5 },
	{ "match %* {", 3 },
	{ "Some|None|Ok|Err (", 3 },
	{ "# [ derive|cfg|test|allow|inline", 6 },
	{ "# ! [", 5 },
	{ ". unwrap|expect|unwrap_or (", 4 },
	{ ". iter|collect|into_iter|clone|to_string|as_str|iter_mut (", 3 },
	{ "i8|i16|i32|u8|u16|u32|u64|i64|usize|isize|f32|f64", 2 },
	{ "=> %* ,", 1 },
	{ ":: < ", 4 },
	{ "< '*", 4 },
	{ "^ struct|enum %w {", 2 },
	{ "^ mod|trait %w", 3 },
	{ "if let", 5 },
	{ ") ?", 2 },
	{ "; %$", 1 },
	{ "for %w in %* {", 2 },
	{ "const|var|function %w =", -2 },
	{ "func|def %w", -4 },
	{ ":=", -2 },
	{ "===", -3 },
	{ "int|void|char %w", -3 },
	{ 0 },
};

static const struct feature c[] = {
	{ "# include <", 5 },
	{ "# include %s", 5 },
	{ "# define %w", 4 },
	{ "# ifdef|ifndef|endif|if|pragma", 3 },
	{ "int main (", 5 },
	{ "printf|fprintf|scanf|malloc|free|strlen|memcpy|strcmp|snprintf|calloc|memset|strcpy|fopen|putchar|"
	  "perror|exit|fclose (",
	  3 },
	{ "sizeof (", 3 },
	{ "char|int|void|struct|FILE|double|float * %w", 4 },
	{ "const char *", 4 },
	{ "char|int|double|float|void * *", 4 },
	{ "struct %w * %w", 5 },
	{ "int|char|float|double|long|unsigned|short|size_t|uint32_t|uint8_t|uint64_t|int64_t|bool %w "
	  "=|;|,|[",
	  2 },
	{ "int|char|void|double|float|long|unsigned|bool %w (", 3 },
	{ "int|char|float|double|long|unsigned %w [", 3 },
	{ "unsigned|signed|long int|char|long", 4 },
	{ "^ struct %w {", 3 },
	{ "typedef struct|enum|union|unsigned|int|void", 6 },
	{ "static int|void|char|const|inline|struct|unsigned|double|size_t", 3 },
	{ "extern %w", 2 },
	{ "-> %w", 1 },
	{ "NULL", 2 },
	{ "( void )", 3 },
	{ "return 0 ;", 2 },
	{ "; %$", 1 },
	{ "switch (", 1 },
	{ "goto %w ;", 3 },
	{ "for ( int|size_t|unsigned %w =", 2 },
	{ "uint8_t|uint16_t|uint32_t|uint64_t|size_t|int32_t|int64_t|ssize_t", 2 },
	{ "} %w ; %$", 1 },
	{ "public static|class|void|int", -4 },
	{ "^ import", -4 },
	{ "String %w", -2 },
	{ "System .", -6 },
	{ "$", -2 },
	{ "fn|func|def|function|let %w", -4 },
	{ "throws", -4 },
	{ "final %w", -3 },
	{ "new %w", -1 },
	{ ":=", -4 },
	{ "=>", -3 },
	{ "<- %w (", -4 },
	{ 0 },
};

static const struct feature cpp[] = {
	{ "std :: %w", 5 },
	{ "# include < "
	  "iostream|vector|string|map|algorithm|memory|cstdio|cstdlib|set|unordered_map|queue|stack|utility|"
	  "functional|thread|mutex|sstream|fstream|cmath|cstring|array|optional|chrono|numeric|iomanip|type_"
	  "traits|atomic|bits >",
	  6 },
	{ "cout|cin|cerr|endl", 3 },
	{ "cout|cerr <<", 4 },
	{ "cin >>", 5 },
	{ "using namespace %w", 6 },
	{ "template <", 6 },
	{ "public|private|protected : %$", 5 },
	{ "class %w {", 2 },
	{ "class %w : public|private", 6 },
	{ "%w :: %w (", 2 },
	{ "%w :: ~ %w", 5 },
	{ "nullptr", 5 },
	{ "auto %w =", 3 },
	{ "auto &", 4 },
	{ "new %w", 1 },
	{ "delete %w", 2 },
	{ "virtual %w", 5 },
	{ ") override|noexcept|const {|;|override|=", 4 },
	{ "constexpr %w", 5 },
	{ "const %w &", 4 },
	{ "^ namespace %w {", 5 },
	{ "vector|map|unique_ptr|shared_ptr|set|pair|unordered_map|optional <", 4 },
	{ "static_cast|dynamic_cast|reinterpret_cast|const_cast <", 6 },
	{ "operator (|[|+|-|==|=|<|<<|>>|!", 5 },
	{ "for ( %w & %w :", 4 },
	{ "for ( %w %w : %w )", 3 },
	{ "using %w =", 5 },
	{ "[ & ] (", 6 },
	{ "[ = ] (", 6 },
	{ "throw %w", 1 },
	{ "explicit %w", 4 },
	{ "typename %w", 4 },
	{ "friend class", 4 },
	{ "extern %s", 3 },
	{ "= default|delete ;", 4 },
	{ 0 },
};

static const struct feature java[] = {
	{ "public class|interface|enum|record|abstract|final", 5 },
	{ "public static void main", 8 },
	{ "System . out|err|in", 6 },
	{ "^ import java|javax|org|com . %* ;", 6 },
	{ "^ import %w . %* ;", 3 },
	{ "^ import static", 4 },
	{ "^ package %w %* ;", 4 },
	{ "private|public|protected static|final|void|int|String|double|boolean|long %w", 3 },
	{ "private|public|protected %C %w", 2 },
	{ "String [ ]", 4 },
	{ "String %w =|;|,|)", 3 },
	{ "%C < %C > %w", 3 },
	{ "%C < %C , %C > %w", 4 },
	{ "new "
	  "ArrayList|HashMap|Scanner|StringBuilder|HashSet|LinkedList|Thread|Random|File|ArrayDeque|"
	  "BufferedReader <|(",
	  4 },
	{ "new %C [", 1 },
	{ "new int|String|double [", 4 },
	{ "new %C <", 2 },
	{ "List|Map|Set|ArrayList|HashMap|Optional|Deque|Queue <", 2 },
	{ "List|Map|Set . of (", 5 },
	{ "@ Override|Test|Deprecated|SuppressWarnings|Autowired", 6 },
	{ "class %w extends %w {", 2 },
	{ "implements %C", 2 },
	{ "throws %C", 5 },
	{ "throw new %C (", 2 },
	{ "int|double|boolean|long|char|float %w =", 2 },
	{ "int|double|boolean|long|char|void %w (", 2 },
	{ "int|double|char|long [ ] %w", 4 },
	{ "for ( int %w = %n ; %w <", 2 },
	{ "for ( %w %w : %w", 4 },
	{ "final %w %w", 3 },
	{ "; %$", 1 },
	{ ". stream ( )", 5 },
	{ "%C :: %w )", 2 },
	{ ". length ;", 1 },
	{ "Integer|Double|Boolean|Long|Character|Arrays|Collections|Math . %w", 3 },
	{ "this . %w = %w ;", 2 },
	{ "catch ( %C %w )", 5 },
	{ "boolean %w", 3 },
	{ "record %C (", 5 },
	{ "instanceof %C", 2 },
	{ "^ class|enum|interface %C {", 2 },
	{ "# include", -9 },
	{ "std ::", -6 },
	{ "const|let|function|func|fn|def|var %w =", -3 },
	{ "=== ", -4 },
	{ "$", -3 },
	{ "public|private|protected :", -6 },
	{ "Console . %w", -6 },
	{ "using %w ;", -8 },
	{ "- >", -1 },
	{ "string %w", -3 },
	{ "< ? php", -9 },
	{ "$*", -3 },
	{ 0 },
};

/* ---- what cannot be run ---- */

static const struct feature csharp[] = {
	{ "^ using %w ;", 5 },
	{ "^ using System", 6 },
	{ "Console . Write|WriteLine|ReadLine (", 6 },
	{ "static void Main (", 6 },
	{ "^ namespace %w", 4 },
	{ "{ get ; set ; }", 6 },
	{ "string %w", 2 },
	{ "var %w = new", 3 },
	{ "foreach ( %w %w in", 6 },
	{ "public|private class|static|void|string|int|override", 3 },
	{ "; %$", 1 },
	{ "using ( var", 4 },
	{ 0 },
};

static const struct feature kotlin[] = {
	{ "^ fun %w (", 6 },
	{ "val %w =", 4 },
	{ "val %w :", 4 },
	{ "var %w :", 2 },
	{ "println (", 2 },
	{ "listOf|mapOf|mutableListOf|setOf (", 5 },
	{ "data class", 5 },
	{ "when ( %* ) {", 4 },
	{ "override fun", 5 },
	{ "object %w {", 3 },
	{ "^ import %w . %* %$", 2 },
	{ "^ package %w . %* %$", 3 },
	{ "def %w ( %* ) : %C", 5 },
	{ "case class", 6 },
	{ 0 },
};

static const struct feature swift[] = {
	{ "func %w ( %* ) -> %C {", 6 },
	{ "func %w ( %w :", 5 },
	{ "^ import Foundation|UIKit|SwiftUI", 7 },
	{ "let %w = %* %$", 2 },
	{ "let %w : %C", 3 },
	{ "var %w : %C", 3 },
	{ "guard let", 6 },
	{ "if let %w =", 3 },
	{ "print (", 1 },
	{ "struct %w : %C {", 4 },
	{ "; %$", -2 },
	{ 0 },
};

static const struct feature sql[] = {
	{ "SELECT|select %* FROM|from", 5 },
	{ "INSERT|insert INTO|into", 6 },
	{ "CREATE|create TABLE|table|INDEX|VIEW", 6 },
	{ "UPDATE|update %w SET|set", 6 },
	{ "DELETE|delete FROM|from", 6 },
	{ "WHERE|where %w", 2 },
	{ "GROUP|ORDER|group|order BY|by", 4 },
	{ "ALTER|DROP|alter|drop TABLE|table", 6 },
	{ 0 },
};

static const struct feature markup[] = {
	{ "< "
	  "html|head|body|div|span|p|a|table|ul|li|title|script|style|svg|meta|link|h1|h2|br|img|form|input|"
	  "button >",
	  4 },
	{ "< / %w >", 5 },
	{ "< ! DOCTYPE", 8 },
	{ "< ? xml", 8 },
	{ "< %w %w = %s", 4 },
	{ "<?php", -20 },
	{ "< ? php", -20 },
	{ "< ? =", -20 },
	{ "template <", -9 },
	{ "import|const|function %w", -4 },
	{ 0 },
};

static const struct feature style[] = {
	{ "^ . %w {", 4 },
	{ "^ # %w {", 4 },
	{ "^ body|html|div|a|p|h1|ul|li|table {", 4 },
	{ "color|margin|padding|display|width|height|border|font|background :", 4 },
	{ "%w - %w : %* ;", 3 },
	{ "@ media", 5 },
	{ 0 },
};

static const struct feature container[] = {
	{ "^ FROM %w", 5 },
	{ "^ RUN %w", 4 },
	{ "^ COPY|ADD %w", 4 },
	{ "^ CMD|ENTRYPOINT|WORKDIR|EXPOSE|ENV %w", 4 },
	{ 0 },
};

static const struct feature makefile[] = {
	{ "^ %w = %w", 2 },  { "^ *: %$", 3 },
	{ "^ *: %w", 2 },    { "$( CC|MAKE|CFLAGS|OBJ|SRC|LDFLAGS )", 5 },
	{ "^ .PHONY: ", 8 }, { "^ all:|clean:|install:|test:", 5 },
	{ ":= ", 2 },        { 0 },
};

/* YAML and INI, read as a shell would. */
static const struct feature settings[] = {
	{ "^ *:", 2 },
	{ "^ *: %w", 2 },
	{ "^ - %w", 2 },
	{ "^ - *: %w", 3 },
	{ "^ [*]", 3 },
	{ "^ %w = %w", 2 },
	{ "^ if|for|while|case|function", -3 },
	{ "^ echo|cd|ls|set|export", -3 },
	{ 0 },
};

/* Many words in a row, in no language of this table. */
static const struct feature prose[] = {
	{ "%w %w %w %w %w %w %w", 2 },
	{ "%w %w %w %w , %w %w %w", 3 },
	{ ". %C %w %w %w", 3 },
	{ "%w %w %w %w %w . %$", 2 },
	{ 0 },
};

static const struct feature haskell[] = {
	{ "%w :: %C", 2 },
	{ "%w :: IO", 6 },
	{ "= do %$", 5 },
	{ "where %$", 2 },
	{ "import qualified", 6 },
	{ "^ module %w %* where", 6 },
	{ "^ import %C . %C", 2 },
	{ "^ data %C =", 4 },
	{ "-> %C ->", 3 },
	{ "; %$", -3 },
	{ "^ fn|pub|use|let|impl %w", -2 },
	{ 0 },
};

/* One language: `base` is whose features it has as well, `lexer` whose rules. Those without a name are never the answer. */
static const struct language {
	const char *name;
	const char *lexer;
	const struct feature *features;
	const struct feature *dialect; /* what makes it more than its base, or NULL */
	const char *dialect_name;
} languages[] = {
	{ "python", "python", python, NULL, NULL },
	{ "javascript", "javascript", javascript, typescript, "typescript" },
	{ "sh", "sh", sh, bash, "bash" },
	{ "ruby", "ruby", ruby, NULL, NULL },
	{ "r", "r", r, NULL, NULL },
	{ "perl", "perl", perl, NULL, NULL },
	{ "lua", "lua", lua, NULL, NULL },
	{ "php", "php", php, NULL, NULL },
	{ "go", "go", go, NULL, NULL },
	{ "rust", "rust", rust, NULL, NULL },
	{ "c", "c++", c, cpp, "c++" },
	{ "java", "java", java, NULL, NULL },
	{ NULL, "java", csharp, NULL, NULL },
	{ NULL, "java", kotlin, NULL, NULL },
	{ NULL, "java", swift, NULL, NULL },
	{ NULL, "lua", sql, NULL, NULL },
	{ NULL, "java", markup, NULL, NULL },
	{ NULL, "java", style, NULL, NULL },
	{ NULL, "sh", container, NULL, NULL },
	{ NULL, "sh", makefile, NULL, NULL },
	{ NULL, "sh", settings, NULL, NULL },
	{ NULL, "lua", haskell, NULL, NULL },
	{ NULL, "text", prose, NULL, NULL },
};

/* ---- the arithmetic ---- */

/* Points of a feature for how often it is found: whole, then half, then half. */
static int points_of(const struct feature *feature, int hits)
{
	return feature->points + feature->points * (hits - 1) / 2;
}

static int count_hits(const struct pattern *pattern, const struct tokens *tokens, bool shell)
{
	int hits = 0;

	for (size_t i = 0; i < tokens->count && hits < FEATURE_HITS;) {
		size_t length = pattern_match(pattern, tokens, i, shell);

		hits += length > 0;
		i += length > 0 ? length : 1;
	}
	return hits;
}

static int score(const struct feature *features, const struct tokens *tokens, bool shell)
{
	int sum = 0;

	for (; features->pattern; features++) {
		struct pattern pattern;
		int hits;

		pattern_compile(features->pattern, &pattern);
		hits = count_hits(&pattern, tokens, shell);
		if (hits > 0)
			sum += points_of(features, hits);
	}
	return sum;
}

/* Python's points for strings of three quotes that are a statement or the value of one. Other lexers take such a string for
 * something else. */
static int docstrings(const char *text, size_t len, struct warder_error *err)
{
	struct tokens tokens = { 0 };
	int found = 0;

	if (lexer_read(lexer_rules("python"), text, len, MAX_TOKENS, &tokens, err) != 0)
		return -1;
	for (size_t i = 0; i < tokens.count; i++) {
		const struct token *token = &tokens.items[i], *before = i ? token - 1 : NULL;

		if (token->kind != TOKEN_STRING || token->text < text + token->at + 3 ||
		    token->text[-3] != token->quote || token->text[-2] != token->quote)
			continue;
		found |= token->first || (before && i >= 2 && token_is(before, "=") && before[-1].first &&
					  before[-1].kind == TOKEN_WORD);
	}
	tokens_done(&tokens);
	return found ? DOCSTRING_POINTS : 0;
}

/* A language with what it makes of a text. */
struct candidate {
	const struct language *language;
	const char *name; /* the language's or its dialect's; NULL: none that can be run */
	int points;
	int kept; /* of these, docstrings(): whatever is gone without the strings stood in them */
};

static int measure(const struct language *language, const char *text, size_t len, struct candidate *ret,
		   struct warder_error *err)
{
	struct tokens tokens = { 0 };
	bool shell = strcmp(language->lexer, "sh") == 0;
	int points, more;

	if (lexer_read(lexer_rules(language->lexer), text, len, MAX_TOKENS, &tokens, err) != 0)
		return -1;
	points = score(language->features, &tokens, shell);
	more = language->dialect ? score(language->dialect, &tokens, shell) : 0;
	*ret = (struct candidate){ language, language->name, points, 0 };
	if (more >= DIALECT_STRENGTH)
		*ret = (struct candidate){ language, language->dialect_name, points + more, 0 };
	tokens_done(&tokens);
	return 0;
}

static int by_points(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;

	if (left->points != right->points)
		return left->points > right->points ? -1 : 1;
	return left->language < right->language ? -1 : left->language > right->language;
}

/* ---- one language inside of another ---- */

/* The text without what is a comment or a string to this language. */
static int mask(const struct language *language, const char *text, size_t len, char *ret,
		struct warder_error *err)
{
	struct tokens tokens = { 0 };

	if (lexer_read(lexer_rules(language->lexer), text, len, MAX_TOKENS, &tokens, err) != 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		ret[i] = text[i] == '\n' ? '\n' : ' ';
	for (size_t i = 0; i < tokens.count; i++) {
		const struct token *token = &tokens.items[i];

		if (token->kind != TOKEN_STRING && !token->quoted)
			memcpy(ret + token->at, text + token->at, token->size);
	}
	tokens_done(&tokens);
	return 0;
}

/* A text of one language that is a comment or a string of another has features as well, to its own lexer. It gives itself away:
 * to the other's lexer it is gone, and the other is not gone to its own. Such a candidate loses its points. */
static int drop_inner(struct candidate *candidates, size_t count, const char *text, size_t len, char *masked,
		      struct warder_error *err)
{
	int left[MOST_CONTENDERS][MOST_CONTENDERS] = {
		{ 0 }
	}; /* points of the second in what the first leaves */

	for (size_t i = 0; i < count; i++) {
		if (mask(candidates[i].language, text, len, masked, err) != 0)
			return -1;
		for (size_t j = 0; j < count; j++) {
			struct candidate again;

			if (measure(candidates[j].language, masked, len, &again, err) != 0)
				return -1;
			left[i][j] = again.points + (i == j ? 0 : candidates[j].kept);
		}
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < count; j++) {
			if (i != j && candidates[i].name && left[i][j] * 3 <= candidates[j].points &&
			    (candidates[i].kept || left[j][i] * 3 >= candidates[i].points * 2))
				candidates[j].points = 0;
		}
	}
	return 0;
}

/* Candidates, best first; of the first few, none that only stands inside of another. */
static int rank(const char *text, size_t len, struct candidate *candidates, size_t count,
		struct warder_error *err)
{
	size_t contenders = 0, most = CONTENDERS;
	char *masked;
	int status;

	for (size_t i = 0; i < count; i++) {
		if (measure(&languages[i], text, len, &candidates[i], err) != 0)
			return -1;
		if (languages[i].features == python) {
			candidates[i].kept = docstrings(text, len, err);
			if (candidates[i].kept < 0)
				return -1;
			candidates[i].points += candidates[i].kept;
			most = candidates[i].kept ? MOST_CONTENDERS : CONTENDERS;
		}
	}
	qsort(candidates, count, sizeof(*candidates), by_points);
	while (contenders < most && candidates[contenders].points >= DETECT_MIN_SCORE)
		contenders++;
	if (contenders < 2)
		return 0;
	masked = malloc(len);
	if (!masked)
		return error_no_memory(err, NULL);
	status = drop_inner(candidates, contenders, text, len, masked, err);
	free(masked);
	qsort(candidates, count, sizeof(*candidates), by_points);
	return status;
}

/* Whole documents of JSON are data, whatever words are in them. */
static bool is_json(const char *text, size_t len)
{
	struct json_value *value = NULL;
	struct warder_error ignored;

	if (json_parse(text, len, "text", NULL, &value, &ignored) != 0)
		return false;
	json_free(value);
	return true;
}

int detect_content(const char *text, size_t len, struct detection *ret, struct warder_error *err)
{
	struct candidate candidates[ARRAY_LENGTH(languages)];
	const struct candidate *best = &candidates[0], *next = &candidates[1];
	int margin;

	if (memchr(text, '\0', len) || is_json(text, len))
		return 0;
	if (rank(text, len, candidates, ARRAY_LENGTH(candidates), err) != 0)
		return -1;
	margin = best->points / 6 > DETECT_MIN_MARGIN ? best->points / 6 : DETECT_MIN_MARGIN;
	ret->score = best->points > 0 ? best->points : 0;
	if (best->points >= DETECT_MIN_SCORE && best->points - next->points >= margin)
		ret->language = best->name;
	return 0;
}
