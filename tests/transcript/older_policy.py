"""The keys of a policy that the version of Warder before the present one knows. It refuses a document with others."""
import json

KEYS = set("""
version network network.mode network.allow network.deny network.publish network.maxConnections network.bytes filesystem filesystem.view
filesystem.workspace filesystem.paths filesystem.paths.readOnly filesystem.paths.readWrite filesystem.tmp filesystem.tmpExec environment
environment.mode environment.names environment.set limits limits.wallTime limits.cpuTime limits.memory limits.swap limits.cpus limits.pids
limits.openFiles limits.fileSize limits.stack limits.disk limits.code output output.stdout output.stderr output.onLimit processes
processes.spawn processes.identity processes.identity.uid processes.identity.gid syscalls syscalls.profile syscalls.deny syscalls.allow
syscalls.onViolation syscalls.speculation devices devices.terminals workingDirectory languages enforcement enforcement.languages
enforcement.network enforcement.network.publish enforcement.network.maxConnections enforcement.network.bytes enforcement.filesystem.view
enforcement.filesystem.workspace enforcement.filesystem.paths enforcement.filesystem.tmp enforcement.environment enforcement.limits.wallTime
enforcement.limits.cpuTime enforcement.limits.memory enforcement.limits.swap enforcement.limits.cpus enforcement.limits.pids
enforcement.limits.openFiles enforcement.limits.fileSize enforcement.limits.stack enforcement.limits.disk enforcement.limits.code
enforcement.output.stdout enforcement.output.stderr enforcement.processes.spawn enforcement.processes.identity enforcement.syscalls
enforcement.syscalls.speculation enforcement.devices.terminals enforcement.workingDirectory filesystem.growth
""".split())


def paths(members, parent=""):
    for key, value in members.items():
        yield parent + key
        if isinstance(value, dict) and parent + key != "environment.set":
            yield from paths(value, parent + key + ".")


def unknown_key(text):
    """The first key of the policy in this text that is not known; or None."""
    return next((path for path in paths(json.loads(text)) if path not in KEYS), None)
