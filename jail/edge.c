#include "jail/edge.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/programs.h"
#include "edge/rules.h"
#include "jail/inject.h"
#include "jail/jail.h"

#define PROGRAM     "warder-edge"
#define PATIENCE_MS 10000 /* for its start */
#define REPLACE_MS  3000  /* for other rules: less than a session's client waits */
#define LEARN_RULES 2
#define FDS_MAX     (EDGE_FD_COUNT + EDGE_INJECTS_MAX)

_Static_assert(EDGE_RULES_MAX >= 2 * POLICY_MAX_RULES + LEARN_RULES, "room for every valid policy");
_Static_assert(EDGE_NAMES_MAX >= POLICY_MAX_RULES, "an address for every name");
_Static_assert(EDGE_PORTS_MAX >= POLICY_MAX_PORTS && EDGE_LISTENERS_MAX >= POLICY_MAX_PORTS,
	       "room for every port");

static const struct {
	const char *name, *text;
} reasons[] = {
#define X(id, name, text) [EDGE_REASON_##id] = { name, text },
	EDGE_REASONS(X)
#undef X
};

const char *jail_refusal_name(unsigned int reason)
{
	return reasons[reason].name;
}

const char *jail_refusal_text(unsigned int reason, bool learned)
{
	if (learned && reason == EDGE_REASON_ADDRESS)
		return "network.allow does not list this address and port, and network.mode learn allows "
		       "only public addresses of IPv4, on the ports 22, 80 and 443";
	if (learned && reason == EDGE_REASON_PORT)
		return "network.mode learn allows names on the ports 22, 80 and 443";
	return reasons[reason].text;
}

char *jail_refusal_destination(const struct edge_refusal *row, char *buf, size_t len)
{
	const bool is_v6 = strchr(row->destination, ':') != NULL;

	if (row->port)
		snprintf(buf, len, is_v6 ? "[%s]:%u" : "%s:%u", row->destination, row->port);
	else
		snprintf(buf, len, "%s", row->destination);
	return buf;
}

/* ---- rules ---- */

/* One socket for both kinds of addresses, where both are listed with a port. */
static void add_listener(struct edge_listener *rows, size_t *count, uint32_t address, uint16_t port,
			 bool is_v6)
{
	for (size_t i = 0; i < *count; i++)
		if (rows[i].address == address && rows[i].port == port) {
			rows[i].is_v6 |= is_v6;
			return;
		}
	if (*count < EDGE_LISTENERS_MAX)
		rows[*count] = (struct edge_listener){ .address = address, .port = port, .is_v6 = is_v6 };
	++*count;
}

static bool is_everywhere(const struct edge_listener *rows, size_t count, uint16_t port)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].address == 0 && rows[i].port == port)
			return true;
	return false;
}

/* A port of a block, or of names that are not known yet, is taken at every address; any other at its name's, if there are not too many. */
static size_t add_listeners(struct edge_config *config, struct rules *names, bool everywhere)
{
	size_t count = 0;

	for (int named = 0; named < 2; named++) {
		for (size_t i = 0; i < config->rule_count; i++) {
			const struct edge_rule *rule = &config->rules[i];
			const bool is_named = rule->host[0] && rule->host[0] != '*';

			if (rule->denies || is_named != (named == 1))
				continue;
			for (size_t j = 0; j < rule->port_count && count <= EDGE_LISTENERS_MAX; j++)
				if (!is_named || !is_everywhere(config->listeners, count, rule->ports[j]))
					add_listener(
					    config->listeners, &count,
					    is_named && !everywhere ? rules_address(names, rule->host) : 0,
					    rule->ports[j], rule->is_v6);
		}
	}
	return count;
}

