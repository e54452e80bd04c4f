/*
 * The capability sets of init and payload.
 */
#include <linux/capability.h>
#include <linux/prctl.h>

#include "jail/inside/inside.h"
#include "jail/inside/sys.h"

long inside_keep_capabilities(uint32_t kept)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = kept, .permitted = kept } };
	long ret = sys(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

	return ret < 0 ? ret : sys(capset, &header, data);
}
