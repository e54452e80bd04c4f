/*
 * terminal: the host's side of a program's terminal.
 *
 * The line discipline of the jail's terminal does what a terminal does: it echoes, edits lines, and makes signals of Ctrl-C and Ctrl-Z.
 * The caller's own terminal is to hand on every byte as it is typed; to set that, and to undo it, is the caller's part.
 *
 * The kernel hangs the terminal up when the program, which leads its session, ends: then a read of the master gives EIO behind the last
 * byte. It would also do so for a moment when nobody has the terminal open; the slave that is held here prevents that.
 */
#include "jail/terminal.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif
#define SLAVE_MAJOR_FIRST 136 /* Documentation/admin-guide/devices.txt */
#define SLAVE_MAJOR_LAST  143

int terminal_check(int caller_fd, struct warder_error *err)
{
	const int flags = fcntl(caller_fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) != O_WRONLY && isatty(caller_fd))
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
			 "terminal_fd: descriptor %d is not a terminal that is open for reading", caller_fd);
}

void terminal_copy_size(const struct terminal *terminal, int caller_fd)
{
	struct winsize size;

	if (terminal->master_fd >= 0 && ioctl(caller_fd, TIOCGWINSZ, &size) == 0)
		ioctl(terminal->master_fd, TIOCSWINSZ, &size);
}

int terminal_open(struct terminal *terminal, int caller_fd, struct warder_error *err)
{
	struct termios settings;
	unsigned int number;
	struct stat st;

	/* Only a master has a number and a peer. */
	if (terminal->master_fd < 0 || ioctl(terminal->master_fd, TIOCGPTN, &number) < 0)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL,
				 "the jail sent something that is not a terminal");
	terminal->slave_fd = ioctl(terminal->master_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal->slave_fd < 0 || fstat(terminal->slave_fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot open the program's terminal");
	if (!S_ISCHR(st.st_mode) || major(st.st_rdev) < SLAVE_MAJOR_FIRST ||
	    major(st.st_rdev) > SLAVE_MAJOR_LAST)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL,
				 "the jail sent the master of something that is not a pseudo-terminal");
	if (fcntl(terminal->master_fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0 ||
	    tcgetattr(caller_fd, &settings) < 0 || tcsetattr(terminal->slave_fd, TCSANOW, &settings) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot set up the program's terminal");
	terminal_copy_size(terminal, caller_fd);
	return 0;
}

void terminal_done(struct terminal *terminal)
{
	fd_done(&terminal->slave_fd);
	fd_done(&terminal->master_fd);
}
