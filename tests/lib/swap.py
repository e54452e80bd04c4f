"""swap.py A B READY: exchange two names, over and over, until it is killed or the first is gone; makes READY when it has begun."""
import ctypes
import os
import sys

AT_FDCWD, EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:3])
parent = os.getppid()
rounds = 0
while rounds % 1000 or os.getppid() == parent:
    if libc.renameat2(AT_FDCWD, first, AT_FDCWD, second, EXCHANGE) != 0 and not os.path.lexists(first):
        break
    rounds += 1
    if rounds == 1:
        open(sys.argv[3], "x").close()
