/*
 * syscalls: every system call up to Linux 6.18, with the verdict and the reason.
 *
 * The numbers are written out, for both architectures, instead of taken from the headers: the table then does
 * not depend on the age of the build host's headers, can be read and compared for every architecture
 * on any machine, and a new kernel's call is one line. From number 424 on all architectures count alike.
 *
 * `default` is the set that container engines allow, less what no ordinary program misses: that set was
 * made for containers that run an init and services, ours for programs that nobody trusts. `strict` leaves
 * out what lets two jails talk or disturb each other through kernel objects that no namespace separates.
 * `compat` adds what debuggers and numerical libraries want. What no profile has, a policy can still name,
 * unless it would let a jail undo the jail (`never`).
 *
 * What a refused call answers: ENOSYS where a library knows what to do without the call, EINVAL where programs try something
 * else only after that, EPERM where the attempt itself is worth noticing. Only the last may kill.
 */
#include "jail/filter/syscalls.h"

#include <string.h>

#include "base/array.h"
#include "policy/policy.h"

_Static_assert((int)SYSCALL_STRICT == (int)POLICY_SYSCALLS_STRICT &&
		   (int)SYSCALL_DEFAULT == (int)POLICY_SYSCALLS_DEFAULT &&
		   (int)SYSCALL_COMPAT == (int)POLICY_SYSCALLS_COMPAT,
	       "levels start with the profiles");

/* clang-format off */

/* X(name, number on x86_64, number on aarch64, argument rule) */

/* Files and directories. */
#define FILES(X) \
	X(read, 0, 63, NONE) \
	X(write, 1, 64, NONE) \
	X(readv, 19, 65, NONE) \
	X(writev, 20, 66, NONE) \
	X(pread64, 17, 67, NONE) \
	X(pwrite64, 18, 68, NONE) \
	X(preadv, 295, 69, NONE) \
	X(pwritev, 296, 70, NONE) \
	X(preadv2, 327, 286, PREADV2) \
	X(pwritev2, 328, 287, NONE) \
	X(open, 2, -1, OPEN) \
	X(openat, 257, 56, OPENAT) \
	X(creat, 85, -1, MODE_1) \
	X(close, 3, 57, NONE) \
	X(close_range, 436, 436, NONE) \
	X(lseek, 8, 62, NONE) \
	X(dup, 32, 23, NONE) \
	X(dup2, 33, -1, NONE) \
	X(dup3, 292, 24, NONE) \
	X(fcntl, 72, 25, FCNTL) \
	X(ioctl, 16, 29, IOCTL) \
	X(pipe, 22, -1, NONE) \
	X(pipe2, 293, 59, NONE) \
	X(stat, 4, -1, NONE) \
	X(fstat, 5, 80, NONE) \
	X(lstat, 6, -1, NONE) \
	X(newfstatat, 262, 79, NONE) \
	X(statx, 332, 291, NONE) \
	X(statfs, 137, 43, NONE) \
	X(fstatfs, 138, 44, NONE) \
	X(access, 21, -1, NONE) \
	X(faccessat, 269, 48, NONE) \
	X(faccessat2, 439, 439, NONE) \
	X(getdents, 78, -1, NONE) \
	X(getdents64, 217, 61, NONE) \
	X(getcwd, 79, 17, NONE) \
	X(chdir, 80, 49, NONE) \
	X(fchdir, 81, 50, NONE) \
	X(mkdir, 83, -1, MODE_1) \
	X(mkdirat, 258, 34, MODE_2) \
	X(rmdir, 84, -1, NONE) \
	X(rename, 82, -1, NONE) \
	X(renameat, 264, 38, NONE) \
	X(renameat2, 316, 276, RENAME) \
	X(link, 86, -1, NONE) \
	X(linkat, 265, 37, NONE) \
	X(unlink, 87, -1, NONE) \
	X(unlinkat, 263, 35, NONE) \
	X(symlink, 88, -1, NONE) \
	X(symlinkat, 266, 36, NONE) \
	X(readlink, 89, -1, NONE) \
	X(readlinkat, 267, 78, NONE) \
	X(mknod, 133, -1, MKNOD) \
	X(mknodat, 259, 33, MKNODAT) \
	X(chmod, 90, -1, MODE_1) \
	X(fchmod, 91, 52, MODE_1) \
	X(fchmodat, 268, 53, MODE_2) \
	X(fchmodat2, 452, 452, MODE_2) \
	X(chown, 92, -1, NONE) \
	X(fchown, 93, 55, NONE) \
	X(lchown, 94, -1, NONE) \
	X(fchownat, 260, 54, NONE) \
	X(umask, 95, 166, NONE) \
	X(utime, 132, -1, NONE) \
	X(utimes, 235, -1, NONE) \
	X(futimesat, 261, -1, NONE) \
	X(utimensat, 280, 88, NONE) \
	X(truncate, 76, 45, NONE) \
	X(ftruncate, 77, 46, NONE) \
	X(fallocate, 285, 47, NONE) \
	X(fadvise64, 221, 223, FADVISE) \
	X(readahead, 187, 213, NONE) \
	X(copy_file_range, 326, 285, NONE) \
	X(sendfile, 40, 71, NONE) \
	X(fsync, 74, 82, NONE) \
	X(fdatasync, 75, 83, NONE) \
	X(sync_file_range, 277, 84, NONE) \
	X(setxattr, 188, 5, NONE) \
	X(lsetxattr, 189, 6, NONE) \
	X(fsetxattr, 190, 7, NONE) \
	X(setxattrat, 463, 463, NONE) \
	X(getxattr, 191, 8, NONE) \
	X(lgetxattr, 192, 9, NONE) \
	X(fgetxattr, 193, 10, NONE) \
	X(getxattrat, 464, 464, NONE) \
	X(listxattr, 194, 11, NONE) \
	X(llistxattr, 195, 12, NONE) \
	X(flistxattr, 196, 13, NONE) \
	X(listxattrat, 465, 465, NONE) \
	X(removexattr, 197, 14, NONE) \
	X(lremovexattr, 198, 15, NONE) \
	X(fremovexattr, 199, 16, NONE) \
	X(removexattrat, 466, 466, NONE)

