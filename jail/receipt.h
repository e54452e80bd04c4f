/*
 * receipt: the rows of a run's receipt. Private to jail/: readback.c adds what it has read, readback_rest() what is only told.
 */
#ifndef WARDER_JAIL_RECEIPT_H
#define WARDER_JAIL_RECEIPT_H

#include "jail/run.h"

/* An enforced control of the policy. `format`: the value as read back, or as kept; `source`: where it was read. */
void receipt_control(struct jail_run *run, enum policy_control control, const char *source,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* A layer that no policy field asks for: hardening, or absent where it is not `there`. */
void receipt_layer(struct jail_run *run, const char *name, bool there, const char *mechanism,
		   const char *source, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The rows for the controls that the edge enforces: how it checks each row of network.allow, and the other fields of the network. */
void receipt_edge(struct jail_run *run);
/* The layers that init and the payload reported when they applied them. At the gate, before a jail is parked: later nothing of them is read. */
void readback_layers(struct jail_run *run);
/* In the receipt of a session under `plan`: the rows of network.allow and network.deny are those of `policy` now, since so many us after 1970. */
void receipt_replace_rules(struct policy_receipt *receipt, const struct jail_plan *plan,
			   const struct policy *policy, uint64_t since_us);

#endif
