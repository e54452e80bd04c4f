#!/bin/bash
# sources.sh: the state of the sources and the day, with a tab between them: what the results of a run are of.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
state=$(git describe --always --dirty --abbrev=10 2>/dev/null)
printf '%s\t%s\n' "${state:-no repository}" "$(date -u +%F)"
