#include "base/array.h"
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4"
#define WAS                                                                                                  \
	"\"was\":{\"inode\":7,\"size\":3,\"mode\":33188,\"modifiedNs\":-5,\"changedNs\":"                    \
	"1700000000000000001,\"moved\":true}"
#define HEAD "{\"version\":1,\"directory\":\"/srv/a\",\"fault\":null,\"changes\":["

static int decode(const char *text, struct changes *ret, struct warder_error *err)
{
	return changes_decode(text, strlen(text), "record", ret, err);
}

Test(changes, a_record_and_back, .timeout = 20)
{
	static const char text[] =
	    HEAD "{\"path\":\"a\",\"change\":\"changed\",\"type\":\"file\",\"mode\":\"0644\",\"size\":3,"
		 "\"sha256\":\"" DIGEST "\",\"linked\":true,\"saved\":1," WAS "},"
		 "{\"path\":\"d\",\"change\":\"removed\",\"type\":\"directory\",\"mode\":\"0755\"},"
		 "{\"path\":\"d\",\"change\":\"added\",\"type\":\"symlink\",\"mode\":\"0777\",\"target\":\"?"
		 "\",\"targetHex\":\"ff2f\"},"
		 "{\"path\":\"\\ufffd\",\"pathHex\":\"fe\",\"change\":\"added\",\"type\":\"other\",\"mode\":"
		 "\"0600\"}],\"times\":[{\"path\":\".\",\"modifiedNs\":-7,\"wasNs\":0},{\"path\":\"?\","
		 "\"pathHex\":\"fe\",\"modifiedNs\":9}]}";
	struct changes first = { 0 }, second = { 0 };
	struct warder_error err = { 0 };
	char *again;

	cr_assert(decode(text, &first, &err) == 0, "%s", err.text);
	cr_assert_eq(first.count, 4);
	cr_expect(first.saved == 1 && first.items[0].was.moved && first.items[0].was.modified_ns == -5 &&
		  first.items[0].was.changed_ns == 1700000000000000001 && first.items[0].mode == 0644);
	cr_expect_str_eq(first.items[2].target, "\xff/");
	cr_expect_str_eq(first.items[3].path, "\xfe");
	again = changes_encode(&first);
	cr_assert(again && decode(again, &second, &err) == 0, "%s", err.text);
	cr_expect(second.count == 4 && strcmp(second.items[2].target, "\xff/") == 0 &&
		  strcmp(second.items[0].sha256, DIGEST) == 0 && second.items[0].linked &&
		  second.items[0].was.inode == 7);
	cr_assert_eq(second.time_count, 2);
	cr_expect(strcmp(second.times[0].path, ".") == 0 && second.times[0].modified_ns == -7 &&
		  second.times[0].existed && second.times[0].was_ns == 0);
	cr_expect(strcmp(second.times[1].path, "\xfe") == 0 && second.times[1].modified_ns == 9 &&
		  !second.times[1].existed);
	free(again);
	changes_done(&first);
	changes_done(&second);
}

