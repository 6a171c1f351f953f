#!/usr/bin/env bash
# table.sh: the whole table about the measuring client, in Markdown: medians and ranges, some ten minutes.
#   TRUTH_SERVER=/path/to/truth-server PEERS=/path/to/peers PEERS_DIR=/path/to/installed bench/table.sh [ROW…]
# Rows: cpu rate streams accuracy one help. TRUTH_SERVER and PEERS (measure.py, run-servebench.sh) are not in this
# repository; without them nothing but `help` can be measured, peers that are not
# installed are left out. All installed ones stand in the rows accuracy and one, the leanest, servebench, in the others.
# The server runs on processor 0, the clients on processor 1, in turn. RT=1 schedules both in real time (root only),
# which keeps a machine's other work out of the figures; RUNS sets how often (3).
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .build/bench .build/bin
go build -o .build/bench/ ./bench/client ./bench/bareloop
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o .build/bin/infbench ./cmd/infbench
exec python3 - "$@" <<'PY'
import json, os, shutil, statistics, subprocess, sys, time
rows = sys.argv[1:] or ["cpu", "rate", "streams", "accuracy", "one", "help"]
truth, peers, installed = (os.environ.get(k, "") for k in ("TRUTH_SERVER", "PEERS", "PEERS_DIR"))
runs, rt = int(os.environ.get("RUNS", "3")), os.environ.get("RT") == "1"
out = os.path.abspath(".build/bench/table")
shutil.rmtree(out, ignore_errors=True)
os.makedirs(out)
client, bare = (os.path.abspath(f".build/bench/{n}") for n in ("client", "bareloop"))
known = ("servebench", "llama-benchy", "inference-perf", "evalscope", "genai-bench", "aiperf", "guidellm")
others = [p for p in known if peers and installed and os.path.isdir(f"{installed}/venv/{p}") and os.path.exists(f"{peers}/run-{p}.sh")]
have_peer = "servebench" in others
port = 8300
if not (truth and peers):
    rows = [r for r in rows if r == "help"]
    print("TRUTH_SERVER or PEERS is not set: only `help` is measured\n")


def measure(control, asked, command):
    """One run of a client; what the server saw beside what the client says."""
    global port
    port += 1
    line = f"{out}/line.json"
    if os.path.exists(line):
        os.remove(line)
    args = ["python3", f"{peers}/measure.py", "--server", truth, "--port", str(port), "--out", f"{out}/run", "--asked", str(asked),
            "--control", control, "--json", line, "--timeout", "90"] + (["--rt"] if rt else []) + ["--"] + command
    p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "CLIENT": client}, text=True, cwd=out)
    if not os.path.exists(line):
        print(p.stderr[-300:], file=sys.stderr)
        return {"cpu_s": float("nan"), "truth": {}, "reported": {}}
    return {"reported": {}, **json.load(open(line, encoding="utf-8"))}


def ours(n, requests, inputs, tokens, *more):
    return [client, "-url", "{url}", "-model", "truth", "-concurrency", str(n), "-requests", str(requests), "-input", str(inputs), "-output", str(tokens), "-out", "{out}/peer", *more]


def floor(n, requests, tokens):
    return [bare, "-url", "{url}", "-streams", str(n), "-requests", str(requests), "-tokens", str(tokens)]


def servebench(n, requests, inputs, tokens, peer="servebench"):
    return ["bash", f"{peers}/run-{peer}.sh", "{url}", "truth", str(n), str(requests), str(inputs), str(tokens), "{out}/peer"]


def mid(values, form="{:.2f}"):
    v = [x for x in values if isinstance(x, (int, float)) and x == x]
    if not v:
        return "—"
    return f"{form.format(statistics.median(v))} ({form.format(min(v))} to {form.format(max(v))})"


def at(d, *path):
    for k in path:
        d = (d or {}).get(k)
    return d


def error(r, what, q):
    a, b = at(r, "reported", what, q), at(r, "truth", what, q)
    return a - b if a is not None and b is not None else None


def errors(rs, what, q):
    v = [e for e in (error(r, what, q) for r in rs) if e is not None]
    withheld = sum(1 for r in rs if at(r, "reported", what, q) is None)
    return mid(v, "{:+.3f}") + (f", withheld {withheld} of {len(rs)}" if withheld else "")


def head(title, *columns):
    print(f"\n### {title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)


def row(*cells):
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def turns(control, asked, commands, most=runs):
    """The clients in turn, so that a busy minute falls on all of them."""
    got = {name: [] for name in commands}
    for _ in range(most):
        for name, command in commands.items():
            got[name].append(measure(control, asked, command))
    return got


def costs(name, rs):
    """CPU seconds for 100,000 tokens: of the load alone where the client says so, else of the whole process."""
    return [((at(r, "reported", "cpu_s_of_load") if name == "infbench" else None) or r["cpu_s"]) / max(1, at(r, "truth", "tokens") or 1) * 1e5 for r in rs]


def with_peer(commands, peer):
    return {**commands, "servebench": peer} if have_peer else commands


def with_peers(commands, n, requests, inputs, tokens):
    return {**commands, **{p: servebench(n, requests, inputs, tokens, p) for p in others}}


t0 = time.time()
uname = os.uname()
print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, {uname.sysname} {uname.release.split('-')[0]}, load {os.getloadavg()[0]:.1f} at the beginning"
      + (", real-time scheduling" if rt else "") + f", medians and ranges of {runs}")

