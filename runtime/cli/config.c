/*
 * config: flags out of a file.
 *
 * Whoever writes the file chooses what a run may do, for example its policy and what of the host it sees. So it has to
 * belong to the user, as has its directory, and nobody else may write to either; a file that is not so is refused, not skipped.
 * Both are checked through descriptors, after they are opened, and the file is not followed if it is a link. A directory that
 * the user cannot reach is as good as none: it cannot be theirs.
 *
 * Root has none: a file below a home directory must not change what a service or an administrator runs.
 *
 * It may not choose the backend `process`, which isolates nothing: to give up the jail is a decision for each run.
 *
 * The whole document is checked, whatever the command, but for the values that only their flag can judge.
 */
#include "runtime/cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "policy/policy.h"
#include "runtime/cli/flags.h"

#define NAME       "config.json"
#define COMMON     "common"
#define BYTES_MAX  ((size_t)64 << 10)
#define VALUES_MAX 4096

/* Objects of "flags", and the commands that take what they hold. What a session has is decided at its start: what is common
 * must not narrow, or contradict, each execution. */
static const struct section {
	const char *name;
	uint64_t commands;
} sections[] = {
	{ "run", FLAG_RUN },
	{ "code", FLAG_CODE },
	{ "tool", FLAG_TOOL },
	{ "judge", FLAG_JUDGE },
	{ "scan", FLAG_SCAN },
	{ "languages", FLAG_LANGUAGES },
	{ "explain", FLAG_EXPLAIN },
	{ "backend", FLAG_BACKEND },
	{ "blocks", FLAG_BLOCKS },
	{ "format", FLAG_FORMAT },
	{ "data", FLAG_DATA },
	{ "changes", FLAG_CHANGES },
	{ "mcp", FLAG_MCP },
	{ "session start", FLAG_SESSION_START },
	{ "session exec", FLAG_SESSION_EXEC },
	{ "context create", FLAG_CONTEXT_CREATE },
	{ COMMON, FLAG_RUN | FLAG_CODE | FLAG_TOOL | FLAG_JUDGE | FLAG_SCAN | FLAG_LANGUAGES | FLAG_EXPLAIN |
		      FLAG_BACKEND | FLAG_BLOCKS | FLAG_FORMAT | FLAG_DATA | FLAG_CHANGES |
		      FLAG_SESSION_START | FLAG_MCP },
};

#define SECTIONS (ARRAY_LENGTH(sections))

/* ---- the file ---- */

static int refuse_file(const char *path, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
			 "%.200s is not read: %s; or give --no-config", path, why);
}

static int cannot_read(const char *path, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno,
			       "cannot read %.200s (--no-config does without)", path);
}

