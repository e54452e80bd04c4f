/*
 * policy: what a program may do, as a value. The door of this folder.
 *
 * Life of a policy: policy_preset() or policy_decode() fills one -> policy_check_ceiling() compares it with
 * the operator's ceiling -> policy_match() compares it with what a backend can enforce ->
 * a backend compiles it into a plan -> policy_done().
 * Everything here is pure: no system call, no global state, no file access; any thread.
 *
 * Strings inside a policy are owned by it (heap). Sizes are bytes, times microseconds, CPUs
 * thousandths of a CPU. POLICY_UNLIMITED is the explicit "unlimited"; nothing is unlimited by
 * being left out: what a document leaves out takes the value of the `strict` preset.
 */
#ifndef WARDER_POLICY_POLICY_H
#define WARDER_POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/fields.h"

struct json_writer; /* base/json.h */
struct json_value;

/* ---- names ---- */
const char *policy_field_path(enum policy_field field);
const char *policy_field_group(enum policy_field field);
int policy_field_from_path(const char *path, enum policy_field *ret_field); /* 0; -1 unknown */
/* Make the field at `path`, or every field of the part of a document that it names ("limits"), preferred or required;
 * "network" is both.
 * Returns 0; -1 if there is no such field and no such part. */
int policy_prefer(struct policy *policy, const char *path, bool preferred);
const char *policy_control_name(enum policy_control control);
const char *policy_control_text(enum policy_control control);
enum policy_field policy_control_field(enum policy_control control);
const char *policy_network_mode_name(enum policy_network_mode mode);
const char *policy_profile_name(enum policy_syscall_profile profile);
/* Whether Warder itself knows the language: command python javascript typescript bash sh ruby r perl lua php go
 * rust c c++ java wasm. */
bool policy_is_language(const char *name);
/* Whether a language may be called so, by an operator's document too: small letters, digits, + # . _ -, up to 31; not "any". */
bool policy_is_language_name(const char *name);
/* The one of the words (NULL at the end) that the text is most likely a misspelling or another name of; NULL: none. */
const char *policy_meant(const char *const *words, const char *text);
/* The remedy for a path that policy_prefer() does not know: the field or part that is close, or where they are listed. Returns buf. */
char *policy_suggest_field(const char *path, char *buf, size_t len);
/* The remedy for an unknown word: `did you mean "memory"?` if one of the words (NULL at the end) is close,
 * else `known: "a", "b", ...`. Returns buf. */
char *policy_suggest(const char *const *words, const char *text, char *buf, size_t len);

/* ---- values: units.c ---- */
/* "256MiB", "1GiB", "64KiB", "512B", "1024", "1.5MiB"; "256M", "1g", "64k": all units are binary. -1 with *err quoting the value. */
int policy_parse_size(const char *text, uint64_t *ret_bytes, struct warder_error *err);
/* "30s", "250ms", "2m", "1h", "10us", "1.5" (seconds), "1d" (24 hours), "1m30s". Never negative; 0 is parsed, callers refuse it. */
int policy_parse_time(const char *text, uint64_t *ret_us, struct warder_error *err);
/* "0.5", "2" -> thousandths of a CPU; > 0. */
int policy_parse_cpus(const char *text, uint64_t *ret_milli, struct warder_error *err);
/* As the parsers above, but also "unlimited". */
int policy_parse_size_or_unlimited(const char *text, uint64_t *ret_bytes, struct warder_error *err);
int policy_parse_time_or_unlimited(const char *text, uint64_t *ret_us, struct warder_error *err);
int policy_parse_cpus_or_unlimited(const char *text, uint64_t *ret_milli, struct warder_error *err);
/* A whole number; and the same, or "unlimited". */
int policy_parse_count(const char *text, uint64_t *ret_count, struct warder_error *err);
int policy_parse_count_or_unlimited(const char *text, uint64_t *ret_count, struct warder_error *err);
/* Shortest exact text ("256MiB", "250ms", "unlimited"); buf of at least 32 bytes. Returns buf. */
char *policy_format_size(uint64_t bytes, char *buf, size_t len);
char *policy_format_time(uint64_t us, char *buf, size_t len);
char *policy_format_cpus(uint64_t milli, char *buf, size_t len);
char *policy_format_count(uint64_t count, char *buf, size_t len);

