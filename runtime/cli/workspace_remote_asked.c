/*
 * workspace_remote_asked: the words of a command, in one pass. Ids are any text, so the session of a workspace is named by a digest.
 */
#include "runtime/cli/workspace_remote_asked.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "rootfs/rootfs.h"
#include "runtime/cli/flags.h"
#include "runtime/cli/workspace_remote.h"

#define ROOT   WORKSPACE_REMOTE_ROOT
#define ID_MAX 255

static const struct {
	const char *name;
	bool takes;
	const char *words; /* that have it */
} own_flags[OWN_COUNT] = {
	[OWN_JSON] = { "--json", false, " list collect create " },
	[OWN_FLAT] = { "--flat", false, " list " },
	[OWN_READ_ONLY] = { "--read-only", false, " stage " },
	[OWN_MODE] = { "--mode", true, " put write " },
	[OWN_TO] = { "--to", true, " stage collect " },
	[OWN_CWD] = { "--cwd", true, " run " },
	[OWN_MAX_FILES] = { "--max-files", true, " collect " },
	[OWN_MAX_FILE_SIZE] = { "--max-file-size", true, " collect " },
	[OWN_MAX_SIZE] = { "--max-size", true, " collect " },
	[OWN_BACKEND] = { "--backend", true, " create run list put write read stage collect remove " },
};

/* The value of "--backend" if the word is that flag. */
static const char *backend_of(char *const *word)
{
	if (strncmp(*word, "--backend=", 10) == 0)
		return *word + 10;
	return strcmp(*word, "--backend") == 0 ? word[1] : NULL;
}

bool workspace_remote_is_meant(char *const *words)
{
	for (; *words && strcmp(*words, "--") != 0; words++) {
		const char *backend = backend_of(words);

		if (backend && backend_is_remote(backend))
			return true;
	}
	return false;
}

/* How many words a flag of "warder session" takes: its value may be the next one. */
static size_t count_words(char *const *word)
{
	const char *text = *word;
	const size_t length = text[1] && text[1] != '-' ? 2 : strcspn(text, "=");
	const struct flag *flag = flag_typed(FLAG_SESSION_ANY, text, length);
	const bool takes_next = flag && flag->argument && !text[length];

	return takes_next && word[1] && strcmp(word[1], "--") != 0 ? 2 : 1;
}

/* 0: it is none of ours; otherwise how many words it takes; -1 with *err. */
static int take_flag(struct asked *asked, char *const *word, struct warder_error *err)
{
	for (size_t i = 0; i < OWN_COUNT; i++) {
		const size_t len = strlen(own_flags[i].name);
		char needle[32];

		if (strncmp(*word, own_flags[i].name, len) != 0 || ((*word)[len] && (*word)[len] != '='))
			continue;
		snprintf(needle, sizeof(needle), " %.20s ", asked->word);
		if (!strstr(own_flags[i].words, needle))
			return 0;
		if (!own_flags[i].takes) {
			asked->values[i] = own_flags[i].name;
			return 1;
		}
		asked->values[i] = (*word)[len] ? *word + len + 1 : word[1];
		if (!asked->values[i])
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, own_flags[i].name,
					 "%s needs a value", own_flags[i].name);
		return (*word)[len] ? 1 : 2;
	}
	return 0;
}

int asked_take_words(struct asked *asked, char *const *words, char *const *end, struct warder_error *err)
{
	const bool passes = strcmp(asked->word, "create") == 0 || strcmp(asked->word, "run") == 0;

	while (*words && words != end && strcmp(*words, "--") != 0) {
		const int taken = take_flag(asked, words, err);

		if (taken < 0)
			return -1;
		if (asked->operand_count + asked->flag_count + 2 > ASKED_WORDS_MAX)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "too many words");
		if (taken)
			words += taken;
		else if (!asked->id && (*words)[0] != '-')
			asked->id = *words++;
		else if (passes)
			for (size_t left = **words == '-' ? count_words(words) : 1; left; left--)
				asked->flags[asked->flag_count++] = *words++;
		else if ((*words)[0] == '-' && (*words)[1])
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *words,
					 "%.60s: a workspace on another machine does not have this flag with "
					 "%.20s",
					 *words, asked->word);
		else
			asked->operands[asked->operand_count++] = *words++;
	}
	asked->program = *words && words != end ? words + 1 : NULL;
	return 0;
}

