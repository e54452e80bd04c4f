/*
 * Docker, with a daemon of its own for the one container: that of the host keeps its containers where no supervisor can end them,
 * and maps no ids for one container alone. The daemon begins with the run, in the monitor's namespaces, knows no network, no
 * registry and no image but an empty one, and ends with them.
 */
#include <sched.h>
#include <stdio.h>

#include "backends/container/engine.h"

static void compose_daemon(struct engine_task *task)
{
	const char *const words[] = { task->paths[2],          "--config-file",
				      ENGINE_SETTINGS,         "--data-root",
				      ENGINE_BOOKS "/data",    "--exec-root",
				      ENGINE_BOOKS "/exec",    "--pidfile",
				      ENGINE_BOOKS "/pid",     "--host",
				      "unix://" ENGINE_SOCKET, "--bridge=none",
				      "--iptables=false",      "--ip6tables=false",
				      "--ip-forward=false",    "--ip-masq=false",
				      "--storage-driver=vfs",  "--userns-remap=" ENGINE_USER,
				      "--log-level=error",     NULL };

	engine_put_all(&task->daemon, words);
}

static void put_client(struct engine_line *line, const struct engine_task *task)
{
	engine_put(line, task->paths[0]);
	engine_put(line, "--host");
	engine_put(line, "unix://" ENGINE_SOCKET);
}

static void put_container(struct engine_line *line, const struct engine_task *task)
{
	const char *const words[] = {
		"run", "--detach", "--pull", "never", "--runtime", "bare", "--name", task->name, "--hostname",
		task->hostname, "--user", task->user, "--network", "none", "--ipc", "private", "--log-driver",
		"none", "--no-healthcheck", "--restart", "no",
		/* the monitor is in the run's own namespace of cgroups, and so is the daemon */
		"--cgroupns", "host",
		/* init and its door, a place for the plan's root; no cgroups and nothing of the host's /sys */
		"--volume", ENGINE_BARE ENGINE_INIT ":" ENGINE_INIT ":ro", "--volume",
		ENGINE_EMPTY ":" ENGINE_PLAN ":ro", "--volume", ENGINE_EMPTY ":/sys:ro", "--volume",
		ENGINE_EMPTY "/fs/cgroup:/sys/fs/cgroup:ro", "--volume", LAYOUT_SHM ":/dev/shm:rw",
		/* rights; /proc is covered with the plan's root */
		"--read-only", "--cap-drop", "ALL", "--oom-score-adj", "800", "--security-opt",
		"no-new-privileges", "--security-opt", "label=disable", "--security-opt",
		"apparmor=unconfined", "--security-opt", "systempaths=unconfined", NULL
	};

	engine_put_all(line, words);
}

static void compose(const struct jail_start *start, struct engine_task *task)
{
	const char *const import[] = { "import", ENGINE_IMAGE, "bare", NULL };

	snprintf(task->text, sizeof(task->text),
		 "{\"runtimes\": {\"bare\": {\"path\": \"%s\", \"runtimeArgs\": "
		 "[\"--cgroup-manager=disabled\"]}}}\n",
		 task->paths[1]);
	task->settings = task->text;
	snprintf(task->door, sizeof(task->door), ENGINE_BARE "%s:%s:ro", start->door, start->door);
	snprintf(task->users, sizeof(task->users),
		 "root:x:0:0::/:/bin/false\n" ENGINE_USER ":x:%u:%u::/:/bin/false\n", start->first_id,
		 start->first_id);
	snprintf(task->ids, sizeof(task->ids), ENGINE_USER ":%u:%u\n", start->first_id, start->id_count);
	compose_daemon(task);
	put_client(&task->prepare, task);
	engine_put_all(&task->prepare, import);
	put_client(&task->run, task);
	put_container(&task->run, task);
	engine_put(&task->run, "--volume");
	engine_put(&task->run, task->door);
	engine_put(&task->run, "--security-opt");
	engine_put(&task->run, start->plan->filter->count ? "seccomp=" ENGINE_PROFILE : "seccomp=unconfined");
	engine_put(&task->run, "bare");
	engine_put(&task->run, ENGINE_INIT);
}

const struct engine engine_docker = {
	.name = "docker",
	.programs = { "docker", ENGINE_RUNTIME, "dockerd", "containerd", "containerd-shim-runc-v2" },
	.lacks_host_network = true,
	.compose = compose,
};
