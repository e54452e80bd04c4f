/*
 * box: the directory that a run in a session has for its files, below the session's /tmp. Private to code/.
 *
 * Life: BOX_NONE -> box_open() draws a name and lists the files that the launch is to put there -> the launch makes the directory, as the
 * jail's user -> box_done(), when the run is over, removes it with all it holds. If this process dies before, the directory stays until the
 * session ends. With box_draw() instead of box_open(), another process launches and removes.
 */
#ifndef WARDER_RUNTIME_CODE_BOX_H
#define WARDER_RUNTIME_CODE_BOX_H

#include "rootfs/rootfs.h"
#include "runtime/code/program.h"

struct box {
	int tmp_fd;         /* owned: the session's /tmp; -1 before box_open() */
	char path[64];      /* inside: "/tmp/NAME" */
	char collected[64]; /* the directory that the run works in, relative to /tmp: "NAME/box" */
	/* The program's files, and then the files that its build made, with paths that begin with NAME. Owned, except for the bytes of the first
	 * `borrowed` files. */
	struct rootfs_file *files;
	size_t file_count, borrowed;
};
#define BOX_NONE ((struct box){ .tmp_fd = -1 })

/* Draw a name and list the files. -1 with *err. */
int box_draw(const struct warder_program *program, struct box *ret, struct warder_error *err);
/* The same for a program whose template joins a session: box_done() removes the directory. -1 with *err. */
int box_open(const struct warder_program *program, struct box *ret, struct warder_error *err);
/* Takes one that was not opened, too. */
void box_done(struct box *box);

#endif
