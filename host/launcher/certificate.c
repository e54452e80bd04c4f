/*
 * The certificate of the host and its key. The files are read again every few seconds, by a job. If they have changed, the front is offered the new
 * content: only the front has a library that can tell whether it is a certificate and its key. If it takes them, later fronts get them, too.
 * If not, as while one of the two files is still the old one, the host serves with the old content. Another change is offered at once, and
 * the same content again after a minute: the front may have refused it for want of memory or of a descriptor.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "host/launcher/host.h"
#include "runtime/session/records.h"

#define LOOK_US  UINT64_C(2000000)
#define OFFER_US UINT64_C(30000000) /* until an offer counts as lost */
#define AGAIN_US UINT64_C(60000000) /* until refused content is offered again */

/* A look at the files, as a job. */
struct look {
	struct job job;
	const char *certificate, *private_key; /* paths */
	int fd;                                /* owned: a memory file of certificate, NUL, key */
	size_t len;
	char digest[SHA256_HEX];
	struct warder_error err;
	bool good;
};

/* Who can read the key can pretend to be this host. */
static int check_private(int fd, const char *path, struct warder_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--tls-key", errno,
				       "cannot look at %.200s", path);
	if (st.st_mode & S_IRWXO)
		return error_set(err, WARDER_ERROR_REJECTED, "--tls-key",
				 "every user can open %.200s; \"chmod o= \" takes that away", path);
	return 0;
}

/* is_secret: others must not be able to open it. */
static int read_pem(const char *flag, const char *path, const char *label, bool is_secret, char **ret,
		    size_t *ret_len, struct warder_error *err)
{
	owned_fd int fd = -1;
	char *text = NULL;
	size_t len = 0;

	if (file_open_regular(path, &fd, err) < 0 || (is_secret && check_private(fd, path, err) < 0) ||
	    file_read_open(fd, path, LINK_CERTIFICATE_MAX / 2 - 1, &text, &len, err) < 0) {
		snprintf(err->field, sizeof(err->field), "%s", flag);
		return error_context(err, "%s", flag);
	}
	if (strlen(text) != len || !strstr(text, "-----BEGIN ") || !strstr(text, label)) {
		free(text);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag, "%s: %.200s has no \"%s\" in PEM",
				 flag, path, label);
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

/* Certificate, NUL, private key; heap. */
static int read_both(const struct look *look, char **ret, size_t *ret_len, struct warder_error *err)
{
	char *certificate = NULL, *key = NULL, *both;
	size_t certificate_len = 0, key_len = 0;
	int done = read_pem("--tls-cert", look->certificate, "CERTIFICATE-----", false, &certificate,
			    &certificate_len, err);

	if (done == 0)
		done =
		    read_pem("--tls-key", look->private_key, "PRIVATE KEY-----", true, &key, &key_len, err);
	both = done == 0 ? malloc(certificate_len + 1 + key_len) : NULL;
	if (both) {
		memcpy(both, certificate, certificate_len + 1);
		memcpy(both + certificate_len + 1, key, key_len);
		*ret = both;
		*ret_len = certificate_len + 1 + key_len;
	} else if (done == 0) {
		done = error_no_memory(err, NULL);
	}
	if (key)
		explicit_bzero(key, key_len);
	free(certificate);
	free(key);
	return done;
}

static void look_work(struct job *job)
{
	struct look *look = (struct look *)(void *)job;
	struct sha256 sha;
	char *both = NULL;

	if (read_both(look, &both, &look->len, &look->err) < 0)
		return;
	sha256_init(&sha);
	sha256_add(&sha, both, look->len);
	sha256_hex(&sha, look->digest);
	look->fd = record_make_file(both, look->len);
	look->good = look->fd >= 0 || error_no_memory(&look->err, NULL) == 0;
	explicit_bzero(both, look->len);
	free(both);
}

int certificate_open(struct launcher *launcher, struct warder_error *err)
{
	const struct launcher_options *options = launcher->options;
	struct look look = { .certificate = options->certificate,
			     .private_key = options->private_key,
			     .fd = -1 };

	if (!options->certificate && !options->private_key)
		return 0;
	if (!options->certificate || !options->private_key)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST,
				 options->certificate ? "--tls-key" : "--tls-cert",
				 "--tls-cert and --tls-key go together");
	look_work(&look.job);
	if (!look.good) {
		*err = look.err;
		return -1;
	}
	launcher->front.certificate_fd = look.fd;
	launcher->front.welcome.certificate_bytes = look.len;
	memcpy(launcher->certificate.served, look.digest, sizeof(look.digest));
	return 0;
}

