#include "store/images/layout.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/array.h"
#include "base/json.h"

static const char field[] = "image";

static const struct json_limits document_limits = { .max_bytes = LAYOUT_DOCUMENT_BYTES,
						    .max_depth = 32,
						    .max_values = 100000 };

static int refuse(const char *origin, const struct json_value *value, const char *key, const char *what,
		  struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%.120s:%d: %.60s %s", origin, value->line,
			 key, what);
}

/* ---- members ---- */

/* A member that may be missing or null: then *ret is NULL. */
static int optional_text(const struct json_value *object, const char *key, const char *origin, char **ret,
			 struct warder_error *err)
{
	const struct json_value *value = object ? json_member(object, key) : NULL;

	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING)
		return refuse(origin, value, key, "is not a string", err);
	*ret = strdup(value->string);
	return *ret ? 0 : error_no_memory(err, field);
}

static const struct json_value *optional_object(const struct json_value *object, const char *key)
{
	const struct json_value *value = object ? json_member(object, key) : NULL;

	return value && value->type == JSON_OBJECT ? value : NULL;
}

static int needed_list(const struct json_value *object, const char *key, const char *origin, size_t most,
		       const struct json_value **ret, struct warder_error *err)
{
	const struct json_value *value = json_member(object, key);

	if (!value || value->type != JSON_ARRAY)
		return refuse(origin, object, key, "is missing, or no list", err);
	if (json_length(value) > most)
		return refuse(origin, value, key, "has too many entries", err);
	*ret = value;
	return 0;
}

/* A list of strings that may be missing or null. */
static int optional_strings(const struct json_value *object, const char *key, const char *origin, char ***ret,
			    struct warder_error *err)
{
	const struct json_value *value = object ? json_member(object, key) : NULL;
	size_t i = 0;

	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_ARRAY || json_length(value) > IMAGE_STRINGS_MAX)
		return refuse(origin, value, key, "is not a list of strings, or has too many", err);
	*ret = calloc(json_length(value) + 1, sizeof(**ret));
	for (const struct json_value *each = value->child; *ret && each; each = each->next) {
		if (each->type != JSON_STRING)
			return refuse(origin, each, key, "has something in it that is not a string", err);
		(*ret)[i] = strdup(each->string);
		if (!(*ret)[i++])
			return error_no_memory(err, field);
	}
	return *ret ? 0 : error_no_memory(err, field);
}

static int take_digest(const struct json_value *value, const char *key, const char *origin,
		       char ret[static IMAGE_DIGEST], struct warder_error *err)
{
	const char *text = value->type == JSON_STRING ? value->string : "";

	if (strncmp(text, "sha512:", 7) == 0)
		return refuse(origin, value, key, "is a SHA-512, which is not known here; SHA-256 is", err);
	if (strncmp(text, "sha256:", 7) != 0 || !image_is_digest(text + 7))
		return refuse(origin, value, key,
			      "is not a digest: \"sha256:\" and 64 small hexadecimal digits", err);
	memcpy(ret, text + 7, IMAGE_DIGEST);
	return 0;
}

static int parse(const char *text, size_t len, const char *origin, enum json_type type,
		 struct json_value **ret, struct warder_error *err)
{
	if (json_parse(text, len, origin, &document_limits, ret, err) != 0)
		return -1;
	if ((*ret)->type == type)
		return 0;
	refuse(origin, *ret, "it", type == JSON_OBJECT ? "is not an object" : "is not a list", err);
	json_free(*ret);
	return -1;
}

/* ---- descriptors ---- */

static void descriptor_done(struct layout_descriptor *descriptor)
{
	free(descriptor->media);
	free(descriptor->reference);
	free(descriptor->os);
	free(descriptor->architecture);
}

static int take_descriptor(const struct json_value *value, const char *origin, struct layout_descriptor *ret,
			   struct warder_error *err)
{
	const struct json_value *digest, *size, *platform, *annotations;

