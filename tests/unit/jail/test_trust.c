/* jail/trust.c: Java's file of certificates. tests/network/inject.sh has Java read one. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "jail/trust.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END   "-----END CERTIFICATE-----\n"

#define HEAD        "\xfe\xed\xfe\xed\0\0\0\2\0\0\0"
#define ENTRY(name) "\0\0\0\2\0\x0b" name "\0\0\0\0\0\0\0\0\0\5X.509\0\0\0"

Test(trust, keystore_of_java, .timeout = 20)
{
	static const struct {
		const char *pem;
		const char *store; /* without the digest */
		size_t len;
		size_t digested; /* bytes of `digest` */
		const char *digest;
	} rows[] = {
/* The digest is of Python's hashlib. */
#define ROW(pem, store, digest) { pem, store, sizeof(store) - 1, sizeof(digest) - 1, digest }
		ROW("", HEAD "\0",
		    "\342\150\156\105\373\103\337\244\331\222\335\101\316\266\262\034\143\060\327\222"),
		ROW("no certificate\n" BEGIN "aGVsbG8=\n", HEAD "\0", ""),
		ROW("# comment\n" BEGIN "aGVs\r\nbG8=\n" END "between" BEGIN "YQ==\n" END,
		    HEAD "\2" ENTRY("authority-1") "\5hello" ENTRY("authority-2") "\1"
										  "a",
		    "\322\011\247\227\115\245\016\263\217\110\315\305\054\063\217\345\120\003\345\225"),
		ROW(BEGIN "a!==\n" END BEGIN END BEGIN "YQ==" END,
		    HEAD "\1" ENTRY("authority-1") "\1"
						   "a",
		    ""),
#undef ROW
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t len = 0;
		char *store = trust_java(rows[i].pem, strlen(rows[i].pem), &len);

		cr_assert(store, "%s", rows[i].pem);
		cr_assert_eq(len, rows[i].len + 20, "%s: %zu bytes", rows[i].pem, len);
		cr_expect_arr_eq(store, rows[i].store, rows[i].len, "%s", rows[i].pem);
		cr_expect_arr_eq(store + rows[i].len, rows[i].digest, rows[i].digested, "%s", rows[i].pem);
		free(store);
	}
}

/* As many as there can be in a text: all have room. */
Test(trust, many_small_certificates, .timeout = 20)
{
	static const char one[] = BEGIN "YQ==" END;
	static char pem[20000 * (sizeof(one) - 1) + 1];
	size_t len;
	char *store;

	for (size_t i = 0; i < 20000; i++)
		memcpy(pem + i * (sizeof(one) - 1), one, sizeof(one) - 1);
	store = trust_java(pem, sizeof(pem) - 1, &len);
	cr_assert(store);
	cr_expect_arr_eq(store, "\xfe\xed\xfe\xed\0\0\0\2\0\0\x4e\x20", 12);
	free(store);
}

Test(trust, paths, .timeout = 20)
{
	static char bytes[] = "a";
	const struct trust java = { .files = { [TRUST_JAVA] = { bytes, 1 } } };

	for (int i = 0; i < TRUST_COUNT; i++)
		cr_expect_eq(trust_has(&java, trust_path(i)), i == TRUST_JAVA);
	cr_expect(!trust_has(NULL, trust_path(TRUST_JAVA)));
	cr_expect(!trust_has(&java, "/etc/ssl/certs/java"));
}
