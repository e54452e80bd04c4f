# shellcheck shell=bash
# What the cases of config.t have in common.
as=
[ "$(id -u)" != 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
export HOME=$PWD/home
unset XDG_CONFIG_HOME WARDER_STORE

# config TEXT: the file of defaults in $HOME
config()
{
	mkdir -p home/.config/warder && printf '%s\n' "$1" >home/.config/warder/config.json &&
		chmod 755 home home/.config home/.config/warder && chmod 600 home/.config/warder/config.json &&
		if [ -n "$as" ]; then chown -R 65534:65534 home; fi
}
