"""serve.py MODEL [--ctx N] [--slots N] [--threads N] [--template FILE] [--key KEY] [--no-cache]

Serves a GGUF model with llama.cpp's own server on a free port of the loopback, prints
its address on the first line, and stops when its standard input ends.
"""
import argparse
import os
import sys

import xllamacpp


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("model")
    ap.add_argument("--ctx", type=int, default=8192, help="context of all slots together")
    ap.add_argument("--slots", type=int, default=2)
    ap.add_argument("--threads", type=int, default=2)
    ap.add_argument("--template", default="")
    ap.add_argument("--key", default="")
    ap.add_argument("--no-cache", action="store_true", help="compute every prompt in full")
    a = ap.parse_args()
    p = xllamacpp.CommonParams()
    p.model.path = a.model
    p.model_alias = {"smollm2-135m"}
    p.hostnames = ["127.0.0.1"]
    p.port = 0
    p.n_ctx = a.ctx
    p.n_parallel = a.slots
    p.cpuparams.n_threads = a.threads
    p.cpuparams_batch.n_threads = a.threads
    p.n_threads_http = 8
    p.endpoint_metrics = True
    p.endpoint_slots = True
    p.use_jinja = True
    p.cache_ram_mib = 256
    if a.no_cache:
        p.cache_prompt = False
        p.cache_ram_mib = 0
    p.ui = False
    p.verbosity = 1
    if a.template:
        with open(a.template, encoding="utf-8") as f:
            p.chat_template = f.read()
    if a.key:
        p.api_keys = [a.key]
    server = xllamacpp.Server(p)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


main()
