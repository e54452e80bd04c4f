/*
 * What is written over an image: as a layer, for who builds another image of it. The image is made by tests/lib/image.py.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/warder.h"

static char base[64];

static int shell(const char *before, const char *after)
{
	char text[400];

	snprintf(text, sizeof(text), "%s%s%s", before, base, after);
	return system(text);
}

static void set_up(void)
{
	char store[96];

	/* An overlay, such as a guest may have below /var, takes no whiteouts. */
	snprintf(base, sizeof(base), "/srv/warder-image.XXXXXX");
	if (!mkdtemp(base)) {
		snprintf(base, sizeof(base), "/var/tmp/warder-image.XXXXXX");
		cr_assert(mkdtemp(base));
	}
	snprintf(store, sizeof(store), "%s/store", base);
	setenv("WARDER_STORE", store, 1);
	cr_assert_eq(shell("python3 tests/lib/image.py ", "/store"), 0);
	cr_assert_eq(shell("mkdir -m 755 ", "/layer"), 0);
}

static void tear_down(void)
{
	shell("rm -rf ", "");
}

static struct warder_policy *policy_of_two(void)
{
	static const char *const limits[] = { "limits.cpuTime", "limits.memory", "limits.swap", "limits.cpus",
					      "limits.pids" };
	struct warder_policy *policy = NULL;
	struct warder_error err;

	cr_assert(warder_policy_preset("strict", &policy, &err) == 0, "%s", err.text);
	cr_assert(warder_policy_set(policy, "filesystem.view", "image:two", &err) == 0, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++)
		cr_assert(warder_policy_require(policy, limits[i], 0, &err) == 0);
	return policy;
}

/* Run a line of sh over the image, and take what it wrote. The exit status. */
static int build(const char *line, int layer_fd)
{
	const struct warder_options options = { .size = sizeof(options), .single_use = 1, .builds_image = 1 };
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)(uintptr_t)line, NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv, .layer_fd = layer_fd };
	struct warder_policy *policy = policy_of_two();
	struct warder_template *tmpl = NULL;
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;
	int status;

	cr_assert(warder_prepare(policy, &options, &tmpl, &err) == 0, "%s", err.text);
	cr_assert(warder_launch(tmpl, &command, &run, &err) == 0, "%s: %s", err.step, err.text);
	cr_assert(warder_wait(run, &result, &err) == 0, "%s", err.text);
	status = warder_result_exit_code(result);
	if (status)
		fprintf(stderr, "%s\n", warder_result_output(result, WARDER_STDERR, NULL, NULL));
	warder_result_free(result);
	warder_run_free(run);
	warder_template_free(tmpl);
	warder_policy_free(policy);
	return status;
}

static int open_layer(void)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/layer", base);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is(int layer_fd, const char *path, mode_t mode)
{
	struct stat st;

	return fstatat(layer_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode == mode &&
	       (geteuid() != 0 || (st.st_uid == 0 && st.st_gid == 0));
}

static bool is_absent(int layer_fd, const char *path)
{
	return faccessat(layer_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

Test(image, what_a_build_writes_is_a_layer, .init = set_up, .fini = tear_down, .timeout = 120)
{
	const char *opaque = geteuid() ? "user.overlay.opaque" : "trusted.overlay.opaque";
	int layer_fd = open_layer();
	struct stat first, second;
	char path[128];
	char text[16];

	cr_assert_eq(
	    build("set -e; test $(id -u) = 0; mkdir /app; echo f > /app/f; chmod 640 /app/f; ln /app/f "
		  "/app/g; ln -s f /app/l; "
		  "rm /etc/lower; rm -r /srv/opaque; mkdir /srv/opaque; echo m > /srv/opaque/m; chmod 4755 "
		  "/opt/tool || true; "
		  "rm /top; echo t > /tmp/t; rm -r /usr; ls -d /proc/self /dev/null /tmp > /dev/null",
		  layer_fd),
	    0);
	cr_expect(is(layer_fd, "app", S_IFDIR | 0755) && is(layer_fd, "app/f", S_IFREG | 0640) &&
		  is(layer_fd, "app/l", S_IFLNK | 0777));
	cr_expect(fstatat(layer_fd, "app/f", &first, 0) == 0 && fstatat(layer_fd, "app/g", &second, 0) == 0 &&
		  first.st_ino == second.st_ino && first.st_nlink == 2);
	for (size_t i = 0; i < 3; i++) {
		static const char *const gone[] = { "etc/lower", "top", "usr" };
		struct stat st;

		cr_expect(fstatat(layer_fd, gone[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode) &&
			      st.st_rdev == makedev(0, 0),
			  "%s", gone[i]);
	}
	snprintf(path, sizeof(path), "%s/layer/srv/opaque", base);
	cr_expect(lgetxattr(path, opaque, text, sizeof(text)) == 1 && text[0] == 'y');
	cr_expect(is(layer_fd, "srv/opaque/m", S_IFREG | 0644));
	cr_expect(is_absent(layer_fd, "tmp") && is_absent(layer_fd, "dev") && is_absent(layer_fd, "proc") &&
		  is_absent(layer_fd, "etc/version") && is_absent(layer_fd, "bin"));
	close(layer_fd);
}

Test(image, a_build_has_no_power_besides, .init = set_up, .fini = tear_down, .timeout = 120)
{
	int layer_fd = open_layer();

	cr_expect_eq(build("mknod /app c 1 3 2>/dev/null; mknod /w c 0 0 2>/dev/null; mount -t tmpfs none "
			   "/opt 2>/dev/null; chown 5 /top "
			   "2>/dev/null; setfattr -n trusted.overlay.opaque -v y /opt 2>/dev/null; mv /proc "
			   "/p 2>/dev/null; "
			   "rmdir /tmp 2>/dev/null; grep -q '^CapEff:.0*$' /proc/self/status && ls -d /proc "
			   "/tmp /dev > /dev/null",
			   layer_fd),
		     0);
	cr_expect(is_absent(layer_fd, "app") && is_absent(layer_fd, "w") && is_absent(layer_fd, "p") &&
		  is_absent(layer_fd, "top"));
	close(layer_fd);
}

Test(image, a_build_has_nothing_of_the_host, .init = set_up, .fini = tear_down, .timeout = 60)
{
	const struct warder_options options = { .size = sizeof(options), .builds_image = 1 };
	struct warder_policy *policy = policy_of_two();
	struct warder_template *tmpl = NULL;
	struct warder_error err;

	cr_assert(warder_policy_set(policy, "filesystem.workspace", "readOnly:/var", &err) == 0);
	cr_expect(warder_prepare(policy, &options, &tmpl, &err) == -1 &&
		      strstr(err.text, "without workspace"),
		  "%s", err.text);
	cr_assert(warder_policy_set(policy, "filesystem.workspace", "none", &err) == 0);
	cr_assert(warder_policy_set(policy, "filesystem.view", "host", &err) == 0);
	cr_expect(warder_prepare(policy, &options, &tmpl, &err) == -1 &&
		  err.code == WARDER_ERROR_INVALID_REQUEST);
	warder_policy_free(policy);
}
