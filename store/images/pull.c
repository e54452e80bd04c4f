/*
 * An image of a registry: skopeo fetches it, because it knows the protocol with its tokens, lists by architecture and redirects, in a jail that
 * has one directory and reaches the hosts of the registry alone. It leaves an OCI layout there, which is hostile like any archive: the import
 * compares every blob with its digest.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/json.h"
#include "rootfs/rootfs.h"
#include "runtime/warder.h"
#include "store/images/layer_store.h"
#include "store/jailed.h"

#define HOSTS_MAX     32
#define REFERENCE_MAX 400
#define INSIDE        "/workspace"

static const char field[] = "reference";

/* Where a registry's tokens and blobs are. Another registry has all of it at its own host, or the caller names the rest. */
static const struct {
	const char *registry;
	const char *hosts[5];
} registries[] = {
	{ "docker.io",
	  { "registry-1.docker.io:443", "auth.docker.io:443", "production.cloudflare.docker.com:443",
	    "docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com:443" } },
	{ "ghcr.io", { "ghcr.io:443", "pkg-containers.githubusercontent.com:443" } },
	{ "mcr.microsoft.com", { "mcr.microsoft.com:443", "*.data.mcr.microsoft.com:443" } },
	{ "quay.io", { "quay.io:443", "*.quay.io:443" } },
};

/* skopeo is a program of many threads, and keeps a copy of a layer while it looks at it. */
static const char *const settings[] = {
	"limits.wallTime",  "30m",  "limits.pids", "256", "network.bytes", "16GiB",
	"limits.openFiles", "1024", NULL
};

/* ---- references ---- */

/* The registry that stands before the first slash, or docker.io. */
static void registry_of(const char *reference, char ret[static REFERENCE_MAX])
{
	const size_t len = strcspn(reference, "/");

	snprintf(ret, REFERENCE_MAX, "%.*s", (int)len, reference);
	if (!reference[len] || (!strpbrk(ret, ".:") && strcmp(ret, "localhost") != 0) ||
	    strcmp(ret, "index.docker.io") == 0)
		snprintf(ret, REFERENCE_MAX, "docker.io");
}

static const char *reference_fault(const char *reference)
{
	if (strstr(reference, "://"))
		return "has a scheme; write only the registry and the name, such as ghcr.io/a/b:1";
	if (!*reference || *reference == '-' || *reference == '/')
		return "is no reference of an image; write one such as python:3.12-slim or ghcr.io/a/b:1";
	if (strlen(reference) >= REFERENCE_MAX)
		return "is too long";
	for (; *reference; reference++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@",
			    *reference))
			return "has a character that no reference of an image has";
		if (*reference == '@' && strncmp(reference, "@sha256:", 8) != 0)
			return "has an @ without sha256: behind it; credentials are not taken";
	}
	return NULL;
}

static int find_hosts(const struct images_pull *what, char own[static REFERENCE_MAX + 4],
		      const char *ret[static HOSTS_MAX + 1], struct warder_error *err)
{
	char registry[REFERENCE_MAX];
	size_t count = 0;

	registry_of(what->reference, registry);
	for (size_t i = 0; i < ARRAY_LENGTH(registries); i++)
		for (size_t k = 0; strcmp(registries[i].registry, registry) == 0 && registries[i].hosts[k];
		     k++)
			ret[count++] = registries[i].hosts[k];
	if (!count) {
		snprintf(own, REFERENCE_MAX + 4, "%s%s", registry, strchr(registry, ':') ? "" : ":443");
		ret[count++] = own;
	}
	for (char *const *host = what->more_hosts; host && *host; host++) {
		if (count == HOSTS_MAX)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--allow", "more than %d hosts",
					 HOSTS_MAX);
		ret[count++] = *host;
	}
	ret[count] = NULL;
	return 0;
}

/* ---- fetching ---- */

