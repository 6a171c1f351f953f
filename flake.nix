{
  description = "infbench: ask an LLM endpoint whether it is right, and only then how fast";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forEach = nixpkgs.lib.genAttrs systems;
      # One app for each command: nix run .#stage2 -- --target http://127.0.0.1:8000
      commands = [
        "run" "stage0" "stage1" "stage2" "stage3" "stage4"
        "matrix" "parity" "soak" "replay" "engine" "faultproxy" "selftest" "probe" "demo" "checks" "explain" "version"
      ];
      packageFor = system:
        nixpkgs.legacyPackages.${system}.buildGoModule {
          pname = "infbench";
          version = "0.1.0";
          src = self;
          subPackages = [ "cmd/infbench" ];
          env.CGO_ENABLED = "0";
          # The hash of the Go modules. It is filled in by the first build with the real
          # nixpkgs, which names it; see docs/decisions/0005-nix.md.
          vendorHash = "sha256-8kLD8apogERjNbHTwrkVs9lV93AT56y83VHnVDFCK9M=";
          doCheck = false; # make test runs them, with the engines they need
        };
      appFor = system: command: {
        type = "app";
        program = toString (nixpkgs.legacyPackages.${system}.writeShellScript "infbench-${command}"
          ''exec ${packageFor system}/bin/infbench ${command} "$@"'');
      };
    in
    {
      packages = forEach (system: { default = packageFor system; infbench = packageFor system; });

      apps = forEach (system:
        builtins.listToAttrs (map (c: { name = c; value = appFor system c; }) commands)
        // { default = { type = "app"; program = "${packageFor system}/bin/infbench"; }; });

      devShells = forEach (system: {
        default = nixpkgs.legacyPackages.${system}.mkShell {
          packages = with nixpkgs.legacyPackages.${system}; [ go_1_26 gnumake python3 cargo rustc gcc ];
        };
      });
    };
}
