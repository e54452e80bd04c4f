/*
 * fleet: what `warder` and `warder-fleet` agree on, and the limits of a fleet. The door of this folder.
 *
 * `warder worker` and `warder submit` become warder-fleet. Its only argument is an order: a JSON object with "command" (worker, submit, key) and the
 * options of the command, without any secret.
 *
 * The server has three streams. A request waits in WARDER_REQUESTS until a worker acknowledges it. Its result waits in WARDER_RESULTS until
 * `warder submit` acknowledges it. WARDER_DEAD keeps requests that nobody answers, each with the reason.
 */
#ifndef WARDER_FLEET_FLEET_H
#define WARDER_FLEET_FLEET_H

#define FLEET_PROGRAM "warder-fleet"

#define FLEET_PARALLEL_MAX 200u /* requests that a worker runs at the same time */
#define FLEET_MESSAGE_MAX                                                                                    \
	((size_t)262144) /* bytes of a request with its envelope; a longer result is an object */
#define FLEET_RESULT_MAX ((size_t)16 << 20)

/* Defaults of --redeliver-after, --deliveries and --lifetime. */
#define FLEET_REDELIVER_US  30000000u
#define FLEET_DELIVERIES    5u
#define FLEET_LIFETIME_US   3600000000u
#define FLEET_RESULTS_HOURS 24 /* a result that nobody has read is dropped then */
#define FLEET_DEAD_DAYS     7

#endif