/* ---- presets: presets.c ---- */
/* Number of presets, and name / one-line description of preset i. */
size_t policy_preset_count(void);
const char *policy_preset_name(size_t i);
const char *policy_preset_summary(size_t i);
/* Fill *ret with a preset ("strict", ...). -1 with *err listing the names. Caller owns: policy_done(). */
int policy_preset(const char *name, struct policy *ret, struct warder_error *err);

/* ---- life: life.c ---- */
void policy_done(struct policy *policy); /* zeroed, half-built and NULL are fine; leaves it zeroed */
#define owned_policy __attribute__((cleanup(policy_done)))
int policy_copy(const struct policy *from, struct policy *ret, struct warder_error *err);
/* Whether both have the same values (equal.c). `given` is not compared: it says which fields were set, not their values. */
bool policy_equal(const struct policy *a, const struct policy *b);

/* ---- set.c ---- */
/* Set the field at `path` ("limits.memory", "network.mode", "filesystem.workspace", "processes.spawn") to a
 * value as it stands in a document ("256MiB", "none", "readWrite:/srv/job", "false"). Lists:
 * "network.allow" (HOST[:PORT,...] where no port means 443 and 80, @LIST, CIDR:PORT,..., [CIDR]:PORT for IPv6),
 * "network.deny" (the same; no port means every port), "network.publish" ([ADDRESS:]HOSTPORT:JAILPORT), "filesystem.paths.readOnly",
 * "filesystem.paths.readWrite", "environment.names", "syscalls.deny" and "syscalls.allow" append one row;
 * "languages" appends names separated by commas, or becomes "any"; an empty value empties any of these lists.
 * "environment.set.NAME" sets or replaces one variable. A network or environment mode drops the rows that only another mode may have.
 * filesystem.tmp and limits.disk bound one another: the one that was not set follows the one that is (limits.disk
 * up, filesystem.tmp down). If both were set and contradict each other, policy_validate() refuses them.
 * Returns 0; -1 with *err (INVALID_REQUEST) naming the path and quoting the value, policy as before.
 * policy_validate() comes after the last call. */
int policy_set(struct policy *policy, const char *path, const char *value, struct warder_error *err);
/* Whether policy_set() adds a row to what the path (of `length` bytes) names, instead of replacing its value. */
bool policy_is_list(const char *path, size_t length);
/* How many rows the list has; 0 if the path names none, or one without numbered rows. */
size_t policy_list_length(const struct policy *policy, const char *path, size_t length);

/* ---- provide.c ---- */
/* Set the variables of `rows` ("NAME=value", NULL-terminated) that the policy grants (environment.names, or every name with the mode host)
 * and that neither the policy sets nor `caller` (the same form, may be NULL) has. Of two rows with one name the later one counts. 0; 1 with
 * *err, which names rows that are left out: they are invalid or not granted, or the policy is full; -1 with *err: no memory. */
int policy_provide(struct policy *policy, char *const *caller, char *const *rows, struct warder_error *err);

