/*
 * warder-store: what stays when a run is over, for programs that embed Warder. Link with -lwarder-store -lwarder.
 *
 * Every function that can fail returns NULL or -1 and writes to *err, as those of warder.h do.
 */
#ifndef WARDER_STORE_WARDER_STORE_H
#define WARDER_STORE_WARDER_STORE_H

#include <warder.h>

#endif
