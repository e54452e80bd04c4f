/*
 * decode: a JSON document into a policy.
 *
 * Everything that a document may hold is one row of the table of members, by its full path; what has no row is
 * refused. The reader of a row's form looks at the JSON type and passes texts on to policy_set_scalar(), so a value
 * reads the same in a document and on the command line. Numbers are passed as they were written: nothing
 * goes through floating point.
 *
 * Every error ends as "origin:line: path: what is wrong". Readers set the line where they know a better one
 * than that of the member they read; rules that span fields (policy_validate_document) only know a path, and
 * line_of() finds its line in the document.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/members.h"
#include "policy/names.h"
#include "policy/values.h"

#define PATH_SIZE 160
#define KEYS_MAX  24 /* of one object */

struct decoder {
	struct policy *policy;
	struct warder_error *err;
	int line; /* of the error; 0 as long as there is none */
};

static int read_member(struct decoder *d, const struct json_value *member, const char *parent);

/* ---- errors ---- */

/* The first, innermost call decides about the line. Returns -1. */
static int at_line(struct decoder *d, int line)
{
	if (d->line == 0)
		d->line = line;
	return -1;
}

static int refuse_type(struct decoder *d, const struct json_value *value, const char *path,
		       const char *wanted)
{
	policy_refuse(d->err, path, "%s where %s is expected", json_type_name(value->type), wanted);
	return at_line(d, value->line);
}

/* ---- objects ---- */

static int refuse_key(struct decoder *d, const struct json_value *member, const char *parent,
		      const char *path)
{
	const char *keys[KEYS_MAX + 1] = { NULL };
	const struct policy_member *row;
	size_t count = 0;
	char known[200];

	for (size_t i = 0; (row = policy_member_at(i)) != NULL && count < KEYS_MAX; i++) {
		const char *key = policy_member_key(row, parent);

		if (key)
			keys[count++] = key;
	}
	policy_refuse(d->err, path, "unknown key; %s",
		      policy_suggest(keys, member->key, known, sizeof(known)));
	return at_line(d, member->key_line);
}

/* "parent.key" without a control character, cut to fit. */
static void join(const char *parent, const char *key, char *ret)
{
	snprintf(ret, PATH_SIZE, "%s%s%s", parent, *parent ? "." : "", key);
	for (char *at = ret; *at; at++) {
		if ((unsigned char)*at < 0x20 || *at == 0x7f)
			*at = '?';
	}
}

static int read_object(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_OBJECT)
		return refuse_type(d, value, *row->path ? row->path : "policy", "an object");
	for (const struct json_value *member = value->child; member; member = member->next) {
		if (read_member(d, member, row->path) != 0)
			return -1;
	}
	return 0;
}

/* ---- single values ---- */

static int read_version(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_NUMBER)
		return refuse_type(d, value, row->path, "the number 1");
	if (!value->is_uint || value->uint != POLICY_VERSION)
		return policy_refuse(d->err, row->path, "%.40s is not supported; write %d", value->string,
				     POLICY_VERSION);
	return 0;
}

static int read_word(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_STRING)
		return refuse_type(d, value, row->path, "a string");
	return policy_set_scalar(d->policy, row->path, value->string, d->err);
}

static int read_text(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	return value->type == JSON_NULL ? 0 : read_word(d, value, row);
}

static bool lacks_unit(const char *text)
{
	return *text && text[strspn(text, "0123456789.")] == '\0';
}

/* A number, or a text with a unit; counts have no unit, so a text can only be "unlimited". */
static int read_number(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	const struct policy_amount *amount = policy_amount_of(row->field);

	if (value->type != JSON_NUMBER && value->type != JSON_STRING)
		return refuse_type(d, value, row->path, "a number or a string");
	if (amount->measure == POLICY_MEASURE_COUNT && value->type == JSON_STRING &&
	    strcmp(value->string, "unlimited") != 0)
		return refuse_type(d, value, row->path,
				   amount->may_be_unlimited ? "a number or \"unlimited\"" : "a number");
	if ((amount->measure == POLICY_MEASURE_TIME || amount->measure == POLICY_MEASURE_SIZE) &&
	    value->type == JSON_STRING && lacks_unit(value->string)) {
		policy_refuse(d->err, row->path,
			      "\"%.30s\" has no unit; write \"%.30s%s\", or %.30s without quotes",
			      value->string, value->string,
			      amount->measure == POLICY_MEASURE_TIME ? "s" : "B", value->string);
		return at_line(d, value->line);
	}
	return policy_set_scalar(d->policy, row->path, value->string, d->err);
}

