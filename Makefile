# Warder. `make help` lists the targets; V=1 shows the commands.
VERSION := 0.1.0
SO      := 0
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
CC      ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
# The command line tool is static against musl: glibc's start costs 0.65 ms more on a virtual machine (cpuid traps).
TOOL_CC ?= musl-gcc
TOOL_LINK ?= -static
CLANG   ?= clang

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings \
        -Wformat=2 -Wvla -Wundef -Wno-unused-parameter -Wno-missing-field-initializers
ifeq ($(findstring clang,$(CC)),)
WARN += -Wjump-misses-init -Wlogical-op -Wduplicated-cond
endif
WERROR ?=
# Hardening of everything that runs on the host's side (the jail's init is freestanding, see INIT_CFLAGS).
HARDEN      := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fno-strict-aliasing -fno-common
HARDEN_LINK := -Wl,-z,relro,-z,now,-z,noexecstack
OPT     ?= -O2 -g
SAN     ?=
ASAN    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# OLD_PROTOCOLS=1: programs that speak the protocols of the version before, for tests/upgrade.py (runtime/session/records.h).
OLD_PROTOCOLS ?=
CPPFLAGS := -D_GNU_SOURCE -I. -idirafter runtime -DWARDER_VERSION='"$(VERSION)"'$(if $(OLD_PROTOCOLS), -DOLD_PROTOCOLS)
CFLAGS   ?=
ALL_CFLAGS = -std=gnu11 $(OPT) $(WARN) $(WERROR) $(HARDEN) $(SAN) $(SAN_HERE) $(CFLAGS) -fvisibility=hidden -MMD -MP

# The init inside the jail: no libc, no start files, nothing of the host's build in it.
INIT_CFLAGS = -std=gnu11 -Os -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fno-pic \
              -fno-builtin $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns) $(WARN) $(WERROR) -D_GNU_SOURCE -I. -MMD -MP
INIT_LINK   = -nostdlib -static -Wl,-z,noexecstack,-z,norelro,--build-id=none,-s,-z,noseparate-code
FORKED_LINK = -nostdlib -shared -Wl,-z,noexecstack,-z,relro,-z,now,-z,defs,--build-id=none,-s,-soname,warder-forked

Q := $(if $(V),,@)
quiet := $(V)$(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(quiet),$(Q),@printf '  %-7s %s\n' $(1) $(2);)

# Some files of jail/inside are compiled twice: into the init, and for helpers of the host; rules.c: into the edge.
LIB_ROOMS := base policy rootfs rootfs/changes jail jail/cgroup jail/filter backends backends/container runtime/library runtime/session runtime/service \
             runtime/code runtime/code/detect runtime/code/diagnostics runtime/code/scan runtime/text runtime/tool runtime/judge runtime/mcp
