#include "store/workspaces/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/text.h"
#include "policy/policy.h"
#include "store/workspaces/private.h"

static int wrong(const char *path, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, path, "the manifest's %.100s %s", path, what);
}

/* ---- an entry ---- */

struct entry {
	const char *path, *content, *base64, *mode, *url, *branch, *from;
	bool read_only, link;
};

enum entry_kind { ENTRY_FILE, ENTRY_DIRECTORY, ENTRY_GIT, ENTRY_INPUT };

#define KIND(kind) (1u << (kind))
#define ANY        (KIND(ENTRY_FILE) | KIND(ENTRY_DIRECTORY) | KIND(ENTRY_GIT) | KIND(ENTRY_INPUT))

static const char *const kinds[] = { [ENTRY_FILE] = "file",
				     [ENTRY_DIRECTORY] = "directory",
				     [ENTRY_GIT] = "git_repo",
				     [ENTRY_INPUT] = "input" };

static const struct entry_member {
	const char *key;
	unsigned int kinds; /* that have it */
	enum json_type type;
	size_t at;
} entry_members[] = {
	{ "path", ANY, JSON_STRING, offsetof(struct entry, path) },
	{ "content", KIND(ENTRY_FILE), JSON_STRING, offsetof(struct entry, content) },
	{ "contentBase64", KIND(ENTRY_FILE), JSON_STRING, offsetof(struct entry, base64) },
	{ "mode", KIND(ENTRY_FILE), JSON_STRING, offsetof(struct entry, mode) },
	{ "url", KIND(ENTRY_GIT), JSON_STRING, offsetof(struct entry, url) },
	{ "branch", KIND(ENTRY_GIT), JSON_STRING, offsetof(struct entry, branch) },
	{ "from", KIND(ENTRY_INPUT), JSON_STRING, offsetof(struct entry, from) },
	{ "readOnly", KIND(ENTRY_INPUT), JSON_BOOL, offsetof(struct entry, read_only) },
	{ "link", KIND(ENTRY_INPUT), JSON_BOOL, offsetof(struct entry, link) },
};

static int take_member(const struct json_value *value, unsigned int kind, const char *place,
		       struct entry *entry, struct warder_error *err)
{
	char path[120];

	snprintf(path, sizeof(path), "%s.%.60s", place, value->key);
	if (strcmp(value->key, "type") == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(entry_members); i++) {
		const struct entry_member *member = &entry_members[i];
		void *to = (char *)entry + member->at;

		if (strcmp(member->key, value->key) != 0 || !(member->kinds & KIND(kind)))
			continue;
		if (value->type != member->type)
			return wrong(path,
				     member->type == JSON_BOOL ? "is not true or false" : "is not a string",
				     err);
		if (member->type == JSON_BOOL)
			*(bool *)to = value->boolean;
		else
			*(const char **)to = value->string;
		return 0;
	}
	return wrong(path, "is not known for an entry of this type", err);
}

/* What an entry of each type has to have. */
static const char *missing(enum entry_kind kind, const struct entry *entry)
{
	switch (kind) {
	case ENTRY_FILE:
		return !entry->path ? "path" : !entry->content == !entry->base64 ? "content" : NULL;
	case ENTRY_DIRECTORY:
		return entry->path ? NULL : "path";
	case ENTRY_GIT:
		return !entry->path ? "path" : entry->url ? NULL : "url";
	case ENTRY_INPUT:
		return entry->from ? NULL : "from";
	}
	return NULL;
}

static int read_entry(const struct json_value *value, size_t index, enum entry_kind *ret_kind,
		      struct entry *ret, struct warder_error *err)
{
	const char *type = value->type == JSON_OBJECT ? json_member_text(value, "type", "") : "";
	char place[40], text[120];
	size_t kind = 0;

