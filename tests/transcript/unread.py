"""unread.py COMMAND...: starts it on a terminal that nobody reads, sends it SIGTERM when the terminal takes nothing more, and waits for its end: 0, or 1 after 60 s."""
import array, fcntl, os, pty, signal, subprocess, sys, termios, time

master, slave = pty.openpty()


def unread():
    count = array.array("i", [0])
    fcntl.ioctl(master, termios.FIONREAD, count)
    return count[0]


program = subprocess.Popen(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                           preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
before = 0
while unread() == 0 or unread() != before:
    before = unread()
    time.sleep(0.5)
program.send_signal(signal.SIGTERM)
try:
    program.wait(60)
except subprocess.TimeoutExpired:
    program.kill()
    sys.exit(1)
