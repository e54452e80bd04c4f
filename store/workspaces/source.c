/*
 * Where an input comes from, as a text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

static const char field[] = "from";

static const struct {
	const char *name;
	enum workspace_scheme scheme;
} schemes[] = {
	{ "host://", WORKSPACE_FROM_HOST },         { "workspace://", WORKSPACE_FROM_WORKSPACE },
	{ "artifact://", WORKSPACE_FROM_ARTIFACT }, { "skill://", WORKSPACE_FROM_SKILL },
	{ "git+file://", WORKSPACE_FROM_GIT },      { "git+https://", WORKSPACE_FROM_GIT_HTTPS },
};

static int refuse(const char *text, const char *why, struct warder_error *err)
{
	char shown[96];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s %s",
			 json_quote(text, shown, sizeof(shown)), why);
}

static int refuse_scheme(const char *text, struct warder_error *err)
{
	const char *end = strstr(text, "://");
	char scheme[64], shown[96];

	if (!end)
		return refuse(text,
			      "has no scheme; write host:///PATH, workspace://PATH, artifact://NAME, "
			      "skill://NAME/PATH, git+file:///PATH or git+https://HOST/PATH",
			      err);
	snprintf(scheme, sizeof(scheme), "%.*s", (int)(end - text < 60 ? end - text : 60), text);
	if (strncmp(scheme, "git", 3) == 0)
		return refuse(
		    text,
		    "cannot be fetched: only git+https:// is. For another protocol, run \"git clone --mirror "
		    "URL /DIR\" yourself, and stage git+file:///DIR[#BRANCH]",
		    err);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "the scheme %s is unknown; there are host://, workspace://, artifact://, skill://, "
			 "git+file:// and git+https://",
			 json_quote(scheme, shown, sizeof(shown)));
}

/* An absolute path of the host, without links' or dots' help. */
static int take_host(const char *text, const char *path, struct workspace_source *ret,
		     struct warder_error *err)
{
	char *normal = NULL;

	if (strlen(path) >= sizeof(ret->path))
		return refuse(text, "is too long", err);
	if (path_normalise(path, &normal, err) != 0) {
		snprintf(err->field, sizeof(err->field), "%s", field);
		return -1;
	}
	snprintf(ret->path, sizeof(ret->path), "%s", normal);
	free(normal);
	return 0;
}

static int take_relative(const char *path, const char *below, struct workspace_source *ret,
			 struct warder_error *err)
{
	char plain[PATH_MAX];

	if (path_check_relative(path, strlen(path), err) != 0) {
		snprintf(err->field, sizeof(err->field), "%s", field);
		return -1;
	}
	path_plain(path, plain);
	/* "x/../ " is a blank once it is plain. */
	if (path_check_relative(plain, strlen(plain), err) != 0) {
		snprintf(err->field, sizeof(err->field), "%s", field);
		return -1;
	}
	if (snprintf(ret->path, sizeof(ret->path), "%s%s", below, plain) >= (int)sizeof(ret->path))
		return refuse(path, "is too long", err);
	return 0;
}

/* What begins with a dash would be an option to git. */
static const char *branch_fault(const char *branch)
{
	if (!*branch || *branch == '-' || strlen(branch) > 250 || strstr(branch, ".."))
		return "has no branch or tag behind its #";
	for (; *branch; branch++) {
		if ((unsigned char)*branch <= ' ' || *branch == 127 || strchr("~^:?*[\\", *branch))
			return "has a branch with a character that git does not allow there";
	}
	return NULL;
}

/* "host[:port]/path" of a URL. NULL: it is good, and the URL and its endpoint are in *ret. */
static const char *take_url(const char *rest, struct workspace_source *ret)
{
	const size_t host_len =
	    strspn(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");
	const size_t authority_len = strcspn(rest, "/?");
	const size_t port_len = rest[host_len] == ':' ? 1 + strspn(rest + host_len + 1, "0123456789") : 0;
	size_t len = strlen(rest);

	if (memchr(rest, '@', authority_len))
		return "has credentials in it, which would be kept in the record and in the clone; only what "
		       "is public "
		       "can be fetched";
	if (*rest == '-')
		return "has a host that begins with -";
	if (host_len == 0 || host_len > 253 || port_len == 1 || port_len > 6 ||
	    host_len + port_len != authority_len)
		return "has no host that can be named in network.allow; write "
		       "git+https://HOST[:PORT]/PATH[#BRANCH]";
	while (len > 0 && rest[len - 1] == '/')
		len--;
	if (len <= authority_len || rest[authority_len] != '/')
		return "has no repository behind its host";
	for (size_t i = authority_len; i < len; i++)
		if (rest[i] <= ' ' || rest[i] == 127 || strchr("?\"\\", rest[i]))
			return "has a character in its path that no repository's URL needs";
	if (len + sizeof("https://") > sizeof(ret->path))
		return "is too long";
	snprintf(ret->path, sizeof(ret->path), "https://%.*s", (int)len, rest);
	snprintf(ret->endpoint, sizeof(ret->endpoint), "%.*s%s", (int)authority_len, rest,
		 port_len ? "" : ":443");
	return NULL;
}

static int take_git(const char *text, const char *path, struct workspace_source *ret,
		    struct warder_error *err)
{
	const char *hash = strrchr(path, '#'), *fault = NULL;
	char *own;
	int status = 0;

	if (hash) {
		fault = branch_fault(hash + 1);
		if (fault)
			return refuse(text, fault, err);
		snprintf(ret->branch, sizeof(ret->branch), "%s", hash + 1);
	}
	own = strndup(path, hash ? (size_t)(hash - path) : strlen(path));
	if (!own)
		return error_no_memory(err, NULL);
	if (ret->scheme == WORKSPACE_FROM_GIT)
		status = take_host(text, own, ret, err);
	else
		fault = take_url(own, ret);
	free(own);
	if (fault)
		return refuse(text, fault, err);
	return status;
}

int workspace_source_parse(const char *text, struct workspace_source *ret, struct warder_error *err)
{
	struct workspace_source source = { .scheme = WORKSPACE_FROM_HOST };
	const char *rest = NULL;
	int status = -1;

	for (size_t i = 0; i < ARRAY_LENGTH(schemes) && !rest; i++) {
		const size_t len = strlen(schemes[i].name);

		if (strncmp(text, schemes[i].name, len) == 0) {
			source.scheme = schemes[i].scheme;
			rest = text + len;
		}
	}
	if (!rest)
		return refuse_scheme(text, err);
	switch (source.scheme) {
	case WORKSPACE_FROM_HOST:
		status = take_host(text, rest, &source, err);
		break;
	case WORKSPACE_FROM_WORKSPACE:
		status = take_relative(rest, "", &source, err);
		break;
	case WORKSPACE_FROM_SKILL:
		status = take_relative(rest, "skills/", &source, err);
		break;
	case WORKSPACE_FROM_ARTIFACT:
		status = artifact_reference_parse(rest, &source.artifact, err);
		break;
	case WORKSPACE_FROM_GIT:
	case WORKSPACE_FROM_GIT_HTTPS:
		status = take_git(text, rest, &source, err);
		break;
	}
	if (status == 0)
		*ret = source;
	return status;
}
