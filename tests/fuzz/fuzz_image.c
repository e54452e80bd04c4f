/* image: the record of an image; what is accepted comes back the same when it is written. And names of images. */
#include "rootfs/image.h"
#include "tests/fuzz/fuzz.h"

static void again(struct image *image)
{
	struct warder_error err = { 0 };
	char *text = image_encode(image), *second;
	struct image other;

	must(text);
	must(image_decode(text, strlen(text), "again", &other, &err) == 0);
	second = image_encode(&other);
	must(second && strcmp(text, second) == 0);
	free(text);
	free(second);
	image_done(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), name[400];
	struct warder_error err = { 0 };
	struct image image;

	if (image_decode(text, size, "record", &image, &err) == 0) {
		must(image.layer_count <= IMAGE_LAYERS_MAX && image.name && image.layers);
		again(&image);
	} else {
		must(err.text[0]);
	}
	image_done(&image);
	if (image_record_name(text, name, &err) == 0)
		must(strlen(name) < 255 && name[0] != '.' && !strchr(name, '/'));
	free(text);
	return 0;
}
