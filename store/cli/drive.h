/*
 * drive: a workspace from its manifest to its end. Private to cli/.
 */
#ifndef WARDER_STORE_CLI_DRIVE_H
#define WARDER_STORE_CLI_DRIVE_H

#include "store/cli/command.h"

/* The commands `workspace drive` and `workspace provision`. */
int drive_command(const struct options *options, struct warder_error *err);
int provision_command(const struct options *options, struct warder_error *err);
/* `warder`, beside this program or where it is installed. buf has PATH_MAX bytes. -1 with *err. */
int drive_find_warder(char *buf, struct warder_error *err);

#endif