/* Waiting for events. */
#define WAITING(X) \
	X(poll, 7, -1, NONE) \
	X(ppoll, 271, 73, NONE) \
	X(select, 23, -1, NONE) \
	X(pselect6, 270, 72, NONE) \
	X(epoll_create, 213, -1, NONE) \
	X(epoll_create1, 291, 20, NONE) \
	X(epoll_ctl, 233, 21, NONE) \
	X(epoll_wait, 232, -1, NONE) \
	X(epoll_pwait, 281, 22, NONE) \
	X(epoll_pwait2, 441, 441, NONE) \
	X(eventfd, 284, -1, NONE) \
	X(eventfd2, 290, 19, NONE) \
	X(signalfd, 282, -1, NONE) \
	X(signalfd4, 289, 74, NONE)

/* Memory. */
#define MEMORY(X) \
	X(brk, 12, 214, NONE) \
	X(mmap, 9, 222, MMAP) \
	X(munmap, 11, 215, NONE) \
	X(mremap, 25, 216, NONE) \
	X(mprotect, 10, 226, NONE) \
	X(madvise, 28, 233, MADVISE) \
	X(msync, 26, 227, NONE) \
	X(mincore, 27, 232, NONE) \
	X(mlock, 149, 228, NONE) \
	X(mlock2, 325, 284, NONE) \
	X(mlockall, 151, 230, NONE) \
	X(munlock, 150, 229, NONE) \
	X(munlockall, 152, 231, NONE) \
	X(mseal, 462, 462, NONE) \
	X(memfd_create, 319, 279, MEMFD) \
	X(pkey_mprotect, 329, 288, NONE) \
	X(pkey_alloc, 330, 289, NONE) \
	X(pkey_free, 331, 290, NONE) \
	X(map_shadow_stack, 453, 453, NONE) \
	X(membarrier, 324, 283, NONE)

