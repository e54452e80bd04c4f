/* backends: the operator's document, the table, and a bundle's configuration. */
#include "backends/backend.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/container/bundle.h"
#include "backends/container/layout.h"
#include "base/array.h"
#include "base/json.h"

static struct warder_error err;

static int parse(const char *text, struct backend_settings *ret)
{
	err.text[0] = '\0';
	return backend_settings_parse(text, strlen(text), "backends.json", ret, &err);
}

Test(backends, settings, .timeout = 20)
{
	struct backend_settings settings;

	cr_assert_eq(parse("{}", &settings), 0, "%s", err.text);
	cr_expect_null(settings.order[0]);
	cr_assert_eq(parse("{\"order\": [\"runc\", \"local\"], \"enable\": [\"process\"]}", &settings), 0,
		     "%s", err.text);
	cr_expect_str_eq(settings.order[0]->name, "runc");
	cr_expect_str_eq(settings.order[1]->name, "local");
	cr_expect_null(settings.order[2]);
	cr_expect_str_eq(backend_candidate(&settings, 0)->name, "runc");
	cr_expect_null(backend_candidate(&settings, 2));
	cr_expect_eq(backend_check_enabled(backend_find("process", &err), &settings, &err), 0);
}

Test(backends, off_unless_enabled, .timeout = 20)
{
	struct backend_settings settings = { 0 };
	const struct backend *backend;

	cr_expect_eq(backend_check_enabled(backend_find("process", &err), &settings, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_REJECTED);
	for (size_t i = 0; (backend = backend_candidate(&settings, i)); i++)
		cr_expect_not(backend->off, "%s", backend->name);
}

Test(backends, wrong_settings, .timeout = 20)
{
	static const struct {
		const char *row, *text, *says;
	} rows[] = {
		{ "no JSON", "{", "backends.json" },
		{ "nothing", "", "backends.json" },
		{ "no object", "[]", "is not an object" },
		{ "unknown member", "{\"orders\": []}", "known: \"order\", \"enable\"" },
		{ "no list", "{\"order\": \"local\"}", "is not a list" },
		{ "empty order", "{\"order\": []}", "is empty" },
		{ "unknown backend", "{\"order\": [\"lokal\"]}", "lokal" },
		{ "no name", "{\"enable\": [1]}", "not the name of a backend" },
		{ "twice", "{\"order\": [\"local\", \"local\"]}", "twice" },
		{ "off in the order", "{\"order\": [\"process\"]}", "isolates nothing" },
		{ "duplicate member", "{\"order\": [\"local\"], \"order\": [\"runc\"]}", "backends.json" },
		{ "too deep", "{\"order\": [[[[[\"local\"]]]]]}", "backends.json" },
		{ "something behind", "{} {}", "backends.json" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct backend_settings settings;

		memset(&settings, 0x5a, sizeof(settings));
		cr_expect_eq(parse(rows[i].text, &settings), -1, "%s", rows[i].row);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].row, err.text);
		cr_expect_eq(((unsigned char *)&settings)[0], 0x5a, "%s: it was written to", rows[i].row);
	}
}

Test(backends, large_settings, .timeout = 20)
{
	struct backend_settings settings;
	char *text = malloc(70000);

	cr_assert(text);
	memset(text, ' ', 69999);
	memcpy(text, "{}", 2);
	text[69999] = '\0';
	cr_expect_eq(parse(text, &settings), -1);
	free(text);
}

/* ---- the bundle ---- */

static char source[] = "/srv/\"quoted\"\n\\end";
static char target[] = "/srv/\"quoted\"\n\\end";
static struct rootfs_entry entries[] = {
	{ .kind = ROOTFS_DIRECTORY, .target = (char *)"/proc" },
	{ .kind = ROOTFS_BIND, .target = target, .source = source, .read_only = true, .no_exec = true },
	{ .kind = ROOTFS_BIND, .target = (char *)"/usr", .source = (char *)"/usr" },
	{ .kind = ROOTFS_OVERLAY, .target = (char *)"/etc", .source = (char *)"/etc" },
};

static struct json_value *config_of(const struct jail_start *start)
{
	char *text = bundle_config(start);
	struct json_value *root = NULL;

	cr_assert(text);
	cr_assert_eq(json_parse(text, strlen(text), "config.json", NULL, &root, &err), 0, "%s", err.text);
	free(text);
	return root;
}

static size_t count_of(const struct json_value *list)
{
	size_t count = 0;

	for (const struct json_value *value = list ? list->child : NULL; value; value = value->next)
		count++;
	return count;
}

