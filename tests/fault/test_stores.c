/*
 * Stores of checkpoints and events whose writers are killed at random moments, of whom there are many at once, and whose disk is
 * full. What was acknowledged is there afterwards, and nothing is half.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include <criterion/criterion.h>

#include "store/checkpoints/checkpoints.h"
#include "store/events/events.h"
#include "tests/fault/stage.h"

#define WRITERS  3
#define CROWD    8
#define PAD_MOST 60000

/* What the writers tell, in memory that outlives them. */
struct told {
	uint64_t acknowledged[CROWD]; /* the number of the last one that was */
	uint64_t failed;
	struct warder_error err;
};

static struct told *told;
static char store[64];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	strcpy(store, "/tmp/warder-stores-XXXXXX");
	cr_assert(told != MAP_FAILED && mkdtemp(store) != NULL, "%d", errno);
}

static void tear_down(void)
{
	nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	munmap(told, sizeof(*told));
}

/* ---- writers ---- */

/* {"writer":1,"n":7,"pad":"xxx"}: of any length, so that small and large writes are interrupted. Heap. */
static char *content(int writer, uint64_t n)
{
	const int pad = (int)((n * 7919 + (uint64_t)writer * 104729) % 7 == 0 ? n * 7919 % PAD_MOST : n % 50);
	char *text = NULL;

	if (asprintf(&text, "{\"writer\":%d,\"n\":%llu,\"pad\":\"%0*d\"}", writer, (unsigned long long)n,
		     pad + 1, 0) < 0)
		_exit(9);
	return text;
}

static _Noreturn void give_up(const struct warder_error *err)
{
	told->err = *err;
	__atomic_add_fetch(&told->failed, 1, __ATOMIC_SEQ_CST);
	_exit(1);
}

/* Puts from the last acknowledged number on; opens the store anew now and then, so that this is interrupted, too. */
static void put_until(int writer, uint64_t most)
{
	struct warder_checkpoints *all = NULL;
	struct warder_error err;
	char thread[16];
	uint64_t n = 0;

	snprintf(thread, sizeof(thread), "w%d", writer);
	for (uint64_t i = 0; n < most; i++) {
		char *state;

		if (i % 5 == 0) {
			warder_checkpoints_free(all);
			if (warder_checkpoints_open(store, &all, &err) != 0)
				give_up(&err);
		}
		state = content(writer, __atomic_load_n(&told->acknowledged[writer], __ATOMIC_SEQ_CST) + 1);
		if (warder_thread_save(all, thread, state, strlen(state), &n, &err) != 0)
			give_up(&err);
		free(state);
		__atomic_store_n(&told->acknowledged[writer], n, __ATOMIC_SEQ_CST);
	}
	warder_checkpoints_free(all);
}

static void publish_until(int writer, uint64_t most)
{
	struct warder_events *events = NULL;
	struct warder_event event = { "", "topic", "me", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	struct warder_error err;
	char correlation_id[16];
	uint64_t n = 0;

	snprintf(correlation_id, sizeof(correlation_id), "w%d", writer);
	event.correlation_id = correlation_id;
	if (warder_events_open(store, "/srv/job", NULL, &events, &err) != 0)
		give_up(&err);
	while (n < most) {
		char *payload;

		n = __atomic_load_n(&told->acknowledged[writer], __ATOMIC_SEQ_CST) + 1;
		payload = content(writer, n);
		event.payload = payload;
		if (warder_events_publish(events, &event, NULL, NULL, &err) != 0)
			give_up(&err);
		free(payload);
		__atomic_store_n(&told->acknowledged[writer], n, __ATOMIC_SEQ_CST);
	}
	warder_events_free(events);
}

static pid_t start(void (*write_until)(int writer, uint64_t most), int writer, uint64_t most)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_until(writer, most);
		_exit(0);
	}
	return pid;
}

/* Longer where everything takes longer. */
static void pause_us(long us)
{
	const char *slow = getenv("WARDER_TEST_SLOW");

	us *= slow && atoi(slow) > 1 ? atoi(slow) : 1;
	nanosleep(&(struct timespec){ .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 }, NULL);
}

static uint64_t told_sum(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < WRITERS; i++)
		sum += __atomic_load_n(&told->acknowledged[i], __ATOMIC_SEQ_CST);
	return sum;
}

/* Writers for a random moment, and then none. */
static void interrupt(void (*write_until)(int writer, uint64_t most))
{
	pid_t pids[WRITERS];

	for (int i = 0; i < WRITERS; i++)
		pids[i] = start(write_until, i, UINT64_MAX);
	while (told_sum() == 0 && __atomic_load_n(&told->failed, __ATOMIC_SEQ_CST) == 0)
		pause_us(1000); /* so that there is something to lose */
	pause_us(1000 + rand() % 60000);
	for (int i = 0; i < WRITERS; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < WRITERS; i++)
		waitpid(pids[i], NULL, 0);
}

