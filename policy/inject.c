/*
 * inject: the credential of a row of network.allow, which warder-edge puts into requests outside of the program.
 *
 * A policy may have it only as a row of the ceiling has it: the same host, header, file and format, with methods and
 * paths that are the ceiling's or fewer. So nobody but the operator chooses which file is read and where its content
 * goes. Where there is no ceiling, nobody has granted anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "policy/names.h"
#include "policy/values.h"

#define PATH_SIZE 96
#define NAME_MAX_ 64
#define VALUE_MAX 128
#define PATH_MAX_ 256
#define METHODS   8
#define PATHS     16

/* Headers that say how a request is framed, or where it goes. */
static const char *const framing[] = {
	"host",   "content-length", "transfer-encoding", "connection",      "upgrade", "te", "trailer",
	"expect", "keep-alive",     "proxy-connection",  "accept-encoding", "range",   NULL
};

static bool is_token(const char *text, size_t most)
{
	size_t len = strlen(text);

	return len > 0 && len <= most &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			    "0123456789!#$%&'*+-.^_`|~") == len;
}

static int refuse(struct warder_error *err, const char *path, const char *key, const char *value,
		  const char *why)
{
	char at[PATH_SIZE], quoted[64];

	snprintf(at, sizeof(at), "%.60s.%s", path, key);
	return policy_refuse(err, at, "%s %s", json_quote(value, quoted, sizeof(quoted)), why);
}

/* ---- life ---- */

void policy_inject_free(struct policy_inject *inject)
{
	if (!inject)
		return;
	free(inject->header);
	free(inject->secret_file);
	free(inject->format);
	policy_strings_done(&inject->methods);
	policy_strings_done(&inject->paths);
	free(inject);
}

int policy_inject_copy(const struct policy_inject *from, struct policy_inject **ret, struct warder_error *err)
{
	struct policy_inject *copy;

	*ret = NULL;
	if (!from)
		return 0;
	copy = calloc(1, sizeof(*copy));
	if (!copy)
		return error_no_memory(err, NULL);
	if (policy_string_set(&copy->header, from->header, err) != 0 ||
	    policy_string_set(&copy->secret_file, from->secret_file, err) != 0 ||
	    policy_string_set(&copy->format, from->format, err) != 0 ||
	    policy_strings_copy(&from->methods, &copy->methods, err) != 0 ||
	    policy_strings_copy(&from->paths, &copy->paths, err) != 0) {
		policy_inject_free(copy);
		return -1;
	}
	*ret = copy;
	return 0;
}

/* The same credential, whatever it may be used for. */
static bool same_secret(const struct policy_inject *a, const struct policy_inject *b)
{
	return strcasecmp(a->header, b->header) == 0 && strcmp(a->secret_file, b->secret_file) == 0 &&
	       strcmp(a->format, b->format) == 0;
}

/* ---- document ---- */

static int read_string(const struct json_value *value, const char *path, char **ret, struct warder_error *err)
{
	if (value->type != JSON_STRING)
		return policy_refuse(err, path, "%s where a string is expected", json_type_name(value->type));
	return policy_string_set(ret, value->string, err);
}

static int read_strings(const struct json_value *value, const char *path, struct policy_strings *ret,
			struct warder_error *err)
{
	if (value->type != JSON_ARRAY || !value->child)
		return policy_refuse(err, path, "%s where an array of one or more strings is expected",
				     value->type == JSON_ARRAY ? "an empty array"
							       : json_type_name(value->type));
	for (const struct json_value *item = value->child; item; item = item->next) {
		if (item->type != JSON_STRING)
			return policy_refuse(err, path, "%s where a string is expected",
					     json_type_name(item->type));
		if (policy_strings_add(ret, item->string, err) != 0)
			return policy_locate(err, path);
	}
	return 0;
}

