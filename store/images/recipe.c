#include "store/images/recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/json.h"
#include "rootfs/image.h"

static const char field[] = "recipe";

/* How the rest of a line is read. */
enum form { FORM_WORDS, FORM_TEXT, FORM_LIST };

static const struct instruction {
	const char *word;
	enum recipe_kind kind;
	enum form form;
	const char *flags; /* those that are known, with blanks between */
} instructions[] = {
	{ "FROM", RECIPE_FROM, FORM_WORDS, "--include --variant" },
	{ "RUN", RECIPE_RUN, FORM_TEXT, "--network" },
	{ "COPY", RECIPE_COPY, FORM_WORDS, "--chown --chmod" },
	{ "ADD", RECIPE_ADD, FORM_WORDS, "--chown --chmod" },
	{ "ENV", RECIPE_ENV, FORM_WORDS, "" },
	{ "WORKDIR", RECIPE_WORKDIR, FORM_WORDS, "" },
	{ "USER", RECIPE_USER, FORM_WORDS, "" },
	{ "CMD", RECIPE_CMD, FORM_TEXT, "" },
	{ "ENTRYPOINT", RECIPE_ENTRYPOINT, FORM_TEXT, "" },
	{ "ARG", RECIPE_ARG, FORM_WORDS, "" },
	{ "LABEL", RECIPE_LABEL, FORM_WORDS, "" },
	{ "SHELL", RECIPE_SHELL, FORM_LIST, "" },
	{ "EXPOSE", RECIPE_NOTE, FORM_WORDS, "" },
	{ "MAINTAINER", RECIPE_NOTE, FORM_WORDS, "" },
};

/* What Dockerfiles have besides, and what to do instead. */
static const struct {
	const char *word, *remedy;
} unknown[] = {
	{ "VOLUME", "give the run a --workspace or --rw directory" },
	{ "HEALTHCHECK", "a run ends by its limits; leave it out" },
	{ "STOPSIGNAL", "a run is ended with SIGKILL; leave it out" },
	{ "ONBUILD", "write the step into the recipe that needs it" },
};

static const struct {
	const char *flag, *remedy;
} unknown_flags[] = {
	{ "--from", "build the other stage as an image of its own, and write FROM that image" },
	{ "--mount", "COPY the files that the step needs, and RUN rm those that should not stay" },
	{ "--platform", "images are built for this host's platform" },
	{ "--security", "every step runs in the jail" },
	{ "--link", "leave it out" },
	{ "--exclude", "name the files that are to be copied" },
	{ "--parents", "name the directory they are to be copied to" },
};

struct parse {
	const char *origin;
	const char *at, *end;
	int line; /* of `at` */
	struct recipe *recipe;
	size_t capacity;
	struct warder_error *err;
};

static int refuse(const struct parse *parse, int line, const char *what, const char *word, const char *remedy)
{
	char shown[96];

	return error_set(parse->err, WARDER_ERROR_INVALID_REQUEST, field, "%.100s:%d: %s%s%s%s%s",
			 parse->origin, line, word ? json_quote(word, shown, sizeof(shown)) : "",
			 word ? " " : "", what, remedy ? "; " : "", remedy ? remedy : "");
}

const char *recipe_word(enum recipe_kind kind)
{
	for (size_t i = 0; i < ARRAY_LENGTH(instructions); i++) {
		if (instructions[i].kind == kind)
			return instructions[i].word;
	}
	return "?";
}

/* ---- lines ---- */

static bool is_blank(char letter)
{
	return letter == ' ' || letter == '\t' || letter == '\r';
}

/* The line at parse->at, without its end; moves on. */
static const char *next_line(struct parse *parse, size_t *ret_len)
{
	const char *begin = parse->at, *end = memchr(begin, '\n', (size_t)(parse->end - begin));

	parse->at = end ? end + 1 : parse->end;
	parse->line++;
	*ret_len = (size_t)((end ? end : parse->end) - begin);
	return begin;
}

static size_t trim(const char **line, size_t len)
{
	while (len && is_blank(**line)) {
		(*line)++;
		len--;
	}
	while (len && is_blank((*line)[len - 1]))
		len--;
	return len;
}

