#!/usr/bin/env bash
# The kernel inventory of a library of 0.75 GB beside NVIDIA's cuobjdump, whole processes in turns with a warm
# page cache, and the same library inside an image archive. Wants python3 with venv, and /usr/bin/time.
#   bench/kernels/run.sh [LIBRARY [CUOBJDUMP]]   without arguments both come from the package registry (0.6 GB)
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/.build
make -s build
lib=${1:-} judge=${2:-}
if [ -z "$lib" ]; then
  parts=$build/kernels
  if [ ! -d "$parts/nvidia" ]; then
    python3 -m venv "$parts/venv"
    "$parts/venv/bin/pip" -q install --no-deps --target "$parts" nvidia-cublas-cu12==12.9.3.13 nvidia-cuda-cuobjdump==13.5.37
  fi
  lib=$parts/nvidia/cublas/lib/libcublasLt.so.12
  judge=$(find "$parts" -name cuobjdump -type f | head -1)
  chmod +x "$judge"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat "$lib" >/dev/null
ls -l "$lib" | awk '{ printf "%s: %.3f GB\n", $9, $5 / 1e9 }' | sed 's|.*/||'
for _ in 1 2 3 4 5; do # in turns, so that a machine that drifts drifts for both
  /usr/bin/time -f "infbench %e %M" "$build/bin/infbench" stage1 --kernels "$lib" --device sm_90 --json >"$work/ours.json" 2>>"$work/times" || true
  /usr/bin/time -f "cuobjdump %e %M" "${judge:-cuobjdump}" --list-elf --list-ptx "$lib" >"$work/theirs" 2>>"$work/times"
done
grep -E '^(infbench|cuobjdump) ' "$work/times" | awk '{ n[$1]++; t[$1, n[$1]] = $2; if ($3 > m[$1]) m[$1] = $3 }
  function median(who,   i, j, k, a, x) { k = n[who]; for (i = 1; i <= k; i++) a[i] = t[who, i]
    for (i = 1; i <= k; i++) for (j = i + 1; j <= k; j++) if (a[j] < a[i]) { x = a[i]; a[i] = a[j]; a[j] = x }
    return a[int((k + 1) / 2)] }
  END { a = median("infbench"); b = median("cuobjdump")
    printf "infbench, whole process: %.3f s, %d kB at the most\ncuobjdump: %.3f s, %d kB at the most\nratio %.1f\n", a, m["infbench"], b, m["cuobjdump"], b / a }'
# The list: architectures with their suffixes; cuobjdump's file names leave the f off machine code for a family.
python3 - "$work/ours.json" "$work/theirs" <<'PY'
import json, re, sys
ours = {t.replace(" (PTX)", "") for l in json.load(open(sys.argv[1]))["kernels"]["inventories"][0]["libraries"] for t in l["targets"]}
theirs = {("compute_" if k == "PTX" else "sm_") + a for k, a in re.findall(r"^(ELF|PTX) file +\d+: .*\.sm_([0-9]+[af]?)\.", open(sys.argv[2]).read(), re.M)}
bare = {t[:-1] if t.startswith("sm_") and t.endswith("f") else t for t in ours}
print("the same list:", bare == theirs, "ours " + " ".join(sorted(ours)) if bare != theirs else "")
PY
