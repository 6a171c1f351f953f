#!/usr/bin/env python3
"""Unpack a GGUF file of the llama architecture into a Hugging Face model folder.

usage: hf_folder.py MODEL.gguf OUT_DIR bf16|f32

The weights are the dequantised ones, so that an engine which loads the folder computes with the numbers of the GGUF file: exactly with
f32, rounded once with bf16. Needs numpy and gguf only.
"""
import json
import os
import struct
import sys

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

NAMES = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight", "output.weight": "lm_head.weight"}
PARTS = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
         "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def unpermute(w, heads):
    return w.reshape(heads, w.shape[0] // heads // 2, 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def bf16(w):
    u = w.view(np.uint32).astype(np.uint64)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype("<u2")  # to nearest, ties to even


def main():
    if len(sys.argv) != 4 or sys.argv[3] not in ("bf16", "f32"):
        sys.exit(__doc__)
    reader, out, dtype = GGUFReader(sys.argv[1]), sys.argv[2], sys.argv[3]
    kv = {name: f.contents() for name, f in reader.fields.items()}
    if kv.get("general.architecture") != "llama":
        sys.exit("hf_folder: only the llama architecture is handled")
    os.makedirs(out, exist_ok=True)
    heads, kv_heads, hidden = kv["llama.attention.head_count"], kv["llama.attention.head_count_kv"], kv["llama.embedding_length"]
    head, blobs, at = {"__metadata__": {"format": "pt"}}, [], 0
    for t in reader.tensors:
        w = dequantize(t.data, t.tensor_type).astype(np.float32)
        name = NAMES.get(t.name)
        if name is None:
            _, layer, part, suffix = t.name.split(".")
            name = "model.layers.%s.%s.%s" % (layer, PARTS[part], suffix)
            if part in ("attn_q", "attn_k"):
                w = unpermute(w, heads if part == "attn_q" else kv_heads)
        w = np.ascontiguousarray(w)
        raw = (bf16(w) if dtype == "bf16" else w.astype("<f4")).tobytes()
        head[name] = {"dtype": "BF16" if dtype == "bf16" else "F32", "shape": list(w.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        blobs.append(raw)
    h = json.dumps(head).encode()
    h += b" " * (-len(h) % 8)
    with open(os.path.join(out, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h)
        f.writelines(blobs)

    def dump(name, value):
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            json.dump(value, f, indent=1, ensure_ascii=False)

    tokens, bos, eos = kv["tokenizer.ggml.tokens"], kv["tokenizer.ggml.bos_token_id"], kv["tokenizer.ggml.eos_token_id"]
    named = "bfloat16" if dtype == "bf16" else "float32"
    dump("config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": hidden, "head_dim": hidden // heads,
        "intermediate_size": kv["llama.feed_forward_length"], "num_hidden_layers": kv["llama.block_count"], "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "max_position_embeddings": kv["llama.context_length"], "rope_theta": kv["llama.rope.freq_base"], "rope_scaling": None,
        "rms_norm_eps": float("%.6g" % kv["llama.attention.layer_norm_rms_epsilon"]), "vocab_size": len(tokens), "tie_word_embeddings": "lm_head.weight" not in head,
        "attention_bias": False, "mlp_bias": False, "bos_token_id": bos, "eos_token_id": eos, "pad_token_id": eos, "dtype": named, "torch_dtype": named})
    dump("generation_config.json", {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": eos})
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, t in enumerate(tokens) if kv["tokenizer.ggml.token_type"][i] == 3]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    dump("tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None, "post_processor": None, "decoder": level,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, level]},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
                  "byte_fallback": False, "ignore_merges": False, "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [m.split(" ", 1) for m in kv["tokenizer.ggml.merges"]]}})
    dump("tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": tokens[bos], "eos_token": tokens[eos], "pad_token": tokens[eos], "add_prefix_space": False,
        "clean_up_tokenization_spaces": False, "model_max_length": kv["llama.context_length"], "chat_template": kv["tokenizer.chat_template"],
        "added_tokens_decoder": {str(x["id"]): {k: v for k, v in x.items() if k != "id"} for x in added}})


main()
