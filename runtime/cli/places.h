/*
 * places: where the operator's files are, if no flag names others. Private to the command lines.
 */
#ifndef WARDER_RUNTIME_CLI_PLACES_H
#define WARDER_RUNTIME_CLI_PLACES_H

#define CEILING_PATH "/etc/warder/ceiling.json"

#endif
