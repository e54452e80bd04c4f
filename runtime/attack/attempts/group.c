/* group: the groups, in the order in which they are shown. */
#include "runtime/attack/attempts/group.h"

const struct attempt_group *const attempt_groups[] = {
	&files_group,     &overlays_group, &knobs_group,      &ids_group,      &kernel_group, &network_group,
	&resources_group, &leaks_group,    &neighbours_group, &sessions_group, &pools_group,  NULL,
};
