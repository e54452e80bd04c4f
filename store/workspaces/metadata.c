/*
 * What Warder knows of a workspace: out of metadata.json, and into it.
 *
 * It names files of the host that are mounted, so it lies where no jail reaches; and it is decoded as strictly as if it did not. A
 * copy goes into the tree, for programs: by a rename, which replaces whatever a program has put there and follows nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "store/workspaces/private.h"

static const char document[] = "metadata.json";
static const char field[] = "workspace";

/* ---- life ---- */

void workspace_input_done(struct workspace_input *input)
{
	free(input->from);
	free(input->dst);
	free(input->resolved);
	free(input->mode);
	free(input->ts);
	*input = (struct workspace_input){ 0 };
}

static void skill_done(struct workspace_skill *skill)
{
	free(skill->name);
	free(skill->rel_path);
	free(skill->digest);
	free(skill->staged_at);
}

void workspace_metadata_done(struct workspace_metadata *metadata)
{
	for (size_t i = 0; i < metadata->input_count; i++)
		workspace_input_done(&metadata->inputs[i]);
	for (size_t i = 0; i < metadata->skill_count; i++)
		skill_done(&metadata->skills[i]);
	for (size_t i = 0; i < metadata->output_count; i++)
		free(metadata->outputs[i]);
	free(metadata->inputs);
	free(metadata->skills);
	free(metadata->outputs);
	free(metadata->id);
	free(metadata->created_at);
	free(metadata->updated_at);
	free(metadata->last_access);
	*metadata = (struct workspace_metadata){ 0 };
}

/* ---- changing ---- */

/* Room for one more at the end of a list of `size` bytes each. NULL: no memory. */
static void *room(void *list, size_t count, size_t size)
{
	return count % 16 ? list : reallocarray(list, count + 16, size);
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

int workspace_metadata_input(struct workspace_metadata *metadata, const struct workspace_input *input,
			     struct warder_error *err)
{
	struct workspace_input own = { copy(input->from), copy(input->dst), copy(input->resolved),
				       copy(input->mode), copy(input->ts),  input->version,
				       input->read_only };
	struct workspace_input *list = metadata->inputs;
	size_t at = 0;

	while (at < metadata->input_count && strcmp(metadata->inputs[at].dst, input->dst) != 0)
		at++;
	if (at == WORKSPACE_INPUTS_MAX) {
		workspace_input_done(&own);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "there are %d inputs already, as many as a workspace may have",
				 WORKSPACE_INPUTS_MAX);
	}
	if (at == metadata->input_count)
		list = room(list, at, sizeof(*list));
	if (list)
		metadata->inputs = list;
	if (!list || !own.from || !own.dst || !own.resolved || !own.mode || !own.ts) {
		workspace_input_done(&own);
		return error_no_memory(err, NULL);
	}
	if (at < metadata->input_count)
		workspace_input_done(&list[at]);
	else
		metadata->input_count++;
	list[at] = own;
	return 0;
}

int workspace_metadata_skill(struct workspace_metadata *metadata, const struct workspace_skill *skill,
			     struct warder_error *err)
{
	struct workspace_skill own = { copy(skill->name), copy(skill->rel_path), copy(skill->digest),
				       copy(skill->staged_at), skill->mounted };
	struct workspace_skill *list = metadata->skills;
	size_t at = 0;

	while (at < metadata->skill_count && strcmp(metadata->skills[at].name, skill->name) != 0)
		at++;
	if (at == metadata->skill_count && at < WORKSPACE_INPUTS_MAX)
		list = room(list, at, sizeof(*list));
	if (list)
		metadata->skills = list;
	if (!list || at == WORKSPACE_INPUTS_MAX || !own.name || !own.rel_path || !own.digest ||
	    !own.staged_at) {
		skill_done(&own);
		return at == WORKSPACE_INPUTS_MAX
			   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "there are too many skills")
			   : error_no_memory(err, NULL);
	}
	if (at < metadata->skill_count)
		skill_done(&list[at]);
	else
		metadata->skill_count++;
	list[at] = own;
	return 0;
}

int workspace_metadata_output(struct workspace_metadata *metadata, char *output, struct warder_error *err)
{
	char **list = metadata->outputs;

	if (metadata->output_count == WORKSPACE_OUTPUTS_MAX) {
		free(list[0]);
		memmove(list, list + 1, (metadata->output_count - 1) * sizeof(*list));
		list[metadata->output_count - 1] = output;
		return output ? 0 : error_no_memory(err, NULL);
	}
	list = output ? room(list, metadata->output_count, sizeof(*list)) : NULL;
	if (!list) {
		free(output);
		return error_no_memory(err, NULL);
	}
	metadata->outputs = list;
	list[metadata->output_count++] = output;
	return 0;
}

/* ---- decoding ---- */

static int refuse(const struct json_value *value, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, document, "%s:%d: %s", document,
			 value ? value->line : 1, what);
}

/* Strings of an object, each of which must be there, and nothing else. */
struct text_row {
	const char *key;
	size_t offset;
};

