#!/usr/bin/env python3
"""Cut recordings down to what the tests need of them.

usage: cut.py OUT_DIR PROMPTS RECORDING.json.gz...

Keeps the first PROMPTS answers with six decimals, and all calls.
"""
import gzip
import json
import os
import sys


def short(token):
    return [token[0], None if token[1] is None else round(token[1], 6)]


out, prompts = sys.argv[1], int(sys.argv[2])
os.makedirs(out, exist_ok=True)
for path in sys.argv[3:]:
    with gzip.open(path) as f:
        r = json.load(f)
    r["answers"] = r["answers"][:prompts]
    for a in r["answers"]:
        for p in a["positions"] or []:
            p["t"], p["top"] = short(p["t"]), [short(t) for t in p["top"]]
    with open(os.path.join(out, os.path.basename(path)), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(json.dumps(r, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