	*ret = (struct entry){ 0 };
	snprintf(place, sizeof(place), "entries[%zu]", index);
	while (kind < ARRAY_LENGTH(kinds) && strcmp(kinds[kind], type) != 0)
		kind++;
	if (kind == ARRAY_LENGTH(kinds))
		return wrong(place, "has none of the types file, directory, git_repo and input", err);
	for (const struct json_value *member = value->child; member; member = member->next)
		if (take_member(member, (unsigned int)kind, place, ret, err) != 0)
			return -1;
	*ret_kind = (enum entry_kind)kind;
	if (ret->url && strncmp(ret->url, "https://", 8) != 0 && strncmp(ret->url, "file:///", 8) != 0) {
		snprintf(text, sizeof(text), "%s.url", place);
		return wrong(text,
			     "is neither https://HOST/PATH nor file:///PATH; clone another repository "
			     "yourself, and give its directory as file:///PATH",
			     err);
	}
	if (!missing(*ret_kind, ret))
		return 0;
	snprintf(text, sizeof(text), "%s.%s", place, missing(*ret_kind, ret));
	return wrong(text,
		     kind == ENTRY_FILE && ret->path ? "is missing: give content or contentBase64"
						     : "is missing",
		     err);
}

/* ---- the document ---- */

static int read_setup(const struct json_value *list, struct manifest *ret, struct warder_error *err)
{
	size_t count = 0;

	if (list->type != JSON_ARRAY)
		return wrong("setup", "is not a list of commands", err);
	for (const struct json_value *item = list->child; item; item = item->next, count++)
		if (item->type != JSON_STRING)
			return wrong("setup", "is not a list of commands", err);
	ret->setup = calloc(count + 1, sizeof(*ret->setup));
	if (!ret->setup)
		return error_no_memory(err, NULL);
	for (const struct json_value *item = list->child; item; item = item->next)
		ret->setup[ret->setup_count++] = item->string;
	return 0;
}

/* What installs the packages, in /workspace. The names stand between `command` and `after`, each in single quotes, which none of them
 * holds. npm writes the reason of a failure first and much more after it, and the message of a set-up
 * command that failed has only the last lines. So the command keeps the first two. */
static const struct installer {
	const char *name, *command, *after;
	bool python;
} installers[] = {
	{ "pip",
	  "python3 -m pip --quiet --disable-pip-version-check --no-cache-dir install --no-input "
	  "--root-user-action=ignore --target " MANIFEST_PYTHON,
	  "", true },
	{ "npm",
	  "said=$(npm install --loglevel=error --no-fund --no-audit --no-update-notifier --cache /tmp/.npm",
	  " 2>&1) || { status=$?; printf '%s\\n' \"$said\" | sed -E "
	  "'/^npm [A-Za-z!]+ (code|errno|syscall) /d; s/^npm [A-Za-z!]+ //' | head -n 2 >&2; exit $status; }",
	  false },
};

static bool is_local(const char *name)
{
	return strncmp(name, "./", 2) == 0;
}

/* A name of the index: npm takes "owner/name" for a repository of GitHub, also behind the version's '@', and a version with a first '.'
 * for a path. Only "@scope/name" has a slash. */
static bool is_listed(const char *name)
{
	const char *slash = strchr(name, '/');
	const char *version = strchr(name + 1, '@');

	return name[0] != '-' && name[0] != '~' && name[0] != '.' && !strstr(name, "@.") &&
	       (!slash || (name[0] == '@' && !strchr(slash + 1, '/') && (!version || slash < version)));
}

/* A name as the installers take it, "numpy==1.26.4" or "@types/node@20"; or "./" and a path in the workspace. No flag, no URL and no
 * repository, which would reach elsewhere than the policy's reader expects. */
static bool is_package(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				      "._-+@/~^<>=![],";
	const size_t length = strspn(name, letters);

	return length > 0 && length <= 200 && !name[length] && !strstr(name, "..") && !strstr(name, "//") &&
	       (is_local(name) || is_listed(name));
}

static int add_packages(const struct installer *installer, const struct json_value *list,
			struct manifest *ret, struct warder_error *err)
{
	char place[40], path[60];
	char *command = NULL;
	size_t count = 0, size;
	FILE *text;

