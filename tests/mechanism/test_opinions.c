/*
 * What a receipt says of capabilities and of the network, next to what libcap and libnl read of the same process while it runs. cJSON
 * reads the receipt, so that none of Warder's own parsers takes part.
 */
#include "base/array.h"
#include "runtime/warder.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/route.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a program in a jail, seen from outside ---- */

struct opinion {
	struct warder_template *tmpl;
	struct warder_run *run;
	pid_t pid;  /* of the program, as the host counts */
	int source; /* the program's input, which the run borrows */
	int input;  /* the program ends when this is closed */
};

/* The process whose last argument is `mark`, once it is there. 0: it never came. */
static pid_t find_program(const char *mark)
{
	const size_t len = strlen(mark) + 1;

	for (int tries = 0; tries < 1000; tries++) {
		DIR *dir = opendir("/proc");
		const struct dirent *entry;
		pid_t found = 0;

		while (dir && !found && (entry = readdir(dir))) {
			char path[300], line[200];
			size_t size;
			FILE *file;

			snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
			file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "r") : NULL;
			if (!file)
				continue;
			size = fread(line, 1, sizeof(line), file);
			if (size > len && memcmp(line + size - len, mark, len) == 0)
				found = atoi(entry->d_name);
			fclose(file);
		}
		if (dir)
			closedir(dir);
		if (found)
			return found;
		usleep(20000);
	}
	return 0;
}

/* Start a shell that waits for the end of its input, with this network, or skip the test if this user cannot. */
static struct opinion begin(const char *mode)
{
	char mark[40], *argv[] = { "sh", "-c", "cat; exit", mark, NULL };
	struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_policy *policy = NULL;
	struct warder_error err;
	struct opinion o = { 0 };
	int ends[2];

	snprintf(mark, sizeof(mark), "opinion-%d", getpid());
	cr_assert(warder_policy_preset("strict", &policy, &err) == 0, "%s", err.text);
	cr_assert(warder_policy_require(policy, "limits", 0, &err) == 0, "%s", err.text);
	cr_assert(strcmp(mode, "allow") != 0 ||
		  warder_policy_set(policy, "network.allow", "localhost:443", &err) == 0);
	cr_assert(warder_policy_set(policy, "network.mode", mode, &err) == 0, "%s", err.text);
	if (warder_prepare(policy, NULL, &o.tmpl, &err) != 0) {
		cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY, "%s", err.text);
		cr_skip_test("%s", err.text);
	}
	warder_policy_free(policy);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0);
	command.input_fd = ends[0];
	cr_assert(warder_launch(o.tmpl, &command, &o.run, &err) == 0, "%s", err.text);
	o.source = ends[0];
	o.input = ends[1];
	o.pid = find_program(mark);
	cr_assert(o.pid > 0, "the program is not there");
	return o;
}

/* End it. The value of a control in its receipt, as cJSON reads it; the caller frees it. */
static char *end(struct opinion *o, const char *control)
{
	struct warder_result *result = NULL;
	struct warder_error err;
	const cJSON *row;
	cJSON *root;
	char *text, *value = NULL;

	close(o->input);
	cr_assert(warder_wait(o->run, &result, &err) == 0, "%s", err.text);
	text = warder_result_json(result);
	root = cJSON_Parse(text);
	cr_assert(root, "cJSON cannot read this: %s", text);
	cJSON_ArrayForEach(
	    row, cJSON_GetObjectItem(
		     cJSON_GetObjectItem(root, "receipt"),
		     "controls")) if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(row, "control")),
					     control) == 0) value =
	    strdup(cJSON_GetStringValue(cJSON_GetObjectItem(row, "value")));
	cr_assert(value, "the receipt has no row %s: %s", control, text);
	cJSON_Delete(root);
	free(text);
	warder_result_free(result);
	warder_run_free(o->run);
	close(o->source);
	warder_template_free(o->tmpl);
	return value;
}

/* ---- capabilities ---- */

Test(opinions, libcap_finds_the_sets_as_empty_as_the_receipt_says, .timeout = 60)
{
	struct opinion o = begin("none");
	cap_t sets = cap_get_pid(o.pid);
	cap_iab_t gained = cap_iab_get_pid(o.pid);
	char *held = cap_to_text(sets, NULL), *value;
	cap_flag_value_t bit;

	cr_expect_str_eq(held, "=");
	for (cap_value_t each = 0; each < cap_max_bits(); each++) {
		for (int set = CAP_EFFECTIVE; set <= CAP_INHERITABLE; set++)
			cr_expect(cap_get_flag(sets, each, (cap_flag_t)set, &bit) == 0 && bit == CAP_CLEAR);
		cr_expect(cap_iab_get_vector(gained, CAP_IAB_AMB, each) == CAP_CLEAR);
		/* This vector has the capabilities that the bounding set lacks. */
		cr_expect(cap_iab_get_vector(gained, CAP_IAB_BOUND, each) == CAP_SET);
	}
	cap_free(held);
	cap_free(sets);
	cap_free(gained);
	value = end(&o, "capabilities");
	cr_expect_str_eq(value, "0");
	free(value);
}