/* Nobody but the user may say what is in it. */
static int check_owner(const struct stat *st, const char *path, struct warder_error *err)
{
	char why[120];

	if (st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	if (st->st_uid != geteuid())
		snprintf(why, sizeof(why), "it belongs to user %u, and you are user %u; give it to yourself",
			 (unsigned)st->st_uid, (unsigned)geteuid());
	else
		snprintf(why, sizeof(why), "others may write to it; chmod go-w it");
	return refuse_file(path, why, err);
}

/* The directory of the file, without the name; false: the user has no home. */
static bool find_directory(char *buf, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int len;

	if (config && config[0] == '/')
		len = snprintf(buf, size, "%s/warder", config);
	else if (home && home[0] == '/')
		len = snprintf(buf, size, "%s/.config/warder", home);
	else
		return false;
	return len < (int)size;
}

/* Opens the file in `directory`. *ret_fd stays -1 if there is none. */
static int open_file(const char *directory, const char *path, int *ret_fd, struct warder_error *err)
{
	owned_fd int dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_fd int fd = -1;
	struct stat st;

	if (dir_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0
									      : cannot_read(directory, err);
	fd = openat(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return refuse_file(path, "it is a symbolic link; put the file itself there", err);
	if (fd < 0 || fstat(dir_fd, &st) != 0)
		return cannot_read(path, err);
	if (check_owner(&st, directory, err) != 0)
		return -1;
	if (fstat(fd, &st) != 0)
		return cannot_read(path, err);
	if (!S_ISREG(st.st_mode))
		return refuse_file(path, "it is not a regular file", err);
	if (check_owner(&st, path, err) != 0)
		return -1;
	if (st.st_size > (off_t)BYTES_MAX)
		return refuse_file(path, "it is larger than 64 KiB", err);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int read_document(int fd, const char *path, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = BYTES_MAX, .max_values = VALUES_MAX };
	char *text = NULL;
	size_t len = 0;
	int status;

	if (file_read_open(fd, path, BYTES_MAX, &text, &len, err) != 0)
		return -1;
	status = json_parse(text, len, path, &limits, ret, err);
	free(text);
	return status;
}

/* ---- what is in it ---- */

static int refuse_member(const struct config *config, const struct json_value *value, const char *member,
			 const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, member, "%.120s:%d: %s: %s", config->path,
			 value->line, member, why);
}

static int refuse_type(const struct config *config, const struct json_value *value, const char *member,
		       const char *wanted, struct warder_error *err)
{
	char why[160];

	snprintf(why, sizeof(why), "%s where %s is expected", json_type_name(value->type), wanted);
	return refuse_member(config, value, member, why, err);
}

static int refuse_unknown(const struct config *config, const struct json_value *value, const char *member,
			  const char *what, const char *const *words, struct warder_error *err)
{
	char why[240], quoted[64], remedy[120];

	snprintf(why, sizeof(why), "%s %s; %s", what, json_quote(value->key, quoted, sizeof(quoted)),
		 policy_suggest(words, value->key, remedy, sizeof(remedy)));
	return refuse_member(config, value, member, why, err);
}

/* Names of flags that a section may have, without the dashes. */
static int refuse_flag(const struct config *config, const struct section *section,
		       const struct json_value *value, const char *member, struct warder_error *err)
{
	const char *words[256];
	size_t count = 0;
	const struct flag *flag;

	for (size_t i = 0; (flag = flag_at(i)) && count < ARRAY_LENGTH(words) - 1; i++)
		if ((flag->commands & section->commands) && !flag->typed && !flag->two)
			words[count++] = flag->name + 2;
	words[count] = NULL;
	return refuse_unknown(config, value, member, "no command of this part has a flag", words, err);
}

static bool is_scalar(const struct json_value *value)
{
	return value->type == JSON_STRING || value->type == JSON_NUMBER;
}

static int check_values(const struct config *config, const struct flag *flag, const struct json_value *value,
			const char *member, struct warder_error *err)
{
	if (!flag->argument)
		return value->type == JSON_BOOL ? 0
						: refuse_type(config, value, member, "true or false", err);
	if (is_scalar(value))
		return 0;
	if (!flag->many)
		return refuse_type(config, value, member, "a string or a number", err);
	if (value->type != JSON_ARRAY)
		return refuse_type(config, value, member, "a string, or an array of strings", err);
	for (const struct json_value *item = value->child; item; item = item->next)
		if (!is_scalar(item))
			return refuse_type(config, item, member, "a string", err);
	return 0;
}

/* The row of the flag that a member of a section names. */
static const struct flag *find_flag(uint64_t commands, const struct json_value *value)
{
	char name[64];

	if ((size_t)snprintf(name, sizeof(name), "--%s", value->key) >= sizeof(name))
		return NULL;
	return flag_find(commands, name);
}

/* A name, or a list of names with commas. */
static bool names_process(const char *text)
{
	static const char name[] = "process";
	size_t length;

	for (; *text; text += length + (text[length] == ',')) {
		length = strcspn(text, ",");
		if (length == sizeof(name) - 1 && strncmp(text, name, length) == 0)
			return true;
	}
	return false;
}

/* The order of members means nothing, so that a mode must not contradict rows beside it. */
static int check_network(const struct config *config, const struct section *section,
			 const struct json_value *object, struct warder_error *err)
{
	static const char *const modes[] = { "none", "host", "loopback" }; /* the last one can publish */
	static const char *const rows[] = { "allow", "deny", "publish" };
	const struct json_value *mode = json_member(object, "net");
	char member[96], why[160];

	for (size_t i = 0; mode && mode->type == JSON_STRING && i < ARRAY_LENGTH(modes); i++)
		for (size_t j = 0; strcmp(mode->string, modes[i]) == 0 && j < ARRAY_LENGTH(rows); j++) {
			if (!json_member(object, rows[j]) || (i == 2 && j == 2))
				continue;
			snprintf(member, sizeof(member), "flags.%s.net", section->name);
			snprintf(why, sizeof(why), "\"%s\" does not go with flags.%s.%s; give one of the two",
				 modes[i], section->name, rows[j]);
			return refuse_member(config, mode, member, why, err);
		}
	return 0;
}

static int check_section(const struct config *config, const struct section *section,
			 const struct json_value *object, struct warder_error *err)
{
	char member[96];

	for (const struct json_value *value = object->child; value; value = value->next) {
		const struct flag *flag = find_flag(section->commands, value);

		snprintf(member, sizeof(member), "flags.%s.%.60s", section->name, value->key);
		if (!flag)
			return refuse_flag(config, section, value, member, err);
		if (flag->typed)
			return refuse_member(config, value, member, "only a command line can give this flag",
					     err);
		if (flag->two)
			return refuse_member(config, value, member,
					     "the flag takes two values, and only a command line can give it",
					     err);
		if (check_values(config, flag, value, member, err) != 0)
			return -1;
		if (strcmp(flag->name, "--backend") == 0 && value->type == JSON_STRING &&
		    names_process(value->string))
			return refuse_member(
			    config, value, member,
			    "the backend process isolates nothing, and only a command line or "
			    "WARDER_BACKEND can choose it",
			    err);
	}
	return check_network(config, section, object, err);
}

static const struct section *find_section(const char *name)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (strcmp(sections[i].name, name) == 0)
			return &sections[i];
	return NULL;
}

static int check_document(const struct config *config, struct warder_error *err)
{
	static const char *const words[] = { "flags", NULL };
	const char *names[SECTIONS + 1] = { NULL };
	const struct json_value *root = config->document, *all = json_member(root, "flags");
	char member[96];

	if (root->type != JSON_OBJECT)
		return refuse_type(config, root, "the document", "an object", err);
	for (const struct json_value *value = root->child; value; value = value->next)
		if (value != all)
			return refuse_unknown(config, value, value->key, "unknown member", words, err);
	if (all && all->type != JSON_OBJECT)
		return refuse_type(config, all, "flags", "an object", err);
	for (size_t i = 0; i < SECTIONS; i++)
		names[i] = sections[i].name;
	for (const struct json_value *object = all ? all->child : NULL; object; object = object->next) {
		const struct section *section = find_section(object->key);

		snprintf(member, sizeof(member), "flags.%.60s", object->key);
		if (!section)
			return refuse_unknown(config, object, member, "there are no flags of", names, err);
		if (object->type != JSON_OBJECT)
			return refuse_type(config, object, member, "an object", err);
		if (check_section(config, section, object, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the flags of one command ---- */

/* Whether a variable of the environment, which is nearer to the command line, gives the flag. */
static bool is_in_environment(const struct flag *flag)
{
	static const char *const rows[][2] = { { "--backend", "WARDER_BACKEND" },
					       { "--cgroup-parent", "WARDER_CGROUP_PARENT" } };

	for (size_t i = 0; (flag->commands & FLAG_RUN) && i < ARRAY_LENGTH(rows); i++) {
		const char *value = strcmp(rows[i][0], flag->name) == 0 ? getenv(rows[i][1]) : NULL;

		if (value && *value)
			return true;
	}
	return false;
}

/* One flag, unless a layer above gives it. `index` is -1 outside of an array. */
static int add_flag(struct config *config, struct given *given, enum given_layer layer,
		    const struct section *section, const struct flag *flag, const struct json_value *named,
		    const struct json_value *value, int index, struct warder_error *err)
{
	struct config_flag *row = &config->flags[config->count];
	int found;

	*row = (struct config_flag){ .flag = flag, .document = value };
	row->value = flag->argument ? value->string : NULL;
	snprintf(row->member, sizeof(row->member), "flags.%s.%.40s", section->name, named->key);
	if (index >= 0)
		snprintf(row->member + strlen(row->member), sizeof(row->member) - strlen(row->member), "[%d]",
			 index);
	found = given_add(given, layer, flag, flag->name, row->value ? row->value : "", err);
	if (found < 0)
		return config_blame(config, row, err);
	config->count += found == 0 && (flag->argument || value->boolean) && !is_in_environment(flag);
	return 0;
}

static int add_section(struct config *config, struct given *given, enum given_layer layer,
		       const struct section *section, unsigned command, struct warder_error *err)
{
	const struct json_value *all = json_member(config->document, "flags");
	const struct json_value *object = json_member(all, section->name);

	for (const struct json_value *named = object ? object->child : NULL; named; named = named->next) {
		const struct flag *flag = find_flag(command, named);
		const bool is_array = named->type == JSON_ARRAY;
		int index = is_array ? 0 : -1;

		if (!flag)
			continue; /* common: this command does not have it */
		if (is_array && !flag->many)
			return refuse_type(config, named, section->name, "a string or a number", err);
		for (const struct json_value *value = is_array ? named->child : named; value;
		     value = is_array ? value->next : NULL)
			if (add_flag(config, given, layer, section, flag, named, value,
				     is_array ? index++ : -1, err) != 0)
				return -1;
	}
	return 0;
}

static size_t count_values(const struct json_value *value)
{
	size_t count = 1;

	for (value = value->child; value; value = value->next)
		count += count_values(value);
	return count;
}

/* Put the rows from `at` on before those up to it. */
static void put_first(struct config *config, size_t at)
{
	struct config_flag row;

	for (size_t moved = 0; at + moved < config->count; moved++) {
		row = config->flags[at + moved];
		memmove(&config->flags[moved + 1], &config->flags[moved], at * sizeof(row));
		config->flags[moved] = row;
	}
}

/* The command's own part wins over what is common, so it is looked at first, and applies last. */
static int take_flags(struct config *config, const struct section *section, struct given *given,
		      struct warder_error *err)
{
	const struct section *common = find_section(COMMON);
	size_t own;

	config->flags = calloc(count_values(config->document), sizeof(*config->flags));
	if (!config->flags)
		return error_no_memory(err, config->path);
	if (add_section(config, given, GIVEN_COMMAND, section, section->commands, err) != 0)
		return -1;
	own = config->count;
	if ((common->commands & section->commands) &&
	    add_section(config, given, GIVEN_COMMON, common, section->commands, err) != 0)
		return -1;
	put_first(config, own);
	return 0;
}

static const struct section *section_of(unsigned command)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (sections[i].commands == command)
			return &sections[i];
	return NULL;
}

int config_load(unsigned command, struct given *given, struct config **ret, struct warder_error *err)
{
	const struct section *section = section_of(command);
	char directory[PATH_MAX], path[PATH_MAX + sizeof(NAME)];
	owned_fd int fd = -1;
	struct config *config;

	*ret = NULL;
	if (!section || getuid() == 0 || geteuid() == 0 || !find_directory(directory, sizeof(directory)))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", directory, NAME);
	if (open_file(directory, path, &fd, err) != 0)
		return -1;
	if (fd < 0)
		return 0;
	config = calloc(1, sizeof(*config));
	if (config)
		config->path = strdup(path);
	if (!config || !config->path) {
		config_free(config);
		return error_no_memory(err, NULL);
	}
	if (read_document(fd, path, &config->document, err) != 0 || check_document(config, err) != 0 ||
	    take_flags(config, section, given, err) != 0) {
		config_free(config);
		return -1;
	}
	*ret = config;
	return 0;
}

int config_blame(const struct config *config, const struct config_flag *row, struct warder_error *err)
{
	const struct json_value *value = row->document;
	char shown[80] = "true";

	if (value->type == JSON_STRING)
		json_quote(value->string, shown, sizeof(shown));
	else if (value->type == JSON_NUMBER)
		snprintf(shown, sizeof(shown), "%s", value->string);
	return error_context(err, "%.120s:%d: %s: %s", config->path, value->line, row->member, shown);
}

int config_blame_flag(const struct config *config, const char *name, struct warder_error *err)
{
	for (size_t i = 0; config && i < config->count; i++)
		if (!config->flags[i].overruled && strcmp(config->flags[i].flag->name, name) == 0)
			return config_blame(config, &config->flags[i], err);
	return -1;
}

void config_blame_field(const struct config *config, struct warder_error *err)
{
	if (!config || !err->field[0] || strncmp(err->text, config->path, strlen(config->path)) == 0)
		return;
	for (size_t i = 0; i < config->count; i++) {
		const struct config_flag *row = &config->flags[i];

		if (!row->overruled && given_is_about(row->flag, row->value, err->field, err->text)) {
			config_blame(config, row, err);
			return;
		}
	}
}

static bool is_base(const struct flag *flag)
{
	return strcmp(flag->name, "--preset") == 0 || strcmp(flag->name, "--policy") == 0;
}

bool config_overrule_base(struct config *config, const char *word)
{
	bool found = false;

	for (size_t i = 0; config && i < config->count; i++) {
		if (!is_base(config->flags[i].flag))
			continue;
		found = true;
		config->flags[i].overruled |= word != NULL;
	}
	return found;
}

void config_leave_policy(struct config *config)
{
	size_t kept = 0;

	for (size_t i = 0; i < config->count; i++)
		if (!config->flags[i].flag->path && !flag_changes_policy(config->flags[i].flag))
			config->flags[kept++] = config->flags[i];
	config->count = kept;
}

/* Whether a flag that holds stands in an earlier row already. */
static bool is_named(const struct config *config, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (config->flags[i].flag == config->flags[row].flag && !config->flags[i].overruled)
			return true;
	return config->flags[row].overruled;
}

void config_write(const struct config *config, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "path", config->path);
	json_key(w, "flags");
	json_begin_array(w);
	for (size_t i = 0; i < config->count; i++)
		if (!is_named(config, i))
			json_string(w, config->flags[i].flag->name);
	json_end_array(w);
	json_end_object(w);
}

void config_write_member(const struct config *config, struct json_writer *w)
{
	if (!config)
		return;
	json_key(w, "config");
	config_write(config, w);
}

char *config_names(const struct config *config, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < config->count && used < size; i++)
		if (!is_named(config, i))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? " " : "",
						 config->flags[i].flag->name);
	return buf;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	json_free(config->document);
	free(config->flags);
	free(config->path);
	free(config);
}