int asked_check_backend(const struct asked *asked, struct warder_error *err)
{
	const char *backend = asked->values[OWN_BACKEND];

	if (backend && backend_is_remote(backend))
		return 0;
	if (backend)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--backend",
				 "the last --backend is %.40s, and another one is a remote host; give one",
				 backend);
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--backend",
	    "--backend remote:NAME stands where another flag has its value; give that flag a value");
}

/* The name of the session that has the workspace: ids are any text. */
int asked_name_session(struct asked *asked, struct warder_error *err)
{
	char digest[SHA256_HEX];
	struct sha256 sha;

	if (!asked->id)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "ID",
				 "the id of the workspace is missing: warder workspace %.20s ID --backend "
				 "%.40s",
				 asked->word, asked->values[OWN_BACKEND]);
	if (strlen(asked->id) > ID_MAX || !json_is_utf8(asked->id))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "ID",
				 "the id of a workspace on another machine is a text in UTF-8, of at most %d "
				 "bytes",
				 ID_MAX);
	sha256_init(&sha);
	sha256_add_text(&sha, asked->values[OWN_BACKEND]);
	sha256_add(&sha, "\n", 1);
	sha256_add_text(&sha, *asked->id ? asked->id : "anon");
	sha256_hex(&sha, digest);
	snprintf(asked->session, sizeof(asked->session), "workspace-%.16s", digest);
	return 0;
}

/* The host of a workspace that exists. -1 with *err. */
int asked_open_place(struct asked *asked, struct warder_error *err)
{
	const int found = elsewhere_read(asked->session, &asked->place.session, err);

	if (found > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "ID",
				 "there is no workspace %.80s on %.40s; \"warder workspace create\" makes it",
				 asked->id, asked->values[OWN_BACKEND]);
	return found < 0 ? -1 : remote_place_find_host(&asked->place, err);
}

/* A path in the workspace, without "." and doubled slashes; "" only if `all`. -1 with *err: it leads out. */
int asked_take_path(const char *path, bool all, char ret[PATH_MAX], struct warder_error *err)
{
	if (all && (!*path || strcmp(path, ".") == 0)) {
		*ret = '\0';
		return 0;
	}
	if (!*path || strlen(path) >= PATH_MAX - sizeof(ROOT) ||
	    path_check_relative(path, strlen(path), err) < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s is not a path in the workspace: relative to it, and without \"..\"",
				 path);
	path_plain(path, ret);
	return 0;
}

int asked_check_mode(const struct asked *asked, struct warder_error *err)
{
	const char *mode = asked->values[OWN_MODE];

	if (!mode || ((strlen(mode) == 3 || (strlen(mode) == 4 && *mode == '0')) &&
		      strspn(mode, "01234567") == strlen(mode)))
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--mode",
			 "--mode %.20s is not a mode; write three octal digits, such as 644", mode);
}

int asked_take_size(const struct asked *asked, enum own_flag flag, uint64_t *ret, struct warder_error *err)
{
	if (!asked->values[flag])
		return 0;
	if (policy_parse_size(asked->values[flag], ret, err) == 0 && *ret)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, own_flags[flag].name,
			 "%s %.40s: give a size of 1 byte or more, such as 4MiB", own_flags[flag].name,
			 asked->values[flag]);
}

/* A flag of ours that takes the next word as its value. */
static bool takes_next(const char *word)
{
	for (size_t i = 0; i < OWN_COUNT; i++)
		if (own_flags[i].takes && strcmp(word, own_flags[i].name) == 0)
			return true;
	return false;
}

char *const *asked_find_word(char *const *words)
{
	while (*words && **words == '-')
		words += takes_next(*words) && words[1] ? 2 : count_words(words);
	return words;
}
