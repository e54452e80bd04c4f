/* Recipes of images: what is understood, what is refused and how (store/images/recipe.c). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "store/images/recipe.h"

static int parse(const char *text, struct recipe *ret, struct warder_error *err)
{
	memset(err, 0, sizeof(*err));
	return recipe_parse(text, strlen(text), "f", ret, err);
}

Test(recipe, steps, .timeout = 20)
{
	static const struct {
		const char *text;
		enum recipe_kind kind;
		int line;
		bool json;
		const char *words[4];
	} rows[] = {
		{ "FROM debian:12", RECIPE_FROM, 1, false, { "debian:12" } },
		{ "\n# x\n  from debian:12  \r\n", RECIPE_FROM, 3, false, { "debian:12" } },
		{ "FROM a\nRUN echo 'a  b' $X && true", RECIPE_RUN, 2, false, { "echo 'a  b' $X && true" } },
		{ "FROM a\nRUN echo a \\\n# between\n\n  b", RECIPE_RUN, 2, false, { "echo a  b" } },
		{ "FROM a\nRUN [\"/bin/a\", \"b c\"]", RECIPE_RUN, 2, true, { "/bin/a", "b c" } },
		{ "FROM a\nRUN [ -e /x ]", RECIPE_RUN, 2, false, { "[ -e /x ]" } },
		{ "FROM a\nRUN [1]", RECIPE_RUN, 2, false, { "[1]" } },
		{ "FROM a\nCMD []", RECIPE_CMD, 2, true, { NULL } },
		{ "FROM a\nCOPY a \"b c\" d/", RECIPE_COPY, 2, false, { "a", "\"b c\"", "d/" } },
		{ "FROM a\nCOPY [\"a b\", \"c\"]", RECIPE_COPY, 2, true, { "a b", "c" } },
		{ "FROM a\nENV A=b\\ c D='e f'", RECIPE_ENV, 2, false, { "A=b\\ c", "D='e f'" } },
		{ "FROM a\nSHELL [\"/bin/bash\",\"-c\"]", RECIPE_SHELL, 2, true, { "/bin/bash", "-c" } },
		{ "FROM a\nEXPOSE 80", RECIPE_NOTE, 2, false, { "80" } },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err;
		struct recipe recipe;
		const struct recipe_step *step;

		cr_assert_eq(parse(rows[i].text, &recipe, &err), 0, "%s: %s", rows[i].text, err.text);
		step = &recipe.steps[recipe.count - 1];
		cr_expect_eq(step->kind, rows[i].kind, "%s", rows[i].text);
		cr_expect_eq(step->line, rows[i].line, "%s: line %d", rows[i].text, step->line);
		cr_expect_eq(step->json, rows[i].json, "%s", rows[i].text);
		for (size_t k = 0; k < 4; k++) {
			if (!rows[i].words[k]) {
				cr_expect_null(step->words[k], "%s: word %zu", rows[i].text, k);
				break;
			}
			cr_assert(step->words[k], "%s: no word %zu", rows[i].text, k);
			cr_expect_str_eq(step->words[k], rows[i].words[k], "%s: %s", rows[i].text,
					 step->words[k]);
		}
		recipe_done(&recipe);
	}
}

Test(recipe, what_is_refused_names_line_and_remedy, .timeout = 20)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "f:1: there is no FROM; begin with" },
		{ "ARG A=b\n", "there is no FROM" },
		{ "RUN true\nFROM a\n", "f:1: \"RUN\" stands before FROM" },
		{ "FROM a\nFROM b\n", "f:2: \"FROM\" stands a second time; build each stage" },
		{ "FROM a b\n", "\"FROM\" needs one image" },
		{ "FROM a\nVOLUME /x\n", "f:2: \"VOLUME\" is not known here; give the run" },
		{ "FROM a\nHEALTHCHECK NONE\n", "\"HEALTHCHECK\" is not known here" },
		{ "FROM a\nBUILD x\n", "\"BUILD\" is not an instruction; use FROM, RUN" },
		{ "FROM a\nCOPY --from=x a b\n", "\"--from\" is not known here; build the other stage" },
		{ "FROM a\nRUN --mount=type=cache x\n", "\"--mount\" is not known here; COPY" },
		{ "FROM a\nCOPY --odd=x a b\n", "\"--odd\" is not a flag of this instruction" },
		{ "FROM a\nCOPY --chown a b\n", "a flag has no value" },
		{ "FROM a\nCOPY a\n", "\"COPY\" needs a source and a target" },
		{ "FROM a\nCOPY \"a b\n", "\"COPY\" has a quote that is not closed" },
		{ "FROM a\nRUN <<EOF\ntrue\nEOF\n", "\"RUN\" with a text behind << is not known here" },
		{ "FROM a\nRUN\n", "\"RUN\" needs something behind it" },
		{ "FROM a\nCMD\n", "\"CMD\" needs a command" },
		{ "FROM a\nWORKDIR /a /b\n", "\"WORKDIR\" needs one word" },
		{ "FROM a\nSHELL /bin/sh -c\n", "\"SHELL\" needs a list" },
		{ "# escape=`\nFROM a\n", "f:1: another escape character" },
		{ "FROM \xff\n", "the recipe is not UTF-8" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err;
		struct recipe recipe;

		cr_expect_neq(parse(rows[i].text, &recipe, &err), 0, "%s", rows[i].text);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].text, err.text);
		recipe_done(&recipe);
	}
}

static const char *value_of(void *context, const char *name)
{
	return strcmp(name, "A") == 0 ? "x y" : strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

Test(recipe, expansion, .timeout = 20)
{
	static const struct {
		const char *word, *expected; /* NULL: refused */
	} rows[] = {
		{ "plain", "plain" },
		{ "$A", "x y" },
		{ "a${A}b", "ax yb" },
		{ "\"$A\"", "x y" },
		{ "'$A'", "$A" },
		{ "\\$A", "$A" },
		{ "\"\\$A\\n\"", "$A\\n" },
		{ "$NONE", "" },
		{ "$", "$" },
		{ "$1", "$1" },
		{ "${NONE:-d}", "d" },
		{ "${EMPTY:-d}", "d" },
		{ "${A:-d}", "x y" },
		{ "${A:+s}", "s" },
		{ "${NONE:+s}", "" },
		{ "a\\ b", "a b" },
		{ "'a b'\"c d\"", "a bc d" },
		{ "${A", NULL },
		{ "${}", NULL },
		{ "${A:?x}", NULL },
		{ "${A:-$B}", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		char *got = NULL;
		const int done = recipe_expand(rows[i].word, value_of, NULL, &got, &err);

		cr_expect_eq(done, rows[i].expected ? 0 : -1, "%s: %s", rows[i].word, err.text);
		if (done == 0 && rows[i].expected)
			cr_expect_str_eq(got, rows[i].expected, "%s: %s", rows[i].word, got);
		free(got);
	}
}