LIB_SRC   := $(sort $(wildcard $(LIB_ROOMS:%=%/*.c)) edge/rules.c remote/remote.c $(addprefix jail/inside/,accounts.c message.c overlay.c root.c sockets.c tree.c))
LIB_ASM   := $(wildcard jail/*.S runtime/code/*.S runtime/session/*.S)
# What signs for an execution host.
SIGNER_SRC := $(sort $(wildcard host/signer/*.c))
# The execution host: the launcher belongs to the command line tool; the front is a program of its own with an HTTP library.
LAUNCHER_SRC := $(sort $(wildcard host/*.c host/launcher/*.c) host/wire/signature.c)
FRONT_SRC := $(filter-out $(LAUNCHER_SRC),$(sort $(wildcard host/wire/*.c host/front/*.c)))
FRONT_ASM := host/front/page_files.S
FRONT_LIBS := -lmicrohttpd
# In each sandbox: static, as an image may have no libc.
AGENT_SRC := $(sort $(wildcard host/agent/*.c))
CLI_SRC   := $(sort $(wildcard runtime/cli/*.c runtime/attack/*.c)) $(LAUNCHER_SRC)
# What stays when a run is over: a library and a program of their own, with the libraries that a launch is not to pay for.
STORE_SRC := $(sort $(filter-out store/cli/%,$(wildcard store/*.c store/*/*.c)))
STORE_CLI_SRC := $(sort $(wildcard store/cli/*.c))
# What talks to an execution host on another machine.
REMOTE_SRC := $(filter-out remote/remote.c,$(sort $(wildcard remote/*.c)))
REMOTE_LIBS := -lcurl -lcrypto
# What talks to a NATS server, and parts of others that it uses.
FLEET_SRC := $(sort $(wildcard fleet/*.c))
FLEET_PARTS := remote/verify.c host/input.c host/link.c $(addprefix host/launcher/,grant.c limits.c settings.c state.c tenants.c peer.c) \
               $(addprefix runtime/cli/,ending.c lines.c term.c)
FLEET_LIBS := -lnats -lcrypto -lpthread
# What connects for a jail, outside of it.
EDGE_SRC := $(sort $(wildcard edge/*.c))
EDGE_LIBS := -lcares
STORE_LIBS := -larchive -lz -lsqlite3 -lcrypto
ATTEMPTS_SRC := $(sort $(wildcard runtime/attack/attempts/*.c))
INIT_SRC  := $(filter-out jail/inside/forked.c,$(sort $(wildcard jail/inside/*.c)))
LIB_OBJ   := $(LIB_SRC:%.c=$(BUILD)/lib/%.o) $(LIB_ASM:%.S=$(BUILD)/lib/%.o)
TOOL_OBJ  := $(LIB_SRC:%.c=$(BUILD)/tool/%.o) $(LIB_ASM:%.S=$(BUILD)/tool/%.o) $(CLI_SRC:%.c=$(BUILD)/tool/%.o)
# The code of a "warder run" whose program a service launches comes first, so that it lies on few pages: the tool has 8 page faults fewer.
TOOL_FIRST := $(addprefix runtime/cli/,main args flags given config heap delegate run run_remote remote_request audit env_file spool ending served report) \
              $(addprefix runtime/service/,client conditions) $(addprefix runtime/session/,directory peer) \
              $(addprefix runtime/library/,library order result result_file) \
              $(addprefix policy/,encode members units set life presets strings path names) \
              $(addprefix base/,error fd file json json_write utf8 namespaces) backends/backend
TOOL_FIRST := $(TOOL_FIRST:%=$(BUILD)/tool/%.o)
TOOL_OBJ  := $(TOOL_FIRST) $(filter-out $(TOOL_FIRST),$(TOOL_OBJ))
# The sanitizer brings a heap of its own.
ifneq ($(findstring -fsanitize=,$(SAN)),)
TOOL_OBJ  := $(filter-out %/heap.o,$(TOOL_OBJ))
endif
ATTEMPTS_OBJ := $(ATTEMPTS_SRC:%.c=$(BUILD)/tool/%.o)
AGENT_OBJ := $(addprefix $(BUILD)/agent/,$(AGENT_SRC:.c=.o) base/fd.o)
STORE_OBJ := $(STORE_SRC:%.c=$(BUILD)/lib/%.o)
STORE_CLI_OBJ := $(STORE_CLI_SRC:%.c=$(BUILD)/lib/%.o)
EDGE_OBJ := $(EDGE_SRC:%.c=$(BUILD)/lib/%.o)
SIGNER_OBJ := $(SIGNER_SRC:%.c=$(BUILD)/lib/%.o)
REMOTE_OBJ := $(REMOTE_SRC:%.c=$(BUILD)/lib/%.o)
FLEET_OBJ := $(FLEET_SRC:%.c=$(BUILD)/lib/%.o)
FRONT_OBJ := $(FRONT_SRC:%.c=$(BUILD)/lib/%.o) $(FRONT_ASM:%.S=$(BUILD)/lib/%.o)
INIT_OBJ  := $(INIT_SRC:%.c=$(BUILD)/init/%.o)
# The same as a shared object, which a zygote loads.
FORKED_OBJ := $(INIT_SRC:%.c=$(BUILD)/forked/%.o) $(BUILD)/forked/jail/inside/forked.o
TEST_SRC  := $(sort $(shell find tests/unit -name 'test_*.c') $(wildcard tests/mechanism/*.c))
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
# Tests reach inside: they link with everything but the command line's main.
TEST_OBJ  := $(LIB_OBJ) $(STORE_OBJ) $(filter-out %/main.o %/heap.o $(LIB_OBJ),$(CLI_SRC:%.c=$(BUILD)/lib/%.o) $(STORE_CLI_OBJ) $(EDGE_OBJ) $(FRONT_OBJ) $(REMOTE_OBJ) $(FLEET_OBJ))
# An argv of literals is what a test wants to write, and a message may be cut. A test runs once: what it costs is mostly its compilation.
TEST_CFLAGS = $(subst -O2 -g,-Og -g1,$(ALL_CFLAGS)) -Wno-write-strings $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
# Second opinions: libseccomp on the system call filter and its table, libcmark on code blocks, libcap and libnl on receipts, cJSON on JSON.
OPINION_LIBS := -lcap -lnl-route-3 -lnl-3 -lcjson
TEST_LIBS := -Wl,--as-needed $(STORE_LIBS) $(EDGE_LIBS) $(FRONT_LIBS) $(REMOTE_LIBS) -lcriterion -lseccomp -lcmark -lpthread $(OPINION_LIBS)

# Debian packages, by what needs them.
DEPS_BUILD := gcc make musl-tools libc6-dev linux-libc-dev libarchive-dev zlib1g-dev libsqlite3-dev libssl-dev libc-ares-dev libmicrohttpd-dev libcurl4-openssl-dev libnats-dev
DEPS_DEMO  := $(DEPS_BUILD) python3 curl
DEPS_CHECK := $(DEPS_DEMO) g++ clang clang-format cppcheck shellcheck mandoc git libcriterion-dev libseccomp-dev libcmark-dev libcap-dev libnl-route-3-dev libcjson-dev libuv1-dev pkg-config \
              nodejs perl sqlite3 busybox-static crun runc podman procps xz-utils util-linux flex bison bc tmux vim less \
              node-typescript ruby r-base-core lua5.4 php-cli golang-go rustc openjdk-17-jdk-headless lld mmdebstrap umoci skopeo docker-registry zstd \
              lintian cargo cmake python3-venv python3-pandas python3-matplotlib iproute2 openssl openssh-client openssh-server slirp4netns passt chromium nginx nats-server
DEPS_FUZZ  := libclang-rt-14-dev
DEPS_VM    := qemu-system-x86 qemu-system-common e2fsprogs kmod lz4 zstd

# musl's compiler wrapper hides the kernel's headers; they are the same for every libc.
TOOL_INC  := $(if $(findstring musl,$(TOOL_CC)),-idirafter /usr/include -idirafter /usr/include/$(shell $(TOOL_CC) -dumpmachine 2>/dev/null))

# A compiler writes the dependencies of a source that it then refuses. As a target, they would say "done" to the next make.
.DELETE_ON_ERROR:
.PHONY: all lib tool test-programs unit-programs asan-programs asan-tool asan-containers tsan-programs guest-programs fault-programs fuzz-programs syntax
.PHONY: help demo man check check-deep check-root check-vm soak asan tsan fuzz coverage assurance bench waterfall lint analyze docker fmt fmt-check install uninstall deps clean
all: tool lib                       ## the command line tool and the library, below build/
tool: $(BUILD)/warder $(BUILD)/warder-attempts $(BUILD)/warder-store $(BUILD)/warder-edge $(BUILD)/warder-front $(BUILD)/warder-signer $(BUILD)/warder-agent $(BUILD)/warder-remote $(BUILD)/warder-fleet
lib: $(BUILD)/libwarder.so.$(SO) $(BUILD)/libwarder.a $(BUILD)/libwarder-store.so.$(SO) $(BUILD)/libwarder-store.a

help:
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

# ---- objects ----

# Other compilers or flags than last time: build anew.
FLAGS = $(CC) $(TOOL_CC) $(CPPFLAGS) $(ALL_CFLAGS) $(INIT_CFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D); echo '$(FLAGS)' | cmp -s - $@ || echo '$(FLAGS)' >$@
FORCE:
$(BUILD)/lib/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/tool/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC-T,$<)$(TOOL_CC) $(CPPFLAGS) $(TOOL_INC) $(ALL_CFLAGS) -fno-pie -c -o $@ $<

$(BUILD)/init/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC-I,$<)$(CC) $(INIT_CFLAGS) -c -o $@ $<

$(BUILD)/init.elf: $(INIT_OBJ)
	$(call say,LD-I,$@)$(CC) $(INIT_LINK) -o $@ $(INIT_OBJ)

$(BUILD)/forked/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC-F,$<)$(CC) $(INIT_CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(BUILD)/forked.so: $(FORKED_OBJ)
	$(call say,LD-F,$@)$(CC) $(FORKED_LINK) -o $@ $(FORKED_OBJ)

$(BUILD)/lib/%.o: %.S $(BUILD)/init.elf $(BUILD)/forked.so
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -I$(BUILD) -c -o $@ $<

$(BUILD)/tool/%.o: %.S $(BUILD)/init.elf $(BUILD)/forked.so
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -I$(BUILD) -c -o $@ $<

$(BUILD)/lib/runtime/code/harnesses.o $(BUILD)/tool/runtime/code/harnesses.o: $(addprefix runtime/code/harness.,rs py js)
$(BUILD)/lib/runtime/session/loops.o $(BUILD)/tool/runtime/session/loops.o: $(wildcard runtime/session/loops/*)
$(BUILD)/lib/host/front/page_files.o: $(wildcard host/front/page/*)

$(BUILD)/warder: $(TOOL_OBJ)
	$(call say,LD,$@)$(TOOL_CC) $(TOOL_LINK) -no-pie $(HARDEN_LINK) $(SAN) -o $@ $(TOOL_OBJ)

# What `warder doctor --attack` tries in a jail; what is in there has nothing of a sanitizer's or of the coverage.
$(BUILD)/tool/runtime/attack/attempts/%.o: override SAN :=
$(BUILD)/warder-attempts: $(ATTEMPTS_OBJ)
	$(call say,LD,$@)$(TOOL_CC) -static -no-pie $(HARDEN_LINK) -o $@ $(ATTEMPTS_OBJ)

# It runs in a jail with 8 MiB: no sanitizer has room there.
$(BUILD)/agent/%.o: override SAN :=
$(BUILD)/agent/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC-A,$<)$(TOOL_CC) $(CPPFLAGS) $(TOOL_INC) $(ALL_CFLAGS) -fno-pie -c -o $@ $<

$(BUILD)/warder-agent: $(AGENT_OBJ)
	$(call say,LD,$@)$(TOOL_CC) -static -no-pie $(HARDEN_LINK) -o $@ $^

# Each static library is one object, in which only the functions of the public headers are global symbols. That of the store contains
# libwarder, so that a process has one copy of it.
$(BUILD)/libwarder.o: $(LIB_OBJ)
$(BUILD)/libwarder-store.o: $(STORE_OBJ) $(LIB_OBJ)
$(BUILD)/libwarder.o $(BUILD)/libwarder-store.o:
	$(call say,LD,$@)ld -r -o $@ $^ && objcopy --localize-hidden $@

$(BUILD)/%.a: $(BUILD)/%.o
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $<

$(BUILD)/libwarder.so.$(SO): $(LIB_OBJ) runtime/libwarder.map
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=runtime/libwarder.map -Wl,-z,defs $(HARDEN_LINK) \
	  -o $@ $(LIB_OBJ)

$(BUILD)/libinside.a: $(LIB_OBJ)
	$(call say,AR,$@)rm -f $@ && ar rcsT $@ $(LIB_OBJ)

# The public functions are libwarder's; of its inside it has a copy of what it uses.
$(BUILD)/libwarder-store.so.$(SO): $(STORE_OBJ) store/libwarder-store.map $(BUILD)/libwarder.so.$(SO) $(BUILD)/libinside.a
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=store/libwarder-store.map -Wl,-z,defs $(HARDEN_LINK) \
	  -o $@ $(STORE_OBJ) $(BUILD)/libwarder.so.$(SO) $(BUILD)/libinside.a -Wl,--as-needed $(STORE_LIBS)

$(BUILD)/warder-store: $(STORE_OBJ) $(STORE_CLI_OBJ) $(BUILD)/lib/runtime/cli/term.o $(BUILD)/lib/runtime/cli/ending.o $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ -Wl,--as-needed $(STORE_LIBS) -lpthread

$(BUILD)/warder-edge: $(EDGE_OBJ) $(BUILD)/lib/base/fd.o $(BUILD)/lib/policy/special.o $(BUILD)/lib/policy/hostname.o
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ $(EDGE_LIBS)

$(BUILD)/warder-front: $(FRONT_OBJ) $(filter-out %/launcher/%,$(LAUNCHER_SRC:%.c=$(BUILD)/lib/%.o)) $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ $(FRONT_LIBS) -lpthread

$(BUILD)/warder-signer: $(SIGNER_OBJ)
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ -lcrypto

$(BUILD)/warder-remote: $(REMOTE_OBJ) $(BUILD)/lib/remote/remote.o $(addprefix $(BUILD)/lib/base/,error.o file.o fd.o json.o json_write.o sha1.o sha256.o sse.o text.o utf8.o websocket.o)
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ $(REMOTE_LIBS)

$(BUILD)/warder-fleet: $(FLEET_OBJ) $(FLEET_PARTS:%.c=$(BUILD)/lib/%.o) $(LIB_OBJ)
	$(call say,LD,$@)$(CC) $(HARDEN_LINK) $(SAN) -o $@ $^ $(FLEET_LIBS)

# ---- tests ----

test-programs: $(TEST_SRC:%.c=$(BUILD)/%) $(BUILD)/tests/lib/without $(BUILD)/tests/lib/second_reader
unit-programs: $(patsubst %.c,$(BUILD)/%,$(filter tests/unit/%,$(TEST_SRC)))
# Criterion does not work with sanitizers, nor on the kernel of the guest: a small runner with its interface takes its place.
PLAIN := -Itests/lib/plain
guest-programs: $(patsubst tests/mechanism/%.c,$(BUILD)/tests/guest/%,$(wildcard tests/mechanism/*.c))
fuzz-programs: $(FUZZ_SRC:%.c=$(BUILD)/%)

# The warnings of a compiler without its code: a fifth of the time.
SYNTAX_SRC := $(sort $(LIB_SRC) $(CLI_SRC) $(STORE_SRC) $(STORE_CLI_SRC) $(EDGE_SRC) $(FRONT_SRC) $(SIGNER_SRC) $(AGENT_SRC) $(REMOTE_SRC) $(FLEET_SRC) $(ATTEMPTS_SRC) \
                     $(TEST_SRC) $(wildcard tests/fault/*.c) $(FUZZ_SRC))
syntax: $(SYNTAX_SRC:%.c=$(BUILD)/syntax/%.d)
$(BUILD)/syntax/tests/mechanism/test_opinions.d: CPPFLAGS += -I/usr/include/libnl3
$(BUILD)/syntax/tests/fault/%.d: CPPFLAGS += $(PLAIN)
$(BUILD)/syntax/%.d: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,SYNTAX,$<)$(CC) $(CPPFLAGS) $(if $(filter tests/%,$<),$(TEST_CFLAGS),$(ALL_CFLAGS)) -fsyntax-only -MF $@ -MT $@ $<

$(BUILD)/libtest.a: $(TEST_OBJ)
	$(call say,AR,$@)rm -f $@ && ar rcsT $@ $(TEST_OBJ)

$(BUILD)/tests/fuzz/%: EXTRA = $(FUZZ_MAIN)
$(BUILD)/tests/fuzz/% $(BUILD)/tests/guest/% $(BUILD)/tests/fault/%: STORE_EXTRA = -Wl,--as-needed $(STORE_LIBS)
$(BUILD)/tests/unit/% $(BUILD)/tests/mechanism/%: EXTRA = $(TEST_LIBS)
$(BUILD)/tests/guest/test_opinions: EXTRA = $(OPINION_LIBS)
$(BUILD)/tests/mechanism/test_opinions $(BUILD)/tests/guest/test_opinions: CPPFLAGS += -I/usr/include/libnl3
$(BUILD)/tests/mechanism/test_network $(BUILD)/tests/mechanism/test_opinions $(BUILD)/tests/guest/test_network $(BUILD)/tests/guest/test_opinions: \
  | $(BUILD)/tests/libexec/warder/warder-edge
$(BUILD)/tests/lib/second_reader: EXTRA = -lcjson
# Where a program below tests/ finds it, as an installed one does.
$(BUILD)/tests/libexec/warder/warder-edge: $(BUILD)/warder-edge
	@mkdir -p $(@D)
	ln -f $< $@
# Reads the table of attempts.
ATTEMPTS_TEST := $(filter-out %/main.o,$(ATTEMPTS_SRC:%.c=$(BUILD)/lib/%.o))
$(BUILD)/tests/unit/runtime/attack/test_attempts: $(ATTEMPTS_TEST)
$(BUILD)/tests/unit/runtime/attack/test_attempts: EXTRA = $(ATTEMPTS_TEST) $(TEST_LIBS)
$(BUILD)/tests/%: tests/%.c $(BUILD)/libtest.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC+LD,$@)$(CC) $(CPPFLAGS) $(if $(SAN),$(PLAIN)) $(TEST_CFLAGS) -MF $@.d -MT $@ -o $@ $< $(BUILD)/libtest.a $(EXTRA) $(STORE_EXTRA)

$(BUILD)/tests/guest/%: tests/mechanism/%.c $(BUILD)/libtest.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC+LD,$@)$(CC) $(CPPFLAGS) $(PLAIN) $(TEST_CFLAGS) -MF $@.d -MT $@ -o $@ $< $(BUILD)/libtest.a $(EXTRA) $(STORE_EXTRA)

# The plain runner everywhere: each of these tests is a process of its own with a single thread, which may unshare.
comma := ,
FAULT_SRC := tests/fault/inventory.c tests/fault/inject.c
fault-programs: $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fault/test_*.c))
FAULT_WRAP := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc reallocarray strdup strndup asprintf vasprintf __asprintf_chk realpath)
$(BUILD)/tests/fault/test_memory: EXTRA = $(FAULT_WRAP)
$(BUILD)/tests/fault/test_%: tests/fault/test_%.c $(FAULT_SRC) $(wildcard tests/fault/*.h tests/lib/jailed.h) $(BUILD)/libtest.a $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,CC+LD,$@)$(CC) $(CPPFLAGS) $(PLAIN) $(TEST_CFLAGS) -MF $@.d -MT $@ -o $@ $< $(FAULT_SRC) $(BUILD)/libtest.a $(EXTRA) $(STORE_EXTRA) -lpthread

# A child that shares our memory ends without unwinding: what it poisoned of its stack would stay poisoned, and what it
# pushed onto the thread sanitizer's copy of the stack would stay there.
not_in_jail = $(if $(findstring $1,$(SAN)),$(if $(findstring clang,$(CC)),-mllvm -$2,--param=$2))
$(BUILD)/lib/jail/%.o $(BUILD)/tool/jail/%.o: SAN_HERE = $(call not_in_jail,address,asan-stack=0) $(call not_in_jail,thread,tsan-instrument-func-entry-exit=0)
# What such a child runs while its parent goes on.
$(BUILD)/lib/jail/inside/%.o $(BUILD)/tool/jail/inside/%.o: SAN_HERE = $(call not_in_jail,address,asan-stack=0) $(if $(findstring thread,$(SAN)),-fno-sanitize=thread)

# Without libFuzzer a target reads the inputs named on its command line.
FUZZ_MAIN ?= tests/fuzz/replay.c
asan-programs:
	@$(MAKE) --no-print-directory BUILD=build/asan OPT='-Og -g1' HARDEN= SAN='$(ASAN)' $(ASAN_PROGRAMS) fuzz-programs
# `check` runs the unit tests alone.
ASAN_PROGRAMS ?= test-programs
# The command line tool itself, without its own heap, for suites that start it.
asan-tool:
	@$(MAKE) --no-print-directory BUILD=build/asan-tool OPT='-O1 -g' HARDEN= HARDEN_LINK= TOOL_CC=$(CC) TOOL_LINK= SAN='$(ASAN)' tool
# These use the libraries alone.
tsan-programs:
	@$(MAKE) --no-print-directory BUILD=build/tsan OPT='-Og -g1' HARDEN= SAN='-fsanitize=thread' TEST_OBJ='$$(LIB_OBJ) $$(STORE_OBJ)' \
	  build/tsan/tests/guest/test_threads build/tsan/tests/guest/test_library build/tsan/tests/guest/test_store_threads

check: deps-check                   ## what a change must pass: builds, lint, suites on this host and on a cgroup-v2 kernel
	@tests/run.sh check
check-deep: deps-check              ## check, the static analyzers, and every suite in the guest kernel and as an ordinary user
	@tests/run.sh deep
check-root: deps-check              ## the suites on this host as root
	@tests/run.sh root
check-vm: deps-check                ## the suites as root on this host, in User-mode Linux, on Debian's 6.12 and 6.1 (qemu)
	@tests/lib/deps.sh $(DEPS_VM)
	@tests/run.sh vm
soak: deps-check                    ## faults in full: every call of a run failed, 500 kills, 5000 runs, 10,000 requests of a fleet, a host with 1000 sandboxes (half an hour)
	@tests/run.sh soak
asan: deps-check                    ## unit and mechanism tests under the address and undefined-behaviour sanitizers
	@tests/run.sh asan
asan-containers: deps-check asan-tool ## containers of runtimes and engines under the same sanitizers (root; some minutes)
	@for suite in containers engines; do \
	  env ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 WARDER_TEST_SLOW=3 WARDER=build/asan-tool/warder \
	    tests/$$suite/run.py >build/asan-tool/$$suite.tap || exit; \
	  ! grep -A9 '^not ok' build/asan-tool/$$suite.tap || exit; grep -c '^ok' build/asan-tool/$$suite.tap; done
tsan: deps-check                    ## the library in many threads, under the thread sanitizer (root)
	@tests/run.sh tsan
fuzz: deps-check                    ## each fuzz target for FUZZ_SECONDS (20)
	@tests/lib/deps.sh $(DEPS_FUZZ)
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=$(CLANG) OPT='-O1 -g' HARDEN= SAN='$(ASAN) -fsanitize=fuzzer-no-link' \
	  FUZZ_MAIN=-fsanitize=fuzzer fuzz-programs
	@tests/fuzz/run.sh hunt build/fuzz
coverage: deps-check                ## how much of each folder the suites run (root)
	@$(MAKE) --no-print-directory BUILD=build/coverage CC=gcc TOOL_CC=gcc OPT='-O0 -g' HARDEN= SAN=--coverage tool test-programs
	@tests/coverage.sh build/coverage
assurance:                          ## generate docs/assurance.md from the results of check, fuzz and coverage
	@tests/assurance.py build/check >build/check/assurance.md && cp build/check/assurance.md docs/assurance.md
bench: all                          ## what launches, sessions, contexts and the network by name cost on this machine, beside others (root)
	@BUILD=$(BUILD) CC=$(CC) TOOL_CC=$(TOOL_CC) tests/bench/run.sh
	@BUILD=$(BUILD) CC=$(CC) TOOL_CC=$(TOOL_CC) tests/bench/network.sh
	@BUILD=$(BUILD) tests/bench/contexts.py
	@tests/bench/session.py $(BUILD)/warder
	@BUILD=$(BUILD) tests/engines/docker.sh tests/bench/backends.py
	@BUILD=$(BUILD) tests/engines/docker.sh tests/bench/host.py
	@BUILD=$(BUILD) tests/bench/fleet.py
waterfall: all                      ## where the time of a launch goes: system calls by phase and by process (root)
	@tests/bench/waterfall.py $(BUILD)/warder
docker:                             ## Debian's Docker for check and bench, unpacked below ~/.cache/warder-engines, not installed (root)
	@tests/engines/docker.sh
lint: deps-check                    ## circles, formatting, layers, documentation, words, cppcheck, shellcheck, manual pages
	@tests/lint/run.sh
analyze: deps-check                 ## the static analyzers of clang and gcc (a minute or two)
	@tests/lint/analyze.sh
fmt:                                ## format the sources
	@clang-format -i $$(git ls-files -co --exclude-standard -- '*.c' '*.h')
fmt-check:                          ## fails if a source is not formatted
	@clang-format --dry-run -Werror $$(git ls-files -co --exclude-standard -- '*.c' '*.h')

demo:                               ## real programs in the jail, each with its receipt
	@tests/lib/deps.sh $(DEPS_DEMO)
	@$(MAKE) --no-print-directory -s tool
	@docs/demo.sh $(BUILD)/warder

deps: deps-check                    ## install the Debian packages that building and testing need
deps-check:
	@tests/lib/deps.sh $(DEPS_CHECK)
.PHONY: deps-check

# ---- installation ----

LIBDIR     ?= $(PREFIX)/lib
SHARE      := $(PREFIX)/share
MAN        := $(wildcard docs/*.[1-8])
# Section 3 is made from the headers: a page for each library, and a link to it for each function.
MAN3       := $(BUILD)/man/libwarder.3 $(BUILD)/man/libwarder-store.3
functions   = $(shell awk -v names=1 -f docs/man3.awk $1)
# Where each shell looks for the completion of a command.
COMPLETION := bash-completion/completions/warder zsh/site-functions/_warder fish/vendor_completions.d/warder.fish
RECIPES    := $(wildcard recipes/*)
# What `install` puts below DESTDIR, and `uninstall` takes away again.
INSTALLED = $(PREFIX)/bin/warder $(PREFIX)/libexec/warder/warder-attempts $(PREFIX)/libexec/warder/warder-store \
            $(PREFIX)/libexec/warder/warder-edge $(PREFIX)/libexec/warder/warder-front $(PREFIX)/libexec/warder/warder-signer $(PREFIX)/libexec/warder/warder-agent $(PREFIX)/libexec/warder/warder-remote $(PREFIX)/libexec/warder/warder-fleet \
            $(LIBDIR)/libwarder.so.$(SO) $(LIBDIR)/libwarder.so $(LIBDIR)/libwarder.a \
            $(LIBDIR)/libwarder-store.so.$(SO) $(LIBDIR)/libwarder-store.so $(LIBDIR)/libwarder-store.a \
            $(LIBDIR)/pkgconfig/warder-store.pc $(PREFIX)/include/warder-store.h \
            $(LIBDIR)/pkgconfig/warder.pc $(PREFIX)/include/warder.h $(SHARE)/doc/warder/NEWS.md \
            $(COMPLETION:%=$(SHARE)/%) $(RECIPES:%=$(SHARE)/warder/%) \
            $(foreach page,$(MAN),$(SHARE)/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
            $(patsubst %,$(SHARE)/man/man3/%,$(notdir $(MAN3)) $(addsuffix .3,$(call functions,runtime/warder.h store/warder-store.h)))

man: $(MAN3)                        ## the manual pages of the libraries, below build/man
$(BUILD)/man/libwarder.3: runtime/warder.h
$(BUILD)/man/libwarder.3: PAGE = -v flags=-lwarder -v about="run an untrusted program under a policy"
$(BUILD)/man/libwarder-store.3: store/warder-store.h
$(BUILD)/man/libwarder-store.3: PAGE = -v flags="-lwarder-store -lwarder" -v about="data that stays between runs"
$(MAN3): docs/man3.awk
	@mkdir -p $(@D)
	$(call say,MAN,$@)awk -v name=$(basename $(@F)) -v header=$(notdir $(filter %.h,$^)) -v date="$$(date -u -r $(filter %.h,$^) '+%B %-d, %Y')" \
	  $(PAGE) -f docs/man3.awk $(filter %.h,$^) >$@

install: all $(MAN3)                ## install below PREFIX (/usr/local); DESTDIR is respected
	$(Q)mkdir -p $(sort $(dir $(INSTALLED:%=$(DESTDIR)%)))
	$(Q)install -m 755 $(BUILD)/warder $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -m 755 $(BUILD)/warder-attempts $(BUILD)/warder-store $(BUILD)/warder-edge $(BUILD)/warder-front $(BUILD)/warder-signer $(BUILD)/warder-agent $(BUILD)/warder-remote $(BUILD)/warder-fleet $(DESTDIR)$(PREFIX)/libexec/warder/
	$(Q)install -m 755 $(BUILD)/libwarder.so.$(SO) $(BUILD)/libwarder-store.so.$(SO) $(DESTDIR)$(LIBDIR)/
	$(Q)ln -sf libwarder.so.$(SO) $(DESTDIR)$(LIBDIR)/libwarder.so
	$(Q)ln -sf libwarder-store.so.$(SO) $(DESTDIR)$(LIBDIR)/libwarder-store.so
	$(Q)install -m 644 $(BUILD)/libwarder.a $(BUILD)/libwarder-store.a $(DESTDIR)$(LIBDIR)/
	$(Q)for pc in runtime/warder.pc store/warder-store.pc; do \
	  sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|; s|@VERSION@|$(VERSION)|' $$pc.in >$(DESTDIR)$(LIBDIR)/pkgconfig/$${pc##*/}; done
	$(Q)install -m 644 runtime/warder.h store/warder-store.h $(DESTDIR)$(PREFIX)/include/
	$(Q)install -m 644 NEWS.md $(DESTDIR)$(SHARE)/doc/warder/
	$(Q)install -m 644 $(RECIPES) $(DESTDIR)$(SHARE)/warder/recipes/
	$(Q)install -m 644 docs/completion/warder.bash $(DESTDIR)$(SHARE)/bash-completion/completions/warder
	$(Q)install -m 644 docs/completion/_warder $(DESTDIR)$(SHARE)/zsh/site-functions/
	$(Q)install -m 644 docs/completion/warder.fish $(DESTDIR)$(SHARE)/fish/vendor_completions.d/
	$(Q)$(foreach page,$(MAN),install -m 644 $(page) $(DESTDIR)$(SHARE)/man/man$(subst .,,$(suffix $(page)))/ &&) true
	$(Q)install -m 644 $(MAN3) $(DESTDIR)$(SHARE)/man/man3/
	$(Q)$(foreach page,$(MAN3),for name in $(call functions,$(if $(findstring store,$(page)),store/warder-store.h,runtime/warder.h)); do \
	  echo ".so man3/$(notdir $(page))" >$(DESTDIR)$(SHARE)/man/man3/$$name.3; done &&) true
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))true