if "cpu" in rows:
    head("CPU per 100,000 tokens, 1,024 streams of one token each 20 ms", "client", "CPU s", "ratio to the bare loop, pair by pair", "server late by at most, ms")
    got = turns("ttft=200ms&itl=20ms", 100, with_peer({"bare loop": floor(1024, 2048, 100), "infbench": ours(1024, 2048, 0, 100)}, servebench(1024, 2048, 16, 100)))
    cost = {n: costs(n, rs) for n, rs in got.items()}
    for n, rs in got.items():
        row(n, mid(cost[n]), mid([a / b for a, b in zip(cost[n], cost["bare loop"])]), mid([at(r, "truth", "late_max_ms") for r in rs], "{:.1f}"))

if "rate" in rows:
    head("Most tokens a second on one core, 16 streams, up to 16 tokens a write, as fast as the socket takes them", "client", "tokens/s, as the server saw", "ratio to the bare loop, pair by pair", "tokens a CPU second of the client")
    got = turns("ttft=5ms&itl=0&batch=16", 256, with_peer({"bare loop": floor(16, 800, 256), "infbench": ours(16, 800, 0, 256, "-ramp", "0s")}, servebench(16, 800, 16, 256)))
    rate = {n: [at(r, "truth", "tok_s") for r in rs] for n, rs in got.items()}
    for n in got:
        row(n, mid(rate[n], "{:.0f}"), mid([a / b for a, b in zip(rate[n], rate["bare loop"]) if a and b]), mid([1e5 / c for c in costs(n, got[n]) if c], "{:.0f}"))
    print("\nWhere a CPU second reads more tokens than came in a second, the server set the pace.")

if "streams" in rows:
    head("Streams kept honest on one core", "client", "streams × ms", "TTFT p50 error, ms", "ITL p99 error, ms", "in flight at most", "server late, ms", "says client-limited")
    for n, gap, tokens, per in ((64, 20, 100, 2), (256, 20, 100, 2), (1024, 20, 100, 2), (4096, 20, 120, 1), (4096, 80, 40, 1)):
        peer = servebench(n, n * per, 16, tokens)
        commands = {"infbench": ours(n, n * per, 0, tokens)}
        got = turns(f"ttft=200ms&itl={gap}ms", tokens, with_peer(commands, peer) if n <= 1024 else commands)
        for name, rs in got.items():
            limited = [bool(at(r, "reported", "client_limited")) for r in rs]
            row(name, f"{n} × {gap}", errors(rs, "ttft_ms", "p50"), errors(rs, "itl_ms", "p99"), max(at(r, "truth", "streams_max") or 0 for r in rs),
                mid([at(r, "truth", "late_max_ms") for r in rs], "{:.1f}"), f"{sum(limited)} of {len(rs)}" if name == "infbench" else "—")

if "accuracy" in rows:
    head("Error against the truth", "client", "streams", "TTFT p50, ms", "TTFT p99, ms", "ITL p50, ms", "ITL p99, ms", "ITL mean, ms")
    for n, requests, tokens in ((1, 100, 17), (8, 104, 64)):
        got = turns("ttft=50ms&itl=5ms&stall-every=16&stall=20ms", tokens, with_peers({"infbench": ours(n, requests, 128, tokens)}, n, requests, 128, tokens))
        for name, rs in got.items():
            row(name, n, errors(rs, "ttft_ms", "p50"), errors(rs, "ttft_ms", "p99"), errors(rs, "itl_ms", "p50"), errors(rs, "itl_ms", "p99"), errors(rs, "itl_ms", "mean"))

if "one" in rows:
    head("One request, all in", "client", "CPU s", "private memory, MB", "wall s")
    got = turns("ttft=50ms&itl=5ms", 2, with_peers({"infbench": ours(1, 1, 128, 2)}, 1, 1, 128, 2))
    for name, rs in got.items():
        row(name, mid([r["cpu_s"] for r in rs]), mid([r.get("peak_private_mb") for r in rs], "{:.0f}"), mid([r.get("wall_s") for r in rs]))

if "help" in rows:
    head("--help", "program", "ms")
    programs = {"infbench": [".build/bin/infbench", "--help"], "bench/client": [client, "-help"]}
    if have_peer:
        programs["servebench"] = [f"{installed}/venv/servebench/bin/servebench", "--help"]
    for name, command in programs.items():
        took = []
        for _ in range(5 if name == "servebench" else 20):
            t = time.monotonic()
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            took.append(1000 * (time.monotonic() - t))
        row(name, mid(took, "{:.1f}"))

print(f"\nload {os.getloadavg()[0]:.1f} at the end, {time.time() - t0:.0f} s in all")
PY
