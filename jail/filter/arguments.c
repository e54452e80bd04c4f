/*
 * arguments: what programs ask of ioctl, setsockopt and prctl.
 *
 * The rows come from traces of real programs: shells, editors and terminal multiplexers on a terminal; interpreters with servers and
 * clients on loopback; compilers, build tools and package managers; the tools of coreutils and iproute2. What none of them
 * asked for is left out, also where it looks harmless, for these reasons:
 *
 *   - ioctl: some requests make the kernel start modprobe as the host's root, without any privilege of the caller
 *     (bridges and VLANs, on any socket). Others type into terminals, change a terminal's driver, tell where on the host's disk a
 *     file lies, or identify the host's file system. A driver may add one at any time.
 *   - setsockopt: some options attach BPF programs, whose memory has one limit for the whole host and is charged to nobody. Some patch
 *     the running kernel for as long as any socket has them set (timestamps, flow labels, UDP encapsulation, MD5 signatures). Others
 *     reserve memory, load tables, or are for administrators.
 *   - prctl: installs filters, merges memory with that of others, moves what /proc shows, groups processors.
 *
 * All of these answer what a kernel without them answers (ENOTTY, ENOPROTOOPT, EINVAL), and never kill: programs ask for many
 * things on the chance that they are there.
 */
#include "jail/filter/arguments.h"
#include "base/array.h"

#define STRICT  SYSCALL_STRICT
#define DEFAULT SYSCALL_DEFAULT
#define COMPAT  SYSCALL_COMPAT

/* clang-format off */

