/* Which class a Java source declares (runtime/code/java_source.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "runtime/code/java_source.h"

Test(java_source, class_names, .timeout = 20)
{
	static const struct {
		const char *source, *name;
	} rows[] = {
		{ "public class Hello { }", "Hello" },
		{ "class A { } class B { public static void main(String[] a) { } }", "B" },
		{ "class A { } public class B { }", "B" },
		{ "class A { } class B { }", "A" },
		{ "// public class No\nclass Yes { }", "Yes" },
		{ "/* class No { } */ interface Yes { }", "Yes" },
		{ "class A { String s = \"public class No {\"; } ", "A" },
		{ "class A { char c = '{'; } public final class B { }", "B" },
		{ "class A { String s = \"\"\"\n public class No { \"\"\"; } public class C { }", "C" },
		{ "import java.util.*;\n@Deprecated\npublic record Point(int x, int y) { }", "Point" },
		{ "public enum E { X, Y }", "E" },
		{ "class Outer { public static class Inner { void main() { } } }", "Outer" },
		{ "interface I { } class Main { static void main(String... a) { } } class Z { }", "Main" },
		{ "", NULL },
		{ "int x = 3;", NULL },
		{ "class { }", NULL },
		{ "class \"", NULL },
		{ "/* class A", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char buf[128];
		const char *name = java_class(rows[i].source, strlen(rows[i].source), buf, sizeof(buf));

		if (rows[i].name)
			cr_expect(name && strcmp(name, rows[i].name) == 0, "%s: %s", rows[i].source,
				  name ? name : "none");
		else
			cr_expect_null(name, "%s: %s", rows[i].source, name ? name : "");
	}
}

Test(java_source, long_names_are_not_taken, .timeout = 20)
{
	char source[400] = "class ", buf[101];

	memset(source + 6, 'a', 300);
	cr_expect_null(java_class(source, strlen(source), buf, sizeof(buf)));
	memcpy(source + 106, " {}", 4);
	cr_expect_not_null(java_class(source, strlen(source), buf, sizeof(buf)));
	cr_expect_eq(strlen(buf), 100u);
}
