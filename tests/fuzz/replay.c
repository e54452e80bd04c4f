/*
 * replay: gives a fuzz target the inputs named on the command line, one after the other, where libFuzzer is not linked.
 */
#include "tests/fuzz/fuzz.h"

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *data = malloc(1 << 20);
		size_t size;

		if (!file || !data) {
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, 1 << 20, file);
		fclose(file);
		data = realloc(data, size + 1); /* tight, so that the sanitizer sees a read past the end */
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}