static const struct argument_value ioctl_requests[] = {
	{ 0x5401, STRICT, "TCGETS", "reads the modes of a terminal", "isatty() in every C library" },
	{ 0x5402, STRICT, "TCSETS", "sets the modes of a terminal that the caller has open", "bash, vim" },
	{ 0x5403, STRICT, "TCSETSW", "the same, after the output is written", "bash, stty" },
	{ 0x5404, STRICT, "TCSETSF", "the same, input dropped", "getpass, script" },
	{ 0x5409, STRICT, "TCSBRK", "waits for a terminal's output", "tcdrain() in minicom, Python's termios" },
	{ 0x540a, STRICT, "TCXONC", "stops and starts a terminal's output", "tcflow() in Python's termios, screen" },
	{ 0x540b, STRICT, "TCFLSH", "drops the buffered data of a terminal", "less, tcflush() in Python's termios" },
	{ 0x540e, STRICT, "TIOCSCTTY", "makes a terminal the caller's controlling one", "tmux, script, Python's pty" },
	{ 0x540f, STRICT, "TIOCGPGRP", "reads a terminal's foreground job", "bash" },
	{ 0x5410, STRICT, "TIOCSPGRP", "sets it, within the caller's session", "bash" },
	{ 0x5411, STRICT, "TIOCOUTQ", "counts bytes not yet sent, of terminals and sockets", "ss, PulseAudio" },
	{ 0x5413, STRICT, "TIOCGWINSZ", "reads a terminal's size", "ls, pip, less" },
	{ 0x5414, STRICT, "TIOCSWINSZ", "sets it", "tmux, script" },
	{ 0x541b, STRICT, "FIONREAD", "counts bytes to read", "java, tmux" },
	{ 0x5421, STRICT, "FIONBIO", "sets non-blocking mode", "node, Python's sockets, cargo" },
	{ 0x5422, STRICT, "TIOCNOTTY", "gives the controlling terminal up", "daemons" },
	{ 0x5425, STRICT, "TCSBRKP", "sends a break, which a pseudo-terminal ignores", "tcsendbreak() in Python's termios" },
	{ 0x5429, STRICT, "TIOCGSID", "reads a terminal's session", "tcgetsid() in tmux, Python's termios" },
	{ 0x5441, STRICT, "TIOCGPTPEER", "opens the other end of a pseudo-terminal", "openpty() of glibc" },
	{ 0x5450, STRICT, "FIONCLEX", "lets a descriptor be inherited", "Python before 3.12, Rust" },
	{ 0x5451, STRICT, "FIOCLEX", "lets it not be inherited", "node, Python, Rust" },
	{ 0x80045430, STRICT, "TIOCGPTN", "reads a pseudo-terminal's number", "ptsname() in every C library" },
	{ 0x40045431, STRICT, "TIOCSPTLCK", "unlocks a pseudo-terminal", "unlockpt() in every C library" },
	{ 0x802c542a, STRICT, "TCGETS2", "as TCGETS, with any speed", "isatty() of glibc 2.42" },
	{ 0x402c542b, STRICT, "TCSETS2", "as TCSETS, with any speed", "tcsetattr() of glibc 2.42" },
	{ 0x402c542c, STRICT, "TCSETSW2", "as TCSETSW, with any speed", "tcsetattr() of glibc 2.42" },
	{ 0x402c542d, STRICT, "TCSETSF2", "as TCSETSF, with any speed", "tcsetattr() of glibc 2.42" },
	{ 0x80086601, STRICT, "FS_IOC_GETFLAGS", "reads the flags of a file that is open", "lsattr, SQLite on some systems" },
	{ 0x40049409, STRICT, "FICLONE", "copies a file by reference, into one that may be written", "cp, node, cmake" },
	{ 0x4020940d, STRICT, "FICLONERANGE", "the same with a part of a file", "python-reflink, qemu-img" },
	{ 0x8910, STRICT, "SIOCGIFNAME", "names an interface of the jail's own network", "if_indextoname(), ruby" },
	{ 0x8912, STRICT, "SIOCGIFCONF", "lists the interfaces of the jail's own network", "java, ifconfig" },
	{ 0x8913, STRICT, "SIOCGIFFLAGS", "reads an interface's flags", "java, ifconfig" },
	{ 0x8915, STRICT, "SIOCGIFADDR", "reads its address", "java, ifconfig" },
	{ 0x8917, STRICT, "SIOCGIFDSTADDR", "reads its peer's address", "ifconfig" },
	{ 0x8919, STRICT, "SIOCGIFBRDADDR", "reads its broadcast address", "java, ifconfig" },
	{ 0x891b, STRICT, "SIOCGIFNETMASK", "reads its mask", "java, ifconfig" },
	{ 0x8921, STRICT, "SIOCGIFMTU", "reads its largest packet", "java, ifconfig" },
	{ 0x8927, STRICT, "SIOCGIFHWADDR", "reads its hardware address, zeros for loopback", "java, ifconfig" },
	{ 0x8933, STRICT, "SIOCGIFINDEX", "reads its number", "if_nametoindex(), java" },
	{ 0x5452, DEFAULT, "FIOASYNC", "asks for SIGIO", "nginx" },
	{ 0x8905, DEFAULT, "SIOCATMARK", "asks for the mark of urgent data", "sockatmark() in ftp and telnet clients" },
	{ 0x8942, DEFAULT, "SIOCGIFTXQLEN", "reads an interface's queue", "ip, ifconfig" },
	{ 0x8970, DEFAULT, "SIOCGIFMAP", "reads an interface's addresses of hardware, zeros for loopback", "ifconfig" },
	{ 0x5420, COMPAT, "TIOCPKT", "reports more to the master of a pseudo-terminal", "telnetd, emacs" },
	{ 0x540c, COMPAT, "TIOCEXCL", "keeps others from opening a terminal", "minicom" },
	{ 0x540d, COMPAT, "TIOCNXCL", "undoes that", "minicom" },
	{ 0xc020660b, COMPAT, "FS_IOC_FIEMAP", "reports the place of a file on its disk", "filefrag, older cp" },
	{ 0x801c581f, COMPAT, "FS_IOC_FSGETXATTR", "reads a file's project", "xfs_io" },
	{ 0x40086602, COMPAT, "FS_IOC_SETFLAGS", "sets the flags of a file that the caller owns", "chattr" },
	{ 0xc0502100, COMPAT, "SECCOMP_IOCTL_NOTIF_RECV", "answers the calls of the caller's own children", "debuggers, bypass4netns" },
	{ 0xc0182101, COMPAT, "SECCOMP_IOCTL_NOTIF_SEND", "the same", "debuggers, bypass4netns" },
	{ 0x40082102, COMPAT, "SECCOMP_IOCTL_NOTIF_ID_VALID", "the same", "debuggers, bypass4netns" },
	{ 0x40182103, COMPAT, "SECCOMP_IOCTL_NOTIF_ADDFD", "the same", "debuggers, bypass4netns" },
};