/* A line with those that continue it, heap; NULL: no more. *ret_line is the first one's number. */
static char *logical_line(struct parse *parse, int *ret_line, bool *ret_failed)
{
	char *text = NULL;
	size_t used = 0;
	bool more = true;

	*ret_failed = false;
	while (more && parse->at < parse->end) {
		size_t len;
		const char *line = next_line(parse, &len), *trimmed = line;
		const size_t trimmed_len = trim(&trimmed, len);
		char *grown;

		if (trimmed_len == 0 || *trimmed == '#') /* also between lines that belong together */
			continue;
		if (!text)
			*ret_line = parse->line;
		more = trimmed[trimmed_len - 1] == '\\';
		grown = realloc(text, used + trimmed_len + 2);
		if (!grown) {
			free(text);
			*ret_failed = true;
			return NULL;
		}
		text = grown;
		memcpy(text + used, trimmed, trimmed_len - more);
		used += trimmed_len - more;
		if (more)
			text[used++] = ' ';
		text[used] = '\0';
	}
	return text;
}

/* ---- words ---- */

static int add_string(char ***list, size_t *count, const char *text, size_t len)
{
	char **grown = reallocarray(*list, *count + 2, sizeof(*grown));

	if (!grown)
		return -1;
	*list = grown;
	grown[*count] = strndup(text, len);
	if (!grown[*count])
		return -1;
	grown[++*count] = NULL;
	return 0;
}

/* The end of the word at `text`: the next blank outside of quotes. NULL: a quote is not closed. */
static const char *end_of_word(const char *text)
{
	char quote = 0;

	for (; *text; text++) {
		if (*text == '\\' && quote != '\'' && text[1]) {
			text++;
		} else if (quote) {
			if (*text == quote)
				quote = 0;
		} else if (*text == '"' || *text == '\'') {
			quote = *text;
		} else if (is_blank(*text)) {
			break;
		}
	}
	return quote ? NULL : text;
}

static int split_words(const struct parse *parse, const char *text, struct recipe_step *step)
{
	size_t count = 0;

	while (*(text += strspn(text, " \t\r"))) {
		const char *end = end_of_word(text);

		if (!end)
			return refuse(parse, step->line, "has a quote that is not closed",
				      recipe_word(step->kind), NULL);
		if (count == RECIPE_WORDS)
			return refuse(parse, step->line, "has too many words", recipe_word(step->kind), NULL);
		if (add_string(&step->words, &count, text, (size_t)(end - text)) != 0)
			return error_no_memory(parse->err, field);
		text = end;
	}
	return 0;
}

/* 1: the text is a JSON list of strings; 0: it is not. */
static int split_list(const struct parse *parse, const char *text, struct recipe_step *step)
{
	const struct json_limits limits = { .max_bytes = RECIPE_BYTES,
					    .max_depth = 2,
					    .max_values = RECIPE_WORDS };
	struct warder_error ignored;
	struct json_value *root;
	size_t count = 0;
	bool is_list = text[0] == '[' && json_parse(text, strlen(text), "", &limits, &root, &ignored) == 0;

	if (!is_list)
		return 0;
	for (const struct json_value *each = root->child; each; each = each->next)
		is_list = is_list && each->type == JSON_STRING;
	for (const struct json_value *each = root->child; is_list && each; each = each->next) {
		if (add_string(&step->words, &count, each->string, strlen(each->string)) != 0) {
			json_free(root);
			return error_no_memory(parse->err, field);
		}
	}
	if (is_list && !step->words)
		step->words = calloc(1, sizeof(*step->words));
	json_free(root);
	step->json = is_list;
	return is_list;
}

static const struct instruction *find(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LENGTH(instructions); i++) {
		if (strlen(instructions[i].word) == len && strncasecmp(instructions[i].word, word, len) == 0)
			return &instructions[i];
	}
	return NULL;
}

static int refuse_instruction(const struct parse *parse, int line, const char *text, size_t len)
{
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), text);
	for (size_t i = 0; i < ARRAY_LENGTH(unknown); i++) {
		if (strcasecmp(word, unknown[i].word) == 0)
			return refuse(parse, line, "is not known here", word, unknown[i].remedy);
	}
	return refuse(parse, line, "is not an instruction", word,
		      "use FROM, RUN, COPY, ADD, ENV, WORKDIR, USER, CMD, ENTRYPOINT, ARG, LABEL or SHELL");
}

