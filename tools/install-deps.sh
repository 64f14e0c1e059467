#!/usr/bin/env bash
# Installs missing Debian packages that Systole needs. Uses no network if all are installed.
# usage: tools/install-deps.sh [--list] [GROUP...]     groups: build (default) deb test clients lint fuzz docs peers
set -euo pipefail

# group  package              why
packages='
build    g++                  the compiler: C++20, and its sanitizers
build    cmake                the build description
build    ninja-build          runs the build
build    python3              the check tools of tools/ and their tests
build    llvm-19-dev          just-in-time compilation of fused loops (CPU backend)
build    libdnnl-dev          oneDNN: matmul, convolution and pooling at the speed of the machine
build    libsleef-dev         vector math functions within 1 ULP
build    libabsl-dev          flat_hash_map and InlinedVector
build    libfmt-dev           text formatting
build    libspdlog-dev        logs
build    nlohmann-json3-dev   JSON
build    libcli11-dev         the command line
build    libprotobuf-dev      the messages of TensorFlow: GraphDef, SavedModel, events
build    protobuf-compiler    generates their C++ code
build    libgrpc++-dev        the worker and its clients
build    protobuf-compiler-grpc  generates their services
build    libleveldb-dev       the table format of checkpoint indices
build    libsnappy-dev        compressed blocks of checkpoint indices
build    zlib1g-dev           compressed TFRecord files
build    libjpeg62-turbo-dev  decode_jpeg
build    libpng-dev           decode_png, encode_png
build    libarchive-dev       tar and zip archives of data sets
build    libre2-dev           regular expressions of string ops, the library that TensorFlow uses
build    libfarmhash-dev      FarmHash, with which string ops of TensorFlow choose buckets
build    libhdf5-dev          .h5 files of Keras
build    libcpp-httplib-dev   the HTTP server of `systole board`, and those of tests
build    libyaml-cpp-dev      the configuration files of the command line
build    libcurl4-openssl-dev headers of libcurl, which buckets load when they are used
build    libssl-dev           signatures of requests to buckets
build    libpugixml-dev       the XML of S3
build    liblapacke           LAPACK, which programs of JAX call by name; loaded at run time
build    libgtest-dev         tests
build    libgmock-dev         matchers of the tests
build    libbenchmark-dev     benchmarks
deb      dpkg-dev             finds the packages of shared libraries
test     pkgconf              compiles a program without CMake, in the test of the installed files
test     libopenmpi-dev       MPI, for collectives between hosts; left out of a build without it
test     openmpi-bin          mpirun, which starts the tests of several processes
test     llvm-19-tools        FileCheck compares the results of passes with what their tests expect
test     mlir-19-tools        mlir-opt parses the programs that we print
test     chromium-headless-shell  the browser of the tests of `systole board`
test     nodejs               runs the browser tests
test     npm                  installs playwright-core, which drives the browser
test     graphviz             draws the models of plot_model
test     hdf5-tools           h5dump and h5ls read the .h5 files that we write
test     python3-venv         the virtual environment of the tests of the Python package
test     python3-dev          headers of Python, for the module of the Python package
clients  python3-venv         virtual environments of tests/clients
clients  python3-dev          headers of Python, for the module of the Python package
lint     git                  finds what changed
lint     g++                  compiles every header alone
lint     python3              the checks of tools/
lint     clang-format         the format of the code
lint     clang-tidy           static checks
fuzz     clang                libFuzzer
docs     doxygen              the API pages
docs     python3              checks the links
'

list=
[ "${1-}" = --list ] && { list=1; shift; }
[ $# -gt 0 ] || set -- build
for group in "$@"; do
  grep -q "^$group " <<<"$packages" || { echo "install-deps: no group '$group'; see the head of $0" >&2; exit 2; }
done
wanted=$(for group in "$@"; do awk -v g="$group" '$1 == g { print $2 }' <<<"$packages"; done | sort -u)
[ -z "$list" ] || { echo "$wanted"; exit 0; }

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: this is not a Debian system. Needed, by Debian's names:" $wanted >&2
  exit 0
fi
missing=
for package in $wanted; do
  status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -q '^installed$' <<<"$status" && continue
  # A Node.js from elsewhere conflicts with Debian's, and serves as well.
  case $package in nodejs) command -v node >/dev/null && continue ;; npm) command -v npm >/dev/null && continue ;; esac
  missing+=" $package"
done
[ -n "$missing" ] || exit 0

root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: these packages are missing, and installing them needs root (sudo is not installed). As root, run:" >&2
    echo "  apt-get update && apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  root=(sudo)
fi
echo "install-deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -q "$@" >"$log" 2>&1; }
if ! { apt update && apt install -y --no-install-recommends $missing; }; then
  tail -n 15 "$log" >&2
  echo "install-deps: apt-get could not install$missing (its output is above). Is there a network, and is this Debian 12 or 13?" >&2
  exit 1
fi
