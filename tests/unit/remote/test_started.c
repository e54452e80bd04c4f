/* started, framed, service: what a service of the kind e2b says about a program. */
#include "remote/started.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "remote/framed.h"
#include "remote/service.h"

#define START "{\"event\": {\"start\": {\"pid\": 7}}}"
#define DATA  "{\"event\": {\"data\": {\"stdout\": \"aGkK\"}}}"
#define END   "{\"event\": {\"end\": {\"exited\": true, \"status\": \"exit status 0\"}}}"

static int take(struct started *started, const char *message, bool last)
{
	struct warder_error err = { 0 };

	return started_take(started, last, message, strlen(message), &err);
}

/* The messages are separated by line feeds; the one that begins with '!' is the last. */
static int take_all(struct started *started, const char *messages)
{
	char *copy = strdup(messages), *rest = copy, *one;
	int status = 0;

	while (status == 0 && (one = strsep(&rest, "\n")))
		status = take(started, one + (*one == '!'), *one == '!');
	free(copy);
	return status;
}

Test(started, ends, .timeout = 20)
{
	static const struct {
		const char *row, *messages;
		int exit_code, signal;
	} rows[] = {
		{ "a code of zero is left out", START "\n" DATA "\n" END "\n!{}", 0, 0 },
		{ "a code", START "\n{\"event\": {\"end\": {\"exitCode\": 7, \"exited\": true}}}\n!{}", 7,
		  0 },
		{ "a signal",
		  START "\n{\"event\": {\"end\": {\"exitCode\": -1, \"status\": \"signal: killed\"}}}\n!{}",
		  -1, SIGKILL },
		{ "with a core dump",
		  START
		  "\n{\"event\": {\"end\": {\"status\": \"signal: segmentation fault (core dumped)\"}}}\n!{}",
		  -1, SIGSEGV },
		{ "as the C library writes it",
		  START "\n{\"event\": {\"end\": {\"status\": \"signal: Segmentation fault\"}}}\n!{}", -1,
		  SIGSEGV },
		{ "by number", START "\n{\"event\": {\"end\": {\"status\": \"signal: signal 34\"}}}\n!{}", -1,
		  34 },
		{ "unknown", START "\n{\"event\": {\"end\": {\"status\": \"signal: luck\"}}}\n!{}", -1, 0 },
		{ "unknown events are passed over",
		  START "\n{\"event\": {\"keepalive\": {}}}\n{\"event\": {\"new\": 1}}\n" END "\n!{}", 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct started started = { .streams = { { .room = 100 }, { .room = 100 } } };

		cr_expect_eq(take_all(&started, rows[i].messages), 0, "%s", rows[i].row);
		cr_expect(started.ended && started.over && started.pid == 7, "%s", rows[i].row);
		cr_expect_eq(started.exit_code, rows[i].exit_code, "%s", rows[i].row);
		cr_expect_eq(started.signal, rows[i].signal, "%s: %d", rows[i].row, started.signal);
		started_done(&started);
	}
}

Test(started, wrong_messages, .timeout = 20)
{
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"event\": 1}",
		DATA,
		END,
		START "\n" START,
		START "\n" END "\n" DATA,
		START "\n" END "\n!{}\n!{}",
		"{\"event\": {\"start\": {}}}",
		"{\"event\": {\"start\": {\"pid\": 0}}}",
		"{\"event\": {\"start\": {\"pid\": 4294967296}}}",
		START "\n{\"event\": {\"data\": {\"stdout\": \"!\"}}}",
		START "\n{\"event\": {\"end\": {\"exited\": true, \"exitCode\": 256}}}",
		START "\n{\"event\": {\"end\": {\"exited\": true, \"exitCode\": -1}}}",
		START "\n{\"event\": {\"end\": {\"exited\": 1}}}",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct started started = { 0 };

		cr_expect_eq(take_all(&started, rows[i]), -1, "%s", rows[i]);
		started_done(&started);
	}
}