/* Processes and threads. */
#define PROCESSES(X) \
	X(clone, 56, 220, CLONE) \
	X(fork, 57, -1, SPAWN) \
	X(vfork, 58, -1, SPAWN) \
	X(execve, 59, 221, NONE) \
	X(execveat, 322, 281, NONE) \
	X(exit, 60, 93, NONE) \
	X(exit_group, 231, 94, NONE) \
	X(wait4, 61, 260, NONE) \
	X(waitid, 247, 95, NONE) \
	X(getpid, 39, 172, NONE) \
	X(getppid, 110, 173, NONE) \
	X(gettid, 186, 178, NONE) \
	X(getpgrp, 111, -1, NONE) \
	X(getpgid, 121, 155, NONE) \
	X(setpgid, 109, 154, NONE) \
	X(getsid, 124, 156, NONE) \
	X(setsid, 112, 157, NONE) \
	X(set_tid_address, 218, 96, NONE) \
	X(futex, 202, 98, NONE) \
	X(futex_waitv, 449, 449, NONE) \
	X(futex_wake, 454, 454, NONE) \
	X(futex_wait, 455, 455, NONE) \
	X(futex_requeue, 456, 456, NONE) \
	X(set_robust_list, 273, 99, NONE) \
	X(get_robust_list, 274, 100, NONE) \
	X(rseq, 334, 293, NONE) \
	X(restart_syscall, 219, 128, NONE) \
	X(prctl, 157, 167, PRCTL) \
	X(arch_prctl, 158, -1, NONE) \
	X(personality, 135, 92, PERSONALITY) \
	X(getrlimit, 97, 163, NONE) \
	X(setrlimit, 160, 164, CORE) \
	X(prlimit64, 302, 261, LIMIT) \
	X(getrusage, 98, 165, NONE) \
	X(getpriority, 140, 141, NONE) \
	X(setpriority, 141, 140, PRIORITY) \
	X(ioprio_get, 252, 31, NONE) \
	X(ioprio_set, 251, 30, IO_PRIORITY) \
	X(pidfd_open, 434, 434, NONE) \
	X(sched_yield, 24, 124, NONE) \
	X(sched_getaffinity, 204, 123, NONE) \
	X(sched_setaffinity, 203, 122, PID) \
	X(sched_getparam, 143, 121, NONE) \
	X(sched_setparam, 142, 118, PID) \
	X(sched_getscheduler, 145, 120, NONE) \
	X(sched_setscheduler, 144, 119, PID) \
	X(sched_getattr, 315, 275, NONE) \
	X(sched_setattr, 314, 274, PID) \
	X(sched_get_priority_max, 146, 125, NONE) \
	X(sched_get_priority_min, 147, 126, NONE) \
	X(sched_rr_get_interval, 148, 127, NONE) \
	X(getcpu, 309, 168, NONE)

/* Signals. */
#define SIGNALS(X) \
	X(kill, 62, 129, NONE) \
	X(tkill, 200, 130, NONE) \
	X(tgkill, 234, 131, NONE) \
	X(pidfd_send_signal, 424, 424, NONE) \
	X(pause, 34, -1, NONE) \
	X(rt_sigaction, 13, 134, NONE) \
	X(rt_sigprocmask, 14, 135, NONE) \
	X(rt_sigreturn, 15, 139, NONE) \
	X(rt_sigpending, 127, 136, NONE) \
	X(rt_sigtimedwait, 128, 137, NONE) \
	X(rt_sigsuspend, 130, 133, NONE) \
	X(rt_sigqueueinfo, 129, 138, NONE) \
	X(rt_tgsigqueueinfo, 297, 240, NONE) \
	X(sigaltstack, 131, 132, NONE)

/* Clocks and timers. */
#define TIME(X) \
	X(time, 201, -1, NONE) \
	X(gettimeofday, 96, 169, NONE) \
	X(clock_gettime, 228, 113, NONE) \
	X(clock_getres, 229, 114, NONE) \
	X(clock_nanosleep, 230, 115, NONE) \
	X(nanosleep, 35, 101, NONE) \
	X(times, 100, 153, NONE) \
	X(alarm, 37, -1, NONE) \
	X(getitimer, 36, 102, NONE) \
	X(setitimer, 38, 103, NONE) \
	X(timer_create, 222, 107, NONE) \
	X(timer_settime, 223, 110, NONE) \
	X(timer_gettime, 224, 108, NONE) \
	X(timer_getoverrun, 225, 109, NONE) \
	X(timer_delete, 226, 111, NONE) \
	X(timerfd_create, 283, 85, NONE) \
	X(timerfd_settime, 286, 86, NONE) \
	X(timerfd_gettime, 287, 87, NONE)

