#include "store/workspaces/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/path.h"
#include "runtime/warder.h"

#define LIST_BYTES_MAX ((size_t)64 << 20)

/* Whether one of the two directories holds the other. `granted` is "/directory" or "/directory:/target". */
static bool meets(const char *granted, const char *path)
{
	const char *target = strstr(granted, ":/");
	char *plain = target ? strndup(granted, (size_t)(target - granted)) : strdup(granted);
	char *real = plain ? realpath(plain, NULL) : NULL;
	const bool met = real && (path_within(real, path) || path_within(path, real));

	free(real);
	free(plain);
	return met;
}

static const struct json_value *member(const struct json_value *of, const char *key)
{
	return of && of->type == JSON_OBJECT ? json_member(of, key) : NULL;
}

/* Of one that is being set up nothing but its name is known: it could. */
static bool may_write(const struct json_value *session, const char *path)
{
	static const char writable[] = "readWrite:";
	const struct json_value *filesystem = member(member(session, "policy"), "filesystem");
	const struct json_value *workspace = member(filesystem, "workspace");
	const struct json_value *paths = member(member(filesystem, "paths"), "readWrite");

	if (workspace && workspace->type == JSON_STRING &&
	    strncmp(workspace->string, writable, sizeof(writable) - 1) == 0 &&
	    meets(workspace->string + sizeof(writable) - 1, path))
		return true;
	for (paths = paths ? paths->child : NULL; paths; paths = paths->next) {
		if (paths->type == JSON_STRING && meets(paths->string, path))
			return true;
	}
	return !filesystem;
}

/* 1: there is one, and *ret_name is its name; 0: none; -1 with *err. */
static int find_writer(const char *path, char ret_name[80], struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = LIST_BYTES_MAX, .max_values = 10000000 };
	char *text = warder_session_list(err);
	char *real = realpath(path, NULL);
	struct json_value *list = NULL;
	int found = text && real ? json_parse(text, strlen(text), "sessions", &limits, &list, err) : -1;

	if (text && !real)
		error_no_memory(err, NULL);
	for (const struct json_value *one = list ? list->child : NULL; one && found == 0; one = one->next) {
		const struct json_value *name = member(one, "name");

		if (!may_write(one, real))
			continue;
		snprintf(ret_name, 80, "%s", name && name->type == JSON_STRING ? name->string : "");
		found = 1;
	}
	json_free(list);
	free(real);
	free(text);
	return found;
}

int workspace_await_sessions(const char *id, const char *path, bool wait, const char *remedy,
			     struct warder_error *err)
{
	const struct timespec pause = { .tv_nsec = 200000000 };
	char name[80], shown[96];
	int found;

	/* Without it an ordinary user can neither start nor find a session. */
	if (geteuid() != 0 && !getenv("XDG_RUNTIME_DIR"))
		return 0;
	while ((found = find_writer(path, name, err)) > 0 && wait)
		nanosleep(&pause, NULL);
	if (found <= 0)
		return found;
	return error_set(err, WARDER_ERROR_CONFLICT, "workspace",
			 "%s is in use: the session %s may write to it; %s",
			 json_quote(id, shown, sizeof(shown)), name, remedy);
}
