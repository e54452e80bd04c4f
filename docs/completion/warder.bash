# Completion of warder(1) for bash; printed by "warder completion bash".
_warder()
{
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} flags= i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W 'run code tool scan judge languages changes session explain backend policy doctor blocks format data checkpoint image events workspace snapshot artifact completion --help --version' -- "$word")
		return
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] && { mapfile -t COMPREPLY < <(compgen -A command -A file -- "$word"); return; }
	done
	case $before in
	--preset) mapfile -t COMPREPLY < <(compgen -W 'strict strict-python strict-js agent build host-local' -- "$word"); return ;;
	--net) mapfile -t COMPREPLY < <(compgen -W 'none loopback host' -- "$word"); return ;;
	--as) mapfile -t COMPREPLY < <(compgen -W 'block inline text' -- "$word"); return ;;
	--require|--prefer) mapfile -t COMPREPLY < <(compgen -W 'languages network filesystem.view filesystem.workspace filesystem.paths filesystem.tmp environment limits.wallTime limits.cpuTime limits.memory limits.swap limits.cpus limits.pids limits.openFiles limits.fileSize limits.stack limits.disk output.stdout output.stderr processes.spawn processes.identity syscalls workingDirectory' -- "$word"); return ;;
	--policy|--ro|--rw|--workspace|--dry-run|--ceiling|--stdin|--rules|--audit|--languages|--stats|--receipt|--backends) mapfile -t COMPREPLY < <(compgen -A file -- "$word"); return ;;
	esac
	case ${COMP_WORDS[1]} in
	run) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --dry-run --changes --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --artifacts --max-artifact --receipt --backend --backends --json --help' ;;
	code) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --language --stdin --input --last-line --file --collect --artifacts --max-artifact --scan --scan-deny --rules --audit --check --function --no-cache --cache --languages --receipt --backend --backends --json --help' ;;
	tool) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --artifacts --max-artifact --no-cache --cache --languages --stream --parallel --unordered --scopes --stats --backend --backends --json --help' ;;
	scan) flags='--language --rules --audit --json --help' ;;
	judge) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --language --artifacts --max-artifact --no-cache --cache --languages --parallel --cases --compare --stop --backend --backends --json --help' ;;
	languages) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --languages --json --help' ;;
	changes) flags='--force --diff --json --help show commit drop' ;;
	session) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --setup --lifetime --idle-timeout --auto-start --background --receipt --backend --backends --json --help start exec list status stop restart' ;;
	explain) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --backend --backends --json --help' ;;
	backend) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --for-model --model --backends --json --help' ;;
	policy) flags='--help check show' ;;
	doctor) flags='--preset --policy --timeout --cpu-time --memory --cpus --pids --tmp --net --allow --ro --rw --workspace --view --env --cwd --max-output --set --require --prefer --ceiling --cgroup-parent --backend --matrix --backends --json --clean --attack --session --help' ;;
	blocks) flags='--languages --language --delimiters --no-fences --ignore --unclosed --code --extract --json --help' ;;
	format) flags='--delimiters --as --extract --json --help' ;;
	data) flags='--pandas --json --help' ;;
	checkpoint) flags='put get latest list history rollback compare delete threads delete-thread limits' ;;
	image) flags='import build list inspect verify remove gc' ;;
	events) flags='request-work claim publish request-feedback provide-feedback block complete post wait follow history create list remove to-a2a from-a2a' ;;
	workspace) flags='create run list put write read stage collect patch show snapshot resume remove' ;;
	snapshot) flags='list verify remove prune' ;;
	artifact) flags='save take list read verify remove' ;;
	completion) flags='--help' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$flags" -A file -- "$word")
}
complete -F _warder warder