/* Who one is: without capabilities these change nothing that matters. */
#define IDENTITY(X) \
	X(getuid, 102, 174, NONE) \
	X(geteuid, 107, 175, NONE) \
	X(getgid, 104, 176, NONE) \
	X(getegid, 108, 177, NONE) \
	X(getresuid, 118, 148, NONE) \
	X(getresgid, 120, 150, NONE) \
	X(getgroups, 115, 158, NONE) \
	X(setuid, 105, 146, NONE) \
	X(setgid, 106, 144, NONE) \
	X(setreuid, 113, 145, NONE) \
	X(setregid, 114, 143, NONE) \
	X(setresuid, 117, 147, NONE) \
	X(setresgid, 119, 149, NONE) \
	X(setfsuid, 122, 151, NONE) \
	X(setfsgid, 123, 152, NONE) \
	X(setgroups, 116, 159, NONE) \
	X(capget, 125, 90, NONE) \
	X(capset, 126, 91, NONE)

/* Sockets: what they reach is decided by the network namespace. */
#define NETWORK(X) \
	X(socket, 41, 198, SOCKET) \
	X(socketpair, 53, 199, SOCKETPAIR) \
	X(bind, 49, 200, NONE) \
	X(listen, 50, 201, NONE) \
	X(accept, 43, 202, NONE) \
	X(accept4, 288, 242, NONE) \
	X(connect, 42, 203, NONE) \
	X(shutdown, 48, 210, NONE) \
	X(getsockname, 51, 204, NONE) \
	X(getpeername, 52, 205, NONE) \
	X(getsockopt, 55, 209, NONE) \
	X(setsockopt, 54, 208, SETSOCKOPT) \
	X(sendto, 44, 206, NONE) \
	X(sendmsg, 46, 211, NONE) \
	X(sendmmsg, 307, 269, NONE) \
	X(recvfrom, 45, 207, NONE) \
	X(recvmsg, 47, 212, NONE) \
	X(recvmmsg, 299, 243, NONE)

/* The machine, and restrictions that a program puts on itself: none of them can loosen what is on. */
#define MISCELLANY(X) \
	X(uname, 63, 160, NONE) \
	X(sysinfo, 99, 179, NONE) \
	X(getrandom, 318, 278, NONE) \
	X(seccomp, 317, 277, SECCOMP) \
	X(landlock_create_ruleset, 444, 444, NONE) \
	X(landlock_add_rule, 445, 445, NONE) \
	X(landlock_restrict_self, 446, 446, NONE) \
	X(uretprobe, 335, -1, NONE) \
	X(uprobe, 336, -1, NONE)

#define SYSV(X) \
	X(shmget, 29, 194, SHMGET) \
	X(shmat, 30, 196, NONE) \
	X(shmctl, 31, 195, NONE) \
	X(shmdt, 67, 197, NONE) \
	X(semget, 64, 190, NONE) \
	X(semop, 65, 193, NONE) \
	X(semtimedop, 220, 192, NONE) \
	X(semctl, 66, 191, NONE) \
	X(msgget, 68, 186, NONE) \
	X(msgsnd, 69, 189, NONE) \
	X(msgrcv, 70, 188, NONE) \
	X(msgctl, 71, 187, NONE) \
	X(mq_open, 240, 180, NONE) \
	X(mq_unlink, 241, 181, NONE) \
	X(mq_timedsend, 242, 182, NONE) \
	X(mq_timedreceive, 243, 183, NONE) \
	X(mq_notify, 244, 184, NONE) \
	X(mq_getsetattr, 245, 185, NONE)

#define INOTIFY(X) \
	X(inotify_init, 253, -1, NONE) \
	X(inotify_init1, 294, 26, NONE) \
	X(inotify_add_watch, 254, 27, NONE) \
	X(inotify_rm_watch, 255, 28, NONE)

#define FLOCK(X) \
	X(flock, 73, 32, NONE)

#define TRACING(X) \
	X(ptrace, 101, 117, NONE) \
	X(process_vm_readv, 310, 270, NONE) \
	X(process_vm_writev, 311, 271, NONE)

#define PLACEMENT(X) \
	X(mbind, 237, 235, NONE) \
	X(set_mempolicy, 238, 237, NONE) \
	X(get_mempolicy, 239, 236, NONE) \
	X(set_mempolicy_home_node, 450, 450, NONE)

