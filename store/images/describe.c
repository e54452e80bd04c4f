/*
 * describe: what is told of images, as JSON: the same by the command line and by the library.
 */
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "store/images/images.h"

static const struct {
	const char *key, *text;
	size_t offset;
} notes_table[] = {
	{ "capabilitiesDropped", "file capabilities were left out",
	  offsetof(struct images_notes, capabilities) },
	{ "attributesDropped", "extended attributes were left out",
	  offsetof(struct images_notes, attributes) },
	{ "setIdsCleared", "set-user-id and set-group-id files lost that bit",
	  offsetof(struct images_notes, set_ids) },
	{ "devicesDropped", "device nodes that every jail has were left out",
	  offsetof(struct images_notes, devices) },
	{ "socketsDropped", "sockets were left out", offsetof(struct images_notes, sockets) },
	{ "mountsDropped", "files on other file systems were left out",
	  offsetof(struct images_notes, mounts) },
	{ "replaced", "another image had that name, and was replaced",
	  offsetof(struct images_notes, replaced) },
	{ "layersStored", NULL, offsetof(struct images_notes, stored) },
	{ "layersShared", NULL, offsetof(struct images_notes, shared) },
};

bool images_note(const struct images_notes *notes, size_t i, struct images_note *ret)
{
	if (i >= ARRAY_LENGTH(notes_table))
		return false;
	*ret = (struct images_note){ .key = notes_table[i].key, .text = notes_table[i].text };
	memcpy(&ret->count, (const char *)notes + notes_table[i].offset, sizeof(ret->count));
	return true;
}

uint64_t images_bytes(const struct image *image)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < image->layer_count; i++)
		bytes += image->layers[i].bytes;
	return bytes;
}

void images_write_stored(const struct image *image, const struct images_notes *notes, struct json_writer *w)
{
	struct images_note note;

	json_begin_object(w);
	json_key_string(w, "name", image->name);
	json_key_string(w, "digest", image->digest);
	json_key_uint(w, "layers", image->layer_count);
	json_key_uint(w, "bytes", images_bytes(image));
	for (size_t i = 0; images_note(notes, i, &note); i++)
		json_key_uint(w, note.key, note.count);
	json_end_object(w);
}

void images_write_listed(const struct image *image, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "name", image->name);
	json_key_bool(w, "damaged", image->layers == NULL);
	if (image->layers) {
		json_key_string(w, "digest", image->digest);
		json_key_uint(w, "layers", image->layer_count);
		json_key_uint(w, "bytes", images_bytes(image));
		json_key_uint(w, "created", image->created);
	}
	json_end_object(w);
}

void images_write_verified(const char *name, const struct images_fault *faults, size_t count,
			   struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "name", name);
	json_key_bool(w, "good", count == 0);
	json_key(w, "faults");
	json_begin_array(w);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(w);
		json_key_string(w, "layer", faults[i].layer);
		json_key_string(w, "text", faults[i].text);
		json_end_object(w);
	}
	json_end_array(w);
	json_end_object(w);
}

void images_write_removed(const struct images_removed *removed, struct json_writer *w)
{
	json_begin_object(w);
	json_key_uint(w, "layersRemoved", removed->layers);
	json_key_uint(w, "bytesFreed", removed->bytes);
	json_key_uint(w, "layersHeld", removed->held);
	json_key_uint(w, "leftoversRemoved", removed->leftovers);
	json_end_object(w);
}