static void add_rule(struct edge_config *config, const struct policy_rule *from, bool denies)
{
	struct edge_rule *rule = &config->rules[config->rule_count++];
	struct warder_error ignored;
	struct policy_cidr block = { 0 };

	*rule = (struct edge_rule){ .denies = denies, .port_count = (uint16_t)from->port_count };
	if (from->host) {
		snprintf(rule->host, sizeof(rule->host), "%s", from->host);
	} else {
		policy_parse_cidr(from->cidr, &block, &ignored); /* valid: the policy is */
		rule->is_v6 = block.is_v6;
		rule->prefix = (uint8_t)block.prefix;
		memcpy(rule->address, block.address, sizeof(rule->address));
	}
	if (from->port_count)
		memcpy(rule->ports, from->ports, from->port_count * sizeof(*from->ports));
}

static size_t count_rules(const struct policy_endpoints *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += policy_rule_count(&rows->items[i]);
	return count;
}

static void add_rows(struct edge_config *config, const struct policy_endpoints *rows, bool denies)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct policy_endpoint *row = &rows->items[i];

		for (size_t j = 0; j < policy_rule_count(row); j++) {
			struct policy_rule rule = policy_rule_at(row, j);

			/* A list of names is denied on every port, unless the row names some. */
			if (denies) {
				rule.ports = row->ports;
				rule.port_count = row->port_count;
			}
			add_rule(config, &rule, denies);
		}
	}
}

/* With the mode learn every name and every public address of IPv4 is allowed on some ports. */
static void add_learned(struct edge_config *config)
{
	static const uint16_t ports[] = { 22, 80, 443 };
	struct policy_rule rule = { .host = "*", .ports = ports, .port_count = ARRAY_LENGTH(ports) };

	add_rule(config, &rule, false);
	rule.host = NULL;
	rule.cidr = "0.0.0.0/0";
	add_rule(config, &rule, false);
}

struct edge_config *edge_config_new(const struct policy *policy)
{
	const bool learns = policy->network.mode == POLICY_NETWORK_LEARN;
	const struct policy_published *publish = &policy->network.publish;
	const size_t rules = count_rules(&policy->network.allow) + count_rules(&policy->network.deny);
	struct edge_config *config =
	    calloc(1, edge_config_size((uint32_t)(rules + (learns ? LEARN_RULES : 0))));
	struct rules names = { 0 };
	size_t listeners;

	if (!config)
		return NULL;
	config->magic = EDGE_MAGIC;
	config->max_connections =
	    (uint32_t)(policy->network.connections_max < UINT32_MAX ? policy->network.connections_max
								    : UINT32_MAX);
	config->max_bytes = policy->network.bytes_max;
	add_rows(config, &policy->network.allow, false);
	add_rows(config, &policy->network.deny, true);
	if (learns)
		add_learned(config);
	if (rules_init(&names, config) < 0) {
		rules_done(&names);
		free(config);
		return NULL;
	}
	listeners = add_listeners(config, &names, false);
	if (listeners > EDGE_LISTENERS_MAX)
		listeners =
		    add_listeners(config, &names, true); /* one for each port: at most POLICY_MAX_PORTS */
	config->listener_count = (uint32_t)listeners;
	inject_rows(policy, config);
	config->published_count =
	    (uint32_t)(publish->count < EDGE_PUBLISHED_MAX ? publish->count : EDGE_PUBLISHED_MAX);
	for (size_t i = 0; i < config->published_count; i++)
		config->published[i] = publish->items[i].jail_port;
	rules_done(&names);
	return config;
}

static struct edge_config *make_config(const struct policy *policy, struct warder_error *err)
{
	struct edge_config *config = edge_config_new(policy);

	if (!config)
		error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory for the rules of the network");
	return config;
}

size_t edge_listeners(const struct policy *policy, bool on, struct edge_listener *ret, size_t *ret_v6)
{
	struct edge_config *config = on ? edge_config_new(policy) : NULL;
	const size_t count = config ? config->listener_count : 0;

	if (ret && count)
		memcpy(ret, config->listeners, count * sizeof(*ret));
	for (size_t i = 0; ret_v6 && i < count; i++)
		*ret_v6 += config->listeners[i].is_v6;
	free(config);
	return count;
}