#define HANDLE_NAMES(X) \
	X(name_to_handle_at, 303, 264, NONE)

#define SPLICING(X) \
	X(splice, 275, 76, NONE) \
	X(tee, 276, 77, NONE)

#define WHOLE_SYNC(X) \
	X(sync, 162, 81, NONE) \
	X(syncfs, 306, 267, NONE)

#define AIO(X) \
	X(io_setup, 206, 0, NONE) \
	X(io_destroy, 207, 1, NONE) \
	X(io_submit, 209, 2, NONE) \
	X(io_cancel, 210, 3, NONE) \
	X(io_getevents, 208, 4, NONE) \
	X(io_pgetevents, 333, 292, NONE)

#define FANOTIFY(X) \
	X(fanotify_init, 300, 262, NONE) \
	X(fanotify_mark, 301, 263, NONE)

#define OTHER_PROCESSES(X) \
	X(kcmp, 312, 272, NONE) \
	X(pidfd_getfd, 438, 438, NONE) \
	X(process_madvise, 440, 440, NONE) \
	X(process_mrelease, 448, 448, NONE) \
	X(migrate_pages, 256, 238, NONE) \
	X(move_pages, 279, 239, NONE)

#define ODD_MEMORY(X) \
	X(vmsplice, 278, 75, NONE) \
	X(memfd_secret, 447, 447, NONE) \
	X(remap_file_pages, 216, 234, NONE) \
	X(modify_ldt, 154, -1, NONE)

#define CLOCK_TUNING(X) \
	X(adjtimex, 159, 171, NONE) \
	X(clock_adjtime, 305, 266, NONE)

#define MOUNT_QUERIES(X) \
	X(statmount, 457, 457, NONE) \
	X(listmount, 458, 458, NONE)

#define PAGE_CACHE(X) \
	X(cachestat, 451, 451, NONE)

#define LSM(X) \
	X(lsm_get_self_attr, 459, 459, NONE) \
	X(lsm_set_self_attr, 460, 460, NONE) \
	X(lsm_list_modules, 461, 461, NONE)

#define FILE_FLAGS(X) \
	X(file_getattr, 468, 468, NONE) \
	X(file_setattr, 469, 469, NONE)

#define MOUNTS(X) \
	X(mount, 165, 40, NONE) \
	X(umount2, 166, 39, NONE) \
	X(pivot_root, 155, 41, NONE) \
	X(chroot, 161, 51, NONE) \
	X(open_tree, 428, 428, NONE) \
	X(open_tree_attr, 467, 467, NONE) \
	X(move_mount, 429, 429, NONE) \
	X(fsopen, 430, 430, NONE) \
	X(fsconfig, 431, 431, NONE) \
	X(fsmount, 432, 432, NONE) \
	X(fspick, 433, 433, NONE) \
	X(mount_setattr, 442, 442, NONE)

#define NAMESPACES(X) \
	X(unshare, 272, 97, NONE) \
	X(setns, 308, 268, NONE)

#define CLONE3(X) \
	X(clone3, 435, 435, NONE)

#define OPENAT2(X) \
	X(openat2, 437, 437, NONE)

#define HANDLES(X) \
	X(open_by_handle_at, 304, 265, NONE)

#define MODULES(X) \
	X(init_module, 175, 105, NONE) \
	X(finit_module, 313, 273, NONE) \
	X(delete_module, 176, 106, NONE)

#define KERNELS(X) \
	X(kexec_load, 246, 104, NONE) \
	X(kexec_file_load, 320, 294, NONE) \
	X(reboot, 169, 142, NONE)

#define PROGRAMS(X) \
	X(bpf, 321, 280, NONE) \
	X(perf_event_open, 298, 241, NONE)

#define USERFAULTFD(X) \
	X(userfaultfd, 323, 282, NONE)

#define IO_URING(X) \
	X(io_uring_setup, 425, 425, NONE) \
	X(io_uring_enter, 426, 426, NONE) \
	X(io_uring_register, 427, 427, NONE)

#define KEYRINGS(X) \
	X(add_key, 248, 217, NONE) \
	X(request_key, 249, 218, NONE) \
	X(keyctl, 250, 219, NONE)