Test(started, output_and_refusals, .timeout = 20)
{
	struct started started = { .streams = { { .room = 4 }, { .room = 0 } } };
	struct json_writer w = { 0 };
	char *text;

	cr_assert_eq(
	    take_all(&started, START "\n" DATA "\n" DATA "\n{\"event\": {\"data\": {\"stderr\": \"aGkK\"}}}"),
	    0);
	cr_expect(started.streams[0].len == 4 && memcmp(started.streams[0].bytes, "hi\nh", 4) == 0);
	cr_expect(started.streams[0].total == 6 && started.streams[1].total == 3 &&
		  started.streams[1].len == 0);
	cr_expect_eq(take(&started,
			  "{\"error\": {\"code\": \"deadline_exceeded\", \"message\": \"\\u001b[31m\"}}",
			  true),
		     0);
	cr_expect(started.late);
	cr_expect_str_eq(started.refusal, "?[31m");
	json_begin_object(&w);
	started_write(&started, "wallTime", "late", &w);
	json_end_object(&w);
	text = json_take(&w);
	cr_expect(strstr(text, "\"exitCode\":null") && strstr(text, "\"bytesTotal\":6"), "%s", text);
	free(text);
	started_done(&started);
}

/* ---- frames ---- */

static int count(void *context, bool last, const char *message, size_t len, struct warder_error *err)
{
	size_t *counts = context;

	counts[last]++;
	return strlen(message) == len ? 0 : -1;
}

Test(framed, pieces_of_any_size, .timeout = 20)
{
	static const char bytes[] = "\0\0\0\0\2{}\0\0\0\0\0\0\0\0\0\3abc\2\0\0\0\2{}";
	const size_t len = sizeof(bytes) - 1;

	for (size_t piece = 1; piece <= len; piece++) {
		struct framed framed = { 0 };
		struct warder_error err = { 0 };
		size_t counts[2] = { 0 };

		for (size_t at = 0; at < len; at += piece)
			cr_assert_eq(framed_take(&framed, bytes + at, len - at < piece ? len - at : piece,
						 count, counts, &err),
				     0, "%zu: %s", piece, err.text);
		cr_expect(counts[0] == 3 && counts[1] == 1, "%zu", piece);
		framed_done(&framed);
	}
}

Test(framed, wrong_frames, .timeout = 20)
{
	static const struct {
		const char *head, *says;
	} rows[] = {
		{ "\1\0\0\0\2", "compressed" },
		{ "\4\0\0\0\2", "flags 4" },
		{ "\0\0\x40\0\1", "4 MiB" },
		{ "\0\xff\xff\xff\xff", "4 MiB" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct framed framed = { 0 };
		struct warder_error err = { 0 };
		size_t counts[2];

		cr_expect_eq(framed_take(&framed, rows[i].head, FRAMED_HEAD, count, counts, &err), -1);
		cr_expect(strstr(err.text, rows[i].says), "%s", err.text);
		framed_done(&framed);
	}
}

/* ---- addresses ---- */

Test(service, data_url, .timeout = 20)
{
	static const struct {
		const char *url, *sandbox_url, *domain;
		bool insecure;
		const char *expected;
	} rows[] = {
		{ "https://api.example.org", NULL, NULL, false, "https://49983-i1.example.org" },
		{ "https://api.example.org:8443", NULL, NULL, false, "https://49983-i1.example.org:8443" },
		{ "https://api.example.org", NULL, "other.example", false, "https://49983-i1.other.example" },
		{ "https://api.example.org", "https://s.example.org", "other.example", false,
		  "https://s.example.org" },
		{ "http://127.0.0.1:1", "http://127.0.0.1:2", NULL, false, "http://127.0.0.1:2" },
		{ "http://api.example.org", NULL, NULL, true, "http://49983-i1.example.org" },
		{ "http://api.example.org", "https://s.example.org", NULL, true, "https://s.example.org" },
		{ "http://127.0.0.1:1", NULL, "example.org", false, NULL },
		{ "https://host.example.org", NULL, NULL, false, NULL },
		{ "https://api.example.org", NULL, "a/b", false, NULL },
		{ "https://api.example.org", NULL, "u@b", false, NULL },
		{ "https://api.example.org", NULL, "", false, "https://49983-i1.example.org" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct service service = { .url = rows[i].url,
						 .sandbox_url = rows[i].sandbox_url,
						 .insecure = rows[i].insecure };
		struct warder_error err = { 0 };
		char url[300] = "";
		const int status =
		    service_data_url(&service, SERVICE_PROGRAMS, "i1", rows[i].domain, url, &err);

		cr_expect_eq(status == 0, rows[i].expected != NULL, "row %zu: %s %s", i, url, err.text);
		if (rows[i].expected)
			cr_expect_str_eq(url, rows[i].expected);
	}
}