static int read_member(const struct json_value *member, const char *parent, struct policy_inject *to,
		       struct warder_error *err)
{
	static const char *const keys[] = { "header", "secretFile", "format", "methods", "paths", NULL };
	char path[PATH_SIZE], known[120];

	snprintf(path, sizeof(path), "%.60s.%.30s", parent, member->key);
	switch (policy_word(keys, member->key)) {
	case 0:
		return read_string(member, path, &to->header, err);
	case 1:
		return read_string(member, path, &to->secret_file, err);
	case 2:
		return read_string(member, path, &to->format, err);
	case 3:
		return read_strings(member, path, &to->methods, err);
	case 4:
		return read_strings(member, path, &to->paths, err);
	}
	return policy_refuse(err, path, "unknown key; %s",
			     policy_suggest(keys, member->key, known, sizeof(known)));
}

int policy_inject_read(const struct json_value *value, const char *path, struct policy_inject **ret,
		       struct warder_error *err)
{
	struct policy_inject *inject;

	if (value->type != JSON_OBJECT)
		return policy_refuse(err, path, "%s where an object with header and secretFile is expected",
				     json_type_name(value->type));
	inject = calloc(1, sizeof(*inject));
	if (!inject)
		return error_no_memory(err, NULL);
	for (const struct json_value *member = value->child; member; member = member->next)
		if (read_member(member, path, inject, err) != 0) {
			policy_inject_free(inject);
			return -1;
		}
	if (!inject->format && policy_string_set(&inject->format, "{}", err) != 0) {
		policy_inject_free(inject);
		return -1;
	}
	*ret = inject;
	return 0;
}

static void write_strings(struct json_writer *w, const char *key, const struct policy_strings *list)
{
	if (list->count == 0)
		return;
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_string(w, list->items[i]);
	json_end_array(w);
}

void policy_inject_write(const struct policy_inject *inject, struct json_writer *w)
{
	json_key(w, "inject");
	json_begin_object(w);
	json_key_string(w, "header", inject->header);
	json_key_string(w, "secretFile", inject->secret_file);
	json_key_string(w, "format", inject->format);
	write_strings(w, "methods", &inject->methods);
	write_strings(w, "paths", &inject->paths);
	json_end_object(w);
}

/* ---- rules ---- */

static int check_header(const struct policy_inject *inject, const char *path, struct warder_error *err)
{
	char at[PATH_SIZE];

	snprintf(at, sizeof(at), "%.60s.header", path);
	if (!inject->header)
		return policy_refuse(err, at, "missing; name it, such as \"Authorization\"");
	if (!is_token(inject->header, NAME_MAX_))
		return refuse(err, path, "header", inject->header,
			      "is not the name of a header; write at most 64 letters, digits and hyphens");
	for (size_t i = 0; framing[i]; i++)
		if (strcasecmp(framing[i], inject->header) == 0)
			return refuse(err, path, "header", inject->header,
				      "says how a request is sent; use a header that carries a credential");
	return 0;
}

static int check_format(const struct policy_inject *inject, const char *path, struct warder_error *err)
{
	const char *format = inject->format ? inject->format : "";
	const char *placeholder = strstr(format, "{}");

	if (!placeholder || strstr(placeholder + 2, "{}") || strlen(format) > VALUE_MAX)
		return refuse(err, path, "format", format,
			      "has to have {} once, where the secret goes, such as \"Bearer {}\"");
	for (const char *c = format; *c; c++)
		if (*c < ' ' || *c > '~')
			return refuse(err, path, "format", format, "has a character that is not printable");
	return 0;
}

static const char *path_fault(const char *text)
{
	if (text[0] != '/' || strlen(text) > PATH_MAX_ || strstr(text, "//") || strchr(text, '%') ||
	    strchr(text, '?') || strchr(text, '#') || strchr(text, '\\'))
		return "is not a plain path; write it decoded, such as \"/simple/\" for all below it";
	for (const char *at = text; (at = strchr(at, '/')); at++) {
		const char *segment = at + 1;
		size_t len = strcspn(segment, "/;");

		if ((len == 1 && segment[0] == '.') || (len == 2 && strncmp(segment, "..", 2) == 0))
			return "has a segment . or ..; leave it out";
	}
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			return "has a character that is not printable";
	return NULL;
}