/* ---- the network ---- */

/* What a network namespace has. */
struct network {
	int links, up; /* interfaces besides loopback, and loopback itself */
	int addresses, routes, ways_out;
	char address[64]; /* the last of IPv4 on loopback that is not 127.0.0.1 */
};

/* In a process of its own: enter the namespaces and write a struct network. */
static int look(pid_t pid, int to)
{
	static const char *const kinds[] = { "user", "net" };
	struct network found = { 0 };
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_cache *links, *addresses, *routes;
	char text[sizeof(found.address)];

	for (size_t i = geteuid() == 0; i < ARRAY_LENGTH(kinds); i++) {
		char path[64];
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kinds[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || setns(fd, 0) != 0)
			return 1;
	}
	if (!sock || nl_connect(sock, NETLINK_ROUTE) < 0 ||
	    rtnl_link_alloc_cache(sock, AF_UNSPEC, &links) < 0 ||
	    rtnl_addr_alloc_cache(sock, &addresses) < 0 ||
	    rtnl_route_alloc_cache(sock, AF_UNSPEC, 0, &routes) < 0)
		return 2;
	for (struct nl_object *each = nl_cache_get_first(links); each; each = nl_cache_get_next(each)) {
		struct rtnl_link *link = (struct rtnl_link *)each;

		if (rtnl_link_get_flags(link) & IFF_LOOPBACK)
			found.up = (rtnl_link_get_flags(link) & IFF_UP) != 0;
		else
			found.links += (rtnl_link_get_flags(link) & IFF_UP) != 0;
	}
	for (struct nl_object *each = nl_cache_get_first(addresses); each; each = nl_cache_get_next(each)) {
		struct rtnl_addr *address = (struct rtnl_addr *)each;

		found.addresses++;
		nl_addr2str(rtnl_addr_get_local(address), text, sizeof(text));
		if (rtnl_addr_get_family(address) == AF_INET && strncmp(text, "127.", 4) != 0)
			snprintf(found.address, sizeof(found.address), "%s", text);
	}
	for (struct nl_object *each = nl_cache_get_first(routes); each; each = nl_cache_get_next(each)) {
		struct rtnl_route *route = (struct rtnl_route *)each;
		const uint8_t type = rtnl_route_get_type(route);

		found.routes++;
		found.ways_out += type != RTN_LOCAL && type != RTN_BROADCAST && type != RTN_MULTICAST &&
				  type != RTN_UNREACHABLE;
	}
	return write(to, &found, sizeof(found)) == (ssize_t)sizeof(found) ? 0 : 3;
}

static struct network network_of(pid_t pid)
{
	struct network found;
	int ends[2], status = 0;
	pid_t child;

	cr_assert(pipe(ends) == 0);
	child = fork();
	cr_assert(child >= 0);
	if (child == 0)
		_exit(look(pid, ends[1]));
	close(ends[1]);
	cr_assert(waitpid(child, &status, 0) == child && status == 0, "libnl could not look: %d", status);
	cr_assert(read(ends[0], &found, sizeof(found)) == (ssize_t)sizeof(found));
	close(ends[0]);
	return found;
}

Test(opinions, libnl_finds_no_interface_up_without_a_network, .timeout = 60)
{
	struct opinion o = begin("none");
	const struct network found = network_of(o.pid);
	char *value = end(&o, "network.none");

	cr_expect_str_eq(value, "lo down, no route");
	cr_expect(found.links == 0 && !found.up && found.addresses == 0 && found.routes == 0,
		  "%d interfaces, loopback %d, %d addresses, %d routes", found.links, found.up,
		  found.addresses, found.routes);
	free(value);
}

Test(opinions, libnl_finds_loopback_only, .timeout = 60)
{
	struct opinion o = begin("loopback");
	const struct network found = network_of(o.pid);
	char *value = end(&o, "network.loopback");

	cr_expect_str_eq(value, "lo up, nothing else, no route");
	cr_expect(found.links == 0 && found.up && found.addresses >= 1 && found.ways_out == 0 &&
		      !*found.address,
		  "%d interfaces, loopback %d, %d addresses, %d ways out, %s", found.links, found.up,
		  found.addresses, found.ways_out, found.address);
	free(value);
}

Test(opinions, libnl_finds_no_way_out_beside_the_edge, .timeout = 60)
{
	struct opinion o = begin("allow");
	const struct network found = network_of(o.pid);
	char *value = end(&o, "network.allow");

	cr_expect(strstr(value, "198.18.0.1"), "%s", value);
	cr_expect(found.links == 0 && found.up && found.routes > 0 && found.ways_out == 0 &&
		      strncmp(found.address, "198.18.0.1", 10) == 0,
		  "%d interfaces, loopback %d, %d routes, %d ways out, %s", found.links, found.up,
		  found.routes, found.ways_out, found.address);
	free(value);
}