static int read_id(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_NUMBER)
		return refuse_type(d, value, row->path, "a number");
	return policy_set_scalar(d->policy, row->path, value->string, d->err);
}

static int read_boolean(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_BOOL)
		return refuse_type(d, value, row->path, "true or false");
	return policy_set_scalar(d->policy, row->path, policy_booleans[value->boolean], d->err);
}

/* ---- lists ---- */

/* Each item of an array into the list. The reader gives the path of its item to its errors. */
static int read_items(struct decoder *d, const struct json_value *value, const struct policy_member *row,
		      int (*read)(struct decoder *d, const struct json_value *item, const char *path,
				  void *list))
{
	size_t i = 0;

	if (value->type != JSON_ARRAY)
		return refuse_type(d, value, row->path, "an array");
	for (const struct json_value *item = value->child; item; item = item->next, i++) {
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), "%s[%zu]", row->path, i);
		if (read(d, item, path, POLICY_PLACE(void, d->policy, row->offset)) != 0)
			return at_line(d, item->line);
	}
	return 0;
}

static int read_string(struct decoder *d, const struct json_value *item, const char *path, void *list)
{
	if (item->type != JSON_STRING)
		return refuse_type(d, item, path, "a string");
	return policy_strings_add(list, item->string, d->err) != 0 ? policy_locate(d->err, path) : 0;
}

static int read_list(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	return read_items(d, value, row, read_string);
}

static int read_languages(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	policy_strings_done(&d->policy->languages.names);
	d->policy->languages.any = value->type == JSON_STRING && strcmp(value->string, "any") == 0;
	if (d->policy->languages.any)
		return 0;
	if (value->type != JSON_ARRAY)
		return refuse_type(d, value, row->path, "an array of names or \"any\"");
	return read_items(d, value, row, read_string);
}

static int read_publish(struct decoder *d, const struct json_value *item, const char *path, void *list)
{
	if (item->type != JSON_STRING)
		return refuse_type(d, item, path, "a string such as \"127.0.0.1:8080:80\"");
	return policy_publish_parse(list, item->string, d->err) != 0 ? policy_locate(d->err, path) : 0;
}

static int read_published(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	return read_items(d, value, row, read_publish);
}

static int read_variables(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	if (value->type != JSON_OBJECT)
		return refuse_type(d, value, row->path, "an object");
	for (const struct json_value *member = value->child; member; member = member->next) {
		char member_path[PATH_SIZE];

		join(row->path, member->key, member_path);
		if (member->type != JSON_STRING)
			return refuse_type(d, member, member_path, "a string");
		if (policy_variable_set(d->policy, member->key, member->string, d->err) != 0) {
			policy_locate(d->err, member_path);
			return at_line(d, member->line);
		}
	}
	return 0;
}

static int read_enforcement(struct decoder *d, const struct json_value *value,
			    const struct policy_member *row)
{
	const char *fields[POLICY_FIELD_COUNT + 1] = { NULL };
	char member_path[PATH_SIZE], known[200];

	if (value->type != JSON_OBJECT)
		return refuse_type(d, value, row->path, "an object");
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		fields[field] = policy_field_path(field);
	for (const struct json_value *member = value->child; member; member = member->next) {
		int word =
		    member->type == JSON_STRING ? policy_word(policy_enforcements, member->string) : -1;

		join(row->path, member->key, member_path);
		if (word < 0)
			return refuse_type(d, member, member_path, "\"required\" or \"preferred\"");
		if (policy_prefer(d->policy, member->key, word == 1) != 0) {
			policy_refuse(d->err, member_path, "there is no such field; %s",
				      policy_suggest(fields, member->key, known, sizeof(known)));
			return at_line(d, member->key_line);
		}
	}
	return 0;
}