static const struct argument_value prctl_options[] = {
	{ 1, STRICT, "PR_SET_PDEATHSIG", "a signal at the parent's end", "node, Python's tests" },
	{ 2, STRICT, "PR_GET_PDEATHSIG", "reads it", "setpriv" },
	{ 3, STRICT, "PR_GET_DUMPABLE", "reads whether the process can be traced", "ssh-agent" },
	{ 4, STRICT, "PR_SET_DUMPABLE", "makes it untraceable", "ssh-agent, gpg-agent" },
	{ 7, STRICT, "PR_GET_KEEPCAPS", "reads what becomes of capabilities, of which there are none", "setpriv" },
	{ 8, STRICT, "PR_SET_KEEPCAPS", "sets it", "setpriv, chrony" },
	{ 15, STRICT, "PR_SET_NAME", "names a thread", "java, npm, gcc" },
	{ 16, STRICT, "PR_GET_NAME", "reads the name", "busybox" },
	{ 21, STRICT, "PR_GET_SECCOMP", "reads whether there is a filter", "systemd's libraries, man" },
	{ 23, STRICT, "PR_CAPBSET_READ", "reads the bounding set", "libcap: ip, top, apt" },
	{ 24, STRICT, "PR_CAPBSET_DROP", "drops from it", "setpriv" },
	{ 27, STRICT, "PR_GET_SECUREBITS", "reads the secure bits", "libcap" },
	{ 28, STRICT, "PR_SET_SECUREBITS", "sets them, which takes a capability", "setpriv" },
	{ 29, STRICT, "PR_SET_TIMERSLACK", "lets the caller's own timers be late", "mariadb, systemd's libraries" },
	{ 30, STRICT, "PR_GET_TIMERSLACK", "reads it", "mariadb" },
	{ 36, STRICT, "PR_SET_CHILD_SUBREAPER", "takes orphans of the caller's own", "tini, tmux under systemd" },
	{ 37, STRICT, "PR_GET_CHILD_SUBREAPER", "reads that", "tini" },
	{ 38, STRICT, "PR_SET_NO_NEW_PRIVS", "is on in every jail", "setpriv, Landlock users" },
	{ 39, STRICT, "PR_GET_NO_NEW_PRIVS", "reads it", "systemd's libraries" },
	{ 40, STRICT, "PR_GET_TID_ADDRESS", "reads an address of the caller's own", "sanitizers" },
	{ 41, STRICT, "PR_SET_THP_DISABLE", "turns large pages off for the caller", "ruby, redis" },
	{ 42, STRICT, "PR_GET_THP_DISABLE", "reads that", "redis" },
	{ 47, STRICT, "PR_CAP_AMBIENT", "reads or clears ambient capabilities, of which there are none", "libcap, setpriv" },
	{ 50, STRICT, "PR_SVE_SET_VL", "sets the length of aarch64's vectors", "qemu-user on aarch64" },
	{ 51, STRICT, "PR_SVE_GET_VL", "reads it", "OpenBLAS on aarch64" },
	{ 54, STRICT, "PR_PAC_RESET_KEYS", "new keys for aarch64's pointers", "sanitizers on aarch64" },
	{ 55, STRICT, "PR_SET_TAGGED_ADDR_CTRL", "tags of aarch64's pointers", "glibc on aarch64" },
	{ 56, STRICT, "PR_GET_TAGGED_ADDR_CTRL", "reads that", "glibc on aarch64" },
	{ 74, STRICT, "PR_GET_SHADOW_STACK_STATUS", "reads the guarded stack's state", "glibc on aarch64" },
	{ 75, STRICT, "PR_SET_SHADOW_STACK_STATUS", "turns it on", "glibc on aarch64" },
	{ 76, STRICT, "PR_LOCK_SHADOW_STACK_STATUS", "keeps it on", "glibc on aarch64" },
	{ 0x41555856, STRICT, "PR_GET_AUXV", "reads the caller's own auxiliary vector", "Go's x/sys/cpu" },
	{ 0x53564d41, STRICT, "PR_SET_VMA", "names memory of the caller's own", "php, Go, jemalloc" },
	{ 52, DEFAULT, "PR_GET_SPECULATION_CTRL", "reads the caller's controls of speculation", "java, Chromium" },
	{ 53, DEFAULT, "PR_SET_SPECULATION_CTRL", "sets them; forced ones cannot be undone", "Chromium" },
	{ 65, DEFAULT, "PR_SET_MDWE", "refuses the caller writable code", "systemd's services" },
	{ 66, DEFAULT, "PR_GET_MDWE", "reads that", "systemd's services" },
	{ 22, COMPAT, "PR_SET_SECCOMP", "a filter of the caller's own: see seccomp", "Chromium, OpenSSH" },
	{ 25, COMPAT, "PR_GET_TSC", "reads whether the cycle counter can be read", "rr" },
	{ 26, COMPAT, "PR_SET_TSC", "makes reading it a signal", "rr" },
	{ 31, COMPAT, "PR_TASK_PERF_EVENTS_DISABLE", "stops counters, of which there are none", "PAPI" },
	{ 32, COMPAT, "PR_TASK_PERF_EVENTS_ENABLE", "starts them", "PAPI" },
	{ 59, COMPAT, "PR_SET_SYSCALL_USER_DISPATCH", "turns the caller's own calls into signals", "wine" },
	{ 0x59616d61, COMPAT, "PR_SET_PTRACER", "names who may trace the caller", "crash handlers, gdbserver" },
};

