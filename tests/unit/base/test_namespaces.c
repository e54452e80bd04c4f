#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/namespaces.h"

/* The same number as stat(2), which opens the namespace. */
Test(namespaces, number_is_the_inode, .timeout = 60)
{
	static const char *const files[] = { "/proc/self/ns/pid", "/proc/self/ns/mnt", "/proc/self/ns/net",
					     "/proc/self/ns/user" };

	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		uint64_t number = 0;
		struct stat st;

		cr_assert_eq(stat(files[i], &st), 0);
		cr_expect_eq(namespace_number(AT_FDCWD, files[i], &number), 0, "%s", files[i]);
		cr_expect_eq(number, st.st_ino, "%s", files[i]);
	}
}

Test(namespaces, other_links_have_none, .timeout = 60)
{
	uint64_t number = 7;

	cr_expect_eq(namespace_number(AT_FDCWD, "/proc/self/exe", &number), -1);
	cr_expect_eq(errno, EPROTO);
	cr_expect_eq(namespace_number(AT_FDCWD, "/proc/self/ns/none", &number), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(number, 7);
}
