/*
 * manifest: what a workspace is made of, and what runs in it, as a JSON document. Part of this folder's door.
 *
 *   {"workspace": ID, "entries": [ENTRY, ...], "packages": {"pip": [NAME, ...], "npm": [NAME, ...]}, "setup": [COMMAND, ...],
 *    "policy": PRESET or {...}, "timeout": "10m"}
 *
 * All members may be left out. An ENTRY is one of
 *   {"type": "file", "path": PATH, "content": TEXT or "contentBase64": TEXT, "mode": "755"}
 *   {"type": "directory", "path": PATH}
 *   {"type": "git_repo", "path": PATH, "url": "https://..." or "file:///...", "branch": NAME}
 *   {"type": "input", "from": SOURCE, "path": PATH, "readOnly": true, "link": true}      as of workspace_stage()
 *
 * Life: manifest_parse() -> manifest_provision() -> manifest_done(). One thread.
 */
#ifndef WARDER_STORE_WORKSPACES_MANIFEST_H
#define WARDER_STORE_WORKSPACES_MANIFEST_H

#include "store/workspaces/workspaces.h"

#define MANIFEST_BYTES_MAX    ((size_t)64 << 20)
#define MANIFEST_ENTRIES_MAX  10000
#define MANIFEST_TIMEOUT_US   (UINT64_C(600) * 1000000)
#define MANIFEST_PRESET       "agent"
#define MANIFEST_PACKAGES_MAX 200 /* of each installer */
#define MANIFEST_PYTHON       "/workspace/.python"

struct manifest {
	struct json_value *document; /* owned; the rest points into it */
	const char *id;              /* NULL: a new one is made */
	const struct json_value *entries;
	const char *
	    *setup; /* owned list: the commands that install the packages, and then those of the setup */
	size_t setup_count;
	char **packages; /* owned list of owned commands, which `setup` points to */
	size_t package_count;
	const char *fetched; /* a package that is fetched from an index; or NULL */
	bool python;         /* some are installed for Python, which looks for them in MANIFEST_PYTHON */
	const struct json_value *policy; /* a string or an object; NULL: MANIFEST_PRESET */
	uint64_t timeout_us;
};

/* Strict. `origin` names the document in errors. -1 with *err (INVALID_REQUEST), naming the member. */
int manifest_parse(const char *text, size_t len, const char *origin, struct manifest *ret,
		   struct warder_error *err);
void manifest_done(struct manifest *manifest);
/* Make the workspace with all its entries, in their order. -1 with *err: there is none; CONFLICT: the id is in use. */
int manifest_provision(const struct manifest *manifest, struct workspaces *workspaces,
		       struct artifacts *artifacts, struct workspace *ret, struct warder_error *err);

#endif
