/*
 * The store's library under many threads at once: one handle for all, or a handle for each on one store. Also built with the
 * thread sanitizer (make tsan), which sees two threads meet also where nothing went wrong this time.
 */
#include "store/warder-store.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define THREADS 4
#define ROUNDS  10

static char store[64];
static struct warder_error err;

/* What every thread of a test is given. Expectations are the main thread's: the others count. */
struct shared {
	pthread_barrier_t start;
	struct warder_checkpoints *checkpoints; /* NULL: each opens its own */
	struct warder_events *events;           /* the same */
	atomic_int right, number;
	_Atomic(const char *) wrong; /* of one that failed */
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	strcpy(store, "/tmp/warder-threads-XXXXXX");
	cr_assert(mkdtemp(store));
}

static void tear_down(void)
{
	nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* Start `body` in THREADS threads, wait for all, and compare how often it went right. */
static void in_threads(struct shared *shared, void *(*body)(void *shared), int right)
{
	pthread_t threads[THREADS];

	cr_assert(pthread_barrier_init(&shared->start, NULL, THREADS) == 0);
	for (size_t i = 0; i < THREADS; i++)
		cr_assert(pthread_create(&threads[i], NULL, body, shared) == 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&shared->start);
	cr_expect(atomic_load(&shared->right) == right, "%d of %d went right: %s",
		  atomic_load(&shared->right), right,
		  atomic_load(&shared->wrong) ? atomic_load(&shared->wrong) : "nothing was told");
}

/* Counts what went right; keeps a copy of one error, for good. */
static void tell(struct shared *shared, bool good, const struct warder_error *own)
{
	const char *none = NULL;
	char *text;

	if (good) {
		atomic_fetch_add(&shared->right, 1);
		return;
	}
	text = strdup(own->text);
	if (!atomic_compare_exchange_strong(&shared->wrong, &none, text))
		free(text);
}

/* ---- checkpoints ---- */

static bool save_and_load(struct warder_checkpoints *checkpoints, int number, int round,
			  struct warder_error *own)
{
	char thread[32], state[64], *found = NULL;
	bool same;

	snprintf(thread, sizeof(thread), "thread %d", number);
	snprintf(state, sizeof(state), "{\"round\": %d}", round);
	if (warder_thread_save(checkpoints, thread, state, strlen(state), NULL, own) != 0 ||
	    warder_thread_save(checkpoints, "everybody's", state, strlen(state), NULL, own) != 0 ||
	    warder_thread_load(checkpoints, thread, &found, NULL, own) != 0)
		return false;
	same = strcmp(found, state) == 0;
	free(found);
	return same;
}

static void *keep_states(void *context)
{
	struct shared *shared = context;
	struct warder_checkpoints *checkpoints = shared->checkpoints;
	struct warder_error own = { 0 };
	int number = atomic_fetch_add(&shared->number, 1);

	pthread_barrier_wait(&shared->start);
	if (!checkpoints && warder_checkpoints_open(store, &checkpoints, &own) != 0) {
		tell(shared, false, &own);
		return NULL;
	}
	for (int i = 0; i < ROUNDS; i++)
		tell(shared, save_and_load(checkpoints, number, i, &own), &own);
	if (!shared->checkpoints)
		warder_checkpoints_free(checkpoints);
	return NULL;
}

static void expect_everybodys(void)
{
	struct warder_checkpoints *checkpoints = NULL;
	struct warder_checkpoint *head = NULL;

	cr_assert(warder_checkpoints_open(store, &checkpoints, &err) == 0, "%s", err.text);
	cr_assert(warder_checkpoint_get(checkpoints, "everybody's", NULL, &head, &err) == 0, "%s", err.text);
	cr_expect(head->version == THREADS * ROUNDS, "version %d", (int)head->version);
	warder_checkpoint_free(head);
	warder_checkpoints_free(checkpoints);
}

Test(store_threads, checkpoints_by_one_handle, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	cr_assert(warder_checkpoints_open(store, &shared.checkpoints, &err) == 0, "%s", err.text);
	in_threads(&shared, keep_states, THREADS * ROUNDS);
	warder_checkpoints_free(shared.checkpoints);
	expect_everybodys();
	tear_down();
}

Test(store_threads, checkpoints_by_a_handle_each, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	in_threads(&shared, keep_states, THREADS * ROUNDS);
	expect_everybodys();
	tear_down();
}

/* ---- events ---- */

/* All that anybody says has to be heard by everybody, in the order of the numbers. */
static int hear_all(struct warder_subscription *subscription, struct warder_error *own)
{
	struct warder_event *event = NULL;
	uint64_t heard = 0;

	while (heard < THREADS * ROUNDS &&
	       warder_subscription_next(subscription, NULL, 60000, &event, own) == 0 && event &&
	       event->sequence == heard + 1) {
		heard++;
		warder_event_free(event);
		event = NULL;
	}
	warder_event_free(event);
	return (int)heard;
}

static void *say_and_hear(void *context)
{
	static const struct warder_event event = {
		"work", "topic", "me", NULL, "{\"a\": 1}", WARDER_EVENT_NEED_WORK, 0, 0
	};
	struct shared *shared = context;
	struct warder_events *events = shared->events;
	struct warder_subscription *subscription = NULL;
	struct warder_error own = { 0 };

	pthread_barrier_wait(&shared->start);
	if ((!events && warder_events_open(store, "/srv/job", NULL, &events, &own) != 0) ||
	    warder_events_subscribe(events, 0, &subscription, &own) != 0) {
		tell(shared, false, &own);
		return NULL;
	}
	for (int i = 0; i < ROUNDS; i++)
		tell(shared, warder_events_publish(events, &event, NULL, NULL, &own) == 0, &own);
	tell(shared, hear_all(subscription, &own) == THREADS * ROUNDS, &own);
	warder_subscription_free(subscription);
	if (!shared->events)
		warder_events_free(events);
	return NULL;
}

Test(store_threads, events_by_one_handle, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	cr_assert(warder_events_open(store, "/srv/job", NULL, &shared.events, &err) == 0, "%s", err.text);
	in_threads(&shared, say_and_hear, THREADS * (ROUNDS + 1));
	warder_events_free(shared.events);
	tear_down();
}

Test(store_threads, events_by_a_handle_each, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	in_threads(&shared, say_and_hear, THREADS * (ROUNDS + 1));
	tear_down();
}

/* ---- artifacts and workspaces ---- */

static bool keep_and_read(const char *name, const char *content, struct warder_error *own)
{
	char *found = NULL;
	uint64_t version = 0;
	size_t len = 0;
	bool same;

	if (warder_artifact_save(store, name, NULL, content, strlen(content), &version, own) != 0 ||
	    warder_artifact_read(store, name, 4096, &found, &len, own) != 0)
		return false;
	same = version > 0 && len == strlen(content);
	free(found);
	return same;
}

static void *keep_artifacts(void *context)
{
	struct shared *shared = context;
	struct warder_error own = { 0 };
	int number = atomic_fetch_add(&shared->number, 1);
	char name[32];

	snprintf(name, sizeof(name), "own-%d.txt", number);
	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++) {
		tell(shared, keep_and_read(name, "the same content everywhere", &own), &own);
		tell(shared, keep_and_read("shared.txt", "the same content everywhere", &own), &own);
	}
	return NULL;
}