static int refuse_flag(const struct parse *parse, int line, const char *flag, size_t len)
{
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)(len < 60 ? len : 60), flag);
	for (size_t i = 0; i < ARRAY_LENGTH(unknown_flags); i++) {
		if (strcmp(word, unknown_flags[i].flag) == 0)
			return refuse(parse, line, "is not known here", word, unknown_flags[i].remedy);
	}
	return refuse(parse, line, "is not a flag of this instruction", word, "leave it out");
}

static bool is_listed(const char *list, const char *word, size_t len)
{
	for (; *list; list += strspn(list, " ")) {
		const size_t n = strcspn(list, " ");

		if (n == len && strncmp(list, word, len) == 0)
			return true;
		list += n;
	}
	return false;
}

/* The flags at *text, which moves on to what follows. */
static int take_flags(const struct parse *parse, const struct instruction *instruction, const char **text,
		      struct recipe_step *step)
{
	size_t count = 0;

	while (strncmp(*text, "--", 2) == 0) {
		const size_t len = strcspn(*text, " \t\r"), name = strcspn(*text, "= \t\r");

		if (!is_listed(instruction->flags, *text, name))
			return refuse_flag(parse, step->line, *text, name);
		if (name == len)
			return refuse(parse, step->line, "a flag has no value", NULL, "write --flag=value");
		if (add_string(&step->flags, &count, *text, len) != 0)
			return error_no_memory(parse->err, field);
		*text += len;
		*text += strspn(*text, " \t\r");
	}
	return 0;
}

const char *recipe_flag(const struct recipe_step *step, const char *name)
{
	const size_t len = strlen(name);

	for (char **flag = step->flags; flag && *flag; flag++) {
		if (strncmp(*flag, name, len) == 0 && (*flag)[len] == '=')
			return *flag + len + 1;
	}
	return NULL;
}

/* ---- steps ---- */

static int take_words(const struct parse *parse, const struct instruction *instruction, const char *text,
		      struct recipe_step *step)
{
	const bool may_be_list =
	    instruction->form != FORM_WORDS || step->kind == RECIPE_COPY || step->kind == RECIPE_ADD;
	const int listed = may_be_list ? split_list(parse, text, step) : 0;
	size_t count = 0;

	if (listed != 0)
		return listed < 0 ? -1 : 0;
	if (instruction->form == FORM_LIST)
		return refuse(parse, step->line, "needs a list", instruction->word,
			      "write it as [\"/bin/sh\", \"-c\"]");
	if (strstr(text, "<<") && (step->kind == RECIPE_COPY || (step->kind == RECIPE_RUN && text[0] == '<')))
		return refuse(parse, step->line, "with a text behind << is not known here", instruction->word,
			      "put the text into a file and COPY it");
	if (instruction->form == FORM_WORDS)
		return split_words(parse, text, step);
	return add_string(&step->words, &count, text, strlen(text)) == 0 ? 0
									 : error_no_memory(parse->err, field);
}

/* How many words there have to be. */
static int check_count(const struct parse *parse, const struct recipe_step *step)
{
	size_t count = 0;

	while (step->words && step->words[count])
		count++;
	switch (step->kind) {
	case RECIPE_FROM:
		if (count == 3 && strcasecmp(step->words[1], "AS") == 0)
			return 0;
		if (count != 1)
			return refuse(parse, step->line, "needs one image", "FROM", "write FROM IMAGE");
		return 0;
	case RECIPE_COPY:
	case RECIPE_ADD:
		return count >= 2 ? 0
				  : refuse(parse, step->line, "needs a source and a target",
					   recipe_word(step->kind), NULL);
	case RECIPE_WORKDIR:
	case RECIPE_USER:
		return count == 1
			   ? 0
			   : refuse(parse, step->line, "needs one word", recipe_word(step->kind), NULL);
	case RECIPE_CMD:
	case RECIPE_ENTRYPOINT:
		if (step->json)
			return 0;
		return count && step->words[0][0]
			   ? 0
			   : refuse(parse, step->line, "needs a command", recipe_word(step->kind), NULL);
	case RECIPE_RUN:
	case RECIPE_SHELL:
	case RECIPE_ENV:
	case RECIPE_ARG:
	case RECIPE_LABEL:
	case RECIPE_NOTE:
		return count && step->words[0][0] ? 0
						  : refuse(parse, step->line, "needs something behind it",
							   recipe_word(step->kind), NULL);
	}
	return 0;
}

