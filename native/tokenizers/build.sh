#!/usr/bin/env bash
# Builds the static library that `-tags hftokenizers` links against.
#
#   native/tokenizers/build.sh [dir]     dir defaults to .build in the repository root
#
# Result: <dir>/lib/<module version>/libtokenizers.a. The version is in the path
# because Go does not hash -l libraries: a changed file in the same place might
# not be linked anew. Use it with CGO_LDFLAGS=-L<dir>/lib/<module version>.
#
# Returns at once when the library is there and its sources are the same.
# Exit 3: a tool is missing. CARGO_BUILD_JOBS bounds the work.
set -euo pipefail

module=github.com/daulet/tokenizers
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${1:-$root/.build}

need() {
	command -v "$1" >/dev/null 2>&1 && return
	echo "native/tokenizers: $1 is missing: $2" >&2
	exit 3
}
need go "it names the module that holds lib.rs"

mkdir -p "$build"
build=$(cd "$build" && pwd)
cd "$root"
go mod download "$module"
read -r version dir < <(go list -m -f '{{.Version}} {{.Dir}}' "$module")
if ! grep -q "^version = \"${version#v}\"" "$here/Cargo.toml"; then
	echo "native/tokenizers: Cargo.toml is not for $module $version: set its version and refresh Cargo.lock" >&2
	exit 1
fi

lib=$build/lib/$version/libtokenizers.a
stamp=$build/lib/$version/sources.cksum
sources=$(cat "$here/Cargo.toml" "$here/Cargo.lock" "$dir/src/lib.rs" | cksum)
if [[ -f $lib && -f $stamp && $(<"$stamp") == "$sources" ]]; then
	exit 0
fi

need cargo "install Rust, or build without the tag hftokenizers (the pure Go tokenizer needs none of this)"
need cc "a C compiler builds the regular-expression library; gcc is enough"

src=$build/tokenizers
mkdir -p "$src/src" "$build/lib/$version"
install -m 644 "$dir/src/lib.rs" "$src/src/lib.rs"
install -m 644 "$here/Cargo.toml" "$here/Cargo.lock" "$src/"
CARGO_TARGET_DIR=$build/cargo cargo build --release --locked --manifest-path "$src/Cargo.toml"

# Renamed into place, so that an interrupted copy is never linked.
cp "$build/cargo/release/libtokenizers.a" "$lib.tmp"
mv "$lib.tmp" "$lib"
printf '%s\n' "$sources" >"$stamp"
echo "native/tokenizers: built $lib" >&2