Test(store_threads, artifacts, .timeout = 300)
{
	struct shared shared = { .right = 0 };
	uint64_t version = 0;

	set_up();
	in_threads(&shared, keep_artifacts, THREADS * ROUNDS * 2);
	cr_assert(warder_artifact_save(store, "shared.txt", NULL, "x", 1, &version, &err) == 0, "%s",
		  err.text);
	cr_expect(version == THREADS * ROUNDS + 1, "version %d", (int)version);
	tear_down();
}

/* In a workspace of everybody's and by a handle of one's own; then a snapshot of another. */
static bool use_workspaces(int number, struct warder_error *own)
{
	struct warder_workspace *workspace = NULL;
	char id[32], snapshot[WARDER_SNAPSHOT_ID], *found = NULL;
	size_t len = 0;
	bool good;

	snprintf(id, sizeof(id), "job-%d", number);
	if (warder_workspace_open(store, "everybodys", &workspace, own) != 0)
		return false;
	good = warder_workspace_put(workspace, id, 0, id, strlen(id), own) == 0 &&
	       warder_workspace_read(workspace, id, 4096, &found, &len, own) == 0 && strcmp(found, id) == 0;
	free(found);
	warder_workspace_free(workspace);
	if (!good || warder_workspace_open(store, id, &workspace, own) != 0)
		return false;
	good = warder_workspace_put(workspace, "file", 0, id, strlen(id), own) == 0;
	warder_workspace_free(workspace);
	return good && warder_snapshot_make(store, id, 1, 1 << 20, snapshot, own) == 0 &&
	       warder_snapshot_verify(store, snapshot, own) == 0;
}

