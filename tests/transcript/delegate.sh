# shellcheck shell=bash disable=SC2034 # the cases use what is set here
# What the cases of delegate.t have in common: an ordinary user, and a stand-in for systemd-run and its service manager.
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
export HOME=$PWD
unset XDG_CONFIG_HOME DBUS_SESSION_BUS_ADDRESS WARDER_STORE

# A program in place of systemd-run that notes its arguments, goes into a cgroup below $SCOPES if that is set, and executes the
# command behind "--" in its own process, as systemd-run --scope does.
stand_in()
{
	mkdir -p bin run/systemd
	cat >bin/systemd-run <<'E'
#!/bin/sh
printf '%s\n' "$@" >"$NOTE"
while [ "$1" != -- ]; do shift; done
shift
if [ "$SCOPES" ]; then
	mkdir "$SCOPES/scope.$$" && echo $$ >"$SCOPES/scope.$$/cgroup.procs" || exit 99
fi
exec "$@"
E
	chmod 755 bin bin/systemd-run run run/systemd
	export PATH=$PWD/bin:$PATH XDG_RUNTIME_DIR=$PWD/run NOTE=$PWD/note
	: >note && chmod 666 note
}

# listen PATH...: sockets on which somebody listens, until unlisten
listen()
{
	python3 -c 'import os, socket, sys
sockets = []
for path in sys.argv[1:]:
	s = socket.socket(socket.AF_UNIX)
	s.bind(path)
	os.chmod(path, 0o777)
	s.listen(64)
	sockets.append(s)
print("ready", flush=True)
sys.stdin.read()' "$@" < <(sleep 600) > >(cat >ready) &
	listener=$!
	while [ ! -s ready ]; do sleep 0.05; done
}

unlisten()
{
	kill "$listener" 2>/dev/null
	wait "$listener" 2>/dev/null
	rm -f ready "$@"
}
