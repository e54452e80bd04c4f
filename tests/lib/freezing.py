"""freezing.py init|program|behind|setup|payload SIGNAL|- [--then COMMAND --] COMMAND...: run a command of warder, in whose jail a process cannot die.

A process that the freezer of cgroup v1 has frozen is in state D, and no signal ends it: it stands in for one that hangs in the
kernel. Frozen is the jail's init, its program, the program's child, or whatever there is of the jail in the midst of its set-up (payload: without init). Then the signal is sent
to warder (-: none). The exit status and whether the command ended in time are printed; numbers of processes in what it prints become
N. With --then the supervisor is killed by SIGKILL instead, and what is shown is the other command, which finds what was left; it has a
second (times WARDER_TEST_SLOW). Everything is thawed in any case, and what the jail left is removed.
"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

FREEZER = '/sys/fs/cgroup/freezer'
SLOW = float(os.environ.get("WARDER_TEST_SLOW", "1"))
WITHIN = 10.0 * SLOW


def write(path, text):
    with open(path, 'w') as file:
        file.write(text)


def children(pid):
    found = []
    for path in glob.glob(f'/proc/{pid}/task/*/children'):
        try:
            with open(path) as file:
                found += [int(word) for word in file.read().split()]
        except OSError:
            pass
    return found


def name_of(pid):
    try:
        with open(f'/proc/{pid}/comm', errors='replace') as file:
            return file.read().strip()
    except OSError:
        return ''


def state_of(pid):
    try:
        with open(f'/proc/{pid}/stat', errors='replace') as file:
            return file.read().rpartition(')')[2].split()[0]
    except OSError:
        return ''


def has_filter(pid):
    """The filter is the last thing that the program's process gets in its set-up."""
    try:
        with open(f'/proc/{pid}/status', errors='replace') as file:
            return 'Seccomp:\t2' in file.read()
    except OSError:
        return True


def find(pid, what):
    """The process to freeze, once it is there."""
    for _ in range(2000):
        for init in children(pid):
            if name_of(init) != 'warder-init':
                continue
            if what == 'init' and any(name_of(p) not in ('warder-init', '') for p in children(init)):
                return init
            for program in children(init):
                if what == 'program' and name_of(program) not in ('warder-init', ''):
                    return program
                for child in children(program):
                    if what == 'behind' and name_of(child) == 'tail':
                        return child
        time.sleep(0.01)
    sys.exit('no process of that kind came')


def holds(frozen):
    """Whether there is something to freeze, and all of it stands still. On a busy machine the freezer needs a while."""
    for _ in range(100):
        states = [state_of(pid) for pid in frozen]
        if all(state == 'D' for state in states) or not all(states):
            break
        time.sleep(0.01)
    return bool(frozen) and all(state == 'D' for state in states)


def freeze_setup(start, group, what):
    """The whole group, warder among it, as soon as it has a child that is init; then warder goes on alone. Until it was in time."""
    for _ in range(50):
        run = start()
        while run.poll() is None:
            inits = [child for child in children(run.pid) if name_of(child) == 'warder-init']
            if not inits or (what == 'payload' and not children(inits[0])):
                continue
            write(f'{group}/freezer.state', 'FROZEN')
            write(f'{FREEZER}/cgroup.procs', str(run.pid))
            # Only what is in the jail stays frozen; a helper of warder's that happens to be at work goes on.
            frozen = children(inits[0]) + ([] if what == 'payload' else inits)
            with open(f'{group}/cgroup.procs') as file:
                for pid in set(map(int, file.read().split())) - set(frozen):
                    write(f'{FREEZER}/cgroup.procs', str(pid))
            if holds(frozen) and children(run.pid) and not any(has_filter(p) for p in children(inits[0])):
                return run
            write(f'{group}/freezer.state', 'THAWED')
            run.wait()
    sys.exit('the freezer was never in time')


def main():
    what, number, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    after = None
    if command[0] == '--then':
        end = command.index('--')
        after, command = command[1:end], command[end + 1:]
    in_setup = what in ('setup', 'payload')
    group = f'{FREEZER}/warder-test-{os.getpid()}'
    os.mkdir(group)
    output = tempfile.TemporaryFile()  # a pipe would wait for who hangs
    try:
        def enter():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
            if in_setup:
                write(f'{group}/cgroup.procs', '0')

        def start():
            output.seek(0)
            output.truncate()  # what an earlier one said that was not caught in time
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                    preexec_fn=enter)

        run = freeze_setup(start, group, what) if in_setup else start()
        if not in_setup:
            target = find(run.pid, what)
            write(f'{group}/cgroup.procs', str(target))
            write(f'{group}/freezer.state', 'FROZEN')
            for _ in range(3000):
                if state_of(target) == 'D':
                    break
                time.sleep(0.01)
            else:
                sys.exit('it does not freeze')
        within = WITHIN
        if after:
            run.kill()
            run.wait()
            first, within = run, 1.0 * SLOW
            run = subprocess.Popen(after, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        began = time.monotonic()
        if number != '-':
            run.send_signal(getattr(signal, 'SIG' + number))
        try:
            run.wait(timeout=60 * SLOW)
        except subprocess.TimeoutExpired:
            run.kill()
            print('it never ended')
        took = time.monotonic() - began
        output.seek(0)
        print(re.sub(r'[0-9]{2,}(-[0-9]+)*', 'N', output.read().decode()), end='')
        print(f'exit status {run.returncode},', 'in time' if took < within else f'after {took:.1f} s')
    finally:
        write(f'{group}/freezer.state', 'THAWED')
        for _ in range(200):
            try:
                os.rmdir(group)
                break
            except OSError:
                time.sleep(0.05)
        for _ in range(100):
            left = glob.glob(f'/sys/fs/cgroup/*/warder-{(first if after else run).pid}-*')
            for path in left:
                try:
                    os.rmdir(path)
                except OSError:
                    pass
            if not left:
                break
            time.sleep(0.05)
        else:
            print('left behind:', left)


main()