static void crowd(void (*write_until)(int writer, uint64_t most), uint64_t most)
{
	pid_t pids[CROWD];
	int status;

	for (int i = 0; i < CROWD; i++)
		pids[i] = start(write_until, i, most);
	for (int i = 0; i < CROWD; i++) {
		waitpid(pids[i], &status, 0);
		cr_expect(status == 0, "writer %d: status %x: %s", i, (unsigned)status, told->err.text);
	}
}

/* ---- what is there ---- */

static void expect_whole(struct warder_checkpoints *all)
{
	sqlite3_stmt *stmt = NULL;
	struct warder_error err;

	cr_assert(database_prepare(&all->db, "PRAGMA integrity_check", &stmt, &err) == 0, "%s", err.text);
	cr_expect(database_step(&all->db, stmt, &err) == 1 &&
		      strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") == 0,
		  "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
}

/* Versions from `from` on are there, one after the other, with the content that belongs to them. Returns the last. */
static uint64_t expect_contents(struct warder_checkpoints *all, int writer, uint64_t from)
{
	struct warder_checkpoint *found;
	struct warder_error err;
	char thread[16], which[32];
	uint64_t n = from;

	snprintf(thread, sizeof(thread), "w%d", writer);
	for (;; n++) {
		char *expected = content(writer, n);

		snprintf(which, sizeof(which), "@%llu", (unsigned long long)n);
		found = NULL;
		if (warder_checkpoint_get(all, thread, which, &found, &err) != 0) {
			cr_expect(err.code == WARDER_ERROR_NOT_FOUND, "%s", err.text);
			free(expected);
			break;
		}
		cr_expect(strcmp(found->state, expected) == 0, "writer %d, %llu", writer,
			  (unsigned long long)n);
		warder_checkpoint_free(found);
		free(expected);
	}
	found = NULL;
	if (n > 1)
		cr_expect(warder_checkpoint_get(all, thread, NULL, &found, &err) == 0 &&
			      found->version == n - 1,
			  "writer %d: the head is not the last", writer);
	warder_checkpoint_free(found);
	return n - 1;
}

static void no_limits(void)
{
	const struct warder_checkpoint_limits limits = { sizeof(limits), 0, 0, 0 };
	struct warder_checkpoints *all = NULL;
	struct warder_error err;

	cr_assert(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
	cr_assert(warder_checkpoints_set_limits(all, &limits, NULL, &err) == 0, "%s", err.text);
	warder_checkpoints_free(all);
}

/* What was acknowledged is there; the one that was under way may be, too, and counts from now on. */
static void settle_checkpoints(uint64_t checked[WRITERS])
{
	struct warder_checkpoints *all = NULL;
	struct warder_error err;

	cr_assert(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
	expect_whole(all);
	for (int i = 0; i < WRITERS; i++) {
		uint64_t last = expect_contents(all, i, checked[i] + 1);

		cr_expect(last == told->acknowledged[i] || last == told->acknowledged[i] + 1,
			  "writer %d: %llu are there, %llu were acknowledged", i, (unsigned long long)last,
			  (unsigned long long)told->acknowledged[i]);
		checked[i] = told->acknowledged[i] = last;
	}
	warder_checkpoints_free(all);
	cr_expect(told->failed == 0, "a writer failed: %s", told->err.text);
}

Test(stores, checkpoints_survive_kills, .timeout = 1800, .init = set_up, .fini = tear_down)
{
	uint64_t checked[WRITERS] = { 0 };
	const long rounds = stage_amount(3, 20, 200);

	srand((unsigned)getpid());
	no_limits();
	for (long i = 0; i < rounds; i++) {
		interrupt(put_until);
		settle_checkpoints(checked);
	}
	stage_note("%ld kills, %llu checkpoints", rounds * WRITERS,
		   (unsigned long long)(checked[0] + checked[1] + checked[2]));
	cr_expect(checked[0] + checked[1] + checked[2] > 0);
}

/* The file of the very first writer, and its schema, are interrupted as well. */
Test(stores, the_first_put_survives_kills, .timeout = 1800, .init = set_up, .fini = tear_down)
{
	const long rounds = stage_amount(3, 20, 200);
	char first[80];

	srand((unsigned)getpid());
	strcpy(first, store);
	for (long i = 0; i < rounds; i++) {
		uint64_t checked[WRITERS] = { 0 };
		pid_t pids[WRITERS];

		snprintf(store, sizeof(store), "%.40s/%ld", first, i);
		memset(told, 0, sizeof(*told));
		for (int k = 0; k < WRITERS; k++)
			pids[k] = start(put_until, k, UINT64_MAX);
		pause_us(rand() % 15000);
		for (int k = 0; k < WRITERS; k++)
			kill(pids[k], SIGKILL);
		for (int k = 0; k < WRITERS; k++)
			waitpid(pids[k], NULL, 0);
		settle_checkpoints(checked);
	}
	strcpy(store, first);
}

/* All of them find an empty place, and want to make the same file. */
Test(stores, eight_begin_at_once, .timeout = 600, .init = set_up, .fini = tear_down)
{
	const long rounds = stage_amount(3, 20, 200);
	char first[80];

	strcpy(first, store);
	for (long i = 0; i < rounds; i++) {
		snprintf(store, sizeof(store), "%.40s/%ld", first, i);
		memset(told, 0, sizeof(*told));
		crowd(put_until, 1);
	}
	strcpy(store, first);
}

Test(stores, eight_put_at_once, .timeout = 600, .init = set_up, .fini = tear_down)
{
	const uint64_t each = (uint64_t)stage_amount(10, 60, 500);
	struct warder_checkpoints *all = NULL;
	struct warder_error err;

	no_limits();
	crowd(put_until, each);
	cr_assert(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
	expect_whole(all);
	for (int i = 0; i < CROWD; i++)
		cr_expect(expect_contents(all, i, 1) == each, "writer %d", i);
	warder_checkpoints_free(all);
}

/* ---- events ---- */

/* The whole log: numbers without a gap, and of each writer contents without a gap. */
static uint64_t read_events(uint64_t counts[CROWD])
{
	struct warder_events *events = NULL;
	struct warder_subscription *all = NULL;
	struct warder_event *event = NULL;
	struct warder_error err;
	uint64_t sequence = 0;

	memset(counts, 0, sizeof(uint64_t) * CROWD);
	cr_assert(warder_events_open(store, "/srv/job", NULL, &events, &err) == 0, "%s", err.text);
	cr_assert(warder_events_subscribe(events, 0, &all, &err) == 0, "%s", err.text);
	while (warder_subscription_next(all, NULL, 0, &event, &err) == 0 && event) {
		const int writer = event->correlation_id[1] - '0';
		char *expected = content(writer, ++counts[writer]);

		cr_expect(event->sequence == ++sequence, "%llu after %llu",
			  (unsigned long long)event->sequence, (unsigned long long)sequence - 1);
		cr_expect(strcmp(event->payload, expected) == 0, "writer %d, %llu", writer,
			  (unsigned long long)counts[writer]);
		free(expected);
		warder_event_free(event);
	}
	cr_expect(warder_subscription_damaged(all) == 0, "%llu lines are not events",
		  (unsigned long long)warder_subscription_damaged(all));
	warder_subscription_free(all);
	warder_events_free(events);
	return sequence;
}

Test(stores, events_survive_kills, .timeout = 1800, .init = set_up, .fini = tear_down)
{
	const long rounds = stage_amount(3, 20, 200);
	uint64_t counts[CROWD], total = 0;

	srand((unsigned)getpid());
	for (long i = 0; i < rounds; i++) {
		interrupt(publish_until);
		total = read_events(counts);
		for (int k = 0; k < WRITERS; k++) {
			cr_expect(counts[k] == told->acknowledged[k] ||
				      counts[k] == told->acknowledged[k] + 1,
				  "writer %d: %llu are there, %llu were acknowledged", k,
				  (unsigned long long)counts[k], (unsigned long long)told->acknowledged[k]);
			told->acknowledged[k] = counts[k];
		}
	}
	cr_expect(told->failed == 0, "a writer failed: %s", told->err.text);
	cr_expect(total > 0);
	stage_note("%ld kills, %llu events", rounds * WRITERS, (unsigned long long)total);
}

Test(stores, eight_publish_at_once, .timeout = 600, .init = set_up, .fini = tear_down)
{
	const uint64_t each = (uint64_t)stage_amount(20, 100, 1000);
	uint64_t counts[CROWD];

	crowd(publish_until, each);
	cr_expect(read_events(counts) == CROWD * each);
	for (int i = 0; i < CROWD; i++)
		cr_expect(counts[i] == each, "writer %d: %llu", i, (unsigned long long)counts[i]);
}

/* ---- a full disk ---- */

/* A small file system of this process' own in the place of the store. */
static bool mount_small(const char *size)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%s,mode=700", size);
	if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("tmpfs", store, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0)
		return true;
	fprintf(stderr, "skipped: needs the right to mount a small file system\n");
	return false;
}

static void leave_small(void)
{
	umount2(store, MNT_DETACH);
}

/* Take all that is left; returns the path of the file. */
static const char *fill(void)
{
	static char path[128], zeros[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/filler", store);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (size_t size = sizeof(zeros); size > 0;) {
		if (write(fd, zeros, size) != (ssize_t)size)
			size /= 2;
	}
	close(fd);
	return path;
}

static void expect_full(const char *what, const struct warder_error *err)
{
	cr_expect(err->code == WARDER_ERROR_UNAVAILABLE && err->sys_errno == ENOSPC &&
		      strstr(err->text, "storage full"),
		  "%s: %s", what, err->text);
}

/* Put until the disk is full, after the n that are there; how many there are then. */
static uint64_t put_all(struct warder_checkpoints *all, uint64_t n, struct warder_error *err)
{
	char *state;
	int status;

	do {
		state = content(0, n + 1);
		status = warder_thread_save(all, "w0", state, strlen(state), NULL, err);
		free(state);
		n += status == 0;
	} while (status == 0 && n < 100000);
	return n;
}

Test(stores, checkpoints_on_a_full_disk, .timeout = 300, .init = set_up, .fini = tear_down)
{
	struct warder_checkpoints *all = NULL;
	struct warder_error err = { 0 };
	uint64_t n = 0;

	if (!mount_small("3m"))
		return;
	no_limits();
	/* Who closes the file empties its log, so that the next one finds room for some more. */
	for (int i = 0; i < 3; i++) {
		cr_assert(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
		n = put_all(all, n, &err);
		cr_expect(n > 10 && n < 100000, "%llu", (unsigned long long)n);
		expect_full("put", &err);
		cr_expect(expect_contents(all, 0, 1) == n, "what was there stays");
		expect_whole(all);
		warder_checkpoints_free(all);
		all = NULL;
	}
	leave_small();
}

Test(stores, checkpoints_when_there_is_room_again, .timeout = 300, .init = set_up, .fini = tear_down)
{
	struct warder_checkpoints *all = NULL;
	struct warder_error err = { 0 };
	const char *filler;
	uint64_t n, more;

	if (!mount_small("3m"))
		return;
	no_limits();
	cr_assert(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
	filler = fill();
	n = put_all(all, 0, &err);
	expect_full("put", &err);
	cr_assert(unlink(filler) == 0);
	for (more = 0; more < 3; more++) {
		char *state = content(0, n + 1 + more);

		cr_expect(warder_thread_save(all, "w0", state, strlen(state), NULL, &err) == 0, "%s",
			  err.text);
		free(state);
	}
	cr_expect(expect_contents(all, 0, 1) == n + more);
	expect_whole(all);
	warder_checkpoints_free(all);
	leave_small();
}

Test(stores, a_store_that_begins_on_a_full_disk, .timeout = 300, .init = set_up, .fini = tear_down)
{
	struct warder_checkpoints *all = NULL;
	struct warder_events *events = NULL;
	struct warder_error err = { 0 };
	const char *filler;

	if (!mount_small("1m"))
		return;
	filler = fill();
	cr_expect(warder_checkpoints_open(store, &all, &err) != 0);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && err.sys_errno == ENOSPC, "%d: %s", err.sys_errno,
		  err.text);
	cr_expect(warder_events_open(store, "/srv/job", NULL, &events, &err) != 0);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && err.sys_errno == ENOSPC, "%d: %s", err.sys_errno,
		  err.text);
	cr_assert(unlink(filler) == 0);
	cr_expect(warder_checkpoints_open(store, &all, &err) == 0, "%s", err.text);
	cr_expect(warder_thread_save(all, "t", "{}", 2, NULL, &err) == 0, "%s", err.text);
	cr_expect(warder_events_open(store, "/srv/job", NULL, &events, &err) == 0, "%s", err.text);
	warder_checkpoints_free(all);
	warder_events_free(events);
	leave_small();
}

Test(stores, events_on_a_full_disk, .timeout = 300, .init = set_up, .fini = tear_down)
{
	struct warder_event event = { "w0", "topic", "me", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	struct warder_events *events = NULL;
	struct warder_error err = { 0 };
	uint64_t counts[CROWD], n = 0;
	const char *filler;
	int status;

	if (!mount_small("1m"))
		return;
	cr_assert(warder_events_open(store, "/srv/job", NULL, &events, &err) == 0, "%s", err.text);
	filler = fill();
	cr_assert(truncate(filler, 600000) == 0);
	do {
		char *payload = content(0, n + 1);

		event.payload = payload;
		status = warder_events_publish(events, &event, NULL, NULL, &err);
		n += status == 0;
		free(payload);
	} while (status == 0 && n < 100000);
	expect_full("publish", &err);
	cr_expect(n > 10, "%llu", (unsigned long long)n);
	cr_expect(read_events(counts) == n, "what was there stays, and nothing is half");
	cr_assert(unlink(filler) == 0);
	event.payload = content(0, n + 1);
	cr_expect(warder_events_publish(events, &event, NULL, NULL, &err) == 0, "%s", err.text);
	free((void *)event.payload);
	cr_expect(read_events(counts) == n + 1);
	warder_events_free(events);
	leave_small();
}
