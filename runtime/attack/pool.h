/*
 * pool: the parked jails of `doctor --attack`, made and handed out as a pool does it. For the command, in runtime/cli.
 *
 * Life: zeroed -> attack_pool_open(), which parks a jail that attempts look for -> attack_pool_take() for each attempt that runs in a jail
 * that was parked; meanwhile attack_pool_lives() -> attack_pool_close().
 */
#ifndef WARDER_RUNTIME_ATTACK_POOL_H
#define WARDER_RUNTIME_ATTACK_POOL_H

#include "runtime/attack/marks.h"
#include "runtime/attack/table.h"

struct attack_pool {
	struct jail_template *tmpl; /* borrowed */
	struct jail_run *parked;    /* NULL: no pool keeps jails of this policy */
};

/* Also tells the attempts what the host knows of the parked jail. 0, also if no pool keeps jails of this policy; -1 with *err. */
int attack_pool_open(struct attack_pool *pool, struct jail_template *tmpl, struct attack_marks *marks,
		     struct warder_error *err);
bool attack_pool_lives(const struct attack_pool *pool);
/* What came of a jail that is to be handed out. */
enum attack_taken {
	ATTACK_TAKEN,
	ATTACK_TAKEN_REFUSED, /* by the check */
	ATTACK_TAKEN_FAILED,  /* after the check */
	ATTACK_TAKEN_UNTRIED, /* what the row needs cannot be done here */
};
/* Park a jail, do to it what the row needs, check it as a pool does, and start the command in it. last_argv: the program of the launch before,
 * which has a jail of its own. 0 with *ret_taken, and *ret_run if it is TAKEN, *err if it is not; -1 with *err. */
int attack_pool_take(struct attack_pool *pool, const struct attack_row *row, char *const *last_argv,
		     const struct jail_command *command, enum attack_taken *ret_taken,
		     struct jail_run **ret_run, struct warder_error *err);
/* 0, also if the parked jail is dead; -1 with *err: an attempt has changed it, or it cannot be removed. */
int attack_pool_close(struct attack_pool *pool, struct warder_error *err);

#endif