/* ---- destinations: address.c, hosts.c, network.c, special.c ---- */
struct policy_cidr {
	bool is_v6;
	uint8_t address[16]; /* network byte order; 4 bytes used by IPv4 */
	unsigned prefix;
};
/* "10.1.0.0/16", "fd00::/8"; no bit below the prefix may be set. -1 with *err quoting the value. */
int policy_parse_cidr(const char *text, struct policy_cidr *ret, struct warder_error *err);
/* Whether every address of inner is one of outer's; the two families never meet. */
bool policy_cidr_contains(const struct policy_cidr *outer, const struct policy_cidr *inner);
/* One destination that a row stands for: the row itself, or one name of a list such as "@pypi". */
struct policy_rule {
	const char *host; /* NULL: cidr */
	const char *cidr;
	const uint16_t *ports;
	size_t port_count;
};
/* "pypi.org:443,80", "10.0.0.0/8:22", "[fd00::/8]:22". Returns buf. */
char *policy_format_endpoint(const struct policy_endpoint *endpoint, char *buf, size_t len);
size_t policy_rule_count(const struct policy_endpoint *row);
struct policy_rule policy_rule_at(const struct policy_endpoint *row, size_t i);
/* Whether the mode uses network.allow and network.deny; whether it may publish ports. */
bool policy_network_lists(const struct policy *policy);
/* ---- inject.c ---- */
/* Whether a row of network.allow has a credential. */
bool policy_injects(const struct policy *policy);
/* The path of the policy through which the program sees the file (absolute, without links), or NULL. */
const char *policy_shows_file(const struct policy *policy, const char *file);
/* -1 with *err: a row has a credential, and there is no ceiling to grant it. */
int policy_inject_without_ceiling(const struct policy *policy, struct warder_error *err);
/* The same for all that only a ceiling grants: credentials, and network.mode "learn". */
int policy_check_no_ceiling(const struct policy *policy, struct warder_error *err);
bool policy_network_publishes(const struct policy *policy);
/* The kind of an address or block that is not a public one: unspecified loopback private shared linkLocal metadata
 * multicast broadcast benchmarking documentation mapped reserved. NULL: public. */
const char *policy_special_address(const struct policy_cidr *address);
/* Whether a block of network.allow grants all that another block in it would grant: a special address is granted only by a
 * block that lies within its range, so 0.0.0.0/0 does not grant 10.0.0.0/8, nor 169.254.0.0/16 the metadata service in it. */
bool policy_special_within(const struct policy_cidr *block, const struct policy_cidr *inner);
/* Whether a row of network.allow can have this as one name: in lower case, neither a pattern nor a list of names. */
bool policy_host_is_name(const char *host);
/* Whether a host pattern covers a name (or a narrower pattern): "pypi.org" itself; "*.example.org" every
 * name below example.org at any depth, but not example.org. Both in lower case. */
bool policy_host_covers(const char *pattern, const char *name);

/* ---- rules: validate.c ---- */
/* Rules that hold for every policy however it was built (wallTime > 0, absolute normalised paths, no
 * duplicate path, names of variables, uid range, disk, ...). Decoding and the setters of the
 * command line end with it. Returns 0; -1 with *err naming field, value and remedy. */
int policy_validate(const struct policy *policy, struct warder_error *err);

/* The same of a document or preset that no run has been asked for: the directory of its workspace may be missing. */
int policy_validate_document(const struct policy *policy, struct warder_error *err);
/* Whether there is to be a workspace, and a run still has to name its directory. */
bool policy_lacks_workspace(const struct policy *policy);

/* Whether a program may write to a directory or file of the host: a read-write workspace or path. */
bool policy_writes_host(const struct policy *policy);
/* The target of a row of filesystem.paths, "/data/in" of "/host/dir:/data/in": what follows the last colon that a slash
 * follows. NULL: there is none, and the source is seen under its own path. */
const char *policy_path_explicit_target(const char *item);
/* Where such a row is seen, as far as its text says: its target, or its source. */
const char *policy_path_target(const char *item);
/* The source of such a row, into a buffer of PATH_MAX bytes. False: it is too long. */
bool policy_path_source(const char *item, char *ret);
/* Why nothing can be shown at a path inside, or NULL: it is not absolute and normalised, or belongs to the jail itself. */
const char *policy_target_fault(const char *target);

/* ---- JSON: decode.c, encode.c ---- */
/* Decode one strict JSON document of `len` bytes. `origin` names it in errors ("policy.json"). Every
 * error text holds the JSON path and the line: "policy.json:4: limits.memory: ...". */
int policy_decode(const char *json, size_t len, const char *origin, struct policy *ret,
		  struct warder_error *err);
/* The line of the value at `path` ("syscalls.allow"), or of what comes closest to it, in a document that decodes; 1 if it does not. */
int policy_line(const char *json, size_t len, const char *path);
/* Canonical encoding: fixed key order, every field present, canonical units; decode(encode(p)) == p.
 * Returns a heap string the caller frees, or NULL on want of memory. */
