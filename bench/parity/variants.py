#!/usr/bin/env python3
"""Write one GGUF model's weights again at other precisions.

usage: variants.py MODEL.gguf OUT_DIR TYPE...

TYPE: F32 F16 BF16 Q8_0 Q5_1 Q5_0 Q4_1 Q4_0 MXFP4, or E4M3 (8-bit floats with one scale a tensor, kept in a file of 32 bits, since
llama.cpp has no such type). The weights of MODEL, dequantised, are what every variant is made of: F32 holds them exactly. Vectors stay
at 32 bits, and the token embedding, which is the output matrix too, is never coarser than Q8_0, as llama.cpp's own quantiser has it.
Needs numpy and gguf only.
"""
import os
import sys

import numpy as np
from gguf import GGMLQuantizationType as T
from gguf import GGUFReader, GGUFValueType, GGUFWriter, LlamaFileType
from gguf.quants import dequantize, quantize

COARSE = {"Q5_1", "Q5_0", "Q4_1", "Q4_0", "MXFP4"}
FILE_TYPE = {"F32": LlamaFileType.ALL_F32, "F16": LlamaFileType.MOSTLY_F16, "BF16": LlamaFileType.MOSTLY_BF16, "Q8_0": LlamaFileType.MOSTLY_Q8_0,
             "Q5_1": LlamaFileType.MOSTLY_Q5_1, "Q5_0": LlamaFileType.MOSTLY_Q5_0, "Q4_1": LlamaFileType.MOSTLY_Q4_1, "Q4_0": LlamaFileType.MOSTLY_Q4_0,
             "MXFP4": LlamaFileType.MOSTLY_MXFP4_MOE, "E4M3": LlamaFileType.ALL_F32}


def e4m3(w):
    """Rounds to the nearest 8-bit float of 4 exponent and 3 mantissa bits, scaled so that the largest weight is the largest float."""
    scale = np.abs(w).max() / 448.0
    x = w / scale
    _, e = np.frexp(np.abs(x))  # |x| = m * 2^e with m in [0.5, 1)
    step = np.exp2(np.maximum(e - 1, -6) - 3.0)
    return (np.clip(np.round(x / step) * step, -448, 448) * scale).astype(np.float32)


def variant(reader, out, kind):
    w = GGUFWriter(out, "llama")
    for name, f in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        main = f.types[0]
        w.add_key_value(name, f.contents(), main, f.types[-1] if main == GGUFValueType.ARRAY else None)
    w.add_file_type(FILE_TYPE[kind])
    off = total = 0.0
    for t in reader.tensors:
        x = dequantize(t.data, t.tensor_type).astype(np.float32)
        to = kind
        if x.ndim < 2:
            to = "F32"
        elif t.name == "token_embd.weight" and kind in COARSE:
            to = "Q8_0"
        if to == "E4M3":
            y = e4m3(x)
            w.add_tensor(t.name, y)
        elif to == "F32":
            y = x
            w.add_tensor(t.name, y)
        else:
            q = T[to]
            data = x.astype(np.float16) if to == "F16" else quantize(x, q)
            y = data.astype(np.float32) if to == "F16" else dequantize(data, q)
            w.add_tensor(t.name, data, raw_dtype=q)
        if x.ndim == 2:
            off += float(((y - x).astype(np.float64) ** 2).sum())
            total += float((x.astype(np.float64) ** 2).sum())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    print("variants: %s: relative error of the weights %.3g" % (os.path.basename(out), (off / total) ** 0.5), flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    reader = GGUFReader(sys.argv[1])
    os.makedirs(sys.argv[2], exist_ok=True)
    for kind in sys.argv[3:]:
        out = os.path.join(sys.argv[2], kind.lower() + ".gguf")
        if not os.path.exists(out):
            variant(reader, out + ".part", kind)
            os.rename(out + ".part", out)


main()
