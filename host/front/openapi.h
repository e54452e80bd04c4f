/*
 * openapi: the description of the API. Private to host/front/.
 */
#ifndef WARDER_HOST_FRONT_OPENAPI_H
#define WARDER_HOST_FRONT_OPENAPI_H

#include "host/front/front.h"

/* An OpenAPI 3.1 document of all routes; heap. NULL: no memory. */
char *openapi_json(const struct route *const *families);

#endif
