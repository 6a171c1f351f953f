#!/bin/bash
# Repeats the measurements of docs/PARITY.md on real engines: one small model at several precisions, in up to three implementations.
#
#   INFBENCH_ENGINES  the folder that "make engine" fills: a llama.cpp server and SmolLM2-135M
#   PARITY_GGUF       a python with numpy and gguf, which writes the other precisions
#   PARITY_VLLM       a python with vllm and transformers (about 6 GB installed); without it their rows are left out
#   PARITY_OUT        where variants and answers go; default .build/parity
#
# usage: bench/parity/run.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
engines=${INFBENCH_ENGINES:-$PWD/.build/engines} out=${PARITY_OUT:-$PWD/.build/parity} bin=${INFBENCH:-$PWD/.build/bin/infbench}
[ -f "$engines/model.gguf" ] || { echo "run.sh: no llama.cpp server in $engines: run make engine first, or name its folder with INFBENCH_ENGINES" >&2; exit 64; }
[ -n "${PARITY_GGUF:-}" ] || { echo "run.sh: PARITY_GGUF names no python with numpy and gguf, so no other precision can be written" >&2; exit 64; }
[ -x "$bin" ] || { echo "run.sh: no $bin: run make build first" >&2; exit 64; }
mkdir -p "$out"
rm -f "$out/open"; mkfifo "$out/open"
exec 8<>"$out/open" # never ends: a server of serve.py stops with its input
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
export OMP_WAIT_POLICY=passive GOMP_SPINCOUNT=0 HF_HUB_OFFLINE=1 DO_NOT_TRACK=1 VLLM_NO_USAGE_STATS=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=2
export VLLM_CPU_KVCACHE_SPACE=1 NO_COLOR=1

variants=(F32 F16 BF16 Q8_0 E4M3 Q5_1 Q5_0 Q4_0 MXFP4)
"$PARITY_GGUF" bench/parity/variants.py "$engines/model.gguf" "$out" "${variants[@]}"
[ -e "$out/q4_1.gguf" ] || ln -s "$engines/model.gguf" "$out/q4_1.gguf" # the original: F32 holds the same numbers

# answers NAME URL [MODEL]: what the server says, kept
answers() { "$bin" parity --target "$2" ${3:+--model "$3"} --timeout 10m --save "$out/$1.json.gz"; }

# llama NAME GGUF [serve.py arguments…]
llama() {
	local name=$1 file=$2; shift 2
	[ -e "$out/$name.json.gz" ] && return
	rm -f "$out/url"
	"$engines/venv/bin/python" internal/realengine/serve.py "$file" --ctx 4096 --slots 1 "$@" <&8 >"$out/url" 2>"$out/llama.log" &
	local pid=$!
	until [ -s "$out/url" ] && curl -sf "$(head -1 "$out/url")/health" >/dev/null; do
		kill -0 $pid 2>/dev/null || { tail "$out/llama.log" >&2; exit 1; }
		sleep 0.3
	done
	answers "$name" "$(head -1 "$out/url")"
	kill $pid; wait $pid 2>/dev/null || true
}

# served NAME MODEL COMMAND…: a server on a port of its own
port=$((20000 + RANDOM % 20000))
served() {
	local name=$1 model=$2; shift 2
	[ -e "$out/$name.json.gz" ] && return
	port=$((port + 1))
	"$@" --port $port >"$out/$name.log" 2>&1 &
	local pid=$!
	until curl -sf "http://127.0.0.1:$port/health" >/dev/null; do
		kill -0 $pid 2>/dev/null || { tail "$out/$name.log" >&2; exit 1; }
		sleep 0.5
	done
	answers "$name" "http://127.0.0.1:$port" "$model"
	kill $pid; wait $pid 2>/dev/null || true
}

for v in "${variants[@],,}" q4_1; do llama "llama-$v" "$out/$v.gguf"; done
llama llama-f32-again "$out/f32.gguf"
for v in f32 q8_0 q4_0; do llama "tools-llama-$v" "$out/$v.gguf" --template internal/realengine/tools.jinja; done
if [ -z "${PARITY_VLLM:-}" ]; then
	echo "run.sh: PARITY_VLLM names no python with vllm and transformers: their rows are left out" >&2
else
	for d in f32 bf16; do [ -e "$out/hf-$d/config.json" ] || "$PARITY_GGUF" bench/parity/hf_folder.py "$engines/model.gguf" "$out/hf-$d" $d; done
	vllm=("$PARITY_VLLM" -m vllm.entrypoints.openai.api_server --host 127.0.0.1 --served-model-name smollm2-135m --max-model-len 4096 --max-num-seqs 8 --enforce-eager)
	served vllm-f32 smollm2-135m "${vllm[@]}" --model "$out/hf-f32" --dtype float32
	served vllm-bf16 smollm2-135m "${vllm[@]}" --model "$out/hf-bf16" --dtype bfloat16
	served tools-vllm-bf16 smollm2-135m "${vllm[@]}" --model "$out/hf-bf16" --dtype bfloat16 --chat-template internal/realengine/tools.jinja --enable-auto-tool-choice --tool-call-parser hermes
	served transformers-bf16 "$out/hf-bf16" "$(dirname "$PARITY_VLLM")/transformers" serve "$out/hf-bf16" --host 127.0.0.1 --device cpu --dtype bfloat16
fi

compare() {
	local code=0
	echo "== $1 against $2 ${3:+(declared $3)}"
	"$bin" parity --target "$out/$1.json.gz" --reference "$out/$2.json.gz" ${3:+--precision "$3"} || code=$?
	[ $code -le 2 ] || exit $code
}
for reference in llama-f32 vllm-f32; do
	[ -e "$out/$reference.json.gz" ] || continue
	for f in "$out"/{llama,vllm,transformers}-*.json.gz; do
		[ -e "$f" ] && compare "$(basename "$f" .json.gz)" $reference
	done
done
for f in "$out"/tools-*.json.gz; do compare "$(basename "$f" .json.gz)" tools-llama-f32; done