	snprintf(place, sizeof(place), "packages.%s", installer->name);
	if (list->type != JSON_ARRAY || json_length(list) > MANIFEST_PACKAGES_MAX)
		return wrong(place, "is not a list of at most 200 packages", err);
	for (const struct json_value *item = list->child; item; item = item->next, count++) {
		snprintf(path, sizeof(path), "%s[%zu]", place, count);
		if (item->type != JSON_STRING || !is_package(item->string))
			return wrong(
			    path,
			    "is not a package; write a name, such as \"six\" or \"six==1.16.0\", or a "
			    "file of the workspace, such as \"./work/six.whl\"",
			    err);
		if (!is_local(item->string) && !ret->fetched)
			ret->fetched = item->string;
	}
	if (!count)
		return 0;
	text = open_memstream(&command, &size);
	if (!text)
		return error_no_memory(err, NULL);
	fprintf(text, "cd /workspace && %s --", installer->command);
	for (const struct json_value *item = list->child; item; item = item->next)
		fprintf(text, " '%s'", item->string);
	fputs(installer->after, text);
	if (fclose(text) != 0 || !command) {
		free(command);
		return error_no_memory(err, NULL);
	}
	ret->packages[ret->package_count++] = command;
	ret->python |= installer->python;
	return 0;
}

static int read_packages(const struct json_value *object, struct manifest *ret, struct warder_error *err)
{
	char path[120];

	if (object->type != JSON_OBJECT)
		return wrong("packages", "is not an object with the members pip and npm", err);
	ret->packages = calloc(ARRAY_LENGTH(installers), sizeof(*ret->packages));
	if (!ret->packages)
		return error_no_memory(err, NULL);
	for (const struct json_value *value = object->child; value; value = value->next) {
		const struct installer *installer = NULL;

		for (size_t i = 0; i < ARRAY_LENGTH(installers); i++)
			if (strcmp(installers[i].name, value->key) == 0)
				installer = &installers[i];
		snprintf(path, sizeof(path), "packages.%.60s", value->key);
		if (!installer)
			return wrong(path, "is not known; Warder knows pip and npm, and `setup` runs others",
				     err);
		if (add_packages(installer, value, ret, err) != 0)
			return -1;
	}
	return 0;
}

static int read_entries(const struct json_value *list, struct warder_error *err)
{
	size_t count = 0;

	if (list->type != JSON_ARRAY)
		return wrong("entries", "is not a list", err);
	for (const struct json_value *item = list->child; item; item = item->next, count++) {
		enum entry_kind kind;
		struct entry entry;

		if (count == MANIFEST_ENTRIES_MAX)
			return wrong("entries", "has more than 10000 members", err);
		if (read_entry(item, count, &kind, &entry, err) != 0)
			return -1;
	}
	return 0;
}

static int read_member(const struct json_value *value, struct manifest *ret, struct warder_error *err)
{
	const bool is_text = value->type == JSON_STRING;

	if (strcmp(value->key, "workspace") == 0) {
		ret->id = value->string;
		return is_text ? 0 : wrong("workspace", "is not a string", err);
	}
	if (strcmp(value->key, "entries") == 0) {
		ret->entries = value->child;
		return read_entries(value, err);
	}
	if (strcmp(value->key, "packages") == 0)
		return read_packages(value, ret, err);
	if (strcmp(value->key, "setup") == 0)
		return read_setup(value, ret, err);
	if (strcmp(value->key, "policy") == 0) {
		ret->policy = value;
		return is_text || value->type == JSON_OBJECT
			   ? 0
			   : wrong("policy", "is neither the name of a preset nor a policy", err);
	}
	if (strcmp(value->key, "timeout") == 0) {
		if (!is_text || policy_parse_time(value->string, &ret->timeout_us, err) != 0 ||
		    !ret->timeout_us)
			return wrong("timeout", "is not a time such as \"10m\"", err);
		return 0;
	}
	return wrong(value->key, "is not known", err);
}

static int put_packages_first(struct manifest *manifest, struct warder_error *err)
{
	const size_t count = manifest->package_count + manifest->setup_count;
	const char **all = calloc(count + 1, sizeof(*all));

	if (!all)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < count; i++)
		all[i] = i < manifest->package_count ? manifest->packages[i]
						     : manifest->setup[i - manifest->package_count];
	free(manifest->setup);
	manifest->setup = all;
	manifest->setup_count = count;
	return 0;
}