char *policy_encode(const struct policy *policy);
/* The same object as a value inside a larger document. */
void policy_write(const struct policy *policy, struct json_writer *writer);

/* ---- ceiling: ceiling.c, granted.c ---- */
/* The operator's ceiling is itself a policy document (same decoder): the most that a policy may ask.
 * Narrowing only: numbers at most the ceiling's; modes at most as wide; a path only inside the most
 * specific granted path and not with more access than it has; variables and hosts only if granted.
 * Paths are compared by component after normalisation. 0 within; -1 with *err (REJECTED) naming the first
 * field that asks for more, its value and the most that is granted. */
int policy_check_ceiling(const struct policy *ceiling, const struct policy *asked, struct warder_error *err);
/* What a ceiling says of a field or of a part of one, such as a row of a list. */
enum policy_grant {
	POLICY_GRANTED,
	POLICY_LOWERED, /* more than is granted; the ceiling grants a narrower value */
	POLICY_REFUSED, /* not granted with any value */
};
const char *policy_grant_name(enum policy_grant grant); /* "granted", "lowered", "refused" */

struct policy_violation {
	enum policy_field field;
	enum policy_grant grant;   /* POLICY_LOWERED or POLICY_REFUSED */
	struct warder_error error; /* REJECTED; as of policy_check_ceiling() */
};

/* Call found() for everything that the policy `asked` has beyond the ceiling, in the order of enum policy_field; the first is
 * the error of policy_check_ceiling(). `real` is that policy with its paths as symbolic links lead, or NULL: a path that only it has
 * beyond the ceiling is found too. ceiling NULL: there is none, and few things need one. Returns how many there are; 0: it is within the ceiling. */
#define POLICY_BEHIND_LINK "behind a symbolic link" /* context of the errors that only `real` has */
size_t policy_violations(const struct policy *ceiling, const struct policy *asked, const struct policy *real,
			 void (*found)(void *context, const struct policy_violation *violation),
			 void *context);
/* Write one as {"field", "message"}; all of them as an array of that. */
void policy_write_violation(const struct policy_violation *violation, struct json_writer *writer);
void policy_write_violations(const struct policy *ceiling, const struct policy *asked,
			     const struct policy *real, struct json_writer *writer);
/* Write what of the asked policy is granted as an object; see warder_policy_granted(). All may be NULL. */
void policy_write_granted(const struct policy *ceiling, const struct policy *asked, const struct policy *real,
			  struct json_writer *writer);
/* The same where `who` ("the session") grants and not the operator: the error says so. */
int policy_check_granted(const struct policy *granted, const struct policy *asked, const char *who,
			 struct warder_error *err);

/* Whether an asked policy may set this variable to this value: its name is granted, or the operator sets it to the same value. */
bool policy_grants_variable(const struct policy *ceiling, const char *name, const char *value);

/* ---- capabilities and matching: control.c, match.c ---- */
/* Isolation classes a backend can have; names in JSON in policy_isolation_name(). */
enum policy_isolation {
	POLICY_ISOLATION_NONE,
	POLICY_ISOLATION_NAMESPACE_JAIL,
	POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT,
	POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	POLICY_ISOLATION_CONTAINER_PERSISTENT,
	POLICY_ISOLATION_IN_PROCESS,
	POLICY_ISOLATION_PROVIDER_HOSTED,
};
const char *policy_isolation_name(enum policy_isolation isolation);

enum policy_payload {
	POLICY_PAYLOAD_PROGRAM, /* a program and its arguments: language "command" */
	POLICY_PAYLOAD_SOURCE,
	POLICY_PAYLOAD_GUEST_MODULE, /* WebAssembly: language "wasm" */
};

struct policy_capability {
	bool enforced;
	char mechanism[96]; /* when enforced: by what ("cgroup v1 memory.limit_in_bytes") */
	char reason[256];   /* when not: why, and the remedy where one is known */
};

struct policy_capabilities {
	char backend[32];
	enum policy_isolation isolation;
	const char *const *languages; /* NULL-terminated; not owned */
	struct policy_capability controls[POLICY_CONTROL_COUNT];
};