/* An error is said once. */
static void complain(struct launcher *launcher, const char *text)
{
	struct certificate *certificate = &launcher->certificate;

	if (strcmp(certificate->complaint, text) == 0)
		return;
	snprintf(certificate->complaint, sizeof(certificate->complaint), "%s", text);
	launcher->options->log(text);
}

static void offer(struct launcher *launcher, struct look *look)
{
	struct certificate *certificate = &launcher->certificate;
	const struct link_answer answer = { .magic = LINK_MAGIC,
					    .size = sizeof(answer),
					    .status = 200,
					    .number = LINK_OFFER,
					    .offer = certificate->number + 1,
					    .bytes = look->len };

	if (strcmp(look->digest, certificate->served) == 0 ||
	    (strcmp(look->digest, certificate->refused) == 0 &&
	     clock_us() - certificate->refused_us < AGAIN_US) ||
	    launcher->front.fd < 0 || !launcher->front.ready ||
	    fd_send(launcher->front.fd, &answer, sizeof(answer), &look->fd, 1, 0) < 0)
		return;
	certificate->number++;
	certificate->offered_fd = fd_take(&look->fd);
	certificate->offered_bytes = look->len;
	memcpy(certificate->offered, look->digest, sizeof(look->digest));
}

static void look_finish(struct job *job, void *of)
{
	struct look *look = (struct look *)(void *)job;
	struct launcher *launcher = of;

	launcher->certificate.looking = false;
	/* What is wrong later, after files that were well, is said again. */
	if (look->good && strcmp(look->digest, launcher->certificate.served) == 0)
		launcher->certificate.complaint[0] = '\0';
	if (look->good)
		offer(launcher, look);
	else
		complain(launcher, look->err.text);
	fd_done(&look->fd);
	free(look);
}

void certificate_look(struct launcher *launcher)
{
	struct certificate *certificate = &launcher->certificate;
	const struct launcher_options *options = launcher->options;
	struct look *look;

	if (!options->certificate || certificate->looking ||
	    clock_us() - certificate->looked_us < (certificate->offered_fd >= 0 ? OFFER_US : LOOK_US))
		return;
	certificate_forget(launcher);
	certificate->looked_us = clock_us();
	look = calloc(1, sizeof(*look));
	if (!look)
		return;
	*look = (struct look){ .job = { .tenant = "", .work = look_work, .finish = look_finish },
			       .certificate = options->certificate,
			       .private_key = options->private_key,
			       .fd = -1 };
	certificate->looking = true;
	jobs_add(&launcher->jobs, &look->job);
}

void certificate_answered(struct launcher *launcher, uint64_t number, bool taken)
{
	struct certificate *certificate = &launcher->certificate;

	/* The front was not asked, or was asked for another one. */
	if (certificate->offered_fd < 0 || number != certificate->number)
		return;
	if (taken) {
		fd_done(&launcher->front.certificate_fd);
		launcher->front.certificate_fd = fd_take(&certificate->offered_fd);
		launcher->front.welcome.certificate_bytes = certificate->offered_bytes;
		memcpy(certificate->served, certificate->offered, sizeof(certificate->served));
		certificate->complaint[0] = '\0';
		launcher->options->log("new connections get the new certificate of --tls-cert");
	} else {
		memcpy(certificate->refused, certificate->offered, sizeof(certificate->refused));
		certificate->refused_us = clock_us();
		complain(launcher,
			 "--tls-cert and --tls-key: the files have changed, and are not a certificate "
			 "and its key; the host serves with those before");
	}
	certificate_forget(launcher);
}

void certificate_forget(struct launcher *launcher)
{
	fd_done(&launcher->certificate.offered_fd);
}