/* What skopeo logs last: time="..." level=fatal msg="...", with \" for a quotation mark. */
static void last_message(const struct warder_result *result, char *buf, size_t size)
{
	size_t len;
	uint64_t total;
	const char *said = warder_result_output(result, WARDER_STDERR, &len, &total);
	const char *at = said && len ? said : "";
	size_t used = 0;

	for (const char *next = at; (next = strstr(next, " msg=\""));)
		at = next += sizeof(" msg=\"") - 1;
	for (; *at && *at != '"' && *at != '\n' && used + 1 < size; at++) {
		at += at[0] == '\\' && at[1];
		buf[used++] = *at == '"' ? '\'' : *at;
	}
	buf[used] = '\0';
}

static int fetch(const struct images_pull *what, const char *directory, struct warder_error *err)
{
	char own[REFERENCE_MAX + 4], from[REFERENCE_MAX + 16], workspace[PATH_MAX + 16], said[300],
	    shown[340];
	const char *hosts[HOSTS_MAX + 1];
	const char *const argv[] = { "skopeo",
				     "--insecure-policy",
				     "--override-os",
				     "linux",
				     "--tmpdir",
				     INSIDE "/tmp",
				     "copy",
				     "--quiet",
				     "--src-no-creds",
				     "--retry-times",
				     "2",
				     from,
				     "oci:" INSIDE "/layout",
				     NULL };
	const char *const environment[] = { "HOME=" INSIDE "/tmp", NULL };
	const struct store_task task = { .field = field,
					 .workspace = workspace,
					 .allow = hosts,
					 .settings = settings,
					 .argv = argv,
					 .environment = environment };
	struct warder_result *result = NULL;
	int status = find_hosts(what, own, hosts, err);

	snprintf(from, sizeof(from), "docker://%s", what->reference);
	snprintf(workspace, sizeof(workspace), "readWrite:%s", directory);
	if (status == 0)
		status = store_run_jailed(&task, &result, err);
	if (status == 0 && warder_result_exit_code(result) != 0) {
		last_message(result, said, sizeof(said));
		status =
		    error_set(err, WARDER_ERROR_UNAVAILABLE, field, "skopeo says %s",
			      json_quote(*said ? said : warder_result_cause(result), shown, sizeof(shown)));
	}
	warder_result_free(result);
	return status;
}

/* What the jail has left, whatever it was told to make: only a directory is opened. */
static int take(struct images *images, const struct draft *draft, const struct images_pull *what,
		struct image *ret, struct images_notes *ret_notes, struct warder_error *err)
{
	owned_fd int fd = openat(draft->tree_fd, "layout", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char source[32];
	const struct images_import import = { .source = source,
					      .format = "oci",
					      .name = what->name ? what->name : what->reference };

	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "skopeo has left no image");
	snprintf(source, sizeof(source), "/dev/fd/%d", fd);
	return images_import(images, &import, ret, ret_notes, err);
}

int images_pull(struct images *images, const struct images_pull *what, struct image *ret,
		struct images_notes *ret_notes, struct warder_error *err)
{
	const char *fault = reference_fault(what->reference);
	char path[ROOTFS_PRIVATE_DIR_MAX + STORE_NAME_MAX + 32], shown[120];
	struct draft draft = DRAFT_NONE;
	int status;

	*ret = (struct image){ 0 };
	if (fault)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s %s",
				 json_quote(what->reference, shown, sizeof(shown)), fault);
	if (layer_store_check_name(what->name ? what->name : what->reference, err) != 0)
		return -1;
	status = draft_make(images, &draft, err);
	snprintf(path, sizeof(path), "%s/layers/%s/tree", images->path, draft.name);
	if (status == 0 && mkdirat(draft.tree_fd, "tmp", 0700) != 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					 "there is no room for an image");
	if (status == 0)
		status = fetch(what, path, err);
	if (status == 0)
		status = take(images, &draft, what, ret, ret_notes, err);
	draft_done(images, &draft);
	return status == 0 ? 0 : error_context(err, "failed to pull image %.200s", what->reference);
}