	if (value->type != JSON_OBJECT)
		return refuse(origin, value, "a descriptor", "is not an object", err);
	digest = json_member(value, "digest");
	size = json_member(value, "size");
	if (!digest)
		return refuse(origin, value, "digest", "is missing", err);
	if (!size || !size->is_uint)
		return refuse(origin, value, "size", "is missing, or no whole number", err);
	ret->size = size->uint;
	platform = optional_object(value, "platform");
	annotations = optional_object(value, "annotations");
	if (take_digest(digest, "digest", origin, ret->digest, err) != 0 ||
	    optional_text(value, "mediaType", origin, &ret->media, err) != 0 ||
	    optional_text(platform, "os", origin, &ret->os, err) != 0 ||
	    optional_text(platform, "architecture", origin, &ret->architecture, err) != 0)
		return -1;
	return optional_text(annotations, "org.opencontainers.image.ref.name", origin, &ret->reference, err);
}

static int take_descriptors(const struct json_value *root, const char *key, const char *origin, size_t most,
			    struct layout_descriptor **ret, size_t *ret_count, struct warder_error *err)
{
	const struct json_value *list;

	if (needed_list(root, key, origin, most, &list, err) != 0)
		return -1;
	*ret = calloc(json_length(list) + 1, sizeof(**ret));
	if (!*ret)
		return error_no_memory(err, field);
	for (const struct json_value *each = list->child; each; each = each->next) {
		if (take_descriptor(each, origin, &(*ret)[(*ret_count)++], err) != 0)
			return -1;
	}
	return 0;
}

int layout_decode_index(const char *text, size_t len, const char *origin, struct layout_index *ret,
			struct warder_error *err)
{
	struct json_value *root;
	int taken;

	*ret = (struct layout_index){ 0 };
	if (parse(text, len, origin, JSON_OBJECT, &root, err) != 0)
		return -1;
	taken =
	    take_descriptors(root, "manifests", origin, LAYOUT_ENTRIES_MAX, &ret->entries, &ret->count, err);
	json_free(root);
	if (taken != 0)
		layout_index_done(ret);
	return taken;
}

void layout_index_done(struct layout_index *index)
{
	for (size_t i = 0; i < index->count; i++)
		descriptor_done(&index->entries[i]);
	free(index->entries);
	*index = (struct layout_index){ 0 };
}

static int take_manifest(const struct json_value *root, const char *origin, struct layout_manifest *ret,
			 struct warder_error *err)
{
	const struct json_value *config = json_member(root, "config");

	if (!config)
		return refuse(origin, root, "config", "is missing", err);
	if (take_descriptor(config, origin, &ret->config, err) != 0)
		return -1;
	return take_descriptors(root, "layers", origin, IMAGE_LAYERS_MAX, &ret->layers, &ret->count, err);
}

int layout_decode_manifest(const char *text, size_t len, const char *origin, struct layout_manifest *ret,
			   struct warder_error *err)
{
	struct json_value *root;
	int taken;

	*ret = (struct layout_manifest){ 0 };
	if (parse(text, len, origin, JSON_OBJECT, &root, err) != 0)
		return -1;
	taken = take_manifest(root, origin, ret, err);
	json_free(root);
	if (taken != 0)
		layout_manifest_done(ret);
	return taken;
}

void layout_manifest_done(struct layout_manifest *manifest)
{
	descriptor_done(&manifest->config);
	for (size_t i = 0; i < manifest->count; i++)
		descriptor_done(&manifest->layers[i]);
	free(manifest->layers);
	*manifest = (struct layout_manifest){ 0 };
}

/* ---- configuration ---- */

static int take_diff_ids(const struct json_value *root, const char *origin, struct layout_config *ret,
			 struct warder_error *err)
{
	const struct json_value *rootfs = optional_object(root, "rootfs"), *list;

