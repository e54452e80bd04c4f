/*
 * go_source: the program around a piece of Go without a package clause.
 */
#include "runtime/code/go_source.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FMT "package main; import \"fmt\"\n//line a.go:1:1\n"
#define END "\nvar _ = fmt.Print\n"

Test(go_source, rows, .timeout = 20)
{
	static const struct {
		const char *source, *program; /* NULL: it has a package clause */
	} rows[] = {
		{ "package a", NULL },
		{ "/* package */ // a\npackage a\nimport \"os\"", NULL },
		{ "x()", FMT "\nfunc main() {\n//line a.go:1:1\nx()\n}" END },
		{ "// a\nx()", FMT "\nfunc main() {\n//line a.go:1:1\n// a\nx()\n}" END },
		{ "import \"os\"\n// a\n  x()",
		  FMT "import \"os\"\n// a\n  \nfunc main() {\n//line a.go:3:3\nx()\n}" END },
		{ "import \"os\"; x()", FMT "import \"os\"; \nfunc main() {\n//line a.go:1:14\nx()\n}" END },
		{ "import (\n\"os\"\nf \"fmt\"\n)\nx()",
		  FMT "import (\n\"os\"\nf \"fmt\"\n)\n\nfunc main() {\n//line a.go:5:1\nx()\n}" END },
		{ "import `fmt`\nx()", "package main\n//line a.go:1:1\nimport `fmt`\n\nfunc main() {\n//line "
				       "a.go:2:1\nx()\n}\n" },
		{ "import fmt \"os\"\nx()", "package main\n//line a.go:1:1\nimport fmt \"os\"\n\nfunc main() "
					    "{\n//line a.go:2:1\nx()\n}\n" },
		{ "import \"os\"", FMT "import \"os\"\nfunc main() {\n//line a.go:1:12\n\n}" END },
		{ "func main() { a() }", FMT "func main() { a() }" END },
		{ "x := func() { type a struct{ main func(main int) } }",
		  FMT "\nfunc main() {\n//line a.go:1:1\nx := func() { type a struct{ main func(main int) } "
		      "}\n}" END },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		char *program = NULL;
		size_t len = 0;
		int status =
		    go_source_complete("a.go", rows[i].source, strlen(rows[i].source), &program, &len, &err);

		cr_expect_eq(status, rows[i].program != NULL, "%s: %s", rows[i].source, err.text);
		if (status == 1 && rows[i].program)
			cr_expect_str_eq(program, rows[i].program);
		cr_expect(status != 1 || len == strlen(program));
		free(program);
	}
}

Test(go_source, a_named_function_without_main, .timeout = 20)
{
	static const char source[] = "import \"os\"\n\nfunc one() {}\nfunc two() {}\none()";
	struct warder_error err = { 0 };
	char *program;
	size_t len;

	cr_assert_eq(go_source_complete("a.go", source, strlen(source), &program, &len, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST);
	cr_expect(strncmp(err.text, "line 3: the function one ", 25) == 0, "%s", err.text);
}
