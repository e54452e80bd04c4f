/*
 * event_log: a log with anything in it is read to its end, and what is published afterwards is read, too; or it is refused for good.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/events/events.h"
#include "tests/fuzz/fuzz.h"

static struct warder_events *events;
static off_t header;
static char store[64];

static void clean_up(void)
{
	char path[128];

	unlinkat(events->dir_fd, events->name, 0);
	unlinkat(events->dir_fd, events->receivers, 0);
	warder_events_free(events);
	snprintf(path, sizeof(path), "%s/events", store);
	rmdir(path);
	rmdir(store);
}

static void set_up(void)
{
	struct warder_error err;
	struct stat st;

	/* Without a disk it is a hundred times as fast. */
	strcpy(store, "/dev/shm/warder-fuzz-XXXXXX");
	if (!mkdtemp(store)) {
		strcpy(store, "/tmp/warder-fuzz-XXXXXX");
		must(mkdtemp(store));
	}
	must(warder_events_open(store, "/srv/job", NULL, &events, &err) == 0);
	must(stat(events->path, &st) == 0);
	header = st.st_size;
	atexit(clean_up);
}

static void write_log(const uint8_t *data, size_t size)
{
	int fd = open(events->path, O_WRONLY);

	must(fd >= 0 && ftruncate(fd, header) == 0 && pwrite(fd, data, size, header) == (ssize_t)size);
	close(fd);
}

/* How many events there are; the number of the last. */
static uint64_t read_all(struct warder_subscription *subscription, uint64_t *ret_last)
{
	struct warder_event *event = NULL;
	struct warder_error err;
	uint64_t count = 0;

	for (;; count++) {
		must(warder_subscription_next(subscription, NULL, 0, &event, &err) == 0);
		if (!event)
			return count;
		must(events_check(event, &err) == 0 && event->sequence > 0);
		*ret_last = event->sequence;
		warder_event_free(event);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct warder_event event = { "t", "t", "p", NULL, NULL, WARDER_EVENT_BLOCKED, 1, 0 };
	struct warder_subscription *all = NULL, *later = NULL;
	uint64_t sequence, last = 0, receivers;
	struct warder_error err;

	if (!events)
		set_up();
	write_log(data, size);
	must(warder_events_subscribe(events, 0, &all, &err) == 0);
	must(warder_events_subscribe(events, WARDER_EVENTS_LATER, &later, &err) == 0);
	read_all(all, &last);
	must(read_all(later, &last) == 0);
	if (warder_events_publish(events, &event, &sequence, &receivers, &err) == 0) {
		must(receivers == 2);
		must(read_all(later, &last) == 1 && last == sequence);
		must(read_all(all, &last) == 1 && last == sequence);
	} else {
		must(err.code == WARDER_ERROR_UNAVAILABLE && err.text[0]);
	}
	warder_subscription_free(all);
	warder_subscription_free(later);
	return 0;
}