static const struct json_value *with(const struct json_value *list, const char *key, const char *text)
{
	for (const struct json_value *value = list->child; value; value = value->next) {
		const struct json_value *member = json_member(value, key);

		if (member && member->type == JSON_STRING && strcmp(member->string, text) == 0)
			return value;
	}
	return NULL;
}

Test(backends, bundle, .timeout = 20)
{
	const struct jail_starter starters[] = { { .gives_setpcap = true }, { .filters = 1 } };
	struct seccomp_program filter = { 0 };
	struct jail_plan plan = { .uid = 1000,
				  .gid = 1001,
				  .starter = &starters[0],
				  .filter = &filter,
				  .hostname = "warder",
				  .namespaces = CLONE_NEWUSER | CLONE_NEWCGROUP | CLONE_NEWNET | CLONE_NEWNS,
				  .rootfs = {
				      .entries = entries, .count = ARRAY_LENGTH(entries), .terminals = 3 } };
	struct jail_start start = {
		.plan = &plan, .image_number = 9, .first_id = 700000, .id_count = 65536, .network_fd = 5
	};
	struct json_value *root = config_of(&start);
	const struct json_value *linux_part = json_member(root, "linux");
	const struct json_value *process = json_member(root, "process");
	const struct json_value *mounts = json_member(root, "mounts");
	const struct json_value *spaces = json_member(linux_part, "namespaces");
	const struct json_value *mount = with(mounts, "destination", target);
	bool limits_terminals = false;

	cr_expect(json_member(json_member(root, "root"), "readonly")->boolean);
	cr_expect(json_member(process, "noNewPrivileges")->boolean);
	cr_expect_str_eq(json_member(process, "args")->child->string, "/proc/self/fd/9");
	cr_expect_eq(json_member(json_member(process, "user"), "gid")->number, 1001);
	for (const struct json_value *set = json_member(process, "capabilities")->child; set; set = set->next)
		cr_expect(count_of(set) == 1 && strcmp(set->child->string, "CAP_SETPCAP") == 0, "%s",
			  set->key);
	cr_expect_null(json_member(linux_part, "cgroupsPath"));
	cr_expect_eq(json_member(json_member(linux_part, "uidMappings")->child, "hostID")->number, 700000);
	cr_expect_eq(count_of(spaces), 4);
	cr_expect_str_eq(json_member(with(spaces, "type", "cgroup"), "path")->string, LAYOUT_CGROUP_NS);
	cr_expect_str_eq(json_member(with(spaces, "type", "network"), "path")->string, LAYOUT_NETWORK_NS);
	/* Our own five, and the binds; an overlay's parts lie in the root. */
	cr_expect_eq(count_of(mounts), 5 + 2);
	cr_assert(mount);
	cr_expect_str_eq(json_member(mount, "source")->string, LAYOUT_BINDS "/1");
	cr_expect_eq(count_of(json_member(mount, "options")), 6);
	cr_expect_null(with(mounts, "destination", "/etc"));
	cr_expect_gt(count_of(json_member(linux_part, "maskedPaths")), 20);
	cr_expect_eq(count_of(json_member(linux_part, "readonlyPaths")), 1);
	for (const struct json_value *option = json_member(with(mounts, "type", "devpts"), "options")->child;
	     option; option = option->next)
		limits_terminals |= strcmp(option->string, "max=3") == 0;
	cr_expect(limits_terminals);
	json_free(root);

	plan.rootfs.terminals = 0;
	root = config_of(&start);
	cr_expect_null(with(json_member(root, "mounts"), "type", "devpts"));
	json_free(root);
	plan.rootfs.terminals = 3;

	start.network_fd = -1;
	plan.starter = &starters[1];
	root = config_of(&start);
	for (const struct json_value *set = json_member(json_member(root, "process"), "capabilities")->child;
	     set; set = set->next)
		cr_expect_eq(count_of(set), 0, "%s", set->key);
	spaces = json_member(json_member(root, "linux"), "namespaces");
	cr_expect_null(json_member(with(spaces, "type", "network"), "path"));
	json_free(root);
}

Test(backends, loose_places, .timeout = 20)
{
	const char *path;
	size_t count = 0;
	bool proc = false, dev = false;

	for (; count < 200 && (path = bundle_loose(count)); count++) {
		proc |= strncmp(path, "/proc/", 6) == 0;
		dev |= strncmp(path, "/dev/", 5) == 0;
	}
	cr_expect(proc && dev && count > 30 && count < 200);
}
