/*
 * The public functions of artifacts.
 */
#include <inttypes.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "store/artifacts/artifacts.h"
#include "store/store.h"
#include "store/warder-store.h"

int warder_artifact_save(const char *store, const char *name, const char *type, const char *bytes, size_t len,
			 uint64_t *ret_version, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact artifact = { 0 };
	int status;

	if (!name || (!bytes && len))
		return store_misuse("no name or content", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_save_bytes(&artifacts, name, type, bytes, len, &artifact, err);
	if (status == 0 && ret_version)
		*ret_version = artifact.version;
	artifact_done(&artifact);
	artifacts_done(&artifacts);
	return status;
}

int warder_artifact_save_file(const char *store, const char *name, const char *type, int fd,
			      uint64_t bytes_max, uint64_t *ret_version, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact artifact = { 0 };
	int status;

	if (!name || fd < 0)
		return store_misuse("no name or file", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_save(&artifacts, name, type, fd,
					bytes_max ? bytes_max : (uint64_t)16 << 30, &artifact, err);
	if (status == 0 && ret_version)
		*ret_version = artifact.version;
	artifact_done(&artifact);
	artifacts_done(&artifacts);
	return status;
}

static int read_artifact(struct artifacts *artifacts, const char *text, size_t most, char **ret,
			 size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = memfd_create("artifact", MFD_CLOEXEC);
	struct artifact_reference reference;
	struct artifact artifact;
	int status;

	if (fd < 0)
		return error_no_memory(err, NULL);
	if (artifact_reference_parse(text, &reference, err) != 0 ||
	    artifacts_find(artifacts, &reference, &artifact, err) != 0)
		return -1;
	if (artifact.content.size > most)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "artifact",
				   "%.200s has %" PRIu64 " bytes; at most %zu were asked for", text,
				   artifact.content.size, most);
	else
		status = artifacts_read(artifacts, &artifact, fd, err);
	artifact_done(&artifact);
	return status == 0 ? store_take_bytes(fd, most, text, ret, ret_len, err) : -1;
}

int warder_artifact_read(const char *store, const char *reference, size_t most, char **ret, size_t *ret_len,
			 struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	int status;

	if (!reference || !ret || !ret_len)
		return store_misuse("no reference, or nowhere to put the content", err);
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = read_artifact(&artifacts, reference, most, ret, ret_len, err);
	artifacts_done(&artifacts);
	return status;
}

int warder_artifact_remove(const char *store, const char *text, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;
	struct artifact_reference reference;
	int status;

	if (!text)
		return store_misuse("no reference", err);
	if (artifact_reference_parse(text, &reference, err) != 0)
		return -1;
	status = artifacts_open(store, &artifacts, err);
	if (status == 0)
		status = artifacts_remove(&artifacts, &reference, err);
	artifacts_done(&artifacts);
	return status;
}
