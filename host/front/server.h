/*
 * server: HTTP by libmicrohttpd, driven by the loop of main.c. Private to host/front/.
 */
#ifndef WARDER_HOST_FRONT_SERVER_H
#define WARDER_HOST_FRONT_SERVER_H

#include "host/front/front.h"

/* listen_fd is taken. -1 with errno. */
int server_new(struct front *front, int listen_fd);
/* Serve new connections with another certificate. On 0 the block is the server's; -1: it is none, or not the key's. */
int server_change(struct front *front, char *certificate, char *private_key);
/* At most `most`: how long the loop may wait. */
int server_wait_ms(const struct front *front, int most);
/* Let it work: once in each turn of the loop. */
void server_turn(struct front *front);

#endif
