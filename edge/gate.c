#include "edge/gate.h"

#include <stdio.h>
#include <string.h>

#include "edge/hello.h"

_Static_assert(GATE_HELD_MAX > HELLO_MAX_RAW && GATE_HELD_MAX > HTTP_HEAD_MAX,
	       "what a decision needs is held");

static bool is_strict(uint16_t port)
{
	return port == 80 || port == 443;
}

static int check_hello(struct gate *gate, const char *name, const uint8_t *bytes, size_t len,
		       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other)
{
	char asked[256];

	*ret_pass = 0;
	switch (hello_read(bytes, len, asked, ret_why)) {
	case HELLO_MORE:
		return 0;
	case HELLO_REFUSED:
		return -1;
	case HELLO_NAMED:
		break;
	}
	if (strcmp(asked, name) != 0) {
		*ret_why = EDGE_REASON_OTHER_NAME;
		snprintf(ret_other, 128, "%.127s", asked);
		return -1;
	}
	gate->state = GATE_OPEN;
	*ret_pass = len;
	return 0;
}

int gate_check(struct gate *gate, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other)
{
	*ret_pass = 0;
	*ret_other = '\0';
	if (len == 0)
		return 0;
	if (gate->state == GATE_FIRST && bytes[0] == 22 && (is_strict(port) || len < 2 || bytes[1] == 3))
		return check_hello(gate, name, bytes, len, ret_pass, ret_why, ret_other);
	if (gate->state == GATE_FIRST) {
		switch (http_is(bytes, len)) {
		case HTTP_MAYBE:
			return 0;
		case HTTP_YES:
			gate->state = GATE_HTTP;
			break;
		case HTTP_NO:
			if (is_strict(port)) {
				*ret_why = EDGE_REASON_FIRST_BYTES;
				return -1;
			}
			gate->state = GATE_OPEN;
			break;
		}
	}
	if (gate->state == GATE_HTTP)
		return http_check(&gate->http, name, port, bytes, len, ret_pass, ret_why, ret_other);
	*ret_pass = len;
	return 0;
}
