/* Run a line of Python that nobody has read, with 64 MiB and five seconds.
 *     cc example.c -lwarder -lcjson && ./a.out 'print(6 * 7)' */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warder.h>

/* How many rows of the receipt say that a control was enforced. -1: this is not a result. */
static int count_enforced(const char *json)
{
	cJSON *result = json ? cJSON_Parse(json) : NULL;
	const cJSON *receipt = cJSON_GetObjectItem(result, "receipt"), *row;
	int count = receipt ? 0 : -1;

	cJSON_ArrayForEach(row, cJSON_GetObjectItem(receipt, "controls"))
	{
		const char *status = cJSON_GetStringValue(cJSON_GetObjectItem(row, "status"));

		count += status && strcmp(status, "enforced") == 0;
	}
	cJSON_Delete(result);
	return count;
}

static int run(struct warder_template *tmpl, char *code, struct warder_error *err)
{
	char *argv[] = { "python3", "-c", code, NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_run *run = NULL;
	struct warder_result *result = NULL;
	size_t len;

	if (warder_launch(tmpl, &command, &run, err) != 0)
		return -1;
	if (warder_wait(run, &result, err) == 0) {
		const char *output = warder_result_output(result, WARDER_STDOUT, &len, NULL);
		char *json = warder_result_json(result);

		fwrite(output, 1, len, stdout);
		printf("%s (%s), %.1f ms, %d controls enforced\n", warder_result_status(result),
		       warder_result_cause(result), (double)warder_result_wall_us(result) / 1000,
		       count_enforced(json));
		free(json);
	}
	warder_run_free(run);
	if (!result)
		return -1;
	warder_result_free(result);
	return 0;
}

int main(int argc, char **argv)
{
	struct warder_policy *policy = NULL;
	struct warder_template *tmpl = NULL;
	struct warder_error err;
	int status = -1;

	if (argc != 2)
		return EXIT_FAILURE;
	if (warder_policy_preset("strict-python", &policy, &err) == 0 &&
	    warder_policy_set(policy, "limits.memory", "64MiB", &err) == 0 &&
	    warder_policy_set(policy, "limits.wallTime", "5s", &err) == 0 &&
	    warder_prepare(policy, NULL, &tmpl, &err) == 0)
		status = run(tmpl, argv[1], &err);
	if (status != 0)
		fprintf(stderr, "%s: %s\n", warder_error_kind_name(err.code), err.text);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
