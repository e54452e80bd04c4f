/* builtin: a model's request, with the provider's executor declared in it. */
#include "backends/backend.h"
#include "base/array.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct warder_error err;

static char *declare(const char *text, const char *model)
{
	const struct backend *backend = backend_find("builtin", &err);
	const struct backend_model_request request = { text, strlen(text), "request", model };

	memset(&err, 0, sizeof(err));
	return backend->declare(backend, &request, &err);
}

Test(builtin, declares, .timeout = 20)
{
	static const struct {
		const char *row, *text, *model, *expected;
	} rows[] = {
		{ "the request's model", "{\"model\":\"gemini-2.0-flash\"}", NULL,
		  "{\"model\":\"gemini-2.0-flash\",\"tools\":[{\"code_execution\":{}}]}" },
		{ "one beside it", "{}", "gemini-2.5-pro", "{\"tools\":[{\"code_execution\":{}}]}" },
		{ "both, the same", "{\"model\":\"gemini-2\"}", "gemini-2",
		  "{\"model\":\"gemini-2\",\"tools\":[{\"code_execution\":{}}]}" },
		{ "with a path", "{\"model\":\"projects/p/models/gemini-2-x\"}", NULL,
		  "{\"model\":\"projects/p/models/gemini-2-x\",\"tools\":[{\"code_execution\":{}}]}" },
		{ "other tools, in their place", "{\"tools\":[{\"a\":1}],\"b\":1.50}", "gemini-2",
		  "{\"tools\":[{\"a\":1},{\"code_execution\":{}}],\"b\":1.50}" },
		{ "tools that are null", "{\"tools\":null}", "gemini-2",
		  "{\"tools\":[{\"code_execution\":{}}]}" },
		{ "a configuration", "{\"config\":{\"t\":0,\"tools\":[]},\"tools\":1}", "gemini-2",
		  "{\"config\":{\"t\":0,\"tools\":[{\"code_execution\":{}}]},\"tools\":1}" },
		{ "a configuration that is null", "{\"config\":null}", "gemini-2",
		  "{\"config\":{\"tools\":[{\"code_execution\":{}}]}}" },
		{ "declared already", "{\"tools\":[{\"code_execution\":{}}]}", "gemini-2",
		  "{\"tools\":[{\"code_execution\":{}}]}" },
		{ "in the other spelling", "{\"tools\":[3,{\"codeExecution\":{}}]}", "gemini-2",
		  "{\"tools\":[3,{\"codeExecution\":{}}]}" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = declare(rows[i].text, rows[i].model);

		cr_expect(text && strcmp(text, rows[i].expected) == 0, "%s: %s", rows[i].row,
			  text ? text : err.text);
		free(text);
	}
}

Test(builtin, refuses, .timeout = 20)
{
	static const struct {
		const char *row, *text, *model;
		uint32_t code;
		const char *says;
	} rows[] = {
		{ "another model", "{\"model\":\"gpt-4\"}", NULL, WARDER_ERROR_UNAVAILABLE, "\"gpt-4\"" },
		{ "an older one", "{}", "gemini-1.5-pro", WARDER_ERROR_UNAVAILABLE, "gemini-2.x" },
		{ "a longer number", "{}", "gemini-20", WARDER_ERROR_UNAVAILABLE, "gemini-20" },
		{ "only its path", "{}", "gemini-2/other", WARDER_ERROR_UNAVAILABLE, "known" },
		{ "none", "{\"model\":null}", NULL, WARDER_ERROR_INVALID_REQUEST, "names no model" },
		{ "an empty one", "{\"model\":\"\"}", NULL, WARDER_ERROR_INVALID_REQUEST, "names no model" },
		{ "two", "{\"model\":\"gemini-2\"}", "gemini-2.5", WARDER_ERROR_INVALID_REQUEST, "leave" },
		{ "a model that is a number", "{\"model\":2}", NULL, WARDER_ERROR_INVALID_REQUEST, "model" },
		{ "no object", "[]", "gemini-2", WARDER_ERROR_INVALID_REQUEST, "request:1" },
		{ "tools that are an object", "{\"tools\":{}}", "gemini-2", WARDER_ERROR_INVALID_REQUEST,
		  "tools" },
		{ "a configuration that is a list", "{\"config\":[]}", "gemini-2",
		  WARDER_ERROR_INVALID_REQUEST, "config" },
		{ "its tools", "{\"config\":{\"tools\":1}}", "gemini-2", WARDER_ERROR_INVALID_REQUEST,
		  "config.tools" },
		{ "no JSON", "{", "gemini-2", WARDER_ERROR_INVALID_REQUEST, "request:1" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = declare(rows[i].text, rows[i].model);

		cr_expect_null(text, "%s: %s", rows[i].row, text);
		cr_expect_eq(err.code, rows[i].code, "%s: %s", rows[i].row, err.text);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].row, err.text);
		free(text);
	}
}

Test(builtin, enforces_nothing, .timeout = 20)
{
	const struct backend *backend = backend_find("builtin", &err);
	struct policy_capabilities capabilities;

	backend->capabilities(backend, NULL, NULL, &capabilities);
	cr_expect_eq(capabilities.isolation, POLICY_ISOLATION_PROVIDER_HOSTED);
	for (int i = 0; i < POLICY_CONTROL_COUNT; i++) {
		cr_expect_not(capabilities.controls[i].enforced, "%d", i);
		cr_expect(capabilities.controls[i].reason[0], "%d", i);
	}
	cr_expect_eq(backend->check(backend, NULL, NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_UNAVAILABLE);
}

Test(builtin, who_may_be_asked_for, .timeout = 20)
{
	const struct backend *local = backend_find("local", &err), *wasm = backend_find("wasm", &err);
	struct backend_settings settings = { 0 };

	cr_expect_eq(backend_check_listed(local, &settings, &err), 0);
	cr_expect_eq(backend_check_listed(backend_find("builtin", &err), &settings, &err), -1);
	settings.order[0] = wasm;
	cr_expect_eq(backend_check_listed(wasm, &settings, &err), 0);
	cr_expect_eq(backend_check_listed(local, &settings, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_REJECTED);
	settings.enabled[local - backend_at(0)] = true;
	cr_expect_eq(backend_check_listed(local, &settings, &err), 0);
}
