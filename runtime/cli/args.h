/*
 * args: what a command is asked for, out of the user's file of defaults and the words of the command line. Private to cli/.
 *
 * Life: args_parse() takes what chooses the policy to start from, and reads the user's file of defaults -> args_load()
 * takes the flags that change its fields, in their order -> the command does its work -> args_done(). The flags of the
 * file come before those of the command line.
 */
#ifndef WARDER_RUNTIME_CLI_ARGS_H
#define WARDER_RUNTIME_CLI_ARGS_H

#include "runtime/cli/flags.h"

/* Read argv (after the command's name) of a command. Flags may stand behind words, except where the words begin a program and its
 * arguments; argv is then put in the order flags, words. With --help nothing but `help` and `rest` is to be relied on.
 * -1 with *err (INVALID_REQUEST), which names flag, value and remedy; `json` is set even then if it was asked for. */
int args_parse(enum flag_command command, char **argv, struct args *ret, struct warder_error *err);
/* Load the policy to start from (args->base) and the ceiling, then let the flags change the policy. */
int args_load(enum flag_command command, char **argv, struct args *args, struct warder_error *err);
/* The ceiling that --ceiling names, or the default place's if there is one. */
int args_load_ceiling(struct args *args, struct warder_error *err);
/* Let the flags change the policy that is there. */
int args_change(enum flag_command command, char **argv, struct args *args, struct warder_error *err);
/* With -t, after args_load(): the program gets the caller's TERM, unless the policy sets one or the ceiling does not grant it. */
int args_pass_term(struct args *args, struct warder_error *err);
/* With --env-from, after args_load(): set the variables of the file that the policy grants and nobody has set. What is left out is a
 * warning, which is printed once. -1 with *err: no memory. */
int args_provide(struct args *args, struct warder_error *err);
/* What -t does not go with. args_parse() has checked it; to be asked again where `json` is set later. */
int args_check_terminal(const struct args *args, struct warder_error *err);
/* Let go of policy and ceiling, so that args_load() can be called again. */
void args_unload(struct args *args);
void args_done(struct args *args);
/* What the library is asked for: the ceiling, the backend and where they come from. single_use: as of struct warder_options. */
struct warder_options args_options(const struct args *args, bool single_use);
/* How many workers are asked for, at least one. */
unsigned args_parallel(const struct args *args);

#endif
