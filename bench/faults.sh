#!/usr/bin/env bash
# faults.sh: does the client judge each misbehaviour of a server rightly while it loads it?
#   TRUTH_SERVER=/path/to/truth-server bench/faults.sh [FAULT…]
# The server is not in this repository: any program that lists its faults with -list-faults (name, then words), takes
# -addr and -log, and switches them by GET /control?fault=NAME&ttft=…&itl=…. Harmful: noticed, no speed, exit code not 0.
# Harmless: measured as it was, not complained of, exit code 0. TOKENIZER names a tokenizer.json or its folder.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${TRUTH_SERVER:?names the truth server, which is not in this repository}"
out=${OUT:-.build/bench/faults}
rm -rf "$out" && mkdir -p "$out"
go build -o .build/bench/ ./bench/client
export CLIENT=$PWD/.build/bench/client EXTRA=${EXTRA:--within 2s}
port=${PORT:-8197}
"$TRUTH_SERVER" -addr "127.0.0.1:$port" -log "$out/truth.jsonl" -log-tokens true 2>"$out/server.txt" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
get() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5).read()' "http://127.0.0.1:$port$1"; }
faults=("$@")
[ $# -gt 0 ] || mapfile -t faults < <("$TRUTH_SERVER" -list-faults | awk '{print $1}')
for f in "${faults[@]}"; do
  get "/control?run=$f&fault=$f&ttft=${TTFT:-10ms}&itl=${ITL:-2ms}"
  for _ in 1 2 3; do # a machine that held the client up says nothing about the fault
    bench/run-infbench.sh "http://127.0.0.1:$port" truth 4 20 64 32 "$out/$f" || true
    grep -q '"client_limited":true' "$out/$f/summary.json" 2>/dev/null || break
    get "/control?run=$f"
  done
  echo "$f: exit $(cat "$out/$f/exit-code")" >&2
done
get /flush
python3 - "$out" "${faults[@]}" <<'PY'
import json, os, sys
out, faults = sys.argv[1], sys.argv[2:]
harmless = {"none", "comments", "crlf", "split", "role-early", "multi2", "multi4", "reasoning", "reasoning2", "usage-none"}
sent = {}
for line in open(f"{out}/truth.jsonl", encoding="utf-8"):
    r = json.loads(line)
    if r["no"] == 1:
        sent[r["run"]] = []  # tried again
    if r["stream"] and r["asked_tokens"] == 32:
        sent.setdefault(r["run"], []).append(r)
wrong = 0
print("| fault | kind | exit | good of 20 | TTFT p50, true | tokens, true | what it says | right |")
print("|---|---|---|---|---|---|---|---|")
for f in faults:
    code = int(open(f"{out}/{f}/exit-code").read())
    try:
        s = json.load(open(f"{out}/{f}/summary.json", encoding="utf-8"))
    except OSError:
        s = {}
    speed = [k for k in ("ttft_ms", "itl_ms", "chunk_ms", "tpot_ms", "e2e_ms", "tok_s") if k in s]
    said = "; ".join(s.get("complaints", []))
    rows = sent.get(f, [])
    true_ttft = sorted(r["ttft_ms"] for r in rows)[(len(rows) - 1) // 2] if rows else None
    true_tokens = sum(r["sent_tokens"] for r in rows)
    if f in harmless:
        ttft = s.get("ttft_ms", {}).get("p50")
        right = code == 0 and not said and s.get("ok") == 20 and ttft is not None
        right = right and ttft >= true_ttft and s.get("output_tokens", true_tokens) == true_tokens
        if not said:
            said = "; ".join(s.get("withheld", []))
    else:
        ttft = s.get("ttft_ms", {}).get("p50")
        right = code != 0 and not speed and said != ""
    wrong += not right
    shown = lambda v: "—" if v is None else f"{v:.2f}"
    print(f"| {f} | {'harmless' if f in harmless else 'harmful'} | {code} | {s.get('ok', 0)} | {shown(ttft)}, {shown(true_ttft)} | {s.get('output_tokens', '—')}, {true_tokens} "
          f"| {said.replace('|', '/')[:160]} | {'yes' if right else '**no**'} |")
print(f"\n{len(faults) - wrong} of {len(faults)} judged rightly")
sys.exit(wrong > 0)
PY