const char *edge_field(const struct policy *policy)
{
	return policy->network.mode == POLICY_NETWORK_LEARN ? "network.mode"
	       : policy->network.publish.count && policy->network.mode != POLICY_NETWORK_ALLOW
		   ? "network.publish"
		   : "network.allow";
}

int edge_check(const struct policy *policy, struct warder_error *err)
{
	char path[PATH_MAX];

	return programs_find(PROGRAM, edge_field(policy), path, err);
}

/* ---- the process ---- */

/* Write bytes `from` to `to` of a file that has zeros. */
static bool write_part(int fd, const void *bytes, size_t from, size_t to)
{
	return pwrite(fd, (const char *)bytes + from, to - from, (off_t)from) == (ssize_t)(to - from);
}

/* With the configuration, or NULL: with zeros. Credentials take up most of a configuration, and most have none. */
static int memory_file(const char *name, const struct edge_config *config, size_t size)
{
	owned_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const bool filled = config != NULL;
	const size_t head = offsetof(struct edge_config, injects) +
			    (filled ? config->inject_count * sizeof(*config->injects) : 0);

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return -1;
	if (filled && (!write_part(fd, config, 0, head) ||
		       !write_part(fd, config, offsetof(struct edge_config, rules), size)))
		return -1;
	/* Of a file that cannot shrink the memory stays where it is mapped. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | (filled ? F_SEAL_WRITE : 0)) <
	    0)
		return -1;
	return fd_take(&fd);
}

/* With the descriptors at their numbers, up to the first that is -1: they first move out of the way of these. */
static int start_program(const char *path, const int fds[FDS_MAX], int *ret_pid)
{
	char *const argv[] = { (char[]){ PROGRAM }, NULL };
	char *const envp[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int high[FDS_MAX];
	sigset_t all;
	sigset_t none;
	pid_t pid;
	int ret = posix_spawn_file_actions_init(&actions);

	if (ret)
		return ret;
	ret = posix_spawnattr_init(&attributes);
	if (ret) {
		posix_spawn_file_actions_destroy(&actions);
		return ret;
	}
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setsigmask(&attributes, &none);
	/* A terminal's interrupt is the program's, and ends the run in its way. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
				 POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	for (int i = 0; i < FDS_MAX; i++)
		high[i] = -1;
	for (int i = 0; i < FDS_MAX && fds[i] >= 0 && !ret; i++) {
		if (i < EDGE_FD_CONTROL) {
			ret = posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
			continue;
		}
		high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FDS_MAX);
		ret = high[i] < 0 ? errno : posix_spawn_file_actions_adddup2(&actions, high[i], i);
	}
	if (!ret)
		ret = posix_spawn(&pid, path, &actions, &attributes, argv, envp);
	for (int i = 0; i < FDS_MAX; i++)
		fd_done(&high[i]);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (!ret)
		*ret_pid = pid;
	return ret;
}

static int start_failed(const struct policy *policy, int error, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, edge_field(policy), error,
			       "cannot start " PROGRAM ", which connects for the jail");
}

_Static_assert(EDGE_PUBLISHED_MAX >= POLICY_MAX_PUBLISHED, "every valid policy fits");

static bool is_readable(int fd, uint64_t patience_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const uint64_t deadline = clock_us() + patience_ms * 1000;

	while (poll(&ready, 1, 100) != 1)
		if (clock_us() >= deadline)
			return false;
	return true;
}

/* What it says next, with a NUL behind it, or why it cannot: -1 with *err. */
static ssize_t receive(const struct run_edge *edge, char *text, size_t size, struct warder_error *err)
{
	static const char row[] = "network.allow[";
	char *colon;
	ssize_t n;

	if (!is_readable(edge->control_fd, PATIENCE_MS))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, edge->field,
				 PROGRAM " did not answer within %d s", PATIENCE_MS / 1000);
	n = recv(edge->control_fd, text, size - 1, MSG_DONTWAIT);
	if (n <= 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, edge->field,
				 PROGRAM " died before it could connect for the jail");
	text[n] = '\0';
	if (!text[0] || text[0] == EDGE_AUTHORITY)
		return n;
	colon = strncmp(text, row, sizeof(row) - 1) == 0 ? strstr(text, ": ") : NULL;
	if (colon) {
		*colon = '\0';
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, text, "%s: %s", text, colon + 2);
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, edge->field, PROGRAM " cannot set up %s", text);
}

/* ---- published ports ---- */

/* A socket that listens on a port of the host. -1 with *err, where `row` is of network.publish. */
static int listen_on(const struct policy_publish *row, size_t number, uint16_t *ret_port,
		     struct warder_error *err)
{
	const int on = 1;
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(row->host_port) };
	socklen_t len = sizeof(name);
	char field[48];
	owned_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, row->address, &name.sin_addr);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)(void *)&name, sizeof(name)) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)(void *)&name, &len) < 0) {
		const int error = errno;

		snprintf(field, sizeof(field), "network.publish[%zu]", number);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error,
				       "%s: cannot listen on %s:%u of the host%s", field, row->address,
				       row->host_port,
				       error == EADDRINUSE ? "; choose another port, or 0 for any free one"
				       : error == EACCES   ? "; an ordinary user needs a port from 1024"
							   : "");
	}
	*ret_port = ntohs(name.sin_port);
	return fd_take(&fd);
}

