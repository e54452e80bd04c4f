/*
 * changes_text: a set of changes for people. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_CHANGES_TEXT_H
#define WARDER_RUNTIME_CLI_CHANGES_TEXT_H

#include <stdio.h>

#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"
#include "runtime/warder.h"

/* A line for each that is selected (NULL: all), and one that adds up. */
void changes_print(FILE *to, const struct changes *changes, const struct changes_selection *selection);
/* For each selected text file that a kept set adds or changes, a unified diff with what the directory has now. */
void changes_print_diffs(FILE *to, const struct warder_changes *changes,
			 const struct changes_selection *selection);

#endif
