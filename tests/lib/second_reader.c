/*
 * second_reader: reads JSON documents from standard input with cJSON and prints how many there were and what kinds they are.
 * Exit status 1: cJSON cannot read one, or a text is not what cJSON would write and read again.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(size_t *ret_len)
{
	size_t len = 0, size = 1 << 16;
	char *text = malloc(size);

	while (text) {
		len += fread(text + len, 1, size - len - 1, stdin);
		if (len < size - 1)
			break;
		text = realloc(text, size *= 2);
	}
	if (text)
		text[len] = '\0';
	*ret_len = len;
	return text;
}

static int is_same_again(const cJSON *document)
{
	char *text = cJSON_PrintUnformatted(document);
	cJSON *again = text ? cJSON_Parse(text) : NULL;
	const int same = again && cJSON_Compare(document, again, 1);

	cJSON_Delete(again);
	free(text);
	return same;
}

int main(void)
{
	int objects = 0, others = 0;
	const char *at, *end;
	size_t len;
	char *text = read_all(&len);

	if (!text)
		return 2;
	for (at = text; (at += strspn(at, " \n\t\r")) < text + len; at = end) {
		cJSON *document = cJSON_ParseWithLengthOpts(at, (size_t)(text + len - at) + 1, &end, 0);

		if (!document || !is_same_again(document)) {
			fprintf(stderr, "byte %td: cJSON cannot read this: %.60s\n",
				(document ? at : end) - text, document ? at : end);
			return 1;
		}
		if (cJSON_IsObject(document))
			objects++;
		else
			others++;
		cJSON_Delete(document);
	}
	free(text);
	printf("%d objects, %d others\n", objects, others);
	return objects + others ? 0 : 1;
}