static int publish(struct run_edge *edge, const struct policy_published *rows, struct warder_error *err)
{
	int fds[EDGE_PUBLISHED_MAX];
	size_t count = 0;
	char text[160];
	int ret = 0;

	for (; count < rows->count && ret == 0; count++) {
		fds[count] = listen_on(&rows->items[count], count, &edge->published[count], err);
		ret = fds[count] < 0 ? -1 : 0;
	}
	if (ret == 0 && count && fd_send(edge->setup_fd, "", 1, fds, count, 0) < 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network.publish", errno,
				"cannot hand the published ports to " PROGRAM);
		if (err->sys_errno == EPIPE)
			receive(edge, text, sizeof(text), err); /* why it has ended */
		ret = -1;
	}
	for (size_t i = 0; i < count; i++)
		fd_done(&fds[i]);
	edge->published_count = count;
	return ret;
}

static int reopen_to_read(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static struct edge_report *map_report(int fd)
{
	struct edge_report *at;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(*at)) {
		errno = EINVAL;
		return NULL;
	}
	at = mmap(NULL, sizeof(*at), PROT_READ, MAP_SHARED, fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

static void close_given(int fds[FDS_MAX])
{
	for (int i = EDGE_FD_CONTROL; i < FDS_MAX; i++)
		fd_done(&fds[i]);
}

/* The rules as the program reads them. Returns its descriptor; -1 with errno. */
static int config_file(struct edge_config *config, const struct jail_plan *plan, uint32_t uid)
{
	config->uid = config->gid = uid;
	config->named = plan->named;
	config->inward_count = plan->publishes ? EDGE_INWARD_MAX : 0;
	if (!plan->publishes)
		config->published_count = 0;
	return memory_file("warder-edge-rules", config, edge_config_size(config->rule_count));
}

/* The report and the sockets: our ends in *edge, the program's in fds. Returns 0, or an errno. */
static int open_channels(struct run_edge *edge, int fds[FDS_MAX])
{
	const struct {
		int *ours;
		enum edge_fd theirs;
	} pairs[] = {
		{ &edge->control_fd, EDGE_FD_CONTROL },
		{ &edge->setup_fd, EDGE_FD_SETUP },
		{ &edge->counter_fd, EDGE_FD_COUNTER },
	};

	fds[EDGE_FD_REPORT] = memory_file("warder-edge-report", NULL, sizeof(*edge->report));
	if (fds[EDGE_FD_REPORT] < 0)
		return errno;
	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			return errno;
		*pairs[i].ours = ends[0];
		fds[pairs[i].theirs] = ends[1];
	}
	edge->report_fd = reopen_to_read(fds[EDGE_FD_REPORT]);
	if (edge->report_fd < 0 || !(edge->report = map_report(edge->report_fd)))
		return errno;
	return 0;
}

int run_edge_start(struct run_edge *edge, const struct jail_plan *plan, uint32_t uid,
		   struct warder_error *err)
{
	const struct policy *policy = &plan->policy;
	struct run_edge started = RUN_EDGE_NONE;
	struct edge_config *config;
	char path[PATH_MAX];
	int fds[FDS_MAX] = { 0 };
	int error = 0;

	started.field = edge_field(policy);
	for (int i = EDGE_FD_CONTROL; i < FDS_MAX; i++)
		fds[i] = -1;
	if (programs_find(PROGRAM, started.field, path, err) < 0)
		return -1;
	config = inject_open(policy, fds + EDGE_FD_COUNT, err) < 0 ? NULL : make_config(policy, err);
	if (!config) {
		close_given(fds);
		return -1;
	}
	fds[EDGE_FD_CONFIG] = config_file(config, plan, uid);
	if (fds[EDGE_FD_CONFIG] < 0)
		error = errno;
	free(config);
	if (!error)
		error = open_channels(&started, fds);
	if (!error)
		error = start_program(path, fds, &started.pid);
	if (!error) {
		started.pid_fd = (int)syscall(SYS_pidfd_open, started.pid, 0);
		if (started.pid_fd < 0)
			error = errno;
	}
	close_given(fds);
	if (error) {
		run_edge_done(&started);
		return start_failed(policy, error, err);
	}
	if (plan->publishes && publish(&started, &policy->network.publish, err) < 0) {
		run_edge_done(&started);
		return -1;
	}
	*edge = started;
	return 0;
}

int run_edge_join(struct run_edge *edge, const char *field, const int fds[3], uint64_t rules_from,
		  struct warder_error *err)
{
	struct run_edge joined = RUN_EDGE_NONE;

	joined.field = field;
	joined.rules_from = rules_from;
	joined.pid_fd = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	joined.counter_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
	joined.report_fd = fcntl(fds[2], F_DUPFD_CLOEXEC, 0);
	if (joined.pid_fd >= 0 && joined.counter_fd >= 0 && joined.report_fd >= 0)
		joined.report = map_report(joined.report_fd);
	if (run_edge_ask(&joined)) {
		struct pollfd answer = { .fd = joined.counter_fd, .events = POLLIN };

		poll(&answer, 1, RUN_EDGE_COUNT_MS);
	}
	joined.before = joined.report ? run_edge_report(&joined) : NULL;
	if (!joined.before) {
		const int error = errno;

		run_edge_done(&joined);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error,
				       "cannot read the report of the session's " PROGRAM);
	}
	*edge = joined;
	return 0;
}

