# Completion of warder(1) for bash; printed by "warder completion bash".
_warder()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run code tool mcp scan judge languages changes session context ps logs attach write kill wait serve tenant worker submit explain backend policy doctor blocks format data checkpoint image events workspace snapshot artifact completion --help --version' -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] && { mapfile -t COMPREPLY < <(compgen -A command -A file -- "$word"); return; }
	done
	case $before in
	--preset) mapfile -t COMPREPLY < <(compgen -W 'strict strict-python strict-js agent build workflow host-local' -- "$word"); return ;;
	--net) mapfile -t COMPREPLY < <(compgen -W 'none loopback allow learn host' -- "$word"); return ;;
	--as) mapfile -t COMPREPLY < <(compgen -W 'block inline text' -- "$word"); return ;;
	--require|--prefer) mapfile -t COMPREPLY < <(compgen -W 'languages network network.publish network.maxConnections network.bytes filesystem.view filesystem.workspace filesystem.paths filesystem.tmp environment limits.wallTime limits.cpuTime limits.memory limits.swap limits.cpus limits.pids limits.openFiles limits.fileSize limits.stack limits.disk limits.code output.stdout output.stderr processes.spawn processes.identity syscalls syscalls.speculation devices.terminals functions workingDirectory' -- "$word"); return ;;
	--policy|--workspace|--ro|--rw|--dry-run|--ceiling|--stdin|--rules|--audit|--audit|--audit|--languages|--stats|--config|--config|--credentials|--ca-file|--key|--make-key|--tls-cert|--tls-key|--ceiling|--log|--env-from|--receipt|--backends) mapfile -t COMPREPLY < <(compgen -A file -- "$word"); return ;;
	esac
	case ${COMP_WORDS[1]} in
	run) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --dry-run --changes --set --require --prefer --ceiling --cgroup-parent --delegate --artifacts --max-artifact --audit --audit-argv --no-service --detach --interactive --keep --log --grace --terminal --replay --no-input --progress --function-command --env-from --receipt --backend --backends --json --no-config --help' ;;
	code) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --delegate --language --session --context --stdin --input --last-line --file --collect --artifacts --max-artifact --scan --scan-deny --rules --audit --audit-argv --check --function --no-cache --cache --languages --no-service --grace --no-input --progress --function-command --env-from --receipt --backend --backends --json --no-config --help' ;;
	tool) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --artifacts --max-artifact --audit --audit-argv --no-cache --cache --languages --stream --parallel --unordered --scopes --request-env --default-language --schema --stats --no-service --backend --backends --json --no-config --help' ;;
	mcp) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --setup --session --lifetime --backend --backends --no-config --help' ;;
	scan) flags='--language --rules --audit --json --no-config --help' ;;
	judge) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --language --artifacts --max-artifact --audit --audit-argv --no-cache --cache --languages --parallel --request-env --cases --compare --stop --no-service --backend --backends --json --no-config --help' ;;
	languages) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --languages --json --no-config --help' ;;
	changes) flags='--force --diff --json --no-config --help show commit drop' ;;
	session) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --audit --audit-argv --setup --lifetime --idle-timeout --workspace-id --snapshot-on-stop --capabilities --attach --recreate --on-recreate --keep-sandbox --auto-start --max-bytes --on-existing --background --detach --interactive --keep --log --grace --terminal --no-input --progress --function-command --env-from --receipt --backend --backends --json --no-config --help start exec list status stop restart pause resume extend read write cp patch copy changes' ;;
	context) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --language --code --no-wait --keep-seed --no-input --json --no-config --help create list run interrupt restart fork describe delete' ;;
	ps) flags='--json --help' ;;
	logs) flags='--follow --from --lines --yield --json --help' ;;
	attach) flags='--detach-keys --no-input --help' ;;
	write) flags='--close --help' ;;
	kill) flags='--signal --help' ;;
	wait) flags='--json --help' ;;
	serve) flags='--local --fork-server --listen --socket-mode --state --config --check --tls-cert --tls-key --domain --log-json --stop-all --insecure-http --idle-timeout --help' ;;
	tenant) flags='--state --scopes --expires --ceiling --request-key --uid --old-clients --json --help' ;;
	worker) flags='--state --config --nats --credentials --ca-file --parallel --redeliver-after --deliveries --help' ;;
	submit) flags='--nats --credentials --ca-file --tenant --key --make-key --lifetime --help' ;;
	explain) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --backend --backends --json --no-config --help' ;;
	backend) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --for-model --model --backends --json --no-config --help list describe declare trust' ;;
	policy) flags='--ceiling --for --json --help check show ceiling' ;;
	doctor) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --backend --matrix --backends --json --clean --attack --session --help' ;;
	blocks) flags='--preset --policy --net --allow --deny --publish --max-connections --net-bytes --view --workspace --ro --rw --tmp --env --timeout --cpu-time --memory --cpus --pids --max-output --cwd --set --require --prefer --ceiling --cgroup-parent --no-cache --cache --languages --backend --backends --language --delimiters --no-fences --ignore --unclosed --until-first --run --code --extract --json --no-config --help' ;;
	format) flags='--delimiters --as --extract --json --no-config --help' ;;
	data) flags='--pandas --json --no-config --help' ;;
	checkpoint) flags='put get latest list history rollback compare delete threads delete-thread limits verify rescue' ;;
	image) flags='import pull ensure build list inspect verify remove gc' ;;
	events) flags='request-work claim publish request-feedback provide-feedback block complete post wait follow history create list remove to-a2a from-a2a' ;;
	workspace) flags='create run list put write read stage provision drive collect patch show snapshot resume remove' ;;
	snapshot) flags='list verify remove prune' ;;
	artifact) flags='save take list read verify remove' ;;
	completion) flags='--help bash zsh fish' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$flags" -A file -- "$word")
}
complete -F _warder warder
