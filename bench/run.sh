#!/usr/bin/env bash
# run.sh: what the measuring client costs beside a bare loop, in one run, alternating.
#   RUNS=5 STREAMS=64 REQUESTS=512 TOKENS=200 bench/run.sh
# The server is bench/streams on processor 0, the clients on processor 1; another server
# of the same flags can be named with STREAM_SERVER='COMMAND…' and URL. Prints one JSON
# line per run, then the medians and the ratio.
set -euo pipefail
cd "$(dirname "$0")/.."
out=.build/bench
mkdir -p "$out"
go build -o "$out/" ./bench/client ./bench/bareloop ./bench/streams
url=${URL:-http://127.0.0.1:8199}
pin() { local cpu=$1; shift; if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then exec taskset -c "$cpu" "$@"; else exec "$@"; fi; }
(pin 0 ${STREAM_SERVER:-"$out/streams" -addr "${url#http://}" -ttft "${TTFT:-200ms}" -itl "${ITL:-20ms}"}) &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
place=${url#http://}
for _ in $(seq 100); do (exec 3<>"/dev/tcp/${place%:*}/${place##*:}") 2>/dev/null && break; sleep 0.1; done
n=${STREAMS:-64} r=${REQUESTS:-512} t=${TOKENS:-200}
: >"$out/results.jsonl"
for _ in $(seq "${RUNS:-5}"); do
  (pin 1 "$out/bareloop" -url "$url" -streams "$n" -requests "$r" -tokens "$t") | tee -a "$out/results.jsonl"
  (pin 1 "$out/client" -url "$url" -concurrency "$n" -requests "$r" -output "$t") | tee -a "$out/results.jsonl"
done
python3 - "$out/results.jsonl" <<'PY'
import json, statistics, sys
runs = [json.loads(l) for l in open(sys.argv[1])]
cost = {}
for r in runs:
    assert r["failed"] == 0, r
    cost.setdefault(r.get("program", "infbench client"), []).append(r["cpu_s_per_100k_tokens"])
for name, values in cost.items():
    print(f"{name:16s} CPU s per 100,000 tokens: median {statistics.median(values):.3f}, range {min(values):.3f} to {max(values):.3f}, n={len(values)}")
pairs = [c / b for b, c in zip(cost["bare loop"], cost["infbench client"])]
print(f"ratio, pair by pair: median {statistics.median(pairs):.2f}, range {min(pairs):.2f} to {max(pairs):.2f}")
PY
