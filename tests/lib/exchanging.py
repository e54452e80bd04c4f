#!/usr/bin/env python3
"""exchanging.py ONE OTHER COMMAND...: what two names stand for is exchanged over and over, while the command runs."""
import ctypes
import os
import subprocess
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2
one, other = map(os.fsencode, sys.argv[1:3])
renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
with subprocess.Popen(sys.argv[3:]) as command:
    while command.poll() is None:
        for _ in range(200):
            if renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0:
                sys.exit(os.strerror(ctypes.get_errno()))
sys.exit(command.returncode)
