/*
 * encode: a policy as its canonical document. Every field is written, in a fixed order and with canonical
 * units, so that equal policies give equal texts and nothing about a policy has to be guessed. A preset that still
 * lacks its workspace says "readWrite:", which decodes again; the run asks for the directory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "policy/amounts.h"
#include "policy/names.h"
#include "policy/values.h"

static void write_strings(struct json_writer *w, const char *key, const struct policy_strings *list)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_string(w, list->items[i]);
	json_end_array(w);
}

/* The key is the last part of the field's path. */
static void write_amount(const struct policy *policy, enum policy_field field, struct json_writer *w)
{
	const struct policy_amount *amount = policy_amount_of(field);
	uint64_t value = policy_amount_get(policy, amount);
	bool is_number = amount->measure == POLICY_MEASURE_COUNT || amount->measure == POLICY_MEASURE_CPUS;
	char text[32];

	json_key(w, strchr(policy_field_path(field), '.') + 1);
	policy_amount_format(amount, value, text, sizeof(text));
	if (is_number && value != POLICY_UNLIMITED)
		json_number(w, text);
	else
		json_string(w, text);
}

static void write_endpoints(struct json_writer *w, const char *key, const struct policy_endpoints *list)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < list->count; i++) {
		const struct policy_endpoint *row = &list->items[i];

		json_begin_object(w);
		json_key_string(w, row->host ? "host" : "cidr", row->host ? row->host : row->cidr);
		if (row->port_count > 0) {
			json_key(w, "ports");
			json_begin_array(w);
			for (size_t j = 0; j < row->port_count; j++)
				json_uint(w, row->ports[j]);
			json_end_array(w);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_network(const struct policy *policy, struct json_writer *w)
{
	const struct policy_published *publish = &policy->network.publish;
	char text[48];

	json_key(w, "network");
	json_begin_object(w);
	json_key_string(w, "mode", policy_network_modes[policy->network.mode]);
	write_endpoints(w, "allow", &policy->network.allow);
	write_endpoints(w, "deny", &policy->network.deny);
	json_key(w, "publish");
	json_begin_array(w);
	for (size_t i = 0; i < publish->count; i++)
		json_string(w, policy_format_publish(&publish->items[i], text, sizeof(text)));
	json_end_array(w);
	write_amount(policy, POLICY_FIELD_NETWORK_CONNECTIONS, w);
	write_amount(policy, POLICY_FIELD_NETWORK_BYTES, w);
	json_end_object(w);
}

/* "word", or "word:source" for the words that have one. */
static void write_sourced(struct json_writer *w, const char *key, const char *word, bool has_source,
			  const char *source)
{
	char *text = NULL;

	if (!has_source) {
		json_key_string(w, key, word);
		return;
	}
	if (asprintf(&text, "%s:%s", word, source ? source : "") < 0) {
		json_fail(w);
		return;
	}
	json_key_string(w, key, text);
	free(text);
}

static void write_filesystem(const struct policy *policy, struct json_writer *w)
{
	enum policy_view view = policy->filesystem.view;
	enum policy_workspace workspace = policy->filesystem.workspace;

	json_key(w, "filesystem");
	json_begin_object(w);
	write_sourced(w, "view", policy_views[view], view != POLICY_VIEW_HOST,
		      policy->filesystem.view_source);
	write_sourced(w, "workspace", policy_workspaces[workspace], workspace != POLICY_WORKSPACE_NONE,
		      policy->filesystem.workspace_root);
	json_key(w, "paths");
	json_begin_object(w);
	write_strings(w, "readOnly", &policy->filesystem.read_only);
	write_strings(w, "readWrite", &policy->filesystem.read_write);
	json_end_object(w);
	write_amount(policy, POLICY_FIELD_TMP, w);
	json_key_bool(w, "tmpExec", policy->filesystem.tmp_exec);
	if (policy->filesystem.growth_unlimited)
		json_key_string(w, "growth", policy_growths[true]);
	json_end_object(w);
}

static void write_environment(const struct policy *policy, struct json_writer *w)
{
	json_key(w, "environment");
	json_begin_object(w);
	json_key_string(w, "mode", policy_environment_modes[policy->environment.mode]);
	write_strings(w, "names", &policy->environment.names);
	json_key(w, "set");
	json_begin_object(w);
	for (size_t i = 0; i < policy->environment.set_count; i++)
		json_key_string(w, policy->environment.set[i].name, policy->environment.set[i].value);
	json_end_object(w);
	json_end_object(w);
}

static void write_limits(const struct policy *policy, struct json_writer *w)
{
	json_key(w, "limits");
	json_begin_object(w);
	for (enum policy_field field = POLICY_FIELD_WALL_TIME; field <= POLICY_FIELD_CODE; field++)
		write_amount(policy, field, w);
	json_end_object(w);
	json_key(w, "output");
	json_begin_object(w);
	write_amount(policy, POLICY_FIELD_STDOUT, w);
	write_amount(policy, POLICY_FIELD_STDERR, w);
	json_key_string(w, "onLimit", policy_on_output_limits[policy->output.on_limit]);
	json_end_object(w);
}

static void write_processes(const struct policy *policy, struct json_writer *w)
{
	json_key(w, "processes");
	json_begin_object(w);
	json_key_bool(w, "spawn", policy->processes.spawn);
	json_key(w, "identity");
	json_begin_object(w);
	json_key_uint(w, "uid", policy->processes.uid);
	json_key_uint(w, "gid", policy->processes.gid);
	json_end_object(w);
	json_end_object(w);
}

static void write_syscalls_and_devices(const struct policy *policy, struct json_writer *w)
{
	json_key(w, "syscalls");
	json_begin_object(w);
	json_key_string(w, "profile", policy_profiles[policy->syscalls.profile]);
	write_strings(w, "deny", &policy->syscalls.deny);
	write_strings(w, "allow", &policy->syscalls.allow);
	json_key_string(w, "onViolation", policy_on_violations[policy->syscalls.on_violation]);
	json_key_bool(w, "speculation", policy->syscalls.speculation);
	json_end_object(w);
	json_key(w, "devices");
	json_begin_object(w);
	write_amount(policy, POLICY_FIELD_TERMINALS, w);
	json_end_object(w);
}

static void write_enforcement(const struct policy *policy, struct json_writer *w)
{
	json_key(w, "enforcement");
	json_begin_object(w);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		json_key_string(w, policy_field_path(field), policy_enforcements[policy->preferred[field]]);
	json_end_object(w);
}

void policy_write(const struct policy *policy, struct json_writer *writer)
{
	json_begin_object(writer);
	json_key_uint(writer, "version", POLICY_VERSION);
	write_network(policy, writer);
	write_filesystem(policy, writer);
	write_environment(policy, writer);
	write_limits(policy, writer);
	write_processes(policy, writer);
	write_syscalls_and_devices(policy, writer);
	json_key_string(writer, "workingDirectory", policy->working_directory);
	if (policy->languages.any)
		json_key_string(writer, "languages", "any");
	else
		write_strings(writer, "languages", &policy->languages.names);
	write_enforcement(policy, writer);
	json_end_object(writer);
}

char *policy_encode(const struct policy *policy)
{
	struct json_writer writer = { .pretty = true };

	policy_write(policy, &writer);
	return json_take(&writer);
}