	if (!rootfs)
		return refuse(origin, root, "rootfs", "is missing", err);
	if (needed_list(rootfs, "diff_ids", origin, IMAGE_LAYERS_MAX, &list, err) != 0)
		return -1;
	ret->diff_ids = calloc(json_length(list) + 1, sizeof(*ret->diff_ids));
	if (!ret->diff_ids)
		return error_no_memory(err, field);
	for (const struct json_value *each = list->child; each; each = each->next) {
		if (take_digest(each, "diff_ids", origin, ret->diff_ids[ret->count++], err) != 0)
			return -1;
	}
	return 0;
}

static int take_labels(const struct json_value *config, const char *origin, char ***ret,
		       struct warder_error *err)
{
	const struct json_value *labels = optional_object(config, "Labels");
	size_t i = 0;

	if (!labels || !labels->child)
		return 0;
	if (json_length(labels) > IMAGE_STRINGS_MAX)
		return refuse(origin, labels, "Labels", "has too many entries", err);
	*ret = calloc(json_length(labels) + 1, sizeof(**ret));
	for (const struct json_value *each = labels->child; *ret && each; each = each->next) {
		const size_t size =
		    strlen(each->key) + (each->type == JSON_STRING ? strlen(each->string) : 0);
		char *label = malloc(size + 2);

		if (!label)
			return error_no_memory(err, field);
		strcpy(label, each->key);
		strcat(label, "=");
		strcat(label, each->type == JSON_STRING ? each->string : "");
		(*ret)[i++] = label;
	}
	return *ret ? 0 : error_no_memory(err, field);
}

static int check_environment(const struct json_value *root, const char *origin, char *const *environment,
			     struct warder_error *err)
{
	for (; environment && *environment; environment++) {
		if ((*environment)[0] == '=' || !strchr(*environment, '='))
			return refuse(origin, root, "Env", "has an entry that is not NAME=value", err);
	}
	return 0;
}

static int take_start(const struct json_value *root, const char *origin, struct image *image,
		      struct warder_error *err)
{
	const struct json_value *config = optional_object(root, "config");

	if (optional_strings(config, "Env", origin, &image->environment, err) != 0 ||
	    optional_strings(config, "Entrypoint", origin, &image->entrypoint, err) != 0 ||
	    optional_strings(config, "Cmd", origin, &image->command, err) != 0 ||
	    optional_text(config, "WorkingDir", origin, &image->working_directory, err) != 0 ||
	    optional_text(config, "User", origin, &image->user, err) != 0 ||
	    take_labels(config, origin, &image->labels, err) != 0 ||
	    check_environment(root, origin, image->environment, err) != 0)
		return -1;
	if (image->working_directory && !image->working_directory[0]) {
		free(image->working_directory);
		image->working_directory = NULL;
	}
	if (image->user && !image->user[0]) {
		free(image->user);
		image->user = NULL;
	}
	if (image->working_directory && image->working_directory[0] != '/')
		return refuse(origin, root, "WorkingDir", "is not absolute", err);
	return 0;
}

int layout_decode_config(const char *text, size_t len, const char *origin, struct layout_config *ret,
			 struct image *image, struct warder_error *err)
{
	struct json_value *root;
	int taken = -1;

	*ret = (struct layout_config){ 0 };
	if (parse(text, len, origin, JSON_OBJECT, &root, err) != 0)
		return -1;
	if (optional_text(root, "os", origin, &ret->os, err) == 0 &&
	    optional_text(root, "architecture", origin, &ret->architecture, err) == 0 &&
	    take_diff_ids(root, origin, ret, err) == 0)
		taken = take_start(root, origin, image, err);
	json_free(root);
	if (taken != 0)
		layout_config_done(ret);
	return taken;
}

void layout_config_done(struct layout_config *config)
{
	free(config->os);
	free(config->architecture);
	free(config->diff_ids);
	*config = (struct layout_config){ 0 };
}

/* ---- docker ---- */

static int take_docker(const struct json_value *value, const char *origin, struct layout_docker *ret,
		       struct warder_error *err)
{
	const struct json_value *list;

