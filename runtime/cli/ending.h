/*
 * ending: SIGINT, SIGTERM, SIGHUP and SIGQUIT end what Warder does, not Warder. Private to cli/.
 *
 * Life: ending_catch(), once and first -> the command looks at ending_signal() before it starts something and after it
 * has said how that is cancelled -> it takes down what it started, and exits with 128 plus the signal.
 */
#ifndef WARDER_RUNTIME_CLI_ENDING_H
#define WARDER_RUNTIME_CLI_ENDING_H

#include <stdint.h>

/* Catch the signals from now on; what is ignored stays ignored (nohup, a background job). `cancel` is called by the
 * handler, each time: it may do only what a handler may, and is to cope with nothing being there to cancel. */
void ending_catch(void (*cancel)(void));
/* The first of them that came; 0: none. */
int ending_signal(void);
/* The same, as what a library asks. */
int ending_came(void *context);
/* As if none had come: it was meant for a piece of work that is over. */
void ending_forget(void);
/* Wait for so long, or until one comes. */
void ending_sleep(uint64_t us);

#endif