/* ---- destinations ---- */

struct endpoint {
	const char *host, *cidr;
	uint16_t ports[POLICY_MAX_PORTS];
	size_t port_count;
	struct policy_inject *inject; /* heap */
};

static int read_ports(struct decoder *d, const struct json_value *value, const char *path,
		      struct endpoint *ret)
{
	char item_path[PATH_SIZE];

	if (value->type != JSON_ARRAY)
		return refuse_type(d, value, path, "an array of numbers");
	for (const struct json_value *item = value->child; item; item = item->next) {
		snprintf(item_path, sizeof(item_path), "%.100s[%zu]", path, ret->port_count);
		if (item->type != JSON_NUMBER)
			return refuse_type(d, item, item_path, "a number");
		if (!item->is_uint || item->uint == 0 || item->uint > 65535 ||
		    ret->port_count == POLICY_MAX_PORTS) {
			policy_refuse(d->err, item_path,
				      "%.40s is not a port; write at most %d numbers from 1 to 65535",
				      item->string, POLICY_MAX_PORTS);
			return at_line(d, item->line);
		}
		ret->ports[ret->port_count++] = (uint16_t)item->uint;
	}
	return 0;
}

static int read_endpoint_member(struct decoder *d, const struct json_value *member, const char *parent,
				struct endpoint *ret)
{
	static const char *const keys[] = { "host", "cidr", "ports", "inject", NULL };
	char path[PATH_SIZE], known[80];

	join(parent, member->key, path);
	if (strcmp(member->key, "ports") == 0)
		return read_ports(d, member, path, ret);
	if (strcmp(member->key, "inject") == 0)
		return policy_inject_read(member, path, &ret->inject, d->err) != 0 ? at_line(d, member->line)
										   : 0;
	if (policy_word(keys, member->key) < 0) {
		policy_refuse(d->err, path, "unknown key; %s",
			      policy_suggest(keys, member->key, known, sizeof(known)));
		return at_line(d, member->key_line);
	}
	if (member->type != JSON_STRING)
		return refuse_type(d, member, path, "a string");
	*(strcmp(member->key, "host") == 0 ? &ret->host : &ret->cidr) = member->string;
	return 0;
}

static int read_endpoint(struct decoder *d, const struct json_value *item, const char *path, void *list)
{
	struct endpoint row = { 0 };
	int ret = 0;

	if (item->type != JSON_OBJECT)
		return refuse_type(d, item, path, "an object with host or cidr");
	for (const struct json_value *member = item->child; member && ret == 0; member = member->next)
		ret = read_endpoint_member(d, member, path, &row);
	if (ret == 0 && !row.host == !row.cidr)
		ret = policy_refuse(d->err, path, "give exactly one of host and cidr");
	if (ret == 0 &&
	    policy_add_endpoint(list, row.host, row.cidr, row.ports, row.port_count, row.inject, d->err) != 0)
		ret = policy_locate(d->err, path);
	policy_inject_free(row.inject);
	return ret;
}

static int read_endpoints(struct decoder *d, const struct json_value *value, const struct policy_member *row)
{
	return read_items(d, value, row, read_endpoint);
}

/* ---- the document ---- */

static int (*const readers[POLICY_FORM_COUNT])(struct decoder *d, const struct json_value *value,
					       const struct policy_member *row) = {
	[POLICY_FORM_OBJECT] = read_object,
	[POLICY_FORM_VERSION] = read_version,
	[POLICY_FORM_NUMBER] = read_number,
	[POLICY_FORM_CHOICE] = read_word,
	[POLICY_FORM_OPTION] = read_word,
	[POLICY_FORM_BOOLEAN] = read_boolean,
	[POLICY_FORM_SOURCED] = read_word,
	[POLICY_FORM_ID] = read_id,
	[POLICY_FORM_TEXT] = read_text,
	[POLICY_FORM_LIST] = read_list,
	[POLICY_FORM_LANGUAGES] = read_languages,
	[POLICY_FORM_ENDPOINTS] = read_endpoints,
	[POLICY_FORM_PUBLISHED] = read_published,
	[POLICY_FORM_VARIABLES] = read_variables,
	[POLICY_FORM_ENFORCEMENT] = read_enforcement,
};

