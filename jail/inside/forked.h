/*
 * forked: what a zygote calls to fork: see forked.c, which is part of a shared object alone. The functions are called in this order.
 */
#ifndef WARDER_JAIL_INSIDE_FORKED_H
#define WARDER_JAIL_INSIDE_FORKED_H

/* In the zygote: wait for an order and carry it out. Returns 0 in the new init; in the zygote 1, or -1 if nobody orders any more. */
int forked_wait(void);
/* In the new init: everything before the fork of the payload. Returns when the interpreter is to fork. What fails ends the jail. */
void forked_init(void);
/* In that init, with what the interpreter's fork returned; negative: an errno. Does not return. */
void forked_go_on(int payload_pid);
/* In the payload: its name from now on. Returns when the host has given the word to go. What fails ends the jail. */
void forked_payload(const char *name);

#endif
