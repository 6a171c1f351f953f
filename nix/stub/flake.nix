# Stands in for nixpkgs where there is no network: just enough of its names for the
# flake to be evaluated. Nothing is built from it.
{
  outputs = { self }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
      fake = system: name: derivation { inherit name system; builder = "/bin/sh"; args = [ "-c" "exit 1" ]; };
    in
    {
      lib = { inherit genAttrs; };
      legacyPackages = genAttrs systems (system: {
        buildGoModule = a: fake system a.pname // { inherit (a) pname version subPackages; };
        writeShellScript = name: text: "/stub/${name}";
        mkShell = a: fake system "shell";
        go_1_26 = fake system "go"; gnumake = fake system "gnumake"; python3 = fake system "python3";
        cargo = fake system "cargo"; rustc = fake system "rustc"; gcc = fake system "gcc";
      });
    };
}