static int read_member(struct decoder *d, const struct json_value *member, const char *parent)
{
	const struct policy_member *row;
	char path[PATH_SIZE];

	join(parent, member->key, path);
	for (size_t i = 0; (row = policy_member_at(i)) != NULL; i++) {
		const char *key = policy_member_key(row, parent);

		if (key && strcmp(key, member->key) == 0)
			return readers[row->form](d, member, row) != 0 ? at_line(d, member->line) : 0;
	}
	return refuse_key(d, member, parent, path);
}

/* What must not be left out. */
static int check_present(struct decoder *d, const struct json_value *root)
{
	const struct json_value *limits = json_member(root, "limits");

	if (!json_member(root, "version")) {
		policy_refuse(d->err, "version", "missing; write \"version\": %d", POLICY_VERSION);
		return at_line(d, root->line);
	}
	if (!json_member(limits, "wallTime")) {
		policy_refuse(d->err, "limits.wallTime",
			      "missing; say how long the program may take, such as \"30s\"");
		return at_line(d, limits ? limits->line : root->line);
	}
	return 0;
}

/* The child that the path goes on with; *path moves behind it. NULL if the document has none. */
static const struct json_value *step(const struct json_value *at, const char **path)
{
	const char *rest = *path;
	unsigned long index = 0;
	char *end = NULL;

	if (at->type == JSON_ARRAY && *rest == '[') {
		index = strtoul(rest + 1, &end, 10);
		at = at->child;
		while (at && index-- > 0)
			at = at->next;
		*path = *end == ']' ? end + 1 : end;
		return at;
	}
	rest += *rest == '.';
	for (at = at->type == JSON_OBJECT ? at->child : NULL; at; at = at->next) {
		size_t length = strlen(at->key);

		/* Keys may hold dots ("limits.memory" in enforcement): compare whole keys. */
		if (strncmp(rest, at->key, length) == 0 && strchr(".[", rest[length])) {
			*path = rest + length;
			return at;
		}
	}
	return NULL;
}

/* The line of the deepest value on the path that the document has. */
static int line_of(const struct json_value *root, const char *path)
{
	const struct json_value *at = root;

	while (*path) {
		const struct json_value *next = step(at, &path);

		if (!next)
			break;
		at = next;
	}
	return at->line;
}

static int decode(struct decoder *d, const struct json_value *root)
{
	static const struct policy_member document = { .path = "" };

	if (read_object(d, root, &document) != 0 || check_present(d, root) != 0)
		return -1;
	if (policy_validate_document(d->policy, d->err) != 0)
		return at_line(d, line_of(root, d->err->field));
	return 0;
}

static void free_document(struct json_value **root)
{
	json_free(*root);
}

int policy_decode(const char *json, size_t len, const char *origin, struct policy *ret,
		  struct warder_error *err)
{
	__attribute__((cleanup(free_document))) struct json_value *root = NULL;
	owned_policy struct policy policy = { 0 };
	struct decoder d = { .policy = &policy, .err = err };

	if (json_parse(json, len, origin, NULL, &root, err) != 0 ||
	    policy_preset("strict", &policy, err) != 0)
		return -1;
	if (decode(&d, root) != 0)
		return error_context(err, "%.120s:%d", origin, d.line);
	*ret = policy;
	policy = (struct policy){ 0 };
	return 0;
}

int policy_line(const char *json, size_t len, const char *path)
{
	__attribute__((cleanup(free_document))) struct json_value *root = NULL;
	struct warder_error ignored;

	return json_parse(json, len, "policy", NULL, &root, &ignored) == 0 ? line_of(root, path) : 1;
}