#define BPF_PRICE "memory of BPF programs, which is charged to nobody and limited for the whole host"

static const struct argument_value socket_options[] = {
	{ 2, STRICT, "SO_REUSEADDR", "an address is free at once when its socket is closed", "every server" },
	{ 5, STRICT, "SO_DONTROUTE", "sends to neighbours only", "Python's socket module" },
	{ 6, STRICT, "SO_BROADCAST", "lets a datagram go to everybody of the jail's own network", "java, node" },
	{ 7, STRICT, "SO_SNDBUF", "size of a buffer, within the kernel's limit", "java, node, ip" },
	{ 8, STRICT, "SO_RCVBUF", "the same", "java, node, ip" },
	{ 9, STRICT, "SO_KEEPALIVE", "asks a silent peer", "curl, Go, npm" },
	{ 10, STRICT, "SO_OOBINLINE", "urgent data among the others", "java, ftp clients" },
	{ 13, STRICT, "SO_LINGER", "how long closing may take", "java, Go" },
	{ 15, STRICT, "SO_REUSEPORT", "several sockets of one user at one port", "java, nginx, gunicorn" },
	{ 16, STRICT, "SO_PASSCRED", "the sender's ids come with a message", "D-Bus, systemd's libraries" },
	{ 18, STRICT, "SO_RCVLOWAT", "bytes that are worth waking for", "Boost, Rust's socket2" },
	{ 20, STRICT, "SO_RCVTIMEO", "how long receiving may take", "php, ruby, perl, Rust" },
	{ 21, STRICT, "SO_SNDTIMEO", "how long sending may take", "php, ruby, perl, Rust" },
	{ 66, STRICT, "SO_RCVTIMEO_NEW", "the same, with 64 bits of seconds", "C libraries of 32-bit time" },
	{ 67, STRICT, "SO_SNDTIMEO_NEW", "the same", "C libraries of 32-bit time" },
	{ 12, DEFAULT, "SO_PRIORITY", "order of packets in the jail's own network", "Qt, Rust's socket2" },
	{ 26, COMPAT, "SO_ATTACH_FILTER", BPF_PRICE, "tcpdump, dhcpcd" },
	{ 27, COMPAT, "SO_DETACH_FILTER", "takes it off", "tcpdump" },
	{ 29, COMPAT, "SO_TIMESTAMP", "times of packets; patches the kernel while it is on", "ping" },
	{ 35, COMPAT, "SO_TIMESTAMPNS", "the same", "chrony" },
	{ 37, COMPAT, "SO_TIMESTAMPING", "the same", "chrony, PTP" },
	{ 44, COMPAT, "SO_LOCK_FILTER", "keeps a filter on", "wpa_supplicant" },
	{ 50, COMPAT, "SO_ATTACH_BPF", "takes a program of bpf(), which no profile allows", "Cilium's tests" },
	{ 51, COMPAT, "SO_ATTACH_REUSEPORT_CBPF", BPF_PRICE, "nginx with quic_bpf" },
	{ 52, COMPAT, "SO_ATTACH_REUSEPORT_EBPF", "takes a program of bpf(), which no profile allows", "nginx with quic_bpf" },
	{ 68, COMPAT, "SO_DETACH_REUSEPORT_BPF", "takes it off", "nginx with quic_bpf" },
	{ 60, COMPAT, "SO_ZEROCOPY", "sends from memory that it pins", "Rust's quinn, Seastar" },
};

