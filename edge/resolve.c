#include "edge/resolve.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <time.h>

#define HOSTS_MAX  (1 << 20) /* bytes of /etc/hosts that are read */
#define TIMEOUT_MS 2000
#define TRIES      3
#define KEPT_MAX   64 /* names */
#define KEPT_S     30 /* at most, whatever the answer says */

/* An answer, as long as its records say. */
struct kept {
	char name[260];
	struct resolved addresses[RESOLVED_MAX];
	size_t count;
	time_t until;
};

struct resolver {
	ares_channel channel;
	void (*watch)(int fd, bool reads, bool writes);
	char *hosts; /* the file's text, or NULL */
	struct kept kept[KEPT_MAX];
	size_t next_kept;
	struct question *asked; /* of different names */
};

struct question {
	struct resolver *resolver;
	char name[260];
	int family;
	void (*done)(void *context, const struct resolved *addresses, size_t count);
	void *context;
	struct question *next; /* of those that are asked; or of the same name */
	struct question *same; /* which wait for this one's answer */
};

static void on_socket(void *data, ares_socket_t fd, int reads, int writes)
{
	const struct resolver *resolver = data;

	resolver->watch((int)fd, reads, writes);
}

static char *read_hosts(void)
{
	FILE *file = fopen("/etc/hosts", "re");
	char *text = file ? malloc(HOSTS_MAX) : NULL;
	const size_t len = text ? fread(text, 1, HOSTS_MAX - 1, file) : 0;

	if (file)
		fclose(file);
	if (text)
		text[len] = '\0';
	return text;
}

struct resolver *resolve_init(void (*watch)(int fd, bool reads, bool writes))
{
	char lookups[] = "b"; /* DNS alone: the root that the process will have has no file */
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	struct ares_options options = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = TIMEOUT_MS,
		.tries = TRIES,
		.lookups = lookups,
		.sock_state_cb = on_socket,
		.sock_state_cb_data = resolver,
	};

	if (!resolver)
		return NULL;
	resolver->watch = watch;
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS ||
	    ares_init_options(&resolver->channel, &options,
			      ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS |
				  ARES_OPT_SOCK_STATE_CB) != ARES_SUCCESS) {
		free(resolver);
		return NULL;
	}
	resolver->hosts = read_hosts();
	return resolver;
}

static bool parse_address(const char *text, struct resolved *ret)
{
	*ret = (struct resolved){ .is_v6 = strchr(text, ':') != NULL };
	return inet_pton(ret->is_v6 ? AF_INET6 : AF_INET, text, ret->address) == 1;
}

/* A line of the file, which is changed: an address, then names. */
static bool line_has(char *line, const char *name, struct resolved *ret)
{
	char *left = NULL;
	const char *word;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &left);
	if (!word || !parse_address(word, ret))
		return false;
	while ((word = strtok_r(NULL, " \t\r", &left)))
		if (strcasecmp(word, name) == 0)
			return true;
	return false;
}

static size_t find_in_hosts(const struct resolver *resolver, const char *name, struct resolved *ret)
{
	const char *at = resolver->hosts;
	size_t count = 0;

	while (at && *at && count < RESOLVED_MAX) {
		const size_t length = strcspn(at, "\n");
		char line[1024];

		snprintf(line, sizeof(line), "%.*s", (int)(length < 1023 ? length : 1023), at);
		count += line_has(line, name, &ret[count]);
		at += length + (at[length] == '\n');
	}
	return count;
}

static void ask(struct question *question);

