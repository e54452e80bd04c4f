/*
 * A root made of Debian's packages by mmdebstrap or debootstrap, which run on the host, as who builds the image: what they install
 * are Debian's signed packages, and what these execute is not in a jail. So they are run only where a recipe says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/hang.h"
#include "rootfs/rootfs.h"
#include "store/images/build.h"

#define LOOK_MS 1000

static const char field[] = "recipe";

static bool has_program(const char *name)
{
	static const char *const directories[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };
	char path[128];

	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", directories[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static int check_word(const struct build *build, const char *what, const char *text, const char *letters)
{
	if (text[0] && text[0] != '-' && text[strspn(text, letters)] == '\0')
		return 0;
	return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, field, "%.80s is not a %s", text, what);
}

/* In a mount namespace of its own, where the host allows it: what the program mounts is gone with it, whoever is killed. As an
 * ordinary user it has one by itself. Between fork and exec, so nothing but system calls. */
static void exec_alone(char *const *argv, int in_fd, int out_fd)
{
	if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		_exit(126);
	if (dup2(in_fd, STDIN_FILENO) >= 0 && (out_fd == STDOUT_FILENO || dup2(out_fd, STDOUT_FILENO) >= 0))
		execvp(argv[0], argv);
	_exit(127);
}

/* Start a program; its standard output goes to out_fd. The pid, or -1 with errno. */
static pid_t start(char *const *argv, int out_fd)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pid_t pid = null_fd < 0 ? -1 : fork();

	if (pid == 0)
		exec_alone(argv, null_fd, out_fd);
	if (null_fd >= 0)
		close(null_fd);
	return pid;
}

