/*
 * namespace: a network namespace of the test's own, with two listeners in it. Root.
 */
#ifndef WARDER_TESTS_NAMESPACE_H
#define WARDER_TESTS_NAMESPACE_H

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Enter it. lo is up and has the address too, at which the listeners wait on ports 7 and 8. */
static inline void namespace_listen(const char *address, int listeners[2])
{
	char command[120];

	cr_assert_eq(unshare(CLONE_NEWNET), 0);
	snprintf(command, sizeof(command), "ip link set lo up && ip address add %s/32 dev lo", address);
	cr_assert_eq(system(command), 0);
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(7 + i)) };

		inet_pton(AF_INET, address, &at.sin_addr);
		listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		cr_assert(bind(listeners[i], (struct sockaddr *)&at, sizeof(at)) == 0 &&
			  listen(listeners[i], 8) == 0);
	}
}

#endif