static int check_lists(const struct policy_inject *inject, const char *path, struct warder_error *err)
{
	char key[32];

	if (inject->methods.count > METHODS || inject->paths.count > PATHS)
		return policy_refuse(err, path, "more than %d methods or %d paths; name fewer", METHODS,
				     PATHS);
	for (size_t i = 0; i < inject->methods.count; i++) {
		const char *method = inject->methods.items[i];

		snprintf(key, sizeof(key), "methods[%zu]", i);
		if (!is_token(method, 16) || strcasecmp(method, "TRACE") == 0 ||
		    strcasecmp(method, "CONNECT") == 0)
			return refuse(err, path, key, method,
				      "cannot carry a credential; write methods such as \"GET\"");
	}
	for (size_t i = 0; i < inject->paths.count; i++) {
		const char *fault = path_fault(inject->paths.items[i]);

		snprintf(key, sizeof(key), "paths[%zu]", i);
		if (fault)
			return refuse(err, path, key, inject->paths.items[i], fault);
	}
	return 0;
}

static bool has_port(const struct policy_endpoint *row, uint16_t port)
{
	for (size_t i = 0; i < row->port_count; i++)
		if (row->ports[i] == port)
			return true;
	return false;
}

/* Each request has one credential. */
static int check_alone(const struct policy_endpoints *list, size_t index, const char *path,
		       struct warder_error *err)
{
	const struct policy_endpoint *row = &list->items[index];

	for (size_t i = 0; i < index; i++) {
		const struct policy_endpoint *other = &list->items[i];

		if (!other->inject || !other->host || strcmp(other->host, row->host) != 0)
			continue;
		for (size_t j = 0; j < row->port_count; j++)
			if (has_port(other, row->ports[j]))
				return policy_refuse(err, path,
						     "network.allow[%zu] injects for \"%.60s\" with port %u; "
						     "leave one out",
						     i, row->host, row->ports[j]);
	}
	return 0;
}

static const char *shown_at(const struct policy_strings *list, const char *file)
{
	for (size_t i = 0; i < list->count; i++) {
		char source[512];

		snprintf(source, sizeof(source), "%.*s", (int)strcspn(list->items[i], ":"), list->items[i]);
		if (policy_path_within(source, file))
			return list->items[i];
	}
	return NULL;
}

const char *policy_shows_file(const struct policy *policy, const char *file)
{
	const char *shown = shown_at(&policy->filesystem.read_only, file);

	if (!shown)
		shown = shown_at(&policy->filesystem.read_write, file);
	if (!shown && policy->filesystem.workspace_root &&
	    policy_path_within(policy->filesystem.workspace_root, file))
		shown = policy->filesystem.workspace_root;
	if (!shown && policy->filesystem.view == POLICY_VIEW_HOST && policy_path_within("/usr", file))
		shown = "/usr";
	return shown;
}

static int check_file(const struct policy *policy, const struct policy_inject *inject, const char *path,
		      struct warder_error *err)
{
	char at[PATH_SIZE];
	const char *shown;

	snprintf(at, sizeof(at), "%.60s.secretFile", path);
	if (!inject->secret_file)
		return policy_refuse(err, at, "missing; name the file that has the secret");
	if (policy_path_fault(inject->secret_file))
		return refuse(err, path, "secretFile", inject->secret_file,
			      policy_path_fault(inject->secret_file));
	shown = policy_shows_file(policy, inject->secret_file);
	if (!shown)
		return 0;
	return policy_refuse(
	    err, at, "the program sees \"%.60s\", and the secret in it; keep the file elsewhere", shown);
}

