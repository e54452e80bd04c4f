/* Names and records of images (rootfs/image.c). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "rootfs/image.h"

#define D "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

Test(image_record, names, .timeout = 20)
{
	static const struct {
		const char *name, *file; /* NULL: refused */
	} rows[] = {
		{ "debian", "debian.json" },
		{ "debian:12", "debian%3A12.json" },
		{ "a/b-c_d.e:1@x+y", "a%2Fb-c_d.e%3A1%40x%2By.json" },
		{ "", NULL },
		{ ".a", NULL },
		{ "-a", NULL },
		{ "/a", NULL },
		{ "a b", NULL },
		{ "a%2F", NULL },
		{ "a\nb", NULL },
		{ "\xc3\xa4", NULL },
	};
	char file[400], name[300];
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int done = image_record_name(rows[i].name, file, &err);

		cr_expect_eq(done, rows[i].file ? 0 : -1, "%s", rows[i].name);
		if (done == 0 && rows[i].file)
			cr_expect_str_eq(file, rows[i].file);
	}
	memset(name, 'a', sizeof(name));
	name[IMAGE_NAME_MAX] = '\0';
	cr_expect_eq(image_record_name(name, file, &err), 0);
	memset(name, ':', sizeof(name));
	name[0] = 'a';
	name[100] = '\0';
	cr_expect_eq(image_record_name(name, file, &err), -1, "a file name would be too long");
}

static int decode(const char *text, struct image *ret, struct warder_error *err)
{
	memset(err, 0, sizeof(*err));
	return image_decode(text, strlen(text), "r", ret, err);
}

Test(image_record, whole, .timeout = 20)
{
	static const char text[] =
	    "{\"version\": 1, \"name\": \"n\", \"digest\": \"" D
	    "\", \"source\": \"oci\", \"platform\": \"linux/amd64\","
	    "\"created\": 7, \"owners\": \"image\", \"layers\": [{\"digest\": \"" D "\", \"tree\": \"" D
	    "\", \"files\": 1, \"bytes\": 2}], \"env\": [\"A=b\"], \"workingDirectory\": \"/w\", "
	    "\"entrypoint\": [\"e\"],"
	    "\"cmd\": [], \"user\": \"u\", \"labels\": [\"l=m\"]}";
	struct warder_error err;
	struct image image;
	char *again;

	cr_assert_eq(decode(text, &image, &err), 0, "%s", err.text);
	cr_expect_eq(image.layer_count, 1u);
	cr_expect_eq(image.layers[0].lock_fd, -1);
	cr_expect_eq(image.layers[0].bytes, 2u);
	cr_expect_str_eq(image.environment[0], "A=b");
	cr_expect_str_eq(image.working_directory, "/w");
	cr_expect(image.command && !image.command[0]);
	cr_expect(image.owners_kept && image.created == 7);
	again = image_encode(&image);
	image_done(&image);
	cr_assert_eq(decode(again, &image, &err), 0, "%s", err.text);
	cr_expect_str_eq(image.labels[0], "l=m");
	image_done(&image);
	image_done(&image);
	free(again);
}

Test(image_record, what_is_refused, .timeout = 20)
{
#define REST "\"name\": \"n\", \"digest\": \"" D "\", \"owners\": \"caller\""
	static const char *const rows[] = {
		"",
		"[]",
		"{}",
		"{\"version\": 1, " REST "}",
		"{\"version\": 2, " REST ", \"layers\": []}",
		"{" REST ", \"layers\": []}",
		"{\"version\": 1, " REST ", \"layers\": [], \"more\": 1}",
		"{\"version\": 1, " REST ", \"layers\": {}}",
		"{\"version\": 1, " REST ", \"layers\": [1]}",
		"{\"version\": 1, " REST ", \"layers\": [{\"digest\": \"" D "\"}]}",
		"{\"version\": 1, " REST ", \"layers\": [{\"digest\": \"../../x\", \"tree\": \"" D "\"}]}",
		"{\"version\": 1, " REST ", \"layers\": [], \"env\": [1]}",
		"{\"version\": 1, " REST ", \"layers\": [], \"workingDirectory\": \"w\"}",
		"{\"version\": 1, \"name\": \"n\", \"digest\": \"" D
		"\", \"owners\": \"me\", \"layers\": []}",
	};
	struct warder_error err;
	struct image image;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect_eq(decode(rows[i], &image, &err), -1, "%s", rows[i]);
		cr_expect(err.text[0], "%s", rows[i]);
	}
	cr_expect_eq(decode("{\"version\": 1, " REST ", \"layers\": []}", &image, &err), 0, "%s", err.text);
	image_done(&image);
}
