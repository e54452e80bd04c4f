/*
 * warder-syscalls(7) against the filter: the page is read, the compiled program is run in user space, and neither may allow what the
 * other does not. The numbers behind the page's names are those of seccomp_values.txt, which come from the kernel's headers.
 */
#include <criterion/criterion.h>
#include <linux/audit.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/filter/seccomp.h"
#include "jail/filter/syscalls.h"
#include "tests/unit/jail/filter/bpf_vm.h"
#include "tests/unit/jail/filter/seccomp_model.h"

#define PAGE     "docs/warder-syscalls.7"
#define ROWS_MAX 1000

/* Where a row stands: the heading of its table, or of its list of calls. */
static const char *const tables[] = {
	[VALUE_IOCTL] = "Sh REQUESTS OF IOCTL",          [VALUE_PRCTL] = "Sh OPTIONS OF PRCTL",
	[VALUE_SOL_SOCKET] = "Ss Options of SOL_SOCKET", [VALUE_SOL_IP] = "Ss Options of SOL_IP",
	[VALUE_SOL_TCP] = "Ss Options of SOL_TCP",       [VALUE_SOL_UDP] = "Ss Options of SOL_UDP",
	[VALUE_SOL_IPV6] = "Ss Options of SOL_IPV6",     [VALUE_SOL_NETLINK] = "Ss Options of SOL_NETLINK",
};
static const char *const call_lists[] = { "Ss Calls of strict", "Ss Calls of default", "Ss Calls of compat",
					  "Ss Calls by name" };
static const char *const profiles[] = { "strict", "default", "compat" };

static struct {
	char heading[60], name[60];
	int from; /* the narrowest profile; 3: none */
	bool seen;
} rows[ROWS_MAX];
static size_t row_count;

static int index_of(const char *word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

static void add_row(const char *heading, const char *name, int from)
{
	cr_assert(row_count < ROWS_MAX && from >= 0, "%s: %s", heading, name);
	snprintf(rows[row_count].heading, sizeof(rows[0].heading), "%s", heading);
	snprintf(rows[row_count].name, sizeof(rows[0].name), "%s", name);
	rows[row_count++].from = from;
}

/* Rows ".It Dv NAME Ta PROFILE Ta ...", and names between commas below the headings of calls. */
static void read_page(void)
{
	FILE *page = fopen(PAGE, "re");
	char line[400], heading[60] = "", name[60], profile[20];
	int list;

	cr_assert(page, "%s: the tests run in the project's directory", PAGE);
	row_count = 0;
	while (fgets(line, sizeof(line), page)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, ".Sh ", 4) == 0 || strncmp(line, ".Ss ", 4) == 0)
			snprintf(heading, sizeof(heading), "%.59s", line + 1);
		list = index_of(heading, call_lists, ARRAY_LENGTH(call_lists));
		if (sscanf(line, ".It Dv %59s Ta %19s", name, profile) == 2)
			add_row(heading, name, index_of(profile, profiles, ARRAY_LENGTH(profiles)));
		for (char *left, *word = list >= 0 && line[0] != '.' ? strtok_r(line, ", .", &left) : NULL;
		     word; word = strtok_r(NULL, ", .", &left))
			add_row(heading, word, list);
	}
	fclose(page);
}

/* The narrowest profile that the page has for it; 4: it is not there. */
static int find_row(const char *heading, const char *name)
{
	for (size_t i = 0; i < row_count; i++)
		if (strcmp(rows[i].heading, heading) == 0 && strcmp(rows[i].name, name) == 0) {
			rows[i].seen = true;
			return rows[i].from;
		}
	return 4;
}

static int find_any(const char *heading, const char *names)
{
	char all[400];
	char *left;
	int from = 4;

	snprintf(all, sizeof(all), "%s", names);
	for (char *name = strtok_r(all, "/", &left); name; name = strtok_r(NULL, "/", &left)) {
		const int one = find_row(heading, name);

		from = one < from ? one : from;
	}
	return from;
}

static void compile(const struct seccomp_options *options, struct seccomp_program *ret)
{
	struct warder_error err = { 0 };

	cr_assert_eq(seccomp_compile_for(AUDIT_ARCH_X86_64, options, ret, &err), 0, "%s", err.text);
}

static bool allows(const struct seccomp_program *program, int number, uint64_t a0, uint64_t a1, uint64_t a2)
{
	const struct seccomp_data data = { .nr = number, .arch = AUDIT_ARCH_X86_64, .args = { a0, a1, a2 } };

	return bpf_vm_run(program->code, program->count, &data, NULL) == SECCOMP_RET_ALLOW;
}

static int number_of(const char *call)
{
	return syscall_find(call, NULL)->number[SYSCALL_X86_64];
}

static bool allows_value(const struct seccomp_program *program, const struct value_row *row)
{
	static const uint32_t levels[] = {
		[VALUE_SOL_SOCKET] = 1, [VALUE_SOL_IP] = 0,    [VALUE_SOL_TCP] = 6,
		[VALUE_SOL_UDP] = 17,   [VALUE_SOL_IPV6] = 41, [VALUE_SOL_NETLINK] = 270
	};

	if (row->set == VALUE_IOCTL)
		return allows(program, number_of("ioctl"), 0, row->number, 0);
	if (row->set == VALUE_PRCTL)
		return allows(program, number_of("prctl"), row->number, 0, 0);
	return allows(program, number_of("setsockopt"), 0, levels[row->set], row->number);
}

