#include "store/images/build.h"

int build_run(struct build *build, const struct recipe_step *step)
{
	(void)step;
	return error_set(build->err, WARDER_ERROR_UNAVAILABLE, "recipe",
			 "this version cannot run programs while it builds; build on an image that has what "
			 "RUN would make");
}
