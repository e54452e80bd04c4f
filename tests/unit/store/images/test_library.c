/* Images through the library: what a program that embeds Warder is told, and what it may get wrong. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "store/warder-store.h"

static char place[64], store[96], root[96];
static struct warder_error err;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	chmod(path, 0700);
	return remove(path);
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	cr_assert(file);
	cr_assert(fputs(text, file) >= 0);
	cr_assert_eq(fclose(file), 0);
}

static void set_up(void)
{
	strcpy(place, "/tmp/warder-images-XXXXXX");
	cr_assert(mkdtemp(place));
	snprintf(store, sizeof(store), "%s/store", place);
	snprintf(root, sizeof(root), "%s/root", place);
	cr_assert_eq(mkdir(root, 0755), 0);
	write_file(root, "a", "one\n");
}

static void tear_down(void)
{
	nftw(place, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(images_library, .init = set_up, .fini = tear_down, .timeout = 60);

/* A member of the text, which is freed, as a number, or -1. */
static long long number_of(char *json, const char *key)
{
	struct json_value *value = NULL;
	const struct json_value *member;
	long long number = -1;

	if (json && json_parse(json, strlen(json), "test", NULL, &value, &err) == 0) {
		member = json_member(value->type == JSON_ARRAY && value->child ? value->child : value, key);
		if (member && member->type == JSON_NUMBER)
			number = (long long)member->uint;
		if (member && member->type == JSON_BOOL)
			number = member->boolean;
	}
	json_free(value);
	free(json);
	return number;
}

static struct warder_image_import what(const char *name)
{
	return (struct warder_image_import){ .size = sizeof(struct warder_image_import),
					     .source = root,
					     .name = name };
}

static char *json;

Test(images_library, imports_lists_inspects_verifies_removes)
{
	struct warder_image_import first = what("one"), second = what("two");

	cr_assert_eq(warder_image_import(store, &first, &json, &err), 0, "%s", err.text);
	cr_expect_eq(number_of(json, "layersStored"), 1);
	cr_assert_eq(warder_image_import(store, &second, &json, &err), 0, "%s", err.text);
	cr_expect_eq(number_of(json, "layersShared"), 1);
	cr_assert_eq(warder_image_list(store, &json, &err), 0);
	cr_expect(strstr(json, "\"one\"") && strstr(json, "\"two\""), "%s", json);
	cr_expect_eq(number_of(json, "layers"), 1);
	cr_assert_eq(warder_image_inspect(store, "two", &json, &err), 0);
	cr_expect(strstr(json, "\"name\":\"two\"") || strstr(json, "\"name\": \"two\""), "%s", json);
	free(json);
	cr_assert_eq(warder_image_verify(store, "one", &json, &err), 0, "%s", err.text);
	cr_expect_eq(number_of(json, "good"), 1);
	cr_assert_eq(warder_image_remove(store, "one", &json, &err), 0);
	cr_expect_eq(number_of(json, "layersRemoved"), 0);
	cr_assert_eq(warder_image_remove(store, "two", &json, &err), 0);
	cr_expect_eq(number_of(json, "layersRemoved"), 1);
	cr_assert_eq(warder_image_gc(store, &json, &err), 0);
	cr_expect_eq(number_of(json, "layersRemoved"), 0);
	cr_assert_eq(warder_image_list(store, &json, &err), 0);
	cr_expect_str_eq(json, "[]");
	free(json);
}

static int damage(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	const char *name = strrchr(path, '/');
	int fd;

	if (type != FTW_F || strcmp(name, "/a") != 0)
		return 0;
	chmod(path, 0600);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd >= 0)
		close(fd);
	return 0;
}

