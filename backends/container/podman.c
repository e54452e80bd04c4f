/*
 * podman, without an image: the bare root is a directory that it is given.
 */
#include <sched.h>

#include "backends/container/engine.h"

/* Instead of all that the host has of them: nothing is added to a container. */
static const char settings[] = "[containers]\n"
			       "annotations = []\n"
			       "apparmor_profile = \"unconfined\"\n"
			       "base_hosts_file = \"none\"\n"
			       "default_capabilities = []\n"
			       "default_sysctls = []\n"
			       "default_ulimits = []\n"
			       "devices = []\n"
			       "env = []\n"
			       "label = false\n"
			       "volumes = []\n"
			       "[engine]\n"
			       "cgroup_manager = \"cgroupfs\"\n"
			       "events_logger = \"none\"\n"
			       "hooks_dir = []\n"
			       "lock_type = \"file\"\n";

static void put_engine(struct engine_line *line, const struct engine_task *task)
{
	static const char *const words[] = { "--root",           ENGINE_BOOKS "/storage",
					     "--runroot",        ENGINE_BOOKS "/run",
					     "--tmpdir",         ENGINE_BOOKS "/tmp",
					     "--cgroup-manager", "cgroupfs",
					     "--storage-driver", "vfs",
					     "--events-backend", "none",
					     "--hooks-dir",      ENGINE_BOOKS "/hooks",
					     "--log-level",      "error",
					     "--runtime",        NULL };

	engine_put(line, task->paths[0]);
	engine_put_all(line, words);
	engine_put(line, task->paths[1]);
}

static void put_namespaces(struct engine_line *line, const struct jail_start *start)
{
	const uint64_t namespaces = start->plan->namespaces;
	const char *const words[] = { "--ipc",
				      "private",
				      "--uts",
				      "private",
				      "--pid",
				      "private",
				      "--cgroupns",
				      namespaces & CLONE_NEWCGROUP ? "ns:" LAYOUT_CGROUP_NS : "host",
				      "--network",
				      !(namespaces & CLONE_NEWNET) ? "host"
				      : start->network_fd >= 0     ? "ns:" LAYOUT_NETWORK_NS
								   : "none",
				      NULL };

	engine_put_all(line, words);
}

static void put_rest(struct engine_line *line, const struct engine_task *task)
{
	const char *const words[] = {
		"--name", task->name, "--hostname", task->hostname, "--uidmap", task->map, "--gidmap",
		task->map, "--user", task->user,
		/* nothing of the host's, nothing from outside, nothing that is kept */
		"--pull", "never", "--cgroups", "disabled", "--log-driver", "none", "--no-hosts",
		"--http-proxy=false", "--no-healthcheck", "--systemd=false", "--passwd=false",
		"--unsetenv-all", "--restart", "no", "--stop-timeout", "0",
		/* no cgroups and nothing of the host's /sys, not even until the root is the plan's */
		"--volume", ENGINE_EMPTY ":/sys:ro", "--volume", ENGINE_EMPTY "/fs/cgroup:/sys/fs/cgroup:ro",
		"--volume", LAYOUT_SHM ":/dev/shm:rw,nosuid,nodev,noexec",
		/* rights; /proc is covered with the plan's root */
		"--read-only", "--read-only-tmpfs=false", "--cap-drop", "ALL", "--cap-add", "SETPCAP",
		"--oom-score-adj", "800", "--security-opt", "no-new-privileges", "--security-opt",
		"label=disable", "--security-opt", "proc-opts=nosuid,nodev,noexec,hidepid=2",
		"--security-opt", "unmask=ALL", NULL
	};

	engine_put_all(line, words);
}

static void compose(const struct jail_start *start, struct engine_task *task)
{
	struct engine_line *line = &task->run;

	task->settings = settings;
	put_engine(line, task);
	engine_put(line, "run");
	engine_put(line, "--detach");
	put_namespaces(line, start);
	put_rest(line, task);
	engine_put(line, "--security-opt");
	engine_put(line, start->plan->filter->count ? "seccomp=" ENGINE_PROFILE : "seccomp=unconfined");
	engine_put(line, "--rootfs");
	engine_put(line, ENGINE_BARE);
	engine_put(line, ENGINE_INIT);
}

const struct engine engine_podman = {
	.name = "podman",
	.programs = { "podman", ENGINE_RUNTIME, "conmon" },
	.compose = compose,
};
