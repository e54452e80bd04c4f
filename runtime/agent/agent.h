/*
 * agent: what stands around the execution of code for a model. The folder's door.
 *
 * Code blocks out of text (blocks), results into text and back (format), requests and who may make them (request, scopes), what
 * a program is judged by, and how (batch, compare, verdict), what is remembered between executions (context) and counted of them
 * (stats), tables that come inside of a conversation (datafile). Nothing in here starts a program or touches a file.
 */
#ifndef WARDER_RUNTIME_AGENT_AGENT_H
#define WARDER_RUNTIME_AGENT_AGENT_H

#include "runtime/agent/batch.h"
#include "runtime/agent/blocks.h"
#include "runtime/agent/compare.h"
#include "runtime/agent/context.h"
#include "runtime/agent/conversation.h"
#include "runtime/agent/datafile.h"
#include "runtime/agent/format.h"
#include "runtime/agent/request.h"
#include "runtime/agent/scopes.h"
#include "runtime/agent/stats.h"
#include "runtime/agent/verdict.h"

#endif
