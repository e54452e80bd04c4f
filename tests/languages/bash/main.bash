set -euo pipefail
case ${1:-} in
fail) echo "no such thing: 42" >&2; exit 3 ;;
throw) : "${missing?thrown on purpose}" ;;
esac
input=$(<"$WARDER_INPUT")
[[ $input =~ \"factor\":\ *([0-9]+) ]] && factor=${BASH_REMATCH[1]}
[[ $input =~ \"name\":\ *(\"[^\"]*\") ]] && name=${BASH_REMATCH[1]}
mapfile -t numbers < <(sort -n)
declare -A squares
total=0
for n in "${numbers[@]}"; do
	squares[$n]=$((n * n))
	total=$((total + n))
	echo "$n,${squares[$n]}" >>report.csv
done
mkdir out
printf 'x%.0s' {1..100000} >out/large.txt
echo "sum $total"
(IFS='|'; echo "$*")
(IFS=,; printf '{"scaled": %d, "name": %s, "sorted": [%s]}' $((total * factor)) "$name" "${numbers[*]}") >"$WARDER_RESULT"