/* ---- capability.c ---- */
/* A control becomes enforced, by this mechanism; or it becomes refused, for this reason. */
void policy_capability_enforced(struct policy_capabilities *to, enum policy_control control,
				const char *mechanism);
void policy_capability_refused(struct policy_capabilities *to, enum policy_control control,
			       const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- reported.c: between two machines ---- */
/* {"enforced": ..., "mechanism" or "reason": ...}. */
void policy_capability_write(const struct policy_capability *capability, struct json_writer *writer);
/* {"backend", "isolation", "languages": [...], "controls": {NAME: {...}}}. */
void policy_capabilities_write(const struct policy_capabilities *capabilities, struct json_writer *writer);
/* The same document from another machine, which nothing binds: a control that is missing is not enforced, an unknown one is passed over, and
 * texts lose their control characters. Of the languages only "command" counts. `who` ("remote:big") becomes the backend, and begins each
 * reason. -1 with *err (UNAVAILABLE): a member is missing or of a wrong type. */
int policy_capabilities_read(const struct json_value *document, const char *who,
			     struct policy_capabilities *ret, struct warder_error *err);
struct policy_receipt;
/* A receipt that another machine wrote; ret->reported is set. -1 with *err (UNAVAILABLE). */
int policy_receipt_read(const struct json_value *document, const char *who, struct policy_receipt *ret,
			struct warder_error *err);

struct policy_subject {
	const char *language; /* "command", "python", ... */
	enum policy_payload payload;
};

struct policy_unmet {
	enum policy_field field;     /* POLICY_FIELD_LANGUAGES for language and payload faults */
	enum policy_control control; /* POLICY_CONTROL_COUNT for language and payload faults */
	uint32_t error;              /* WARDER_ERROR_UNSUPPORTED_POLICY, _LANGUAGE or _INVALID_REQUEST */
	bool preferred;              /* true: may run all the same, the result says so */
	bool implied;                /* follows from a required row before it; the error does not name it */
	char reason[256];
};

struct policy_match {
	size_t count;          /* unmet, in the order of enum policy_field, language and payload first */
	size_t required_count; /* without implied ones */
	struct policy_unmet unmet[POLICY_CONTROL_COUNT + 2];
	bool needed[POLICY_CONTROL_COUNT]; /* controls that the policy asks for */
};

/* Which controls the policy asks for; ret has POLICY_CONTROL_COUNT rows. */
void policy_needed_controls(const struct policy *policy, bool *ret_needed);

/* Compare. subject may be NULL: then only the policy is looked at. Returns 0 if every required field can be
 * enforced (preferred ones may be unmet: see *ret), -1 with *err of the first required unmet row's kind,
 * whose text names the required unmet fields, then their reasons, each once, then how to do without limits: whole
 * parts, as far as they fit. *ret is always written. */
int policy_match(const struct policy *policy, const struct policy_capabilities *capabilities,
		 const struct policy_subject *subject, struct policy_match *ret, struct warder_error *err);

/* Whether the policy's own list names but languages that are known (NULL at the end): all there are. -1 with *err. */
int policy_check_languages(const struct policy *policy, const char *const *known, struct warder_error *err);
/* Whether the policy's own list lets the language run. */
bool policy_allows_language(const struct policy *policy, const char *language);

/* Requested value of a control as a user writes it ("256MiB", "none", "false"). Returns buf. */
char *policy_control_value(const struct policy *policy, enum policy_control control, char *buf, size_t len);

/* The value of a field that is one number ("limits.stack"). */
uint64_t policy_field_number(const struct policy *policy, enum policy_field field);

/* The whole value of a field as a line of text ("64MiB, executable", "readOnly:/a readWrite:/b"); " ..." at the end if buf
 * has no room for all of it. Values of variables are left out: they may be secrets. Returns buf. */
char *policy_field_value(const struct policy *policy, enum policy_field field, char *buf, size_t len);

/* ---- receipt: receipt.c ---- */
enum policy_receipt_status {
	POLICY_RECEIPT_ENFORCED, /* asked for, and on: read back from the kernel where it shows it, see `source` */
	POLICY_RECEIPT_NOT_ENFORCED, /* preferred, and this host could not */
	POLICY_RECEIPT_UNRESTRICTED, /* the policy explicitly asks for no restriction */
	POLICY_RECEIPT_HARDENING,    /* not asked by a field, on as part of the jail */
	POLICY_RECEIPT_ABSENT,       /* a hardening layer that this host does not have */
};

struct policy_receipt_row {
	char control[48]; /* control name, or the name of a hardening layer ("capabilities") */
	enum policy_receipt_status status;
	bool at_hand_out; /* of a jail that was parked: read, or read again, when it was given its program */
	char requested[64]; /* as in the policy */
	char mechanism[96];
	char
	    value[200]; /* as read back from the kernel; of what the supervisor itself keeps, what it keeps */
	/* Where it was read ("/proc/<pid>/status NoNewPrivs"), or that it was not: wallTime, stdout, stderr and the environment
	 * are kept by the supervisor, and some layers are only reported by who applied them. */
	char source[96];
};

/* Of a run on another machine: whether the output that came is what the host has signed. */
enum policy_outputs {
	POLICY_OUTPUTS_HERE, /* the run was on this machine, or its output is not known */
	POLICY_OUTPUTS_SIGNED,
	POLICY_OUTPUTS_END_SIGNED, /* more came than the host had at the end of the program */
	POLICY_OUTPUTS_NOT_SIGNED,
	POLICY_OUTPUTS_NOT_COMPARED, /* not all of it came */
};

struct policy_receipt {
	enum policy_isolation isolation;
	char backend[32];
	bool unwanted; /* nobody will read it: no row is added */
	bool reported; /* by the host that the backend names: nothing was read back here */
	bool
	    again; /* the jail was parked, and is being given its program: rows replace those of the same control */
	bool
	    silent; /* with `reported`: the host reports only the rows that are enforced; Warder wrote the others */
	uint64_t parked_us; /* how long it was parked; with `again` */
	enum policy_outputs outputs;
	size_t count;
	struct policy_receipt_row rows[128];
};

/* Begin one without rows. Those that are not in use keep what lies there. */
void policy_receipt_init(struct policy_receipt *ret);
/* Nobody will read it: forget the rows, and add none. */
void policy_receipt_drop(struct policy_receipt *receipt);
/* Append a row, or begin that of the control anew (`again`); over-long strings are cut. Returns the row, or NULL when full or unwanted. */
struct policy_receipt_row *policy_receipt_add(struct policy_receipt *receipt, const char *control,
					      enum policy_receipt_status status);
/* Copy, without touching rows that are not in use. */
void policy_receipt_copy(struct policy_receipt *ret, const struct policy_receipt *receipt);
/* The same content in as few bytes as it needs, for a receipt that nobody reads for a while. A row that equals the
 * row of `like` (or NULL) at the same index is shared: the last of the two receipts that is freed frees the row. The caller makes sure that `like`
 * lives during the call. NULL: memory is missing. */
struct policy_receipt_packed;
struct policy_receipt_packed *policy_receipt_pack(const struct policy_receipt *receipt,
						  const struct policy_receipt_packed *like);
/* Into a zeroed receipt. */
void policy_receipt_unpack(const struct policy_receipt_packed *packed, struct policy_receipt *ret);
void policy_receipt_packed_free(struct policy_receipt_packed *packed); /* also NULL */
/* The name of a row's status: "enforced", "notEnforced", ... */
const char *policy_receipt_status_name(enum policy_receipt_status status);
/* {"backend": ..., "isolation": ..., "controls": [{control, status, requested, mechanism, value, source}]}; null if unwanted. Of a jail that
 * was parked also "parkedUs", and in each row "readAt": "park" or "handOut". If it is reported, each status is "reported by BACKEND", and the
 * host's own word for it stands beside it in "reported"; with `silent`, this is so only for the rows that are enforced. Of a run on another
 * machine also "outputs", a sentence. */
void policy_receipt_write(const struct policy_receipt *receipt, struct json_writer *writer);

#endif