static int check_order(const struct parse *parse, const struct recipe_step *step)
{
	bool from = false;

	for (size_t i = 0; i + 1 < parse->recipe->count; i++)
		from = from || parse->recipe->steps[i].kind == RECIPE_FROM;
	if (from && step->kind == RECIPE_FROM)
		return refuse(parse, step->line, "stands a second time", "FROM",
			      "build each stage as an image of its own; recipes have one");
	if (!from && step->kind != RECIPE_FROM && step->kind != RECIPE_ARG)
		return refuse(parse, step->line, "stands before FROM", recipe_word(step->kind),
			      "begin with FROM; only ARG may stand before it");
	return 0;
}

static struct recipe_step *new_step(struct parse *parse)
{
	struct recipe *recipe = parse->recipe;

	if (recipe->count == parse->capacity) {
		const size_t capacity = parse->capacity * 2 + 16;
		void *grown = reallocarray(recipe->steps, capacity, sizeof(*recipe->steps));

		if (!grown)
			return NULL;
		recipe->steps = grown;
		parse->capacity = capacity;
	}
	recipe->steps[recipe->count] = (struct recipe_step){ 0 };
	return &recipe->steps[recipe->count++];
}

static int take_step(struct parse *parse, int line, char *text)
{
	const size_t len = strcspn(text, " \t\r");
	const struct instruction *instruction = find(text, len);
	const char *rest = text + len + strspn(text + len, " \t\r");
	struct recipe_step *step;

	if (!instruction)
		return refuse_instruction(parse, line, text, len);
	if (parse->recipe->count == RECIPE_STEPS)
		return refuse(parse, line, "the recipe has too many steps", NULL, NULL);
	step = new_step(parse);
	if (!step)
		return error_no_memory(parse->err, field);
	step->kind = instruction->kind;
	step->line = line;
	step->text = strdup(text);
	if (!step->text)
		return error_no_memory(parse->err, field);
	if (take_flags(parse, instruction, &rest, step) != 0 ||
	    take_words(parse, instruction, rest, step) != 0 || check_count(parse, step) != 0)
		return -1;
	return check_order(parse, step);
}

/* Directives in the first lines: another escape character would change what every line means. */
static int check_directives(const struct parse *parse, const char *text, size_t len)
{
	int line = 1;

	for (const char *at = text; at < text + len && *at == '#'; line++) {
		const char *end = memchr(at, '\n', (size_t)(text + len - at));
		const char *word = at + 1 + strspn(at + 1, " \t");

		if (strncasecmp(word, "escape", 6) == 0 && strchr("= \t", word[6]))
			return refuse(parse, line, "another escape character is not known here", NULL,
				      "write the recipe with backslashes");
		at = end ? end + 1 : text + len;
	}
	return 0;
}

static int parse_steps(struct parse *parse)
{
	char *text;
	int line = 0;
	bool failed;

	while ((text = logical_line(parse, &line, &failed)) != NULL) {
		const int taken = take_step(parse, line, text);

		free(text);
		if (taken != 0)
			return -1;
	}
	if (failed)
		return error_no_memory(parse->err, field);
	for (size_t i = 0; i < parse->recipe->count; i++) {
		if (parse->recipe->steps[i].kind == RECIPE_FROM)
			return 0;
	}
	return refuse(parse, parse->line ? parse->line : 1, "there is no FROM", NULL,
		      "begin with the image that it is built on, or FROM scratch");
}

int recipe_parse(const char *text, size_t len, const char *origin, struct recipe *ret,
		 struct warder_error *err)
{
	struct parse parse = { .origin = origin, .recipe = ret, .err = err };
	char *copy;
	int parsed;

	*ret = (struct recipe){ 0 };
	if (len > RECIPE_BYTES)
		return refuse(&parse, 1, "the recipe is larger than 1 MiB", NULL, NULL);
	if (memchr(text, '\0', len))
		return refuse(&parse, 1, "the recipe has a NUL byte in it", NULL, NULL);
	copy = malloc(len + 1); /* so that there is a NUL behind it */
	if (!copy)
		return error_no_memory(parse.err, field);
	memcpy(copy, text, len);
	copy[len] = '\0';
	parse.at = copy;
	parse.end = copy + len;
	parsed = json_is_utf8(copy) ? check_directives(&parse, copy, len)
				    : refuse(&parse, 1, "the recipe is not UTF-8", NULL, NULL);
	if (parsed == 0)
		parsed = parse_steps(&parse);
	free(copy);
	if (parsed != 0)
		recipe_done(ret);
	return parsed;
}

