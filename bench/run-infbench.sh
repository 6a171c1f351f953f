#!/usr/bin/env bash
# run-infbench.sh URL MODEL CONCURRENCY REQUESTS INPUT_TOKENS OUTPUT_TOKENS OUTDIR
# One run of bench/client, in the form in which other load generators are run beside it: console.txt, exit-code and
# summary.json in OUTDIR; it exits with the client's exit code. CLIENT names a built client (else it is built),
# TOKENIZER a tokenizer.json or its folder, EXTRA more flags.
set -euo pipefail
if [ $# -ne 7 ]; then
  sed -n 2p "$0" | cut -c3- >&2
  echo "  URL is the server without /v1, e.g. http://127.0.0.1:8199" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
client=${CLIENT:-$root/.build/bench/client}
[ -n "${CLIENT:-}" ] || go build -C "$root" -o "$client" ./bench/client
mkdir -p "$7"
tokenizer=${TOKENIZER:-}
[ -d "$tokenizer" ] && tokenizer=$tokenizer/tokenizer.json
rc=0
"$client" -url "${1%/}" -model "$2" -concurrency "$3" -requests "$4" -input "$5" -output "$6" -out "$7" \
  ${tokenizer:+-tokenizer "$tokenizer"} ${EXTRA:-} >"$7/console.txt" 2>&1 || rc=$?
echo "$rc" >"$7/exit-code"
exit "$rc"
