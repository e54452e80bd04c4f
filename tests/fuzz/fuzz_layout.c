/* layout: the JSON documents of image archives; whatever they say, digests are digests and lists are bounded. */
#include "store/images/layout.h"
#include "store/images/unpack.h"
#include "tests/fuzz/fuzz.h"

static void look_at(const struct layout_descriptor *descriptor)
{
	must(image_is_digest(descriptor->digest));
	layout_kind(descriptor);
	layout_is_layer(descriptor->media);
}

static void config(const char *text, size_t size)
{
	struct warder_error err = { 0 };
	struct layout_config config;
	struct image image = { 0 };

	if (layout_decode_config(text, size, "config", &config, &image, &err) == 0) {
		must(config.count <= IMAGE_LAYERS_MAX);
		for (size_t i = 0; i < config.count; i++)
			must(image_is_digest(config.diff_ids[i]));
		must(!image.working_directory || image.working_directory[0] == '/');
		for (char **each = image.environment; each && *each; each++)
			must(strchr(*each, '=') > *each);
	} else {
		must(err.text[0]);
	}
	layout_config_done(&config);
	image_done(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct warder_error err = { 0 };
	struct layout_manifest manifest;
	struct layout_dockers dockers;
	struct layout_index index;
	char *text = fuzz_text(data, size), *plain = malloc(size + 1);
	const char *wrong = unpack_plain_path(text, plain);

	if (layout_decode_index(text, size, "index", &index, &err) == 0) {
		for (size_t i = 0; i < index.count; i++)
			look_at(&index.entries[i]);
	}
	if (layout_decode_manifest(text, size, "manifest", &manifest, &err) == 0) {
		look_at(&manifest.config);
		must(manifest.count <= IMAGE_LAYERS_MAX);
		for (size_t i = 0; i < manifest.count; i++)
			look_at(&manifest.layers[i]);
	}
	if (layout_decode_docker(text, size, "docker", &dockers, &err) == 0) {
		for (size_t i = 0; i < dockers.count; i++)
			must(dockers.entries[i].config && dockers.entries[i].layers);
	}
	config(text, size);
	if (!wrong) {
		char *again = malloc(size + 1);

		must(plain[0] != '/' && !strstr(plain, "//") && strncmp(plain, "../", 3) != 0 &&
		     strcmp(plain, "..") != 0);
		must(!unpack_plain_path(plain, again) && strcmp(plain, again) == 0);
		free(again);
	}
	layout_index_done(&index);
	layout_manifest_done(&manifest);
	layout_dockers_done(&dockers);
	free(plain);
	free(text);
	return 0;
}
