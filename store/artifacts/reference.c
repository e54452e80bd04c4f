#include "store/artifacts/artifacts.h"

#include <stdlib.h>
#include <string.h>

#include "rootfs/rootfs.h"

const char *artifact_name_fault(const char *name)
{
	struct warder_error err;

	if (!*name)
		return "is empty; write NAME or NAME@VERSION";
	if (strlen(name) >= ARTIFACTS_NAME_MAX)
		return "is longer than 511 bytes";
	if (!json_is_utf8(name))
		return "is not UTF-8";
	for (const char *at = name; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 127)
			return "has a control character in it";
	}
	if (strchr(name, '@'))
		return "has a @ in it, which separates the version";
	if (path_check_relative(name, strlen(name), &err) != 0)
		return "is not a relative path without \"..\", such as run-1/report.csv";
	return NULL;
}

static int refuse(const char *text, const char *why, struct warder_error *err)
{
	char shown[96];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "artifact", "%s %s",
			 json_quote(text, shown, sizeof(shown)), why);
}

static bool read_version(const char *text, uint64_t *ret)
{
	const size_t len = strlen(text);

	if (len == 0 || len > 9 || strspn(text, "0123456789") != len || text[0] == '0')
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

int artifact_reference_parse(const char *text, struct artifact_reference *ret, struct warder_error *err)
{
	const char *at = strchr(text, '@');
	const size_t len = at ? (size_t)(at - text) : strlen(text);
	char plain[ARTIFACTS_NAME_MAX];
	const char *fault;

	if (len >= sizeof(plain))
		return refuse(text, "is longer than 511 bytes", err);
	memcpy(plain, text, len);
	plain[len] = '\0';
	fault = artifact_name_fault(plain);
	if (!fault)
		fault = artifact_name_fault(path_plain(plain, ret->name)); /* "a/../c:/x" */
	if (fault)
		return refuse(text, fault, err);
	ret->version = 0;
	if (at && !read_version(at + 1, &ret->version))
		return refuse(text, "names no version; behind the @ stands a number from 1 to 999999999",
			      err);
	return 0;
}
