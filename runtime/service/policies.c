/*
 * The policies that clients have sent last. Clients send the same few policies again and again, as text, and reading one takes as long as the
 * rest of a request. Equal texts are equal policies, so the policy of an earlier request serves, too. Nobody changes a policy that is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/service/policies.h"
#include "runtime/warder.h"

#define TEXT_MAX ((size_t)64 << 10) /* bytes of a policy that is kept */

static struct policies_row *find_text(struct policies *policies, const char *text)
{
	for (size_t i = 0; i < POLICIES_KEPT; i++)
		if (policies->rows[i].text && strcmp(policies->rows[i].text, text) == 0)
			return &policies->rows[i];
	return NULL;
}

/* The row that nobody uses, and whose last use is longest ago; NULL: all are in use. */
static struct policies_row *find_oldest(struct policies *policies)
{
	struct policies_row *oldest = NULL;

	for (size_t i = 0; i < POLICIES_KEPT; i++) {
		struct policies_row *row = &policies->rows[i];

		if (!row->users && (!oldest || row->used < oldest->used))
			oldest = row;
	}
	return oldest;
}

static void use(struct policies *policies, struct policies_row *row)
{
	row->users++;
	row->used = ++policies->uses;
}

static void clear(struct policies_row *row)
{
	free(row->text);
	warder_policy_free(row->policy);
	*row = (struct policies_row){ 0 };
}

/* A policy that is not kept belongs to the request alone. */
static void keep(struct policies *policies, const char *text, struct warder_policy *policy)
{
	struct policies_row *row =
	    strlen(text) > TEXT_MAX || find_text(policies, text) ? NULL : find_oldest(policies);
	char *copy = row ? strdup(text) : NULL;

	if (!copy)
		return;
	clear(row);
	*row = (struct policies_row){ .text = copy, .policy = policy };
	use(policies, row);
}

int policies_take(struct policies *policies, const char *text, struct warder_policy **ret,
		  struct warder_error *err)
{
	struct policies_row *row;

	pthread_mutex_lock(&policies->lock);
	row = find_text(policies, text);
	if (row) {
		use(policies, row);
		*ret = row->policy;
	}
	pthread_mutex_unlock(&policies->lock);
	if (row)
		return 0;
	if (warder_policy_parse(text, strlen(text), NULL, ret, err) != 0)
		return -1;
	pthread_mutex_lock(&policies->lock);
	keep(policies, text, *ret);
	pthread_mutex_unlock(&policies->lock);
	return 0;
}

void policies_give_back(struct policies *policies, struct warder_policy *policy)
{
	bool is_kept = false;

	if (!policy)
		return;
	pthread_mutex_lock(&policies->lock);
	for (size_t i = 0; i < POLICIES_KEPT; i++) {
		if (policies->rows[i].policy != policy)
			continue;
		policies->rows[i].users--;
		is_kept = true;
	}
	pthread_mutex_unlock(&policies->lock);
	if (!is_kept)
		warder_policy_free(policy);
}

void policies_done(struct policies *policies)
{
	for (size_t i = 0; i < POLICIES_KEPT; i++)
		clear(&policies->rows[i]);
}