static size_t take_addresses(const struct ares_addrinfo *result, struct resolved *ret)
{
	size_t count = 0;

	for (const struct ares_addrinfo_node *node = result->nodes; node && count < RESOLVED_MAX;
	     node = node->ai_next) {
		struct resolved *row = &ret[count];

		*row = (struct resolved){ .is_v6 = node->ai_family == AF_INET6 };
		if (node->ai_family == AF_INET)
			memcpy(row->address,
			       &((const struct sockaddr_in *)(const void *)node->ai_addr)->sin_addr, 4);
		else if (node->ai_family == AF_INET6)
			memcpy(row->address,
			       &((const struct sockaddr_in6 *)(const void *)node->ai_addr)->sin6_addr, 16);
		else
			continue;
		count++;
	}
	return count;
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static int shortest_ttl(const struct ares_addrinfo *result)
{
	int ttl = KEPT_S;

	for (const struct ares_addrinfo_node *node = result->nodes; node; node = node->ai_next)
		if (node->ai_ttl < ttl)
			ttl = node->ai_ttl;
	return ttl;
}

static void keep(struct resolver *resolver, const char *name, const struct resolved *addresses, size_t count,
		 int ttl)
{
	struct kept *row = &resolver->kept[resolver->next_kept];

	if (ttl <= 0 || count == 0)
		return;
	resolver->next_kept = (resolver->next_kept + 1) % KEPT_MAX;
	snprintf(row->name, sizeof(row->name), "%s", name);
	memcpy(row->addresses, addresses, count * sizeof(*addresses));
	row->count = count;
	row->until = now_s() + ttl;
}

static const struct kept *find_kept(const struct resolver *resolver, const char *name)
{
	const time_t now = now_s();

	for (size_t i = 0; i < KEPT_MAX; i++)
		if (resolver->kept[i].until > now && strcmp(resolver->kept[i].name, name) == 0)
			return &resolver->kept[i];
	return NULL;
}

/* Nothing is asked for the name any more: what is told may ask anew. */
static void finish(struct question *question, const struct resolved *addresses, size_t count)
{
	struct question **at = &question->resolver->asked;
	struct question *next;

	while (*at != question)
		at = &(*at)->next;
	*at = question->next;
	question->next = question->same;
	for (; question; question = next) {
		next = question->next;
		question->done(question->context, addresses, count);
		free(question);
	}
}

static void on_answer(void *arg, int status, int timeouts, struct ares_addrinfo *result)
{
	struct resolved addresses[RESOLVED_MAX];
	struct question *question = arg;
	size_t count = 0;

	(void)timeouts;
	if (status == ARES_SUCCESS && result)
		count = take_addresses(result, addresses);
	if (count)
		keep(question->resolver, question->name, addresses, count, shortest_ttl(result));
	if (result)
		ares_freeaddrinfo(result);
	/* The host may have the name with an IPv6 address alone. */
	if (count == 0 && question->family == AF_INET && (status == ARES_ENODATA || status == ARES_SUCCESS)) {
		question->family = AF_INET6;
		ask(question);
		return;
	}
	finish(question, addresses, count);
}

static void ask(struct question *question)
{
	const struct ares_addrinfo_hints hints = {
		.ai_flags = ARES_AI_NOSORT,
		.ai_family = question->family,
		.ai_socktype = SOCK_STREAM,
	};

	ares_getaddrinfo(question->resolver->channel, question->name, NULL, &hints, on_answer, question);
}

void resolve_start(struct resolver *resolver, const char *name,
		   void (*done)(void *context, const struct resolved *addresses, size_t count), void *context)
{
	struct resolved addresses[RESOLVED_MAX];
	const struct kept *kept = find_kept(resolver, name);
	const size_t count = kept ? 0 : find_in_hosts(resolver, name, addresses);
	struct question *question = count || kept ? NULL : malloc(sizeof(*question));

	if (kept) {
		done(context, kept->addresses, kept->count);
		return;
	}
	keep(resolver, name, addresses, count, KEPT_S);
	if (!question) {
		done(context, addresses, count);
		return;
	}
	*question =
	    (struct question){ .resolver = resolver, .family = AF_INET, .done = done, .context = context };
	snprintf(question->name, sizeof(question->name), "%s", name);
	for (struct question *other = resolver->asked; other; other = other->next)
		if (strcmp(other->name, name) == 0) {
			question->next = other->same;
			other->same = question;
			return;
		}
	question->next = resolver->asked;
	resolver->asked = question;
	ask(question);
}

int resolve_timeout(struct resolver *resolver)
{
	struct timeval left;

	if (!ares_timeout(resolver->channel, NULL, &left))
		return -1;
	return (int)(left.tv_sec * 1000 + left.tv_usec / 1000 + 1);
}

void resolve_step(struct resolver *resolver, int fd, bool reads, bool writes)
{
	ares_process_fd(resolver->channel, reads ? fd : ARES_SOCKET_BAD, writes ? fd : ARES_SOCKET_BAD);
}