#define ADMINISTRATION(X) \
	X(swapon, 167, 224, NONE) \
	X(swapoff, 168, 225, NONE) \
	X(quotactl, 179, 60, NONE) \
	X(quotactl_fd, 443, 443, NONE) \
	X(acct, 163, 89, NONE) \
	X(settimeofday, 164, 170, NONE) \
	X(clock_settime, 227, 112, NONE) \
	X(sethostname, 170, 161, NONE) \
	X(setdomainname, 171, 162, NONE) \
	X(syslog, 103, 116, NONE) \
	X(vhangup, 153, 58, NONE)

#define PORTS(X) \
	X(iopl, 172, -1, NONE) \
	X(ioperm, 173, -1, NONE)

#define OBSOLETE(X) \
	X(uselib, 134, -1, NONE) \
	X(ustat, 136, -1, NONE) \
	X(sysfs, 139, -1, NONE) \
	X(_sysctl, 156, -1, NONE) \
	X(create_module, 174, -1, NONE) \
	X(get_kernel_syms, 177, -1, NONE) \
	X(query_module, 178, -1, NONE) \
	X(nfsservctl, 180, 42, NONE) \
	X(lookup_dcookie, 212, 18, NONE) \
	X(getpmsg, 181, -1, NONE) \
	X(putpmsg, 182, -1, NONE) \
	X(afs_syscall, 183, -1, NONE) \
	X(tuxcall, 184, -1, NONE) \
	X(security, 185, -1, NONE) \
	X(vserver, 236, -1, NONE) \
	X(epoll_ctl_old, 214, -1, NONE) \
	X(epoll_wait_old, 215, -1, NONE) \
	X(set_thread_area, 205, -1, NONE) \
	X(get_thread_area, 211, -1, NONE)

#define ROW(call, x86_64, aarch64, watched) { #call, { x86_64, aarch64 }, SYSCALL_RULE_##watched },
#define ONE(...) +1
#define WORD(call, ...) " " #call

#define ROWS(list)                                                                                           \
	.rows = (const struct syscall_row[]){ list(ROW) },                                                   \
	.count = 0 list(ONE)

/* Allowed by every profile. */
#define ALLOWED(list) { .level = SYSCALL_STRICT, ROWS(list) }

#define ANSWER_ABSENT  "ENOSYS"
#define ANSWER_INVALID "EINVAL"
#define ANSWER_DENIED  "EPERM"

