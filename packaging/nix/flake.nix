{
  description = "Read long books in the terminal, beside a local language model";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      versionFile = builtins.readFile ../../src/gistread/__init__.py;
      version = builtins.head (builtins.match ".*__version__ = \"([0-9.]+)\".*" versionFile);
      package =
        python:
        python.buildPythonApplication {
          pname = "gistread";
          inherit version;
          pyproject = true;
          src = ../..;
          build-system = with python; [
            hatchling
            hatch-fancy-pypi-readme
          ];
          dependencies = with python; [
            textual
            llama-cpp-python
            jinja2
            psutil
            lxml
            markdown-it-py
            mdit-py-plugins
            pyyaml
            chardet
            pypdfium2
            icu4py
            numpy
            rank-bm25
            snowballstemmer
            regex
            pyphen
            tiktoken
            platformdirs
            httpx2
            orjson
            shtab
            tomlkit
          ];
          pythonRelaxDeps = [ "textual" ];
          pythonImportsCheck = [ "gistread" ];
          meta = {
            description = "Read long books in the terminal, beside a local language model";
            homepage = "https://github.com/gistread/gistread";
            mainProgram = "gistread";
          };
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system}.python3Packages;
      });
    };
}
