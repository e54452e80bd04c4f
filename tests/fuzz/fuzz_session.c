/* session: a specification, as a keeper and who asks one decode it. */
#include "runtime/session/session.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct warder_error err = { 0 };
	struct session_spec spec;
	struct session_spec again;
	struct json_writer w = { 0 };
	char *written;

	if (session_spec_parse(text, size, false, &spec, &err) < 0) {
		must(err.text[0]);
		free(text);
		return 0;
	}
	must(session_check_name(spec.name, &err) == 0 && spec.lifetime_us && spec.idle_us &&
	     spec.setup_count <= SESSION_SETUP_MAX);
	/* What is written is read back as the same. */
	json_begin_object(&w);
	session_spec_write(&spec, &w);
	json_end_object(&w);
	written = json_take(&w);
	must(written && session_spec_parse(written, strlen(written), false, &again, &err) == 0);
	/* Another backend keeps no session, so none is there that has it. */
	must(!session_spec_difference(&spec, &again) || !session_is_backend(spec.backend));
	session_spec_done(&again);
	session_spec_done(&spec);
	free(written);
	free(text);
	return 0;
}
