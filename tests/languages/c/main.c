#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST 100

static int numbers[MOST], squares[MOST];

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *square(void *at)
{
	int i = (int)((int *)at - numbers);

	squares[i] = (int)pow(numbers[i], 2);
	return NULL;
}

int main(int argc, char **argv)
{
	char input[1000] = "", name[100] = "";
	int count = 0, total = 0, factor = 0;
	pthread_t threads[MOST];
	FILE *file;

	if (argc == 2 && strcmp(argv[1], "fail") == 0) {
		fprintf(stderr, "no such thing: 42\n");
		return 3;
	}
	if (argc == 2 && strcmp(argv[1], "throw") == 0) {
		fprintf(stderr, "thrown on purpose\n");
		abort();
	}
	file = fopen(getenv("WARDER_INPUT"), "r");
	if (!file || !fgets(input, sizeof(input), file) ||
	    sscanf(input, "{\"factor\": %d, \"name\": \"%99[^\"]", &factor, name) != 2)
		return 4;
	while (count < MOST && scanf("%d", &numbers[count]) == 1)
		total += numbers[count++];
	qsort(numbers, (size_t)count, sizeof(int), by_value);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, square, &numbers[i]);
	file = fopen("report.csv", "w");
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		fprintf(file, "%d,%d\n", numbers[i], squares[i]);
	}
	fclose(file);
	mkdir("out", 0755);
	file = fopen("out/large.txt", "w");
	for (int i = 0; i < 100000; i++)
		putc('x', file);
	fclose(file);
	printf("sum %d\n", total);
	for (int i = 1; i < argc; i++)
		printf("%s%s", i > 1 ? "|" : "", argv[i]);
	printf("\n");
	file = fopen(getenv("WARDER_RESULT"), "w");
	fprintf(file, "{\"scaled\": %d, \"name\": \"%s\", \"sorted\": [", total * factor, name);
	for (int i = 0; i < count; i++)
		fprintf(file, "%s%d", i ? ", " : "", numbers[i]);
	fprintf(file, "]}");
	fclose(file);
	return 0;
}