static const struct argument_value ip_options[] = {
	{ 1, STRICT, "IP_TOS", "class of packets", "ssh, java" },
	{ 2, STRICT, "IP_TTL", "how far packets go", "node" },
	{ 8, STRICT, "IP_PKTINFO", "the address that a datagram was for", "dnsmasq, Go's x/net" },
	{ 10, STRICT, "IP_MTU_DISCOVER", "whether packets are divided", "Go's and Rust's QUIC libraries" },
	{ 11, STRICT, "IP_RECVERR", "why a datagram did not arrive", "getaddrinfo() of glibc" },
	{ 12, STRICT, "IP_RECVTTL", "how far a datagram came", "Go's x/net" },
	{ 13, STRICT, "IP_RECVTOS", "class of a datagram", "java, Go's QUIC library" },
	{ 24, STRICT, "IP_BIND_ADDRESS_NO_PORT", "leaves the port until the connection", "curl, nginx" },
	{ 32, STRICT, "IP_MULTICAST_IF", "interface for groups", "java, node" },
	{ 33, STRICT, "IP_MULTICAST_TTL", "how far a group's packets go", "java, node" },
	{ 34, STRICT, "IP_MULTICAST_LOOP", "whether one hears oneself", "node, Go" },
	{ 35, STRICT, "IP_ADD_MEMBERSHIP", "joins one of at most 20 groups", "java, node, Go" },
	{ 36, STRICT, "IP_DROP_MEMBERSHIP", "leaves it", "java, node, Go" },
	{ 49, STRICT, "IP_MULTICAST_ALL", "hears groups of other sockets of the jail", "java" },
	{ 15, DEFAULT, "IP_FREEBIND", "binds to an address that is not there yet", "haproxy, systemd's libraries" },
};

static const struct argument_value tcp_options[] = {
	{ 1, STRICT, "TCP_NODELAY", "sends at once", "curl, Go, Python's asyncio" },
	{ 2, STRICT, "TCP_MAXSEG", "size of segments", "iperf3" },
	{ 3, STRICT, "TCP_CORK", "sends whole segments", "nginx, Python's servers" },
	{ 4, STRICT, "TCP_KEEPIDLE", "when a silent peer is asked", "curl, Go, node" },
	{ 5, STRICT, "TCP_KEEPINTVL", "how often", "curl, Go, node" },
	{ 6, STRICT, "TCP_KEEPCNT", "how many times", "node, Go" },
	{ 7, STRICT, "TCP_SYNCNT", "how often a connection is tried", "haproxy, redis's clients" },
	{ 8, STRICT, "TCP_LINGER2", "how long a half-closed connection lives", "haproxy" },
	{ 9, STRICT, "TCP_DEFER_ACCEPT", "accepts when data is there", "nginx, Apache" },
	{ 12, STRICT, "TCP_QUICKACK", "acknowledges at once", "java, Apache, haproxy" },
	{ 18, STRICT, "TCP_USER_TIMEOUT", "how long data may wait for its acknowledgement", "gRPC, Go's libraries, PostgreSQL" },
	{ 25, STRICT, "TCP_NOTSENT_LOWAT", "bytes that may wait to be sent", "nginx, curl" },
	{ 10, DEFAULT, "TCP_WINDOW_CLAMP", "largest window", "iperf3" },
	{ 13, COMPAT, "TCP_CONGESTION", "one of the algorithms that are loaded; loading takes a capability", "iperf3" },
	{ 23, COMPAT, "TCP_FASTOPEN", "data in the first packet", "nginx" },
	{ 30, COMPAT, "TCP_FASTOPEN_CONNECT", "the same, as a client", "curl --tcp-fastopen" },
};

