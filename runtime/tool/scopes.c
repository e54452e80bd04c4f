#include "runtime/tool/scopes.h"

#include <string.h>

#include "base/array.h"
#include "base/json.h"

#define OURS     "code:"
#define LANGUAGE "code:execute:"

static const struct {
	const char *name;
	enum scope scope;
} known[] = {
	{ "code:execute", SCOPE_EXECUTE },
	{ "code:execute:host", SCOPE_HOST },
	{ "code:execute:container", SCOPE_CONTAINER },
	{ "code:network", SCOPE_NETWORK },
	{ "code:filesystem:write", SCOPE_WRITE },
};

#define KNOWN (ARRAY_LENGTH(known))

const char *scopes_at(size_t i, enum scope *ret)
{
	if (i >= KNOWN)
		return NULL;
	*ret = known[i].scope;
	return known[i].name;
}

/* ---- granting ---- */

static int refuse(const char *name, struct warder_error *err)
{
	const char *words[KNOWN + 1] = { NULL };
	char quoted[96], remedy[200];

	for (size_t i = 0; i < KNOWN; i++)
		words[i] = known[i].name;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "scopes", "%s is not a scope; %s",
			 json_quote(name, quoted, sizeof(quoted)),
			 policy_suggest(words, name, remedy, sizeof(remedy)));
}

static int add_language(struct scopes *scopes, const char *name, struct warder_error *err)
{
	const char *language = name + strlen(LANGUAGE);

	if (!*language || strlen(language) >= sizeof(scopes->languages[0]) || strchr(language, ':'))
		return refuse(name, err);
	if (scopes->language_count == SCOPES_MAX_LANGUAGES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "scopes",
				 "more than %d languages; grant code:execute", SCOPES_MAX_LANGUAGES);
	strcpy(scopes->languages[scopes->language_count++], language);
	return 0;
}

int scopes_add(struct scopes *scopes, const char *name, struct warder_error *err)
{
	for (size_t i = 0; i < KNOWN; i++) {
		if (strcmp(known[i].name, name) == 0) {
			scopes->granted |= known[i].scope;
			return 0;
		}
	}
	if (strncmp(name, LANGUAGE, strlen(LANGUAGE)) == 0)
		return add_language(scopes, name, err);
	return strncmp(name, OURS, strlen(OURS)) == 0 ? refuse(name, err) : 0;
}

int scopes_add_list(struct scopes *scopes, const char *list, struct warder_error *err)
{
	static const char gap[] = ", \t\n";

	for (list += strspn(list, gap); *list; list += strspn(list, gap)) {
		const size_t len = strcspn(list, gap);
		char name[128];

		if (len >= sizeof(name))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "scopes",
					 "\"%.40s...\" is too long for a scope", list);
		memcpy(name, list, len);
		name[len] = '\0';
		if (scopes_add(scopes, name, err) != 0)
			return -1;
		list += len;
	}
	return 0;
}

/* ---- asking ---- */

static int check_execute(const struct scopes *scopes, const char *language, struct warder_error *err)
{
	if (scopes->granted & SCOPE_EXECUTE)
		return 0;
	for (size_t i = 0; language && i < scopes->language_count; i++) {
		if (strcmp(scopes->languages[i], language) == 0)
			return 0;
	}
	if (language)
		return error_set(err, WARDER_ERROR_REJECTED, "scopes",
				 "code in %.40s needs the scope code:execute or " LANGUAGE "%.40s", language,
				 language);
	return error_set(err, WARDER_ERROR_REJECTED, "scopes", "code needs the scope code:execute%s",
			 scopes->language_count
			     ? "; with scopes for some languages only, its language has to be named"
			     : "");
}

int scopes_check(const struct scopes *scopes, const char *language, const struct policy *policy,
		 enum policy_isolation isolation, struct warder_error *err)
{
	const struct {
		unsigned scope;
		bool asked;
		const char *field, *name, *what;
	} needs[] = {
		{ SCOPE_NETWORK, policy->network.mode >= POLICY_NETWORK_ALLOW, "network.mode", "code:network",
		  "network" },
		{ SCOPE_WRITE, policy->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE,
		  "filesystem.workspace", "code:filesystem:write", "a read-write workspace" },
		{ SCOPE_WRITE, policy->filesystem.read_write.count > 0, "filesystem.paths.readWrite",
		  "code:filesystem:write", "a path that can be written to" },
		{ SCOPE_HOST, policy->environment.mode == POLICY_ENVIRONMENT_HOST, "environment.mode",
		  "code:execute:host", "the caller's environment" },
	};
	const bool container = isolation == POLICY_ISOLATION_CONTAINER_EPHEMERAL ||
			       isolation == POLICY_ISOLATION_CONTAINER_PERSISTENT;

	if (check_execute(scopes, language, err) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(needs); i++) {
		if (needs[i].asked && !(scopes->granted & needs[i].scope))
			return error_set(err, WARDER_ERROR_REJECTED, needs[i].field,
					 "a policy with %s needs the scope %s", needs[i].what, needs[i].name);
	}
	if (container && !(scopes->granted & SCOPE_CONTAINER))
		return error_set(err, WARDER_ERROR_REJECTED, "backend",
				 "a backend that makes containers needs the scope code:execute:container");
	return 0;
}