void recipe_done(struct recipe *recipe)
{
	for (size_t i = 0; i < recipe->count; i++) {
		image_strings_free(recipe->steps[i].flags);
		image_strings_free(recipe->steps[i].words);
		free(recipe->steps[i].text);
	}
	free(recipe->steps);
	*recipe = (struct recipe){ 0 };
}

/* ---- expanding ---- */

struct expansion {
	char *text;
	size_t len;
	const char *(*value)(void *context, const char *name);
	void *context;
	struct warder_error *err;
};

static int put(struct expansion *e, const char *text, size_t len)
{
	if (len > RECIPE_EXPANDED - e->len)
		return error_set(e->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "a word becomes too long by its variables");
	memcpy(e->text + e->len, text, len);
	e->len += len;
	return 0;
}

static size_t name_length(const char *text)
{
	size_t len = 0;

	if (!isalpha((unsigned char)text[0]) && text[0] != '_')
		return 0;
	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	return len < 128 ? len : 0;
}

static const char *value_of(struct expansion *e, const char *name, size_t len)
{
	char copy[128];

	snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
	return e->value(e->context, copy);
}

/* What stands in braces at `text`; *ret_len are the bytes up to the closing one. What stands instead is taken as it is. */
static int put_braced(struct expansion *e, const char *text, size_t *ret_len)
{
	const char *end = strchr(text, '}');
	const size_t len = name_length(text);
	const char *value, *rest = text + len;

	if (!end || !len || (rest != end && strncmp(rest, ":-", 2) != 0 && strncmp(rest, ":+", 2) != 0) ||
	    (rest != end && memchr(rest, '$', (size_t)(end - rest))))
		return error_set(e->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "a variable is not written as ${NAME}, ${NAME:-word} or ${NAME:+word}");
	value = value_of(e, text, len);
	*ret_len = (size_t)(end - text) + 1;
	if (rest == end)
		return value ? put(e, value, strlen(value)) : 0;
	if (rest[1] == '-')
		return value && value[0] ? put(e, value, strlen(value))
					 : put(e, rest + 2, (size_t)(end - rest) - 2);
	return value && value[0] ? put(e, rest + 2, (size_t)(end - rest) - 2) : 0;
}

/* A variable at `text`, behind the '$'. */
static int put_variable(struct expansion *e, const char *text, size_t *ret_len)
{
	const char *value;

	if (*text == '{') {
		const int done = put_braced(e, text + 1, ret_len);

		*ret_len += 1;
		return done;
	}
	*ret_len = name_length(text);
	if (*ret_len == 0)
		return put(e, "$", 1);
	value = value_of(e, text, *ret_len);
	return value ? put(e, value, strlen(value)) : 0;
}

static int expand(struct expansion *e, const char *word)
{
	char quote = 0;

	while (*word) {
		size_t len = 1;
		int done = 0;

		if (*word == '\\' && quote != '\'' && word[1] &&
		    (!quote || strchr("\"\\$", word[1]))) { /* in quotes it is kept before others */
			done = put(e, word + 1, 1);
			len = 2;
		} else if (quote ? *word == quote : *word == '"' || *word == '\'') {
			quote = quote ? 0 : *word;
		} else if (*word == '$' && quote != '\'') {
			size_t name = 0;

			done = put_variable(e, word + 1, &name);
			len = 1 + name;
		} else {
			done = put(e, word, 1);
		}
		if (done != 0)
			return -1;
		word += len;
	}
	return 0;
}

int recipe_expand(const char *word, const char *(*value)(void *context, const char *name), void *context,
		  char **ret, struct warder_error *err)
{
	struct expansion e = { .value = value, .context = context, .err = err };

	e.text = malloc(RECIPE_EXPANDED + 1);
	if (!e.text)
		return error_no_memory(err, field);
	if (expand(&e, word) != 0) {
		free(e.text);
		return -1;
	}
	e.text[e.len] = '\0';
	*ret = strdup(e.text);
	free(e.text);
	return *ret ? 0 : error_no_memory(err, field);
}
