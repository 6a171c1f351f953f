"""Reads name, dtype and shape of every tensor below a folder with Python's safetensors."""
import glob
import sys
import time

from safetensors import safe_open

for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    n = 0
    for path in sorted(glob.glob(sys.argv[1] + "/*.safetensors")):
        with safe_open(path, framework="np") as f:
            for name in f.keys():
                tensor = f.get_slice(name)
                tensor.get_dtype(), tensor.get_shape()
                n += 1
    print(f"safetensors {n} tensors in {time.perf_counter() - start:.4f} s")