Test(images_library, finds_damage)
{
	struct warder_image_import one = what("one");

	cr_assert_eq(warder_image_import(store, &one, NULL, &err), 0, "%s", err.text);
	nftw(store, damage, 16, FTW_PHYS);
	cr_expect_eq(warder_image_verify(store, "one", &json, &err), 1);
	cr_expect(strstr(json, "\"layer\""), "%s", json);
	cr_expect_eq(number_of(json, "good"), 0);
	cr_expect_eq(warder_image_verify(store, "one", NULL, &err), 1);
}

static void on_progress(void *context, const char *of, uint64_t done, uint64_t total)
{
	(*(int *)context)++;
}

Test(images_library, tells_how_far_it_is)
{
	struct warder_image_import one = what("one");
	int calls = 0;

	one.on_progress = on_progress;
	one.context = &calls;
	cr_assert_eq(warder_image_import(store, &one, NULL, &err), 0, "%s", err.text);
	cr_expect(calls > 0);
}

Test(images_library, builds)
{
	char recipe[128];
	struct warder_image_build build = {
		.size = sizeof(build), .directory = root, .recipe = recipe, .name = "built"
	};

	write_file(place, "recipe", "FROM scratch\nCOPY a /b\n");
	snprintf(recipe, sizeof(recipe), "%s/recipe", place);
	setenv("WARDER_STORE", store, 1);
	cr_assert_eq(warder_image_build(&build, &json, &err), 0, "%s", err.text);
	cr_expect_eq(number_of(json, "layers"), 1);
	cr_expect_eq(warder_image_verify(NULL, "built", NULL, &err), 0);
	write_file(place, "recipe", "FROM scratch\nCOPY none /b\n");
	cr_expect_eq(warder_image_build(&build, NULL, &err), -1);
	cr_expect(strstr(err.text, "recipe:2: COPY"), "%s", err.text);
}

Test(images_library, refuses)
{
	struct warder_image_import unsized = { .source = root }, gone = what("a"), unnamed = what(NULL);
	struct warder_image_build nothing = { .size = sizeof(nothing) };
	char none[128];

	gone.source = "/no/such/place";
	snprintf(none, sizeof(none), "%s/none", place);
	cr_expect_eq(warder_image_import(store, NULL, NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST);
	cr_expect_eq(warder_image_import(store, &unsized, NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST);
	cr_expect_eq(warder_image_import(store, &gone, NULL, &err), -1);
	cr_expect_eq(warder_image_import(store, &unnamed, NULL, &err), -1);
	cr_expect_eq(warder_image_build(&nothing, NULL, &err), -1);
	cr_expect_eq(warder_image_inspect(store, NULL, NULL, &err), -1);
	cr_expect_eq(warder_image_inspect(store, "none", NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND);
	cr_expect_eq(warder_image_remove(none, "none", NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND);
	cr_expect_eq(warder_image_verify(none, "none", NULL, &err), -1);
	cr_assert_eq(warder_image_list(none, &json, &err), 0);
	cr_expect_str_eq(json, "[]");
	free(json);
	cr_expect_eq(warder_image_gc(none, NULL, &err), 0);
	cr_expect_eq(access(none, F_OK), -1, "what only looks makes no store");
}

Test(images_library, saves_an_open_file_as_an_artifact)
{
	char path[128];
	uint64_t version = 0;
	size_t len;
	char *got = NULL;
	int fd;

	snprintf(path, sizeof(path), "%s/a", root);
	fd = open(path, O_RDONLY);
	cr_assert(fd >= 0);
	cr_assert_eq(warder_artifact_save_file(store, "x", NULL, fd, 0, &version, &err), 0, "%s", err.text);
	cr_expect_eq(version, 1u);
	cr_assert_eq(warder_artifact_read(store, "x@1", 100, &got, &len, &err), 0);
	cr_expect_str_eq(got, "one\n");
	free(got);
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_expect_eq(warder_artifact_save_file(store, "x", NULL, fd, 3, NULL, &err), -1);
	cr_expect_eq(warder_artifact_save_file(store, "x", NULL, -1, 0, NULL, &err), -1);
	close(fd);
}