int manifest_parse(const char *text, size_t len, const char *origin, struct manifest *ret,
		   struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = MANIFEST_BYTES_MAX };
	int status;

	*ret = (struct manifest){ .timeout_us = MANIFEST_TIMEOUT_US };
	status = json_parse(text, len, origin, &limits, &ret->document, err);
	if (status == 0 && ret->document->type != JSON_OBJECT)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, "manifest", "a manifest is a JSON object");
	for (const struct json_value *value = status == 0 ? ret->document->child : NULL; value && status == 0;
	     value = value->next)
		status = read_member(value, ret, err);
	if (status == 0 && ret->package_count)
		status = put_packages_first(ret, err);
	if (status != 0)
		manifest_done(ret);
	return status;
}

void manifest_done(struct manifest *manifest)
{
	json_free(manifest->document);
	free(manifest->setup);
	for (size_t i = 0; i < manifest->package_count; i++)
		free(manifest->packages[i]);
	free(manifest->packages);
	*manifest = (struct manifest){ 0 };
}

/* ---- making it ---- */

static int put_file(struct workspace *workspace, const struct entry *entry, struct warder_error *err)
{
	const size_t len = strlen(entry->base64 ? entry->base64 : entry->content);
	size_t plain_len = len;
	char *plain = entry->base64 ? text_unbase64(entry->base64, len, &plain_len) : NULL;
	uint32_t mode = 0;
	int status;

	if (entry->base64 && !plain)
		return wrong("contentBase64", "is not padded base64", err);
	if (entry->mode) {
		char *end;

		mode = (uint32_t)strtoul(entry->mode, &end, 8);
		if (strlen(entry->mode) < 3 || *end || mode > 0777) {
			free(plain);
			return wrong("mode", "is not three octal digits, such as 644", err);
		}
	}
	status =
	    workspace_put_bytes(workspace, entry->path, mode, plain ? plain : entry->content, plain_len, err);
	free(plain);
	return status;
}

static int stage(struct workspace *workspace, struct artifacts *artifacts, const struct entry *entry,
		 struct warder_error *err)
{
	const struct workspace_input_options how = {
		.from = entry->from, .dst = entry->path, .read_only = entry->read_only, .link = entry->link
	};

	return workspace_stage(workspace, artifacts, &how, NULL, err);
}

static int clone(struct workspace *workspace, struct artifacts *artifacts, const struct entry *entry,
		 struct warder_error *err)
{
	struct entry input = { .path = entry->path };
	char *from = NULL;
	int status;

	if (asprintf(&from, "git+%s%s%s", entry->url, entry->branch ? "#" : "",
		     entry->branch ? entry->branch : "") < 0)
		return error_no_memory(err, NULL);
	input.from = from;
	status = stage(workspace, artifacts, &input, err);
	free(from);
	return status;
}

static int make_entry(struct workspace *workspace, struct artifacts *artifacts, enum entry_kind kind,
		      const struct entry *entry, struct warder_error *err)
{
	owned_fd int fd = -1;

	switch (kind) {
	case ENTRY_FILE:
		return put_file(workspace, entry, err);
	case ENTRY_DIRECTORY:
		fd = workspace_directory(workspace, entry->path, true, err);
		return fd < 0 ? -1 : 0;
	case ENTRY_GIT:
		return clone(workspace, artifacts, entry, err);
	case ENTRY_INPUT:
		return stage(workspace, artifacts, entry, err);
	}
	return 0;
}

struct filling {
	const struct manifest *manifest;
	struct artifacts *artifacts;
};

static int fill(void *context, struct workspace *workspace, struct warder_error *err)
{
	const struct filling *filling = context;
	size_t index = 0;

	if (workspace_layout(workspace, err) != 0)
		return -1;
	for (const struct json_value *item = filling->manifest->entries; item; item = item->next, index++) {
		enum entry_kind kind;
		struct entry entry;

		if (read_entry(item, index, &kind, &entry, err) != 0)
			return -1;
		if (make_entry(workspace, filling->artifacts, kind, &entry, err) != 0)
			return error_context(err, "entries[%zu]", index);
	}
	return 0;
}

int manifest_provision(const struct manifest *manifest, struct workspaces *workspaces,
		       struct artifacts *artifacts, struct workspace *ret, struct warder_error *err)
{
	struct filling filling = { manifest, artifacts };
	char made_up[STORE_NAME_MAX];

	store_new_name("ws-", made_up);
	return workspace_build(workspaces, manifest->id ? manifest->id : made_up, fill, &filling, ret, err);
}
