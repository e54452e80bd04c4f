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
CPPFLAGS := -D_GNU_SOURCE -I. -DWARDER_VERSION='"$(VERSION)"'
CFLAGS   ?=
ALL_CFLAGS = -std=gnu11 $(OPT) $(WARN) $(WERROR) $(HARDEN) $(SAN) $(CFLAGS) -fvisibility=hidden -MMD -MP

# The init inside the jail: no libc, no start files, nothing of the host's build in it.
INIT_CFLAGS = -std=gnu11 -Os -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fno-pic -no-pie \
              -fno-builtin -fno-tree-loop-distribute-patterns $(WARN) $(WERROR) -D_GNU_SOURCE -I. -MMD -MP
INIT_LINK   = -nostdlib -static -no-pie -Wl,-z,noexecstack,-z,norelro,--build-id=none,-s,-z,noseparate-code

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

# root.c is compiled twice: into the init, and for the child that prepares a template.
LIB_SRC   := $(sort $(wildcard base/*.c policy/*.c rootfs/*.c jail/*.c backends/*.c runtime/*.c) jail/inside/root.c)
LIB_ASM   := $(wildcard jail/*.S)
CLI_SRC   := $(sort $(wildcard runtime/cli/*.c))
INIT_SRC  := $(sort $(wildcard jail/inside/*.c))
LIB_OBJ   := $(LIB_SRC:%.c=$(BUILD)/lib/%.o) $(LIB_ASM:%.S=$(BUILD)/lib/%.o)
TOOL_OBJ  := $(LIB_SRC:%.c=$(BUILD)/tool/%.o) $(LIB_ASM:%.S=$(BUILD)/tool/%.o) $(CLI_SRC:%.c=$(BUILD)/tool/%.o)
INIT_OBJ  := $(INIT_SRC:%.c=$(BUILD)/init/%.o)
# musl's compiler wrapper hides the kernel's headers; they are the same for every libc.
TOOL_INC  := $(if $(findstring musl,$(TOOL_CC)),-idirafter /usr/include -idirafter /usr/include/$(shell $(CC) -dumpmachine 2>/dev/null))

.PHONY: all lib tool
all: tool lib
tool: $(BUILD)/warder
lib: $(BUILD)/libwarder.so.$(SO) $(BUILD)/libwarder.a

$(BUILD)/lib/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/tool/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC-T,$<)$(TOOL_CC) $(CPPFLAGS) $(TOOL_INC) $(ALL_CFLAGS) -fno-pie -c -o $@ $<

$(BUILD)/init/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC-I,$<)$(CC) $(INIT_CFLAGS) -c -o $@ $<

$(BUILD)/init.elf: $(INIT_OBJ)
	$(call say,LD-I,$@)$(CC) $(INIT_LINK) -o $@ $(INIT_OBJ)

$(BUILD)/lib/%.o: %.S $(BUILD)/init.elf
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -I$(BUILD) -c -o $@ $<

$(BUILD)/tool/%.o: %.S $(BUILD)/init.elf
	@mkdir -p $(@D)
	$(call say,AS,$<)$(CC) -I$(BUILD) -c -o $@ $<

$(BUILD)/warder: $(TOOL_OBJ)
	$(call say,LD,$@)$(TOOL_CC) -static -no-pie $(HARDEN_LINK) -o $@ $(TOOL_OBJ)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
