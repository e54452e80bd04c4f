/* recipe: how an image is built, and the words of its steps expanded. */
#include "store/images/recipe.h"
#include "tests/fuzz/fuzz.h"

static const char *value_of(void *context, const char *name)
{
	return strcmp(name, "A") == 0 ? "a value" : strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

static void look(const struct recipe_step *step)
{
	struct warder_error err = { 0 };
	char *word;

	must(step->line > 0 && step->text && strcmp(recipe_word(step->kind), "?") != 0);
	must(step->words && (step->json || step->words[0]));
	for (char **each = step->flags; each && *each; each++)
		must(strchr(*each, '=') && strncmp(*each, "--", 2) == 0);
	recipe_flag(step, "--chown");
	for (char **each = step->words; *each; each++) {
		if (recipe_expand(*each, value_of, NULL, &word, &err) != 0) {
			must(err.text[0]);
			continue;
		}
		must(strlen(word) <= RECIPE_EXPANDED);
		free(word);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct warder_error err = { 0 };
	struct recipe recipe;
	char *text = fuzz_text(data, size);
	bool from = false;

	if (recipe_parse(text, size, "recipe", &recipe, &err) == 0) {
		for (size_t i = 0; i < recipe.count; i++) {
			look(&recipe.steps[i]);
			must(!from || recipe.steps[i].kind != RECIPE_FROM);
			from = from || recipe.steps[i].kind == RECIPE_FROM;
		}
		must(from);
	} else {
		must(strncmp(err.text, "recipe:", 7) == 0);
	}
	recipe_done(&recipe);
	free(text);
	return 0;
}