int run_edge_await_authority(struct run_edge *edge, struct warder_error *err)
{
	char text[EDGE_AUTHORITY_MAX + 1];
	const ssize_t n = receive(edge, text, sizeof(text), err);

	if (n < 0)
		return -1;
	if (text[0] != EDGE_AUTHORITY)
		return error_set(err, WARDER_ERROR_INTERNAL, edge->field,
				 PROGRAM " made no authority for this run");
	return trust_make(&edge->trust, text + 1, (size_t)n - 1, err);
}

int run_edge_await(struct run_edge *edge, struct warder_error *err)
{
	char text[160];

	return edge->pid && receive(edge, text, sizeof(text), err) < 0 ? -1 : 0;
}

/* ---- other rules ---- */

/* Connections to a row of the policy reach a listener of `first`. Names of that policy keep their addresses. */
static int check_listeners(const struct edge_config *first, const struct policy_endpoints *rows,
			   struct warder_error *err)
{
	struct rules old;
	int ret = rules_init(&old, first);

	for (size_t i = 0; i < rows->count && ret == 0; i++) {
		for (size_t j = 0; j < policy_rule_count(&rows->items[i]) && ret == 0; j++) {
			const struct policy_rule rule = policy_rule_at(&rows->items[i], j);
			const bool is_known =
			    rule.host && rule.host[0] != '*' && rules_allow(&old, rule.host);
			const uint32_t address = is_known ? rules_address(&old, rule.host) : 0;
			const bool is_v6 = rule.cidr && strchr(rule.cidr, ':');
			char field[48];

			snprintf(field, sizeof(field), "network.allow[%zu]", i);
			for (size_t k = 0; k < rule.port_count && ret == 0; k++)
				if (is_v6 ? !rules_listened_v6(&old, rule.ports[k])
					  : !rules_listened(&old, address, rule.ports[k]))
					ret = error_set(err, WARDER_ERROR_CONFLICT, field,
							"%s: the jail was started without a listener for "
							"%.100s:%u; start it with an "
							"address block or a pattern that has the port",
							field, rule.host ? rule.host : rule.cidr,
							rule.ports[k]);
		}
	}
	rules_done(&old);
	return ret;
}

