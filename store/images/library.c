/*
 * What programs that embed Warder call for images: each call opens the store, does one thing, and tells of it as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "store/images/images.h"
#include "store/store.h"
#include "store/warder-store.h"

#define FAULTS_TOLD 16

/* Hand the text of a writer on; status is the call's. */
static int answer(struct json_writer *w, int status, char **ret_json, struct warder_error *err)
{
	char *text;

	if (status < 0 || !ret_json) {
		json_writer_done(w);
		return status;
	}
	text = json_take(w);
	if (!text)
		return error_no_memory(err, NULL);
	*ret_json = text;
	return status;
}

int warder_image_import(const char *store, const struct warder_image_import *what, char **ret_json,
			struct warder_error *err)
{
	struct images_import asked;
	struct images_notes notes;
	struct json_writer w = { 0 };
	struct images images;
	struct image image;
	int status;

	if (!what || what->size != sizeof(*what) || !what->source)
		return store_misuse("nothing to import, or a struct without its size", err);
	asked = (struct images_import){ .source = what->source,
					.name = what->name,
					.format = what->format,
					.reference = what->reference,
					.replace = what->replace != 0,
					.bytes_max = what->bytes_max,
					.file_bytes_max = what->file_bytes_max,
					.files_max = what->files_max };
	if (images_open(store, &images, err) != 0)
		return -1;
	images.on_progress = what->on_progress;
	images.context = what->context;
	status = images_import(&images, &asked, &image, &notes, err);
	if (status == 0)
		images_write_stored(&image, &notes, &w);
	image_done(&image);
	images_done(&images);
	return answer(&w, status, ret_json, err);
}

int warder_image_build(const struct warder_image_build *what, char **ret_json, struct warder_error *err)
{
	struct images_build asked;
	struct images_notes notes;
	struct json_writer w = { 0 };
	struct images images;
	struct image image;
	int status;

	if (!what || what->size != sizeof(*what) || !what->directory || !what->name)
		return store_misuse("no directory or name, or a struct without its size", err);
	asked = (struct images_build){ .context = what->directory,
				       .recipe = what->recipe,
				       .name = what->name,
				       .network = what->network,
				       .arguments = what->arguments,
				       .settings = what->settings,
				       .output_fd = what->output_fd > 0 ? what->output_fd : -1 };
	if (images_open(NULL, &images, err) != 0)
		return -1;
	status = images_build(&images, &asked, &image, &notes, err);
	if (status == 0)
		images_write_stored(&image, &notes, &w);
	image_done(&image);
	images_done(&images);
	return answer(&w, status, ret_json, err);
}

int warder_image_list(const char *store, char **ret_json, struct warder_error *err)
{
	struct json_writer w = { 0 };
	struct images images;
	struct image *list = NULL;
	size_t count = 0;
	int status;

	if (images_open_to_read(store, &images, err) != 0)
		return -1;
	status = images_list(&images, &list, &count, err);
	images_done(&images);
	if (status != 0)
		return -1;
	json_begin_array(&w);
	for (size_t i = 0; i < count; i++) {
		images_write_listed(&list[i], &w);
		image_done(&list[i]);
	}
	json_end_array(&w);
	free(list);
	return answer(&w, 0, ret_json, err);
}

int warder_image_inspect(const char *store, const char *name, char **ret_json, struct warder_error *err)
{
	struct images images;
	struct image image;
	char *text;
	int status;

	if (!name)
		return store_misuse("no name", err);
	if (images_open_to_read(store, &images, err) != 0)
		return -1;
	status = images_inspect(&images, name, &image, err);
	images_done(&images);
	if (status != 0)
		return -1;
	text = ret_json ? image_encode(&image) : NULL;
	image_done(&image);
	if (ret_json && !text)
		return error_no_memory(err, NULL);
	if (ret_json)
		*ret_json = text;
	return 0;
}

int warder_image_verify(const char *store, const char *name, char **ret_json, struct warder_error *err)
{
	struct images_fault faults[FAULTS_TOLD];
	struct json_writer w = { 0 };
	struct images images;
	int found;

	if (!name)
		return store_misuse("no name", err);
	if (images_open_to_read(store, &images, err) != 0)
		return -1;
	found = images_verify(&images, name, faults, FAULTS_TOLD, err);
	images_done(&images);
	if (found >= 0)
		images_write_verified(name, faults, found < FAULTS_TOLD ? (size_t)found : FAULTS_TOLD, &w);
	return answer(&w, found > 0 ? 1 : found, ret_json, err);
}

int warder_image_remove(const char *store, const char *name, char **ret_json, struct warder_error *err)
{
	struct images_removed removed;
	struct json_writer w = { 0 };
	struct images images;
	int status;

	if (!name)
		return store_misuse("no name", err);
	if (images_open_to_read(store, &images, err) != 0)
		return -1;
	status = images_remove(&images, name, &removed, err);
	images_done(&images);
	if (status == 0)
		images_write_removed(&removed, &w);
	return answer(&w, status, ret_json, err);
}

int warder_image_gc(const char *store, char **ret_json, struct warder_error *err)
{
	struct images_removed removed;
	struct json_writer w = { 0 };
	struct images images;
	int status;

	if (images_open_to_read(store, &images, err) != 0)
		return -1;
	status = images_gc(&images, &removed, err);
	images_done(&images);
	if (status == 0)
		images_write_removed(&removed, &w);
	return answer(&w, status, ret_json, err);
}