/* Allowed from a level on. */
#define GROUP(from, otherwise, list, title, why)                                                             \
	{ .level = SYSCALL_##from, .refusal = SYSCALL_##otherwise, ROWS(list),                               \
	  .shown = { .name = title, .reason = why, .calls = &("" list(WORD))[1],                             \
	             .answer = ANSWER_##otherwise,                                                           \
	             .denied = { SYSCALL_##from > SYSCALL_STRICT, SYSCALL_##from > SYSCALL_DEFAULT,          \
	                         SYSCALL_##from > SYSCALL_COMPAT } } }

static const struct syscall_group groups[] = {
	ALLOWED(FILES),
	ALLOWED(WAITING),
	ALLOWED(MEMORY),
	ALLOWED(PROCESSES),
	ALLOWED(SIGNALS),
	ALLOWED(TIME),
	ALLOWED(IDENTITY),
	ALLOWED(NETWORK),
	ALLOWED(MISCELLANY),

	GROUP(DEFAULT, ABSENT, SYSV, "System V IPC and message queues",
	      "objects in the kernel that outlive their process; a computing program has no use for them, POSIX "
	      "semaphores and shared memory do without"),

	GROUP(COMPAT, ABSENT, INOTIFY, "file watching",
	      "tells which programs the host and other jails start, because all share the files of /usr; programs "
	      "fall back to polling"),
	GROUP(COMPAT, ABSENT, FLOCK, "whole-file locks",
	      "a lock on a file that all jails can read is a message between them; databases lock with fcntl, which "
	      "needs write access for an exclusive lock"),
	GROUP(COMPAT, DENIED, TRACING, "tracing and reading other processes",
	      "debuggers need it, programs do not; a large part of the kernel's history of privilege errors"),
	GROUP(COMPAT, DENIED, PLACEMENT, "memory placement",
	      "NUMA tuning: a rarely used part of memory management with a history of errors"),
	GROUP(COMPAT, DENIED, HANDLE_NAMES, "file handle names",
	      "half of the way around path-based confinement; the other half is never allowed"),
	GROUP(COMPAT, INVALID, SPLICING, "moving pages through pipes",
	      "puts pages of files that all jails share into pipes, where errors of the kernel made them writable; programs "
	      "fall back to reading and writing"),
	GROUP(COMPAT, ABSENT, WHOLE_SYNC, "writing out whole file systems",
	      "makes the host write out what others have written, and wait for it; fsync of one's own files does what a "
	      "program needs"),
	GROUP(COMPAT, ABSENT, AIO, "kernel asynchronous I/O",
	      "databases use it and fall back to threads without"),

	GROUP(NAMED, DENIED, FANOTIFY, "file system monitoring",
	      "watches what others do with files"),
	GROUP(NAMED, DENIED, OTHER_PROCESSES, "other processes' descriptors and memory",
	      "acts on another process without its consent"),
	GROUP(NAMED, DENIED, ODD_MEMORY, "unusual memory",
	      "seldom used corners of memory management with a history of errors: pages lent to pipes, secret memory, "
	      "and two relics"),
	GROUP(NAMED, DENIED, CLOCK_TUNING, "clock tuning",
	      "adjusts the host's clock"),
	GROUP(NAMED, ABSENT, MOUNT_QUERIES, "mount queries",
	      "new; programs read /proc/self/mountinfo"),
	GROUP(NAMED, ABSENT, PAGE_CACHE, "page cache queries",
	      "tells which pages of shared files others have read"),
	GROUP(NAMED, ABSENT, LSM, "security module attributes",
	      "new; libraries use /proc/self/attr instead"),
	GROUP(NAMED, ABSENT, FILE_FLAGS, "inode flags by path",
	      "new; tools fall back to the ioctl on an open file"),

	GROUP(NEVER, DENIED, MOUNTS, "mounting and changing the root",
	      "the mount tree is the file system policy"),
	GROUP(NEVER, DENIED, NAMESPACES, "namespaces",
	      "a new user namespace opens the parts of the kernel meant for root; joining one leaves the jail"),
	GROUP(NEVER, ABSENT, CLONE3, "clone3",
	      "its flags lie in memory, where a filter cannot see namespaces; libraries fall back to clone"),
	GROUP(NEVER, ABSENT, OPENAT2, "openat2",
	      "its mode lies in memory, where a filter cannot see set-user-ID bits; programs fall back to openat"),
	GROUP(NEVER, DENIED, HANDLES, "opening by file handle",
	      "opens any file of a file system, whatever the mount tree shows"),
	GROUP(NEVER, DENIED, MODULES, "kernel modules",
	      "code in the kernel"),
	GROUP(NEVER, DENIED, KERNELS, "kexec and reboot",
	      "ends or replaces the running kernel"),
	GROUP(NEVER, DENIED, PROGRAMS, "BPF and performance events",
	      "programs and probes in the kernel"),
	GROUP(NEVER, DENIED, USERFAULTFD, "userfaultfd",
	      "stops the kernel in the middle of a copy, which turns races into reliable exploits"),
	GROUP(NEVER, DENIED, IO_URING, "io_uring",
	      "does the work of other calls where no filter sees them"),
	GROUP(NEVER, DENIED, KEYRINGS, "keyrings",
	      "keys belong to a user id and survive the run; not all of it is in a namespace"),
	GROUP(NEVER, DENIED, ADMINISTRATION, "administration of the host",
	      "swap, quotas, accounting, clock, host name, kernel log, terminals: the host's affair"),
	GROUP(NEVER, DENIED, PORTS, "I/O ports",
	      "direct access to hardware"),
	GROUP(NEVER, ABSENT, OBSOLETE, "obsolete calls",
	      "removed from the kernel, never there, or kept for programs of another age"),
};

/* clang-format on */

const struct syscall_group *syscall_group(size_t i)
{
	return i < ARRAY_LENGTH(groups) ? &groups[i] : NULL;
}

const struct syscall_row *syscall_find(const char *name, const struct syscall_group **ret_group)
{
	for (size_t i = 0; i < ARRAY_LENGTH(groups); i++)
		for (size_t j = 0; j < groups[i].count; j++)
			if (strcmp(groups[i].rows[j].name, name) == 0) {
				if (ret_group)
					*ret_group = &groups[i];
				return &groups[i].rows[j];
			}
	return NULL;
}