static int wait_for(const struct build *build, pid_t pid, const char *name)
{
	int status = 0;
	enum child_end end = child_wait(pid, LOOK_MS, &status);
	struct hang hang = { 0 };

	/* It takes as long as its downloads; one that hangs in the kernel is left behind. */
	while (end == CHILD_LIVES && !hang_look(&hang, pid))
		end = child_wait(pid, LOOK_MS, &status);
	if (end == CHILD_LIVES) {
		kill(pid, SIGKILL);
		return error_set(
		    build->err, WARDER_ERROR_UNAVAILABLE, field,
		    "host: %s, process %d, does not go on: the kernel holds it. It is left behind", name,
		    (int)pid);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return error_set(build->err, WARDER_ERROR_UNAVAILABLE, field,
			 "%s failed (status %d); its output shows the reason, often a missing network", name,
			 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* An import, of which the name is used as it is. */
static int import(struct build *build, const char *source, const char *name)
{
	const struct images_import what = { .source = source,
					    .name = name,
					    .base = true,
					    .format = source[0] == '/' && strncmp(source, "/dev/fd/", 8) != 0
							  ? "directory"
							  : "tar" };
	struct images_notes notes;
	struct image image;

	if (images_import(build->images, &what, &image, &notes, build->err) != 0)
		return -1;
	build->notes->set_ids += notes.set_ids;
	build->notes->devices += notes.devices;
	build->notes->stored += notes.stored;
	image_done(build->image);
	*build->image = image;
	return 0;
}

/* mmdebstrap writes an archive, which is read while it is written. */
static int by_mmdebstrap(struct build *build, const char *suite, const char *variant, const char *include,
			 const char *name)
{
	char variant_flag[64], include_flag[1100], source[32];
	char program[] = "mmdebstrap", quiet[] = "--quiet", format[] = "--format=tar", output[] = "-",
	     suite_word[64];
	char *argv[] = { program,    quiet,  format, variant_flag, include ? include_flag : variant_flag,
			 suite_word, output, NULL };
	int pipe_fds[2], done, ended;
	pid_t pid;

	snprintf(suite_word, sizeof(suite_word), "%s", suite);
	snprintf(variant_flag, sizeof(variant_flag), "--variant=%s", variant);
	snprintf(include_flag, sizeof(include_flag), "--include=%s", include ? include : "");
	if (pipe2(pipe_fds, O_CLOEXEC) != 0)
		return error_set_errno(build->err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "there is no pipe");
	pid = start(argv, pipe_fds[1]);
	close(pipe_fds[1]);
	if (pid < 0) {
		close(pipe_fds[0]);
		return error_set_errno(build->err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "mmdebstrap cannot be started");
	}
	snprintf(source, sizeof(source), "/dev/fd/%d", pipe_fds[0]);
	done = import(build, source, name);
	close(pipe_fds[0]); /* it ends, if it still writes */
	ended = wait_for(build, pid, "mmdebstrap");
	if (done == 0 && ended != 0) {
		struct images_removed removed;
		struct warder_error ignored;

		image_done(build->image);
		images_remove(build->images, name, &removed, &ignored);
	}
	return done == 0 ? ended : -1;
}

/* debootstrap fills a directory, which is imported then. */
static int by_debootstrap(struct build *build, const char *suite, const char *variant, const char *include,
			  const char *name)
{
	char variant_flag[64], include_flag[1100], path[ROOTFS_PRIVATE_DIR_MAX + STORE_NAME_MAX + 32];
	char program[] = "debootstrap", suite_word[64];
	char *argv[] = {
		program, variant_flag, include ? include_flag : variant_flag, suite_word, path, NULL
	};
	struct draft draft;
	int done;
	pid_t pid;

	if (geteuid() != 0)
		return error_set(build->err, WARDER_ERROR_UNAVAILABLE, field,
				 "debootstrap needs root; install mmdebstrap, or build as root");
	if (draft_make(build->images, &draft, build->err) != 0)
		return -1;
	snprintf(variant_flag, sizeof(variant_flag), "--variant=%s", variant);
	snprintf(include_flag, sizeof(include_flag), "--include=%s", include ? include : "");
	snprintf(path, sizeof(path), "%s/layers/%s/tree", build->images->path, draft.name);
	snprintf(suite_word, sizeof(suite_word), "%s", suite);
	pid = start(argv, STDERR_FILENO);
	done = pid < 0 ? error_set_errno(build->err, WARDER_ERROR_UNAVAILABLE, field, errno,
					 "debootstrap cannot be started")
		       : wait_for(build, pid, "debootstrap");
	if (done == 0)
		done = import(build, path, name);
	draft_done(build->images, &draft);
	return done;
}

/* What has been made once is taken again, by a name that says all of it. */
static int name_of(const struct build *build, const char *suite, const char *variant, const char *include,
		   char ret[static IMAGE_NAME_MAX + 1])
{
	char hex[DIGEST_HEX] = "";
	struct digest digest;

	digest_init(&digest);
	digest_add_text(&digest, include ? include : "");
	if (digest_hex(&digest, hex) != 0)
		return error_no_memory(build->err, field);
	snprintf(ret, IMAGE_NAME_MAX + 1, IMAGES_BASES "%.40s-%.20s%s%.12s", suite, variant,
		 include ? "-" : "", include ? hex : "");
	return 0;
}

int build_base(struct build *build, const struct recipe_step *step, const char *suite)
{
	const char *variant = recipe_flag(step, "--variant"), *include = recipe_flag(step, "--include");
	char name[IMAGE_NAME_MAX + 1];
	struct image image;
	struct warder_error missing;

	variant = variant ? variant : "minbase";
	if (check_word(build, "suite of Debian", suite, "abcdefghijklmnopqrstuvwxyz0123456789-") != 0 ||
	    check_word(build, "variant", variant, "abcdefghijklmnopqrstuvwxyz-") != 0 ||
	    (include && (check_word(build, "list of packages", include,
				    "abcdefghijklmnopqrstuvwxyz0123456789+.-,") != 0 ||
			 strlen(include) > 1000)))
		return build->err->code
			   ? -1
			   : error_set(build->err, WARDER_ERROR_INVALID_REQUEST, field,
				       "the list of packages is too long; RUN apt-get install the others");
	if (name_of(build, suite, variant, include, name) != 0)
		return -1;
	if (layer_store_find(build->images, name, &image, &missing) == 0) {
		image_done(build->image);
		*build->image = image;
		return 0;
	}
	if (has_program("mmdebstrap"))
		return by_mmdebstrap(build, suite, variant, include, name);
	if (has_program("debootstrap"))
		return by_debootstrap(build, suite, variant, include, name);
	return error_set(
	    build->err, WARDER_ERROR_UNAVAILABLE, field,
	    "neither mmdebstrap nor debootstrap is installed; install one of them, or import an image");
}
