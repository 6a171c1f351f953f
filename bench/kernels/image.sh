#!/usr/bin/env bash
# The inventory of an image archive of 10 GiB: time, memory, and how much of the archive is read.
#   bench/kernels/image.sh LIBRARY [GIB] [--gzip]   needs twice as much room in TMPDIR for a moment
set -euo pipefail
cd "$(dirname "$0")/../.."
make -s build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 bench/kernels/image.py "$1" "$work/image.tar" "${2:-10}" ${3:-}
/usr/bin/time -f "%e s, %U s of processor time, %M kB at the most, exit %x" .build/bin/infbench stage1 --kernels "$work/image.tar" --platform linux/amd64 --device sm_90 --all | grep -E "hardware/kernels|^kernels" || true
