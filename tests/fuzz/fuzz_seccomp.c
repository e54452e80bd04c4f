/*
 * seccomp: a profile with any calls added and denied is refused with a reason, or compiled to a program that the kernel would
 * take and that answers every call as a plain reading of the table does.
 */
#include "tests/fuzz/input.h"
#include "tests/unit/jail/filter/bpf_vm.h"
#include "tests/unit/jail/filter/seccomp_model.h"

#define LIST_MAX 8

/* A call of the table by its place, or a name that is in none. */
static const char *take_name(struct fuzz_input *input)
{
	size_t place = (size_t)input_byte(input) << 8 | input_byte(input);
	const struct syscall_group *group;

	for (size_t i = 0; (group = syscall_group(i)); i++) {
		if (place < group->count)
			return group->rows[place].name;
		place -= group->count;
	}
	return "no_such_call";
}

static size_t take_list(struct fuzz_input *input, const char **names)
{
	size_t count = input_byte(input) % (LIST_MAX + 1);

	for (size_t i = 0; i < count; i++)
		names[i] = take_name(input);
	return count;
}

static void must_agree(const struct seccomp_program *program, const struct index *index,
		       enum syscall_arch arch, const struct seccomp_options *o,
		       const struct seccomp_data *data)
{
	must(bpf_vm_run(program->code, program->count, data, NULL) == expected(index, arch, o, data));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	const uint8_t bits = input_byte(&input);
	const enum syscall_arch arch = bits & 1 ? SYSCALL_AARCH64 : SYSCALL_X86_64;
	const char *deny[LIST_MAX];
	const char *allow[LIST_MAX];
	struct seccomp_options o = { .profile = (enum policy_syscall_profile)((bits >> 3) % 3),
				     .network = bits & 32 ? POLICY_NETWORK_LOOPBACK : POLICY_NETWORK_NONE,
				     .allow_spawn = bits & 2,
				     .kill_on_violation = bits & 4,
				     .deny = deny,
				     .allow = allow };
	struct seccomp_data data = { 0 };
	struct seccomp_program program;
	struct warder_error err;
	struct index index;

	o.deny_count = take_list(&input, deny);
	o.allow_count = take_list(&input, allow);
	if (seccomp_compile_for(audit_archs[arch], &o, &program, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.field[0] && err.text[0]);
		return 0;
	}
	must(bpf_vm_valid(program.code, program.count));
	index_arch(arch, &index);
	/* Calls of the input's choice, and every number with the last one's arguments. */
	do {
		data.nr = (int)input_number(&input);
		data.arch = input_byte(&input) ? audit_archs[arch] : (uint32_t)input_number(&input);
		input_bytes(&input, data.args, sizeof(data.args));
		must_agree(&program, &index, arch, &o, &data);
	} while (input.left);
	data.arch = audit_archs[arch];
	for (data.nr = -1; data.nr <= SYSCALL_NUMBERS; data.nr++)
		must_agree(&program, &index, arch, &o, &data);
	return 0;
}
