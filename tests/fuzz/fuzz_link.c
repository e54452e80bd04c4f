/*
 * link: what a front may send to the launcher, which trusts none of it: a request is refused, or its texts have ends and its numbers are
 * within their bounds. The bytes behind a request are its text, as for LINK_CREATE: a policy that is accepted is within the ceiling. The same
 * bytes, read as an answer and as a welcome, do the front no harm.
 */
#include "tests/fuzz/input.h"

#include "host/launcher/call.c" /* its reader of documents is its own */
#include "policy/policy.h"
#include "runtime/library/library.h"

static void check_document(const char *text, size_t len)
{
	static struct settings settings;
	static const struct tenant tenant = { .name = "fuzz" };
	struct warder_error err = { 0 };
	struct launcher launcher = { 0 };
	struct context context = { .launcher = &launcher, .tenant = &tenant, .text = text, .len = len };
	struct json_value *document = NULL;
	struct warder_policy *policy = NULL;

	if (!settings.template_count)
		must(settings_load(NULL, &settings, &err) == 0);
	launcher.settings = settings;
	if (parse_document(&context, &document, &err) == 0 &&
	    call_choose_policy(&context, document, &policy, &err) == 0) {
		const struct warder_policy *template =
		    settings_template(&settings, json_member_text(document, "template", "base"));

		/* Variables grant nothing on the host, and no ceiling applies to them. */
		must(template && (json_member(document, "env") ||
				  policy_check_ceiling(&template->policy, &policy->policy, &err) == 0));
	} else {
		must(err.code != WARDER_ERROR_NONE && memchr(err.text, 0, sizeof(err.text)));
	}
	warder_policy_free(policy);
	json_free(document);
}

static void check_request(const uint8_t *data, size_t size)
{
	struct link_request request;
	const size_t len = size < sizeof(request) ? size : sizeof(request);

	memcpy(&request, data, len);
	if (!link_request_valid(&request, len))
		return;
	must(request.call < LINK_CALLS && request.key_kind < LINK_KEYS && request.bytes <= LINK_BYTES_MAX);
	must(strlen(request.key) < sizeof(request.key) && strlen(request.sandbox) < sizeof(request.sandbox));
	must(!strchr(request.sandbox, '/') && !strchr(request.sandbox, '.'));
	check_document((const char *)data + len, size - len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct link_answer answer;
	static struct link_welcome welcome;

	check_request(data, size);
	memcpy(&answer, data, size < sizeof(answer) ? size : sizeof(answer));
	if (link_answer_valid(&answer, size))
		must(strlen(answer.error.text) < sizeof(answer.error.text) && answer.status < 600);
	memcpy(&welcome, data, size < sizeof(welcome) ? size : sizeof(welcome));
	if (link_welcome_valid(&welcome, size))
		must(strlen(welcome.hosts) < sizeof(welcome.hosts));
	return 0;
}