Test(manual, lists_the_values_that_the_filter_allows, .timeout = 60)
{
	read_page();
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p, .allow_spawn = true };
		struct seccomp_program program;

		compile(&o, &program);
		for (size_t i = 0; i < ARRAY_LENGTH(value_rows); i++) {
			const struct value_row *row = &value_rows[i];
			const bool listed = find_any(tables[row->set], row->name) <= p;

			cr_expect(listed == allows_value(&program, row), "%s: %s: the page %s it",
				  profiles[p], row->name, listed ? "allows" : "does not allow");
		}
	}
	for (size_t i = 0; i < row_count; i++)
		cr_expect(rows[i].seen || strncmp(rows[i].heading, "Ss Calls", 8) == 0 ||
			      strcmp(rows[i].heading, "Sh SOCKETS") == 0,
			  "%s: %s is in no header of the kernel", rows[i].heading, rows[i].name);
}

/* With some of these arguments: what all others make of a call is not on the page. */
static bool reaches(const struct seccomp_program *program, int number)
{
	static const uint64_t some[] = { 0, 1, 2, 3, 15, 0x5401, 0x10000 };
	const size_t count = ARRAY_LENGTH(some);

	for (size_t i = 0; i < count * count * count; i++)
		if (allows(program, number, some[i % count], some[i / count % count],
			   some[i / count / count]))
			return true;
	return false;
}

static bool can_be_named(const char *name)
{
	const char *const names[] = { name };
	const struct seccomp_options o = {
		.profile = POLICY_SYSCALLS_STRICT, .allow_spawn = true, .allow = names, .allow_count = 1
	};
	struct warder_error err = { 0 };
	struct seccomp_program program;

	return seccomp_compile_for(AUDIT_ARCH_X86_64, &o, &program, &err) == 0 &&
	       reaches(&program, number_of(name));
}

Test(manual, lists_the_calls_that_the_filter_allows, .timeout = 60)
{
	struct seccomp_program programs[3];
	const struct syscall_group *group;
	int from, number;

	read_page();
	for (int p = 0; p < 3; p++) {
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)p, .allow_spawn = true };

		compile(&o, &programs[p]);
	}
	for (size_t i = 0; (group = syscall_group(i)); i++)
		for (size_t j = 0; j < group->count; j++) {
			const char *name = group->rows[j].name;

			number = group->rows[j].number[SYSCALL_X86_64];
			from = 4;
			for (size_t l = 0; l < ARRAY_LENGTH(call_lists) && from == 4; l++)
				from = find_row(call_lists[l], name);
			if (number < 0)
				continue;
			for (int p = 0; p < 3; p++)
				cr_expect((from <= p) == reaches(&programs[p], number),
					  "%s: %s: the page has it from %d on", profiles[p], name, from);
			cr_expect(from == 0 || (from <= 3) == can_be_named(name),
				  "%s in syscalls.allow: the page has it from %d on", name, from);
		}
	for (size_t i = 0; i < row_count; i++)
		cr_expect(rows[i].seen || strncmp(rows[i].heading, "Ss Calls", 8) != 0, "%s is no call",
			  rows[i].name);
}

static bool opens_any(const struct seccomp_program *program, uint64_t family)
{
	for (uint64_t type = 0; type < 16; type++)
		for (uint64_t protocol = 0; protocol < 0x110; protocol++)
			if (allows(program, number_of("socket"), family, type, protocol))
				return true;
	return false;
}

Test(manual, lists_the_sockets_that_the_filter_allows, .timeout = 60)
{
	static const char *const names[64] = { [AF_UNIX] = "AF_UNIX",
					       [AF_INET] = "AF_INET",
					       [AF_INET6] = "AF_INET6",
					       [AF_NETLINK] = "AF_NETLINK" };

	read_page();
	for (int i = 0; i < 6; i++) {
		const bool none = i % 2 == 0;
		struct seccomp_options o = { .profile = (enum policy_syscall_profile)(i / 2),
					     .network = none ? POLICY_NETWORK_NONE : POLICY_NETWORK_LOOPBACK,
					     .allow_spawn = true };
		struct seccomp_program program;

		compile(&o, &program);
		for (int family = 0; family < 64; family++) {
			bool listed = names[family] && find_row("Sh SOCKETS", names[family]) <= i / 2;

			/* As the page says. */
			if (family == AF_NETLINK && i / 2 == POLICY_SYSCALLS_DEFAULT && none)
				listed = false;
			cr_expect(listed == opens_any(&program, (uint64_t)family),
				  "%s, family %d: the page %s it", profiles[i / 2], family,
				  listed ? "allows" : "does not allow");
		}
	}
	for (size_t i = 0; i < row_count; i++)
		cr_expect(rows[i].seen || strcmp(rows[i].heading, "Sh SOCKETS") != 0, "%s is not compared",
			  rows[i].name);
}