static int read_texts(const struct json_value *object, const struct text_row *rows, size_t count, void *to,
		      struct warder_error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_value *value = json_member(object, rows[i].key);
		char *text, what[80];

		snprintf(what, sizeof(what), "\"%s\" is not text", rows[i].key);
		if (!value || value->type != JSON_STRING)
			return refuse(value ? value : object, what, err);
		text = strdup(value->string);
		if (!text)
			return error_no_memory(err, NULL);
		memcpy((char *)to + rows[i].offset, &text, sizeof(text));
	}
	return 0;
}

static bool read_bool(const struct json_value *object, const char *key, bool *ret)
{
	const struct json_value *value = json_member(object, key);

	*ret = value && value->boolean;
	return value && value->type == JSON_BOOL;
}

#define IN(member) offsetof(struct workspace_input, member)
static const struct text_row input_rows[] = { { "from", IN(from) },
					      { "dst", IN(dst) },
					      { "resolved", IN(resolved) },
					      { "mode", IN(mode) },
					      { "ts", IN(ts) } };
#define SK(member) offsetof(struct workspace_skill, member)
static const struct text_row skill_rows[] = { { "name", SK(name) },
					      { "rel_path", SK(rel_path) },
					      { "digest", SK(digest) },
					      { "staged_at", SK(staged_at) } };
#define ME(member) offsetof(struct workspace_metadata, member)
static const struct text_row own_rows[] = { { "id", ME(id) },
					    { "created_at", ME(created_at) },
					    { "updated_at", ME(updated_at) },
					    { "last_access", ME(last_access) } };

static int read_input(struct workspace_metadata *metadata, const struct json_value *object,
		      struct warder_error *err)
{
	const struct json_value *version = json_member(object, "version");
	struct workspace_input input = { 0 };
	int status = read_texts(object, input_rows, ARRAY_LENGTH(input_rows), &input, err);

	if (status == 0 && (!version || (version->type != JSON_NULL && !version->is_uint)))
		status = refuse(object, "\"version\" of an input is neither a number nor null", err);
	if (status == 0 && !read_bool(object, "read_only", &input.read_only))
		status = refuse(object, "\"read_only\" is neither true nor false", err);
	if (status == 0) {
		input.version = version->type == JSON_NULL ? 0 : version->uint;
		status = workspace_metadata_input(metadata, &input, err);
	}
	workspace_input_done(&input);
	return status;
}

static int read_skill(struct workspace_metadata *metadata, const struct json_value *object,
		      struct warder_error *err)
{
	struct workspace_skill skill = { 0 };
	int status = read_texts(object, skill_rows, ARRAY_LENGTH(skill_rows), &skill, err);

	if (status == 0 && !read_bool(object, "mounted", &skill.mounted))
		status = refuse(object, "\"mounted\" is neither true nor false", err);
	if (status == 0)
		status = workspace_metadata_skill(metadata, &skill, err);
	skill_done(&skill);
	return status;
}

static int read_output(struct workspace_metadata *metadata, const struct json_value *object,
		       struct warder_error *err)
{
	return workspace_metadata_output(metadata, json_text(object), err);
}

/* ---- the document ---- */

static int read_list(struct workspace_metadata *metadata, const struct json_value *root, const char *key,
		     size_t most,
		     int (*read_one)(struct workspace_metadata *metadata, const struct json_value *object,
				     struct warder_error *err),
		     struct warder_error *err)
{
	const struct json_value *list = json_member(root, key);
	char what[80];
	size_t count = 0;

	snprintf(what, sizeof(what), "\"%s\" is not a list of objects, or too long", key);
	if (!list || list->type != JSON_ARRAY)
		return refuse(list ? list : root, what, err);
	for (const struct json_value *item = list->child; item; item = item->next) {
		if (item->type != JSON_OBJECT || ++count > most)
			return refuse(item, what, err);
		if (read_one(metadata, item, err) != 0)
			return -1;
	}
	return 0;
}

static int decode(const struct json_value *root, struct workspace_metadata *ret, struct warder_error *err)
{
	const struct json_value *version = json_member(root, "version");

	if (root->type != JSON_OBJECT)
		return refuse(root, "this is not an object", err);
	if (!version || !version->is_uint || version->uint != 1)
		return refuse(version ? version : root,
			      "\"version\" is not 1, the only one this Warder reads", err);
	if (read_texts(root, own_rows, ARRAY_LENGTH(own_rows), ret, err) != 0 ||
	    read_list(ret, root, "skills", WORKSPACE_INPUTS_MAX, read_skill, err) != 0 ||
	    read_list(ret, root, "inputs", WORKSPACE_INPUTS_MAX, read_input, err) != 0 ||
	    read_list(ret, root, "outputs", WORKSPACE_OUTPUTS_MAX, read_output, err) != 0)
		return -1;
	return 0;
}

int workspace_metadata_parse(const char *text, size_t len, struct workspace_metadata *ret,
			     struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = WORKSPACE_METADATA_MAX,
					    .max_depth = 8,
					    .max_values = 200000 };
	struct workspace_metadata metadata = { 0 };
	struct json_value *root = NULL;
	int status;

	if (json_parse(text, len, document, &limits, &root, err) != 0)
		return -1;
	status = decode(root, &metadata, err);
	json_free(root);
	if (status == 0)
		*ret = metadata;
	else
		workspace_metadata_done(&metadata);
	return status;
}

