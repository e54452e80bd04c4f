"""frozen.py UP COMMAND-LINE FIRST THEN: see what ends, and when, while a process cannot die.

A process that the freezer of cgroup v1 has frozen is in state D, and no signal ends it: it stands in for one that hangs in the
kernel. FIRST, a shell command, is started. The process with that command line or number, or its UP-th ancestor, is then frozen. THEN is the name
of a signal, which FIRST is sent, or a shell command, or "-": nothing. The output and the exit status of both commands are printed, and whether
they ended in time, counted from the freeze; numbers of processes in the output become N. Then everything is thawed, and the cgroups that were
left behind are removed.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FREEZER = '/sys/fs/cgroup/freezer'
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
WITHIN = 20.0 * SLOW  # judge waits 13 s for its workers
PATIENCE = 40.0 * SLOW


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def read(path):
    try:
        with open(path, errors='replace') as file:  # other programs may have any bytes in their arguments
            return file.read()
    except OSError:
        return ''


def find(command_line, up):
    for _ in range(3000):
        for pid in filter(str.isdigit, os.listdir('/proc')):
            words = read(f'/proc/{pid}/cmdline').replace('\0', ' ').strip()
            if command_line not in (words, pid):
                continue
            found = int(pid)
            for _ in range(up):
                found = int((re.search(r'PPid:\s*(\d+)', read(f'/proc/{found}/status')) or [0, 0])[1])
            if found > 1:
                return found
        time.sleep(0.01)
    sys.exit('no process of that kind came')


def start(command, output):
    return subprocess.Popen(['bash', '-c', command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def wait(processes, began):
    """Until they have ended, at most for a while; each then knows how long it took."""
    left = list(processes)
    while left and time.monotonic() - began < PATIENCE:
        for process in list(left):
            if process.poll() is not None:
                process.took = time.monotonic() - began
                left.remove(process)
        time.sleep(0.01)


def tell(name, process, output):
    took = getattr(process, 'took', None)
    if took is None:
        ended = 'it never ended'
    else:
        ended = f'exit status {process.returncode}, ' + ('in time' if took < WITHIN else f'after {took:.1f} s')
    output.seek(0)
    text = output.read().decode(errors='replace')
    print(re.sub(r'\b[0-9]{2,}(-[0-9]+)*', 'N', text) + f'{name}: {ended}', flush=True)


def main():
    up, command_line, first, then = sys.argv[1:]
    group = f'{FREEZER}/warder-test-{os.getpid()}'
    os.mkdir(group)
    outputs = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]
    second = None
    run = start(first, outputs[0])
    try:
        target = find(command_line, int(up))
        write(f'{group}/cgroup.procs', str(target))
        write(f'{group}/freezer.state', 'FROZEN')
        for _ in range(3000):
            if 'State:\tD' in read(f'/proc/{target}/status'):
                break
            time.sleep(0.01)
        else:
            sys.exit('it does not freeze')
        began = time.monotonic()
        if hasattr(signal, 'SIG' + then):
            run.send_signal(getattr(signal, 'SIG' + then))
        elif then != '-':
            second = start(then, outputs[1])
        wait([run] + ([second] if second else []), began)
        if second:
            tell('then', second, outputs[1])
        tell('first', run, outputs[0])
    finally:
        write(f'{group}/freezer.state', 'THAWED')
        for process in filter(None, (run, second)):
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
        for _ in range(200):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)
        subprocess.run(['warder', 'run', 'true'], stdin=subprocess.DEVNULL, check=False)  # which removes cgroups of the dead


main()