static void *work_in_workspaces(void *context)
{
	struct shared *shared = context;
	struct warder_error own = { 0 };
	int number = atomic_fetch_add(&shared->number, 1);

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < 3; i++)
		tell(shared, use_workspaces(number, &own), &own);
	return NULL;
}

Test(store_threads, workspaces, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	in_threads(&shared, work_in_workspaces, THREADS * 3);
	tear_down();
}

/* ---- images ---- */

static char tree[96]; /* a root file system of one file */

static void make_tree(void)
{
	char path[128];
	FILE *file;

	snprintf(tree, sizeof(tree), "%s/tree", store);
	snprintf(path, sizeof(path), "%s/file", tree);
	cr_assert(mkdir(tree, 0755) == 0);
	file = fopen(path, "we");
	cr_assert(file && fputs("content", file) >= 0 && fclose(file) == 0);
}

static bool import(const char *images, const char *name, struct warder_error *own)
{
	const struct warder_image_import what = { .size = sizeof(what), .source = tree, .name = name };
	char *json = NULL;
	bool good = warder_image_import(images, &what, &json, own) == 0 && strstr(json, name);

	free(json);
	return good;
}

/* One of its own, which comes and goes, and everybody's, which stays: both of the same layer, which is collected beside. */
static bool use_images(int number, struct warder_error *own)
{
	char images[128], name[32], *list = NULL;
	bool good;

	snprintf(images, sizeof(images), "%s/images", store);
	snprintf(name, sizeof(name), "own-%d", number);
	if (!import(images, name, own) || !import(images, "everybodys", own) ||
	    warder_image_list(images, &list, own) != 0)
		return false;
	good = strstr(list, name) && strstr(list, "everybodys");
	free(list);
	if (!good)
		snprintf(own->text, sizeof(own->text), "an image that was imported is not in the list");
	return good && warder_image_verify(images, "everybodys", NULL, own) == 0 &&
	       warder_image_remove(images, name, NULL, own) == 0 && warder_image_gc(images, NULL, own) == 0 &&
	       warder_image_inspect(images, "everybodys", NULL, own) == 0;
}

static void *keep_images(void *context)
{
	struct shared *shared = context;
	struct warder_error own = { 0 };
	int number = atomic_fetch_add(&shared->number, 1);

	pthread_barrier_wait(&shared->start);
	for (int i = 0; i < ROUNDS; i++)
		tell(shared, use_images(number, &own), &own);
	return NULL;
}

Test(store_threads, images, .timeout = 300)
{
	struct shared shared = { .right = 0 };

	set_up();
	make_tree();
	in_threads(&shared, keep_images, THREADS * ROUNDS);
	tear_down();
}