/* ---- encoding ---- */

static void write_texts(struct json_writer *w, const struct text_row *rows, size_t count, const void *from)
{
	for (size_t i = 0; i < count; i++) {
		char *text;

		memcpy(&text, (const char *)from + rows[i].offset, sizeof(text));
		json_key_string(w, rows[i].key, text ? text : "");
	}
}

static void write_input(struct json_writer *w, const struct workspace_input *input)
{
	json_begin_object(w);
	write_texts(w, input_rows, ARRAY_LENGTH(input_rows), input);
	json_key(w, "version");
	if (input->version)
		json_uint(w, input->version);
	else
		json_null(w);
	json_key_bool(w, "read_only", input->read_only);
	json_end_object(w);
}

static void write_output(struct json_writer *w, const char *text)
{
	struct json_value *value = NULL;
	struct warder_error err;

	if (json_parse(text, strlen(text), document, NULL, &value, &err) == 0)
		json_copy(w, value);
	else
		json_fail(w);
	json_free(value);
}

char *workspace_metadata_text(const struct workspace_metadata *metadata, size_t *ret_len)
{
	struct json_writer w = { .pretty = true };

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	write_texts(&w, own_rows, ARRAY_LENGTH(own_rows), metadata);
	json_key(&w, "skills");
	json_begin_array(&w);
	for (size_t i = 0; i < metadata->skill_count; i++) {
		json_begin_object(&w);
		write_texts(&w, skill_rows, ARRAY_LENGTH(skill_rows), &metadata->skills[i]);
		json_key_bool(&w, "mounted", metadata->skills[i].mounted);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_key(&w, "inputs");
	json_begin_array(&w);
	for (size_t i = 0; i < metadata->input_count; i++)
		write_input(&w, &metadata->inputs[i]);
	json_end_array(&w);
	json_key(&w, "outputs");
	json_begin_array(&w);
	for (size_t i = 0; i < metadata->output_count; i++)
		write_output(&w, metadata->outputs[i]);
	json_end_array(&w);
	json_end_object(&w);
	*ret_len = w.len;
	return json_take(&w);
}

/* ---- on the disk ---- */

int workspace_metadata_load(struct workspace *workspace, struct workspace_metadata *ret,
			    struct warder_error *err)
{
	char *text = NULL;
	size_t len;
	int status;

	if (store_read(workspace->dir_fd, document, WORKSPACE_METADATA_MAX, &text, &len, err) != 0)
		return -1;
	status = workspace_metadata_parse(text, len, ret, err);
	free(text);
	err->sys_errno = 0;
	return status;
}

/* For programs to read. What cannot be put there, because a program made a directory of that name, is not. */
static void publish(struct workspace *workspace, const char *text, size_t len)
{
	struct warder_error ignored;
	char name[STORE_NAME_MAX];
	owned_fd int fd = workspace_new_file(workspace, name, &ignored);

	if (fd < 0)
		return;
	if (write(fd, text, len) != (ssize_t)len || fchmod(fd, 0644) != 0 ||
	    renameat(workspace->dir_fd, name, workspace->files_fd, document) != 0)
		unlinkat(workspace->dir_fd, name, 0);
}

static int save(struct workspace *workspace, struct workspace_metadata *metadata, struct warder_error *err)
{
	char now[40], **times[] = { &metadata->created_at, &metadata->updated_at, &metadata->last_access };
	char *text = NULL;
	size_t len;
	int status;

	store_time(time(NULL), now);
	for (size_t i = 0; i < ARRAY_LENGTH(times); i++) {
		if (i == 0 && *times[i])
			continue;
		free(*times[i]);
		*times[i] = strdup(now);
		if (!*times[i])
			return error_no_memory(err, NULL);
	}
	text = workspace_metadata_text(metadata, &len);
	if (!text)
		return error_no_memory(err, NULL);
	if (len > WORKSPACE_METADATA_MAX)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				   "its metadata would be larger than 4 MiB");
	else
		status = store_replace(workspace->dir_fd, document, text, len, 0600, err);
	if (status == 0)
		publish(workspace, text, len);
	free(text);
	return status;
}

int workspace_metadata_change(struct workspace *workspace,
			      int (*change)(void *context, struct workspace_metadata *metadata,
					    struct warder_error *err),
			      void *context, struct warder_error *err)
{
	owned_fd int lock_fd =
	    openat(workspace->dir_fd, "metadata.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct workspace_metadata metadata = { 0 };
	int status;

	if (lock_fd < 0 || file_lock(lock_fd, LOCK_EX) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the metadata cannot be locked");
	if (workspace_metadata_load(workspace, &metadata, err) != 0 && err->sys_errno != ENOENT)
		return -1;
	status = change(context, &metadata, err);
	if (status == 0)
		status = save(workspace, &metadata, err);
	workspace_metadata_done(&metadata);
	return status;
}
