#include "store/cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

#define PAUSE_US 100000
#define MIB      (1024.0 * 1024.0)

void progress_show(struct progress *progress, uint64_t done, uint64_t total)
{
	const uint64_t now = clock_us();
	char line[200];
	int width;

	if (!isatty(STDERR_FILENO) || (progress->shown_us && now - progress->shown_us < PAUSE_US))
		return;
	progress->shown_us = now;
	if (total)
		width = snprintf(line, sizeof(line), "%s: %.1f of %.1f MiB (%" PRIu64 " %%)", progress->what,
				 (double)done / MIB, (double)total / MIB, done * 100 / total);
	else
		width = snprintf(line, sizeof(line), "%s: %.1f MiB", progress->what, (double)done / MIB);
	/* Over all of the line before. */
	fprintf(stderr, "\r%-*s", progress->width, line);
	progress->width = width > progress->width ? width : progress->width;
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->width > 0)
		fprintf(stderr, "\r%*s\r", progress->width, "");
	progress->width = 0;
}