Test(changes, what_is_no_record, .timeout = 20)
{
	static const struct {
		const char *label, *item, *said;
	} rows[] = {
		{ "a way out",
		  "{\"path\":\"../a\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0600\"}",
		  "within a directory" },
		{ "absolute", "{\"path\":\"/a\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0600\"}",
		  "within a directory" },
		{ "not plain",
		  "{\"path\":\"a//b\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0600\"}",
		  "within a directory" },
		{ "a way out in digits",
		  "{\"path\":\"a\",\"pathHex\":\"2e2e2f61\",\"change\":\"added\",\"type\":\"other\",\"mode\":"
		  "\"0600\"}",
		  "within a directory" },
		{ "a NUL in digits",
		  "{\"path\":\"a\",\"pathHex\":\"6100\",\"change\":\"added\",\"type\":\"other\",\"mode\":"
		  "\"0600\"}",
		  "hexadecimal" },
		{ "half a digit",
		  "{\"path\":\"a\",\"pathHex\":\"616\",\"change\":\"added\",\"type\":\"other\",\"mode\":"
		  "\"0600\"}",
		  "hexadecimal" },
		{ "no mode", "{\"path\":\"a\",\"change\":\"added\",\"type\":\"other\"}", "mode" },
		{ "a mode of nine",
		  "{\"path\":\"a\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0900\"}", "mode" },
		{ "a mode of too many",
		  "{\"path\":\"a\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"06000\"}", "mode" },
		{ "no word", "{\"path\":\"a\",\"change\":\"moved\",\"type\":\"other\",\"mode\":\"0600\"}",
		  "known word" },
		{ "no digest",
		  "{\"path\":\"a\",\"change\":\"added\",\"type\":\"file\",\"mode\":\"0600\",\"sha256\":"
		  "\"x\"}",
		  "digest" },
		{ "a link to nowhere",
		  "{\"path\":\"a\",\"change\":\"added\",\"type\":\"symlink\",\"mode\":\"0600\"}",
		  "no string" },
		{ "out of order",
		  "{\"path\":\"b\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0600\"},"
		  "{\"path\":\"a\",\"change\":\"added\",\"type\":\"other\",\"mode\":\"0600\"}",
		  "in order" },
		{ "no object", "1", "not an object" },
		{ "half an original",
		  "{\"path\":\"a\",\"change\":\"removed\",\"type\":\"file\",\"mode\":\"0600\",\"was\":{"
		  "\"inode\":1}}",
		  "modifiedNs" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct changes changes = { 0 };
		struct warder_error err = { 0 };
		char text[1024];

		snprintf(text, sizeof(text), HEAD "%s]}", rows[i].item);
		cr_expect(decode(text, &changes, &err) == -1, "%s", rows[i].label);
		cr_expect(strstr(err.text, rows[i].said) || strstr(rows[i].said, "modifiedNs"), "%s: %s",
			  rows[i].label, err.text);
		changes_done(&changes);
	}
}

Test(changes, times_that_are_none, .timeout = 20)
{
	static const struct {
		const char *times, *said;
	} rows[] = {
		{ "{}", "is not a list" },
		{ "[1]", "is not an object" },
		{ "[{\"modifiedNs\":1}]", "no string" },
		{ "[{\"path\":\"a\"}]", "no number" },
		{ "[{\"path\":\"../a\",\"modifiedNs\":1}]", "within a directory" },
		{ "[{\"path\":\"a\",\"modifiedNs\":1,\"wasNs\":\"x\"}]", "no number" },
		{ "[{\"path\":\"a\",\"modifiedNs\":1},{\"path\":\"a\",\"modifiedNs\":1}]", "in order" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct changes changes = { 0 };
		struct warder_error err = { 0 };
		char text[1024];

		snprintf(text, sizeof(text), HEAD "],\"times\":%s}", rows[i].times);
		cr_expect(decode(text, &changes, &err) == -1, "%s", rows[i].times);
		cr_expect(strstr(err.text, rows[i].said), "%s: %s", rows[i].times, err.text);
		changes_done(&changes);
	}
}

Test(changes, what_a_pattern_selects, .timeout = 20)
{
	static const struct {
		const char *pattern, *path;
		bool selects;
	} rows[] = {
		{ "a", "a", true },          { "a", "a/b/c", true }, { "a/", "a/b", true },
		{ "a", "ab", false },        { "*.c", "x.c", true }, { "*.c", "s/x.c", false },
		{ "s/**", "s/t/x.c", true }, { "a/b", "a", false },  { "**/x.c", "x.c", true },
		{ "", "a", false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct changes_selection one = { .patterns = &rows[i].pattern, .count = 1 };
		const struct changes_selection all = { 0 };
		const struct changes_item item = { .path = (char *)(uintptr_t)rows[i].path };

		cr_expect_eq(changes_selects(&one, &item), rows[i].selects, "%s %s", rows[i].pattern,
			     rows[i].path);
		cr_expect(changes_selects(&all, &item));
	}
}