int policy_inject_validate(const struct policy *policy, struct warder_error *err)
{
	const struct policy_endpoints *list = &policy->network.allow;
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct policy_endpoint *row = &list->items[i];
		char path[PATH_SIZE];

		if (!row->inject)
			continue;
		snprintf(path, sizeof(path), "network.allow[%zu].inject", i);
		if (policy->network.mode == POLICY_NETWORK_LEARN)
			return policy_refuse(
			    err, path,
			    "network.mode \"learn\" sends no credentials; set it to \"allow\", or "
			    "leave inject out");
		if (++count > POLICY_MAX_INJECTS)
			return policy_refuse(err, path, "more than %d rows inject; name fewer",
					     POLICY_MAX_INJECTS);
		if (!row->host || row->host[0] == '@' || row->host[0] == '*')
			return policy_refuse(err, path,
					     "a credential goes to one host: give host with its whole name");
		if (check_header(row->inject, path, err) != 0 || check_format(row->inject, path, err) != 0 ||
		    check_lists(row->inject, path, err) != 0 ||
		    check_file(policy, row->inject, path, err) != 0 || check_alone(list, i, path, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < policy->network.deny.count; i++) {
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "network.deny[%zu].inject", i);
		if (policy->network.deny.items[i].inject)
			return policy_refuse(err, path, "a denied host gets nothing; leave it out");
	}
	return 0;
}

bool policy_injects(const struct policy *policy)
{
	for (size_t i = 0; i < policy->network.allow.count; i++)
		if (policy->network.allow.items[i].inject)
			return true;
	return false;
}

/* ---- narrowing ---- */

static bool path_covers(const char *outer, const char *inner)
{
	size_t len = strlen(outer);

	return strcmp(outer, inner) == 0 || (outer[len - 1] == '/' && strncmp(outer, inner, len) == 0);
}

/* None of the ceiling's are all there are. */
static bool lists_within(const struct policy_strings *outer, const struct policy_strings *inner,
			 bool are_paths)
{
	if (outer->count == 0)
		return true;
	if (inner->count == 0)
		return false;
	for (size_t i = 0; i < inner->count; i++) {
		bool found = false;

		for (size_t j = 0; j < outer->count && !found; j++)
			found = are_paths ? path_covers(outer->items[j], inner->items[i])
					  : strcmp(outer->items[j], inner->items[i]) == 0;
		if (!found)
			return false;
	}
	return true;
}

static bool grants_port(const struct policy *ceiling, const struct policy_endpoint *asked, uint16_t port)
{
	const struct policy_endpoints *list = &ceiling->network.allow;

	for (size_t i = 0; i < list->count; i++) {
		const struct policy_endpoint *row = &list->items[i];

		if (row->inject && row->host && strcmp(row->host, asked->host) == 0 && has_port(row, port) &&
		    same_secret(row->inject, asked->inject) &&
		    lists_within(&row->inject->methods, &asked->inject->methods, false) &&
		    lists_within(&row->inject->paths, &asked->inject->paths, true))
			return true;
	}
	return false;
}

bool policy_inject_granted(const struct policy *ceiling, const struct policy_endpoint *asked)
{
	for (size_t i = 0; i < asked->port_count; i++)
		if (!ceiling || !grants_port(ceiling, asked, asked->ports[i]))
			return false;
	return true;
}

int policy_inject_without_ceiling(const struct policy *policy, struct warder_error *err)
{
	const struct policy_endpoints *list = &policy->network.allow;
	char path[PATH_SIZE];

	for (size_t i = 0; i < list->count; i++) {
		if (!list->items[i].inject)
			continue;
		snprintf(path, sizeof(path), "network.allow[%zu].inject", i);
		error_set(err, WARDER_ERROR_REJECTED, NULL,
			  "only a ceiling grants a credential, and there is none; write this row into "
			  "/etc/warder/ceiling.json, or name a file that has it with --ceiling");
		return policy_locate(err, path);
	}
	return 0;
}
