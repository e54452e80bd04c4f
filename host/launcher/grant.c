/*
 * The policy that a call is granted: its own, or that of a template, within the ceiling of its tenant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launcher/call.h"
#include "host/launcher/grant.h"
#include "policy/policy.h"
#include "runtime/library/library.h"

int call_copy_policy(const struct warder_policy *policy, struct warder_policy **ret, struct warder_error *err)
{
	struct warder_policy *copy = library_policy(&policy->policy, err);

	if (!copy)
		return -1;
	*ret = copy;
	return 0;
}

int call_parse_policy(const struct json_value *value, struct warder_policy **ret, struct warder_error *err)
{
	char *text;
	int parsed;

	text = json_text(value);
	parsed =
	    text ? warder_policy_parse(text, strlen(text), "policy", ret, err) : error_no_memory(err, NULL);
	free(text);
	return parsed;
}

/* Variables of the program. They grant nothing on the host, and so no ceiling applies. */
static int set_variables(struct warder_policy *policy, const struct json_value *variables,
			 struct warder_error *err)
{
	char path[300];

	if (!variables || variables->type == JSON_NULL)
		return 0;
	if (variables->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "env",
				 "\"env\" must be an object of texts");
	for (const struct json_value *one = variables->child; one; one = one->next) {
		if (one->type != JSON_STRING || strlen(one->key) > 200)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "env",
					 "\"env\" must be an object of texts");
		snprintf(path, sizeof(path), "environment.set.%s", one->key);
		if (warder_policy_set(policy, path, one->string, err) != 0)
			return -1;
	}
	return 0;
}

const struct warder_policy *grant_ceiling(const struct settings *settings, const struct tenant *tenant,
					  const char *name, struct warder_error *err)
{
	const struct warder_policy *template = settings_template(settings, name);
	char shown[100];

	if (!template) {
		error_set(err, WARDER_ERROR_NOT_FOUND, "template", "there is no template %s",
			  json_quote(name, shown, sizeof(shown)));
		return NULL;
	}
	return tenant->ceiling ? tenant->ceiling : settings->ceiling ? settings->ceiling : template;
}

const struct warder_policy *call_ceiling(const struct context *context, const char *name,
					 struct warder_error *err)
{
	return grant_ceiling(&context->launcher->settings, context->tenant, name, err);
}

const char *call_template(const struct context *context, const struct json_value *document)
{
	return context->template_name ? context->template_name
				      : json_member_text(document, "template", "base");
}

/* Held against the ceiling. Without one, a template is allowed as it is. */
int grant_policy(const struct settings *settings, const struct tenant *tenant, const char *name,
		 const struct json_value *document, struct warder_policy **ret, struct warder_error *err)
{
	const struct warder_policy *ceiling = grant_ceiling(settings, tenant, name, err);
	const struct warder_policy *template = settings_template(settings, name);
	const struct json_value *own = json_member(document, "policy");
	struct warder_policy *policy = NULL;
	int done;

	if (!ceiling)
		return -1;
	if (own && own->type == JSON_NULL)
		own = NULL;
	done = own ? call_parse_policy(own, &policy, err) : call_copy_policy(template, &policy, err);
	if (done == 0 && (own || ceiling != template))
		done = policy_check_ceiling(&ceiling->policy, &policy->policy, err);
	if (done == 0)
		done = set_variables(policy, json_member(document, "env"), err);
	if (done != 0) {
		warder_policy_free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

int call_choose_policy(const struct context *context, const struct json_value *document,
		       struct warder_policy **ret, struct warder_error *err)
{
	return grant_policy(&context->launcher->settings, context->tenant, call_template(context, document),
			    document, ret, err);
}
