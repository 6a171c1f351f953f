#!/usr/bin/env bash
# Headers of 100,000 tensors in 163 shards: stage 0's reader beside Python's safetensors, in turns; the whole
# command beside the whole interpreter; and the same checkpoint over HTTP, 50 ms away. Wants python3 with venv.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/.build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$build/bin/headers" ./bench/headers
make -s build
if [ ! -x "$build/headers-venv/bin/python" ]; then
  python3 -m venv "$build/headers-venv"
  "$build/headers-venv/bin/pip" -q install safetensors==0.8.0 numpy==2.4.0 2>/dev/null || "$build/headers-venv/bin/pip" -q install safetensors numpy
fi
py=$build/headers-venv/bin/python
"$build/bin/headers" -make -dir "$work/model"
for _ in 1 2 3; do # in turns, so that a machine that drifts drifts for both
  "$build/bin/headers" -dir "$work/model" -rounds 5
  "$py" bench/headers/headers.py "$work/model" 5
done | tee "$work/lines"
awk '{ n[$1]++; t[$1, n[$1]] = $5 }
  function median(who,   i, j, k, a) { k = n[who]; for (i = 1; i <= k; i++) a[i] = t[who, i]
    for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (a[j] < a[i]) { x = a[i]; a[i] = a[j]; a[j] = x }
    return a[int((k + 1) / 2)] }
  END { a = median("infbench"); b = median("safetensors"); printf "median %.4f s and %.4f s: ratio %.1f\n", a, b, b / a }' "$work/lines"
echo "whole processes:"
for _ in 1 2 3; do
  /usr/bin/time -f "  infbench stage0, all checks: %e s, %M kB" "$build/bin/infbench" stage0 --quiet --checkpoint "$work/model" >/dev/null || true
  /usr/bin/time -f "  python, headers alone: %e s, %M kB" "$py" bench/headers/headers.py "$work/model" 1 >/dev/null
done
"$build/bin/headers" -dir "$work/model" -http 50ms -rounds 3