# What `make install` installs, as Debian packages.
DEB_VERSION ?= $(VERSION)-1
DEB_ARCH    := $(shell dpkg --print-architecture 2>/dev/null)
DEB_LIBDIR  := /usr/lib/$(shell gcc -dumpmachine 2>/dev/null)
DEB         := $(BUILD)/warder_$(DEB_VERSION)_$(DEB_ARCH).deb
deb: all $(MAN3)                    ## Debian packages of what install installs: build/warder_VERSION_ARCHITECTURE.deb, and warder-host
	$(Q)rm -rf $(BUILD)/deb
	$(Q)$(MAKE) --no-print-directory -s BUILD=$(BUILD) PREFIX=/usr LIBDIR=$(DEB_LIBDIR) DESTDIR=$(abspath $(BUILD))/deb install
	$(call say,DEB,$(DEB))packaging/deb.sh $(abspath $(BUILD))/deb $(DEB_VERSION) $(DEB_ARCH) $(DEB_LIBDIR) $(abspath $(DEB))
.PHONY: deb

uninstall:                          ## remove what install put there
	$(Q)rm -f $(INSTALLED:%=$(DESTDIR)%)

clean:                              ## remove build/
	$(Q)rm -rf build

-include $(shell find $(BUILD)/lib $(BUILD)/tool $(BUILD)/init $(BUILD)/forked $(BUILD)/agent $(BUILD)/syntax $(BUILD)/tests -name '*.d' 2>/dev/null)
