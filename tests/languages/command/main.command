case ${1:-} in fail) echo "no such thing: 42" >&2; exit 3 ;; throw) kill -ABRT $$ ;; esac
python3 -c 'import json, os; g = json.load(open(os.environ["WARDER_INPUT"])); print(g["factor"], json.dumps(g["name"]))' >values
read -r factor name <values && rm values
sort -n | awk -v factor="$factor" -v name="$name" -v result="$WARDER_RESULT" '
	{ print $1 "," $1 * $1 >"report.csv"; total += $1; sorted = sorted (NR > 1 ? "," : "") $1 }
	END { print "sum " total; printf "{\"scaled\": %d, \"name\": %s, \"sorted\": [%s]}", total * factor, name, sorted >result }'
mkdir out && head -c 100000 /dev/zero | tr '\0' x >out/large.txt
(IFS='|'; echo "$*")
