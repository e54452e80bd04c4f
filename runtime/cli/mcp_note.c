#include "runtime/cli/mcp_note.h"

#include <signal.h>
#include <string.h>

#include "runtime/cli/ending.h"

#define LOOK_US UINT64_C(100000)

enum state { WAITS, RUNS, DONE, CANCELLED };

static bool change(struct mcp_note_request *request, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong(&request->state, &from, to);
}

void mcp_note_add(struct mcp_note *note, const char *id)
{
	if (note->request_count < MCP_BATCH_MAX)
		strcpy(note->requests[note->request_count++].id, id);
}

bool mcp_note_begin(struct mcp_note *note, uint32_t index)
{
	return change(&note->requests[index], WAITS, RUNS);
}

bool mcp_note_end(struct mcp_note *note, uint32_t index)
{
	if (change(&note->requests[index], RUNS, DONE))
		return true;
	while (!ending_signal()) /* it is on its way */
		ending_sleep(LOOK_US);
	ending_forget();
	return false;
}

void mcp_note_cancel(struct mcp_note *note, pid_t pid, const char *id)
{
	for (uint32_t i = 0; i < note->request_count && i < MCP_BATCH_MAX; i++) {
		struct mcp_note_request *request = &note->requests[i];

		if (strcmp(request->id, id) != 0 || change(request, WAITS, CANCELLED))
			continue;
		if (change(request, RUNS, CANCELLED))
			kill(pid, SIGTERM);
	}
}

bool mcp_note_is_cancelled(struct mcp_note *note)
{
	for (uint32_t i = 0; i < note->request_count && i < MCP_BATCH_MAX; i++)
		if (atomic_load(&note->requests[i].state) != CANCELLED)
			return false;
	return note->request_count > 0;
}
