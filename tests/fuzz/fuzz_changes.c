/*
 * changes: a record that is accepted has only paths within a directory, in order, and is the same after encoding and decoding; one
 * that is refused is refused with a reason.
 */
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"
#include "tests/fuzz/fuzz.h"

static void check(const struct changes *changes)
{
	const struct changes_selection all = { 0 };
	struct warder_error err;

	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_item *item = &changes->items[i];

		must(path_check_relative(item->path, strlen(item->path), &err) == 0);
		must(item->mode <= 07777 && changes_selects(&all, item));
		must(i == 0 || strcmp(changes->items[i - 1].path, item->path) <= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct changes changes = { 0 };
	struct changes again = { 0 };
	struct warder_error err;
	char *text;

	if (changes_decode((const char *)data, size, "input", &changes, &err) < 0) {
		must(err.code != WARDER_ERROR_NONE && err.text[0] && !changes.items);
		return 0;
	}
	check(&changes);
	text = changes_encode(&changes);
	must(text);
	must(changes_decode(text, strlen(text), "encoded", &again, &err) == 0);
	must(again.count == changes.count);
	for (size_t i = 0; i < again.count; i++)
		must(strcmp(again.items[i].path, changes.items[i].path) == 0 &&
		     again.items[i].kind == changes.items[i].kind &&
		     again.items[i].saved == changes.items[i].saved);
	must(again.time_count == changes.time_count);
	free(text);
	changes_done(&changes);
	changes_done(&again);
	return 0;
}
