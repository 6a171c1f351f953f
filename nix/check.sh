#!/usr/bin/env bash
# Checks the flake without a network: syntax, evaluation against a stand-in for
# nixpkgs, and that there is an app for each command. What stays unproven is the real
# build: docs/decisions/0005-nix.md.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
mkdir "$work/flake"
cp flake.nix go.mod "$work/flake/"
cp -r nix/stub "$work/stub"
export NIX_CONFIG=$'experimental-features = nix-command flakes\nstore = '"$work/store"
gopath=$(go env GOMODCACHE 2>/dev/null || true)
export HOME=$work GOMODCACHE=$gopath
nix-instantiate --parse flake.nix >/dev/null
options=(--offline --no-write-lock-file --override-input nixpkgs "path:$work/stub")
nix flake check --no-build "${options[@]}" "path:$work/flake" 2>&1 | { grep -v '^warning' || true; }
apps=$(nix eval "${options[@]}" "path:$work/flake#apps.x86_64-linux" --apply 'a: builtins.concatStringsSep " " (builtins.attrNames a)' --raw 2>/dev/null)
want='baseline checks compare default demo engine explain faultproxy inspect list matrix parity probe replay run selftest soak stage0 stage1 stage2 stage3 stage4 version'
[ "$apps" = "$want" ] || { echo "apps are: $apps; want: $want"; exit 1; }
for a in $apps; do
  kind=$(nix eval "${options[@]}" "path:$work/flake#apps.x86_64-linux.$a.type" --raw 2>/dev/null)
  [ "$kind" = app ] || { echo "apps.$a has the type $kind"; exit 1; }
done
if command -v go >/dev/null; then
  go mod vendor -o "$work/vendor" 2>/dev/null
  hash=$(nix hash path "$work/vendor")
  grep -qF "$hash" flake.nix || { echo "flake.nix: vendorHash should be $hash"; exit 1; }
fi
echo "flake: syntax, evaluation and an app for each of: $apps"
