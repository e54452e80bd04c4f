/* The certificate of the host: what the launcher makes of the answers of the front, whose place the test takes. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/host.h"

#define PEM(name, body) "-----BEGIN " name "-----\n" body "\n-----END " name "-----\n"
#define LONG_US         UINT64_C(3600000000)

static char directory[] = "/tmp/warder-certificate-XXXXXX";
static char certificate_path[64], key_path[64], other_path[64];
static struct launcher_options options;
static struct launcher launcher;
static int front_fd;
static char logged[4096];

static void note(const char *text)
{
	snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%s\n", text);
}

static void put(const char *path, mode_t mode, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && fchmod(fd, mode) == 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void set_up(void)
{
	struct warder_error err;
	int pair[2];

	cr_assert(mkdtemp(directory) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	snprintf(certificate_path, sizeof(certificate_path), "%s/cert", directory);
	snprintf(key_path, sizeof(key_path), "%s/key", directory);
	snprintf(other_path, sizeof(other_path), "%s/other", directory);
	put(certificate_path, 0644, PEM("CERTIFICATE", "first"));
	put(key_path, 0600, PEM("PRIVATE KEY", "first"));
	options = (struct launcher_options){ .certificate = certificate_path,
					     .private_key = key_path,
					     .log = note };
	launcher = (struct launcher){
		.options = &options,
		.front = { .fd = pair[0], .certificate_fd = -1, .ready = true },
		.certificate = { .offered_fd = -1 },
	};
	front_fd = pair[1];
	cr_assert_eq(jobs_init(&launcher.jobs, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	jobs_drain(&launcher.jobs, &launcher);
	certificate_forget(&launcher);
	fd_done(&launcher.front.certificate_fd);
	fd_done(&launcher.front.fd);
	fd_done(&front_fd);
	unlink(certificate_path);
	unlink(key_path);
	unlink(other_path);
	rmdir(directory);
}

/* So much time passes, and the files are read again. Returns the number of the offer that the front then gets, or 0. */
static uint64_t look_after(uint64_t us)
{
	struct link_answer answer = { 0 };
	struct pollfd done = { .fd = launcher.jobs.fd, .events = POLLIN };
	int fds[LINK_FDS];
	ssize_t n;

	launcher.certificate.looked_us -= us;
	launcher.certificate.refused_us -= us;
	certificate_look(&launcher);
	while (launcher.certificate.looking && poll(&done, 1, -1) > 0)
		jobs_finish(&launcher.jobs, &launcher);
	n = fd_receive(front_fd, &answer, sizeof(answer), fds, LINK_FDS, MSG_DONTWAIT);
	if (n <= 0)
		return 0;
	for (size_t i = 0; i < LINK_FDS; i++)
		fd_done(&fds[i]);
	cr_assert(link_answer_valid(&answer, (size_t)n) && answer.number == LINK_OFFER);
	return answer.offer;
}

Test(certificate, a_late_answer_says_nothing_of_the_next_offer, .init = set_up, .fini = tear_down,
     .timeout = 60)
{
	struct warder_error err;
	uint64_t first, second;
	int before;

	cr_assert_eq(certificate_open(&launcher, &err), 0, "%s", err.text);
	cr_expect_eq(look_after(LONG_US), 0, "nothing has changed");
	put(certificate_path, 0644, PEM("CERTIFICATE", "second"));
	first = look_after(LONG_US);
	cr_assert(first, "%s", logged);
	put(certificate_path, 0644, PEM("CERTIFICATE", "third, which is none"));
	second = look_after(LONG_US);
	cr_assert(second && second != first);

	before = launcher.front.certificate_fd;
	certificate_answered(&launcher, first, true);
	cr_expect_eq(launcher.front.certificate_fd, before, "%s", logged);
	certificate_answered(&launcher, second, false);
	cr_expect_eq(launcher.front.certificate_fd, before);
	cr_expect(strstr(logged, "the host serves with those before"), "%s", logged);
	cr_expect(!strstr(logged, "new connections get"), "%s", logged);
}

/* The front may have refused it for want of memory. */
Test(certificate, refused_content_is_offered_again_later, .init = set_up, .fini = tear_down, .timeout = 60)
{
	struct warder_error err;
	uint64_t offer;

	cr_assert_eq(certificate_open(&launcher, &err), 0, "%s", err.text);
	put(certificate_path, 0644, PEM("CERTIFICATE", "second"));
	offer = look_after(LONG_US);
	cr_assert(offer, "%s", logged);
	certificate_answered(&launcher, offer, false);
	cr_expect_eq(look_after(UINT64_C(3000000)), 0, "not at once");
	offer = look_after(LONG_US);
	cr_assert(offer, "%s", logged);
	certificate_answered(&launcher, offer, true);
	cr_expect(strstr(logged, "new connections get the new certificate"), "%s", logged);
	cr_expect_eq(look_after(LONG_US), 0, "it is served");
}

static atomic_bool swapped_enough;

/* The path of the key leads now to a private file, now to one that every user can open. */
static void *swap(void *arg)
{
	char link[80];

	snprintf(link, sizeof(link), "%s.link", key_path);
	while (!atomic_load(&swapped_enough))
		for (int i = 0; i < 2; i++)
			if (symlink(i ? other_path : certificate_path, link) < 0 ||
			    rename(link, key_path) < 0)
				return NULL;
	return NULL;
}

Test(certificate, a_key_is_judged_by_the_file_that_is_read, .init = set_up, .fini = tear_down, .timeout = 120)
{
	char text[sizeof(PEM("PRIVATE KEY", "public"))];
	struct warder_error err;
	pthread_t thread;
	size_t taken = 0, wrong = 0;

	put(certificate_path, 0600, PEM("CERTIFICATE", "first") PEM("PRIVATE KEY", "private"));
	put(other_path, 0604, PEM("CERTIFICATE", "first") PEM("PRIVATE KEY", "public"));
	cr_assert_eq(pthread_create(&thread, NULL, swap, NULL), 0);
	for (int i = 0; i < 20000 && !wrong; i++) {
		const ssize_t tail = (ssize_t)strlen(PEM("PRIVATE KEY", "public"));

		if (certificate_open(&launcher, &err) < 0) {
			cr_assert(strstr(err.text, "--tls-key: every user can open"), "%s", err.text);
			continue;
		}
		taken++;
		cr_assert_eq(pread(launcher.front.certificate_fd, text, (size_t)tail,
				   (off_t)launcher.front.welcome.certificate_bytes - tail),
			     tail);
		text[tail] = '\0';
		wrong += strcmp(text, PEM("PRIVATE KEY", "public")) == 0;
		fd_done(&launcher.front.certificate_fd);
	}
	atomic_store(&swapped_enough, true);
	pthread_join(thread, NULL);
	cr_expect(taken > 0 && wrong == 0, "%zu taken, %zu of them public", taken, wrong);
}
