"""image.py LIBRARY OUT GIB [--gzip]: a Docker image archive of GIB gibibytes, made of copies of a library.

Four layers; each holds copies under names of their own, and half of one layer's is deleted by the next.
"""
import gzip
import hashlib
import io
import json
import os
import sys
import tarfile


def main():
    library, out, gib = sys.argv[1], sys.argv[2], float(sys.argv[3])
    packed = "--gzip" in sys.argv
    size = os.path.getsize(library)
    copies = max(4, round(gib * 2**30 / size))
    layers = []
    for n in range(4):
        path = f"{out}.layer{n}"
        f = gzip.open(path, "wb", compresslevel=1) if packed else open(path, "wb")
        with f, tarfile.open(fileobj=f, mode="w") as t:
            for i in range(copies * n // 4, copies * (n + 1) // 4):
                t.add(library, arcname=f"opt/lib{i}/{os.path.basename(library)}")
            if n:
                gone = tarfile.TarInfo(f"opt/lib{copies * (n - 1) // 4}/.wh.{os.path.basename(library)}")
                t.addfile(gone)
        layers.append(path)
    # The identifiers of the layers are of their content, unpacked; Docker's archives are checked by them.
    ids = []
    for path in layers:
        h = hashlib.sha256()
        with (gzip.open(path, "rb") if packed else open(path, "rb")) as f:
            while b := f.read(1 << 20):
                h.update(b)
        ids.append("sha256:" + h.hexdigest())
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": ids}}).encode()
    name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": ["bench:latest"], "Layers": [f"l{n}/layer.tar" for n in range(4)]}]).encode()
    with tarfile.open(out, "w") as t:
        for n, path in enumerate(layers):
            t.add(path, arcname=f"l{n}/layer.tar")
            os.remove(path)
        for file, b in ((name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(file)
            info.size = len(b)
            t.addfile(info, io.BytesIO(b))
    print(f"{out}: {os.path.getsize(out) / 2**30:.1f} GiB, {copies} copies in 4 layers, {'gzip' if packed else 'plain'}")


main()
