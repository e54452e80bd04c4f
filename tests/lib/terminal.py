"""A person at a terminal, for the tests of -t: what a program shows, keys, the size of the window, and the terminal afterwards."""
import fcntl, os, pty, select, struct, subprocess, termios, time


class Terminal:
    """argv on a terminal of its own, of 20 lines and 70 columns, as its session's leader."""

    def __init__(self, argv, slow=1.0, **more):
        self.slow, self.shown = slow, b""
        self.master, self.slave = pty.openpty()
        self.resize(20, 70)
        self.before = termios.tcgetattr(self.slave)
        self.started = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **more)

    def resize(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def keys(self, text):
        os.write(self.master, text)

    def see(self, text):
        """Whether `text` is shown, after what was seen before."""
        until = time.monotonic() + 20 * self.slow
        while text not in self.shown and time.monotonic() < until:
            if select.select([self.master], [], [], 0.1)[0]:
                self.shown += os.read(self.master, 65536)
        found = self.shown.find(text)
        self.shown = self.shown[found + len(text):] if found >= 0 else self.shown
        return found >= 0

    def end(self):
        """(exit status, whether the terminal has its settings back)."""
        try:
            status = self.started.wait(timeout=30 * self.slow)
        except subprocess.TimeoutExpired:
            self.started.kill()
            status = self.started.wait()
        restored = termios.tcgetattr(self.slave) == self.before
        os.close(self.slave)
        os.close(self.master)
        return status, restored


PROGRAM = "trap 'stty size' WINCH; trap 'echo interrupted' INT; tty; stty size; echo type $TERM; echo err >&2; " \
          "while :; do read -r line && echo got $line && exit 7; done"


def check(tell, name, command, slow=1.0, environment=None):
    """What -t promises, of a backend's run; command(FLAGS, ARGV) is its command line."""
    at = Terminal(command(["-t", "--timeout", "60s"], ["/bin/sh", "-c", PROGRAM]), slow, env=dict(environment or os.environ, TERM="vt100"))
    tell(at.see(b"/dev/pts/0\r\n20 70\r\ntype vt100\r\nerr\r\n"), "%s: -t: the terminal's name, size and TERM, and standard error" % name, at.shown)
    at.resize(18, 66)
    tell(at.see(b"18 66"), "%s: -t: the window's size follows" % name, at.shown)
    at.keys(b"\x03")
    tell(at.see(b"interrupted"), "%s: -t: Ctrl-C reaches the program" % name, at.shown)
    at.keys(b"abc\r")
    tell(at.see(b"got abc"), "%s: -t: a line reaches the program" % name, at.shown)
    end = at.end()
    tell(end == (7, True), "%s: -t: the exit status, and the caller's terminal as before" % name, end)
    at = Terminal(command(["-t", "--timeout", "60s"], ["/bin/sh", "-c", "echo up; sleep 50"]), slow)
    tell(at.see(b"up"), "%s: -t: it runs" % name, at.shown)
    at.started.terminate()
    end = at.end()
    tell(end[0] not in (0, None) and end[1], "%s: -t: ended by a signal, the caller's terminal is as before" % name, end)