static const struct argument_value udp_options[] = {
	{ 1, STRICT, "UDP_CORK", "one datagram out of several writes", "Rust's and Python's DNS tools" },
	{ 103, STRICT, "UDP_SEGMENT", "several datagrams in one write", "Go's and Rust's QUIC libraries" },
};

static const struct argument_value ipv6_options[] = {
	{ 16, STRICT, "IPV6_UNICAST_HOPS", "how far packets go", "node, java" },
	{ 17, STRICT, "IPV6_MULTICAST_IF", "interface for groups", "java, node" },
	{ 18, STRICT, "IPV6_MULTICAST_HOPS", "how far a group's packets go", "java, node" },
	{ 19, STRICT, "IPV6_MULTICAST_LOOP", "whether one hears oneself", "java, node" },
	{ 20, STRICT, "IPV6_ADD_MEMBERSHIP", "joins a group; memory is the socket's", "java, node, Go" },
	{ 21, STRICT, "IPV6_DROP_MEMBERSHIP", "leaves it", "java, node, Go" },
	{ 23, STRICT, "IPV6_MTU_DISCOVER", "whether packets are divided", "Go's and Rust's QUIC libraries" },
	{ 25, STRICT, "IPV6_RECVERR", "why a datagram did not arrive", "getaddrinfo() of glibc" },
	{ 26, STRICT, "IPV6_V6ONLY", "whether IPv4 is served too", "node, Go, Python" },
	{ 29, STRICT, "IPV6_MULTICAST_ALL", "hears groups of other sockets of the jail", "java" },
	{ 49, STRICT, "IPV6_RECVPKTINFO", "the address that a datagram was for", "java, dnsmasq" },
	{ 51, STRICT, "IPV6_RECVHOPLIMIT", "how far a datagram came", "Go's x/net" },
	{ 62, STRICT, "IPV6_DONTFRAG", "whether packets are divided", "Go's QUIC library" },
	{ 66, STRICT, "IPV6_RECVTCLASS", "class of a datagram", "java, Go's QUIC library" },
	{ 67, STRICT, "IPV6_TCLASS", "class of packets", "ssh, java" },
	{ 72, DEFAULT, "IPV6_ADDR_PREFERENCES", "which own address is taken", "systemd's libraries" },
};

static const struct argument_value netlink_options[] = {
	{ 11, DEFAULT, "NETLINK_EXT_ACK", "errors in words", "ip" },
	{ 12, DEFAULT, "NETLINK_GET_STRICT_CHK", "checks a query's form", "ip" },
};

/* clang-format on */

#define SET(rows)                                                                                            \
	{                                                                                                    \
		rows, ARRAY_LENGTH(rows)                                                                     \
	}

static const struct {
	const struct argument_value *rows;
	size_t count;
} sets[ARGUMENT_SET_COUNT] = {
	[ARGUMENT_IOCTL] = SET(ioctl_requests),      [ARGUMENT_PRCTL] = SET(prctl_options),
	[ARGUMENT_SOL_SOCKET] = SET(socket_options), [ARGUMENT_SOL_IP] = SET(ip_options),
	[ARGUMENT_SOL_TCP] = SET(tcp_options),       [ARGUMENT_SOL_UDP] = SET(udp_options),
	[ARGUMENT_SOL_IPV6] = SET(ipv6_options),     [ARGUMENT_SOL_NETLINK] = SET(netlink_options),
};

const struct argument_value *argument_values(enum argument_set set, size_t *ret_count)
{
	*ret_count = sets[set].count;
	return sets[set].rows;
}