	if (value->type != JSON_OBJECT)
		return refuse(origin, value, "an image", "is not an object", err);
	if (needed_list(value, "Layers", origin, IMAGE_LAYERS_MAX, &list, err) != 0 ||
	    optional_text(value, "Config", origin, &ret->config, err) != 0 ||
	    optional_strings(value, "Layers", origin, &ret->layers, err) != 0 ||
	    optional_strings(value, "RepoTags", origin, &ret->tags, err) != 0)
		return -1;
	return ret->config ? 0 : refuse(origin, value, "Config", "is missing", err);
}

int layout_decode_docker(const char *text, size_t len, const char *origin, struct layout_dockers *ret,
			 struct warder_error *err)
{
	struct json_value *root;
	int taken = 0;

	*ret = (struct layout_dockers){ 0 };
	if (parse(text, len, origin, JSON_ARRAY, &root, err) != 0)
		return -1;
	if (json_length(root) > LAYOUT_ENTRIES_MAX)
		taken = refuse(origin, root, "it", "has too many images", err);
	else if (!(ret->entries = calloc(json_length(root) + 1, sizeof(*ret->entries))))
		taken = error_no_memory(err, field);
	for (const struct json_value *each = root->child; taken == 0 && each; each = each->next)
		taken = take_docker(each, origin, &ret->entries[ret->count++], err);
	json_free(root);
	if (taken != 0)
		layout_dockers_done(ret);
	return taken;
}

void layout_dockers_done(struct layout_dockers *dockers)
{
	for (size_t i = 0; i < dockers->count; i++) {
		free(dockers->entries[i].config);
		image_strings_free(dockers->entries[i].layers);
		image_strings_free(dockers->entries[i].tags);
	}
	free(dockers->entries);
	*dockers = (struct layout_dockers){ 0 };
}

/* ---- words ---- */

int layout_kind(const struct layout_descriptor *descriptor)
{
	static const struct {
		const char *media;
		enum layout_kind kind;
	} kinds[] = {
		{ "application/vnd.oci.image.index.v1+json", LAYOUT_INDEX },
		{ "application/vnd.docker.distribution.manifest.list.v2+json", LAYOUT_INDEX },
		{ "application/vnd.oci.image.manifest.v1+json", LAYOUT_MANIFEST },
		{ "application/vnd.docker.distribution.manifest.v2+json", LAYOUT_MANIFEST },
	};

	for (size_t i = 0; descriptor->media && i < ARRAY_LENGTH(kinds); i++) {
		if (strcmp(descriptor->media, kinds[i].media) == 0)
			return (int)kinds[i].kind;
	}
	return -1;
}

int layout_is_layer(const char *media)
{
	static const char *const kinds[] = {
		"application/vnd.oci.image.layer.v1.tar",
		"application/vnd.oci.image.layer.v1.tar+gzip",
		"application/vnd.oci.image.layer.v1.tar+zstd",
		"application/vnd.oci.image.layer.nondistributable.v1.tar",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
		"application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
		"application/vnd.docker.image.rootfs.diff.tar",
		"application/vnd.docker.image.rootfs.diff.tar.gzip",
		"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
	};

	for (size_t i = 0; media && i < ARRAY_LENGTH(kinds); i++) {
		if (strcmp(media, kinds[i]) == 0)
			return 1;
	}
	return 0;
}

const char *layout_architecture(void)
{
	static const struct {
		const char *machine, *architecture;
	} names[] = {
		{ "x86_64", "amd64" },    { "aarch64", "arm64" }, { "riscv64", "riscv64" },
		{ "ppc64le", "ppc64le" }, { "s390x", "s390x" },
	};
	struct utsname host;

	for (size_t i = 0; uname(&host) == 0 && i < ARRAY_LENGTH(names); i++) {
		if (strcmp(host.machine, names[i].machine) == 0)
			return names[i].architecture;
	}
	return "unknown";
}