static int replace(struct run_edge *edge, const struct edge_config *first, const struct edge_config *config,
		   const struct policy *policy, struct warder_error *err)
{
	const char type = EDGE_RULES;
	owned_fd int fd = -1;
	char text[160];

	if (check_listeners(first, &policy->network.allow, err) < 0)
		return -1;
	if (first->inject_count != config->inject_count ||
	    memcmp(first->injects, config->injects, sizeof(first->injects)) != 0)
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "network.allow",
		    "network.allow: rows with inject cannot change while the jail runs; end it, and start "
		    "another");
	fd = memory_file("warder-edge-rules", config, edge_config_size(config->rule_count));
	if (fd < 0 || fd_send(edge->control_fd, &type, 1, &fd, 1, 0) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "network.allow", errno,
				       "cannot send rules to " PROGRAM);
	if (!is_readable(edge->control_fd, REPLACE_MS)) {
		syscall(SYS_pidfd_send_signal, edge->pid_fd, SIGKILL, NULL, 0);
		is_readable(edge->pid_fd,
			    REPLACE_MS); /* until it has ended, so that the result of the run says so */
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "network.allow",
				 PROGRAM " did not take other rules within %d s and was killed; the jail has "
					 "no network any more",
				 REPLACE_MS / 1000);
	}
	return receive(edge, text, sizeof(text), err) < 0 ? -1 : 0;
}

/* When the edge has replaced its rules for the last time. */
static uint64_t replaced_us(const struct edge_report *report)
{
	return report->rules_us[(atomic_load(&report->rules) - 1) % EDGE_TIMES_MAX];
}

int run_edge_replace(struct run_edge *edge, const struct policy *first, const struct policy *policy,
		     uint64_t *ret_since_us, struct warder_error *err)
{
	struct edge_config *old;
	struct edge_config *config;
	int ret = -1;

	if (first->network.mode != POLICY_NETWORK_ALLOW || policy->network.mode != POLICY_NETWORK_ALLOW)
		return error_set(err, WARDER_ERROR_CONFLICT, "network.mode",
				 "network.mode: only rules of the mode \"allow\" can be replaced, in a jail "
				 "that was started "
				 "with it");
	if (!edge->pid || run_edge_is_dead(edge))
		return error_set(err, WARDER_ERROR_CONFLICT, "network.allow",
				 "network.allow: " PROGRAM " of this jail has ended, and the jail has no "
				 "network any more");
	old = make_config(first, err);
	config = old ? make_config(policy, err) : NULL;
	if (config)
		ret = replace(edge, old, config, policy, err);
	if (ret == 0)
		*ret_since_us = replaced_us(edge->report);
	free(old);
	free(config);
	return ret;
}

bool run_edge_is_dead(const struct run_edge *edge)
{
	struct pollfd fd = { .fd = edge->pid_fd, .events = POLLIN };

	return edge->pid_fd >= 0 && poll(&fd, 1, 0) == 1;
}

/* The edge reads what strangers send: what it wrote may be anything. */
static void clean_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (char *c = text; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			*c = '?';
}

