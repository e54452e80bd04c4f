/*
 * engine: a container that an engine's command line starts, beside its monitor. Private to backends/.
 *
 * An engine is a row of the table in engine.c: which programs it needs, and a function that writes its command lines. These are
 * carried out by engine_up() in the monitor. Nothing is shared between two runs.
 */
#ifndef WARDER_BACKENDS_CONTAINER_ENGINE_H
#define WARDER_BACKENDS_CONTAINER_ENGINE_H

#include "backends/container/container_monitor.h"

/* Where the engine finds what it is told of on its command line. */
#define ENGINE_BARE                                                                                          \
	LAYOUT_DIR "/bare"      /* what a root needs until the plan's takes its place: init and its door */
#define ENGINE_INIT     "/init" /* in there */
#define ENGINE_PLAN     "/plan" /* in there: where the plan's root comes */
#define ENGINE_BOOKS    LAYOUT_DIR "/engine"       /* for all that it remembers */
#define ENGINE_SOCKET   ENGINE_BOOKS "/socket"     /* of a daemon */
#define ENGINE_EMPTY    LAYOUT_DIR "/empty"        /* a directory for /sys, with a place for control groups */
#define ENGINE_IMAGE    LAYOUT_DIR "/empty.tar"    /* an archive without members */
#define ENGINE_SETTINGS LAYOUT_DIR "/engine.conf"  /* instead of the host's */
#define ENGINE_PROFILE  LAYOUT_DIR "/seccomp.json" /* of the policy */
#define ENGINE_RUNTIME  "crun"                     /* the one that can do without control groups of its own */

#define ENGINE_PROGRAMS_MAX 6
#define ENGINE_WORDS_MAX    128
#define ENGINE_USER         "warder" /* whom the ids of the run belong to, where an engine asks by name */

/* A command line; words are borrowed. */
struct engine_line {
	const char *words[ENGINE_WORDS_MAX]; /* NULL at the end */
	size_t count;
	bool full; /* a word had no place */
};

/* What is carried out, in this order. */
struct engine_task {
	const char *settings, *profile; /* texts of the files */
	char users[256],
	    ids[64]; /* as /etc/passwd and /etc/subuid of the engine's host; "": the host's own */
	struct engine_line daemon;  /* goes on running; no words: none */
	struct engine_line prepare; /* no words: nothing */
	struct engine_line run;     /* starts a container with ENGINE_INIT as its program, and ends */
	char paths[ENGINE_PROGRAMS_MAX][128]; /* of the engine's programs, in their order */
	char name[112], hostname[80], map[64], user[32];
	char text[320], door[160]; /* for words and files of compose() */
};

struct engine {
	const char *name;
	const char *programs
	    [ENGINE_PROGRAMS_MAX]; /* that it needs; the first is its command, the second the runtime */
	bool lacks_host_network; /* it does not let a container with ids of its own have the host's network */
	/* Write the lines; what is in the task already is paths, name, hostname, map ("0:first:count"), user ("uid:gid"). */
	void (*compose)(const struct jail_start *start, struct engine_task *task);
};

extern const struct engine engine_podman, engine_docker;

static inline void engine_put(struct engine_line *line, const char *word)
{
	if (line->count + 1 < ENGINE_WORDS_MAX)
		line->words[line->count++] = word;
	else
		line->full = true;
}

/* A NULL-terminated row. */
static inline void engine_put_all(struct engine_line *line, const char *const *words)
{
	while (*words)
		engine_put(line, *words++);
}

/* As container_monitor_task's up(), with a struct engine_task as its `engine`. */
int engine_up(const struct container_monitor_task *task, struct layout *layout, int socket);

#endif
