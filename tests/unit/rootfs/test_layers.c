#include "base/array.h"
#include "rootfs/layers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

static char base[] = "/var/tmp/warder-layers.XXXXXX";
static struct layers layers;

static void run(const char *format)
{
	char text[600];

	snprintf(text, sizeof(text), "cd %s && %s", base, format);
	cr_assert(system(text) == 0, "%s", text);
}

/* Three layers. Whiteouts can be made by anybody; opaque directories are marked as the user who runs this may. */
static void set_up(void)
{
	char path[64];

	cr_assert(mkdtemp(base));
	run("mkdir -p 0/dir/sub 0/gone 0/opaque 0/file-then 1/dir 1/opaque 2/dir 2/opaque/below && echo 0 > "
	    "0/dir/a && echo 0 > 0/dir/b "
	    "&& echo 0 > 0/opaque/old && echo 0 > 0/gone/x && echo 0 > 0/file-then/x");
	run("echo 1 > 1/dir/b && echo 1 > 1/opaque/new && echo 1 > 1/file-then && mknod 1/gone c 0 0 && "
	    "mkdir 2/gone");
	run("ln -s dir 0/link && ln -s /dir/../link/a 1/far && ln -s loop 0/loop && ln -s ../../../dir/a "
	    "0/dir/sub/up && chmod 755 0/dir/a");
	snprintf(path, sizeof(path), "%s/1/opaque", base);
	cr_assert(setxattr(path, geteuid() ? "user.overlay.opaque" : "trusted.overlay.opaque", "y", 1, 0) ==
		  0);
	layers.count = 3;
	layers.user_xattrs = geteuid() != 0;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%d", base, i);
		layers.fds[i] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		cr_assert(layers.fds[i] >= 0);
	}
}

static void tear_down(void)
{
	run("cd / && rm -rf -- \"$OLDPWD\"");
	for (int i = 0; i < 3; i++)
		close(layers.fds[i]);
}

Test(layers, what_they_show, .init = set_up, .fini = tear_down, .timeout = 60)
{
	static const struct {
		const char *path;
		int error; /* or 0 */
		size_t layer;
		bool follow;
	} rows[] = {
		{ "", 0, 2, false },
		{ "dir", 0, 2, false },
		{ "dir/a", 0, 0, false },
		{ "dir/b", 0, 1, false },
		{ "dir/sub/up", 0, 0, false },
		{ "dir/none", ENOENT, 0, false },
		{ "gone", 0, 2, false },
		{ "gone/x", ENOENT, 0, false },
		{ "opaque/new", 0, 1, false },
		{ "opaque/below", 0, 2, false },
		{ "opaque/old", ENOENT, 0, false },
		{ "file-then/x", ENOTDIR, 0, false },
		{ "link", 0, 0, false },
		{ "link/a", ENOTDIR, 0, false },
		{ "link/a", 0, 0, true },
		{ "/far", 0, 0, true },
		{ "/dir/sub/up", 0, 0, true },
		{ "/../../dir//./b", 0, 1, true },
		{ "/loop", ELOOP, 0, true },
		{ "/link/none", ENOENT, 0, true },
		{ "/", 0, 2, true },
		{ "/dir/b/x", ENOTDIR, 0, true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct stat st;
		size_t layer = 99;
		int found =
		    (rows[i].follow ? layers_find : layers_lookup)(&layers, rows[i].path, &st, &layer);

		cr_expect(rows[i].error ? found == -1 && errno == rows[i].error
					: found == 0 && layer == rows[i].layer,
			  "%s: %d %s, layer %zu", rows[i].path, found, found ? strerror(errno) : "", layer);
	}
}

Test(layers, the_text_of_a_link, .init = set_up, .fini = tear_down, .timeout = 60)
{
	char text[32];

	cr_expect(layers_read_link(&layers, 0, "dir/sub/up", text, sizeof(text)) == 0 &&
		  strcmp(text, "../../../dir/a") == 0);
	cr_expect(layers_read_link(&layers, 0, "dir/sub/up", text, 4) == -1 && errno == ENAMETOOLONG);
	cr_expect(layers_read_link(&layers, 0, "dir/a", text, sizeof(text)) == -1 && errno == EINVAL);
}