/* So that the last packets are counted: they wait in the edge's socket. One that does not answer has not counted them. */
bool run_edge_ask(const struct run_edge *edge)
{
	return edge->report && send(edge->counter_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/* Take away what was there before. Rows stay where they are, so those are the first ones. */
static void subtract(struct edge_report *report, const struct edge_report *before)
{
	uint32_t kept = 0;

	report->refused -= before->refused;
	report->unlisted -= before->unlisted;
	report->connections -= before->connections;
	report->bytes_up -= before->bytes_up;
	report->bytes_down -= before->bytes_down;
	report->uses_unlisted -= before->uses_unlisted;
	for (uint32_t i = 0; i < report->row_count; i++) {
		const uint64_t count = i < before->row_count ? before->rows[i].count : 0;

		if (report->rows[i].count == count)
			continue;
		report->rows[kept] = report->rows[i];
		report->rows[kept++].count -= count;
	}
	report->row_count = kept;
	kept = 0;
	for (uint32_t i = 0; i < report->use_count; i++) {
		const uint64_t count = i < before->use_count ? before->uses[i].count : 0;

		if (report->uses[i].count == count)
			continue;
		report->uses[kept] = report->uses[i];
		report->uses[kept++].count -= count;
	}
	report->use_count = kept;
}

struct edge_report *run_edge_report(const struct run_edge *edge)
{
	struct edge_report *copy;
	uint32_t uses;
	char byte;

	if (!edge->report)
		return NULL;
	recv(edge->counter_fd, &byte, 1, MSG_DONTWAIT);
	uses = atomic_load(&edge->report->use_count);
	if (uses > EDGE_USES_MAX)
		uses = EDGE_USES_MAX;
	copy = malloc(edge_report_size(uses));
	if (!copy)
		return NULL;
	memcpy(copy, edge->report, edge_report_size(uses));
	copy->use_count = uses;
	copy->rules_from = edge->rules_from;
	for (uint32_t i = 0; i < uses; i++)
		clean_text(copy->uses[i].destination, sizeof(copy->uses[i].destination));
	if (copy->row_count > EDGE_REFUSALS_MAX)
		copy->row_count = EDGE_REFUSALS_MAX;
	for (uint32_t i = 0; i < copy->row_count; i++) {
		struct edge_refusal *row = &copy->rows[i];

		clean_text(row->destination, sizeof(row->destination));
		clean_text(row->detail, sizeof(row->detail));
		if (row->reason >= EDGE_REASON_COUNT)
			row->reason = EDGE_REASON_ADDRESS;
	}
	if (edge->before)
		subtract(copy, edge->before);
	return copy;
}

bool run_edge_end(struct run_edge *edge)
{
	if (!edge->pid || edge->pid_fd < 0)
		return false;
	if (edge->give_up_us)
		return !run_edge_is_dead(edge) && clock_us() < edge->give_up_us;
	syscall(SYS_pidfd_send_signal, edge->pid_fd, SIGKILL, NULL, 0);
	edge->give_up_us = clock_us() + CHILD_PATIENCE_MS * UINT64_C(1000);
	return true;
}

void run_edge_done(struct run_edge *edge)
{
	fd_done(&edge->setup_fd);
	fd_done(&edge->control_fd);
	if (edge->pid) {
		if (edge->pid_fd >= 0 && !edge->give_up_us)
			syscall(SYS_pidfd_send_signal, edge->pid_fd, SIGKILL, NULL, 0);
		child_wait(edge->pid, edge->give_up_us ? 0 : CHILD_PATIENCE_MS, NULL);
	}
	edge->give_up_us = 0;
	edge->pid = 0;
	fd_done(&edge->pid_fd);
	fd_done(&edge->counter_fd);
	fd_done(&edge->report_fd);
	free(edge->before);
	edge->before = NULL;
	if (edge->report)
		munmap(edge->report, sizeof(*edge->report));
	edge->report = NULL;
	trust_done(&edge->trust);
}
