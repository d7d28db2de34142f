# What the scripts share. Sourced by them: it changes to the root of the project and sets the variables below.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build_dir=${WHILST_BUILD_DIR:-build}
source_dir=.  # of the project to configure
jobs=${WHILST_JOBS:-$(nproc)}

# shellcheck disable=SC2034  # for --help of the scripts
environment_help="Environment:
  WHILST_BUILD_DIR   the build folder (build)
  WHILST_JOBS        how many compilers run at once (all cores)
  WHILST_CUDA        ON, OFF or AUTO: where there is a CUDA toolkit (AUTO)
  WHILST_CMAKE_ARGS  more arguments for cmake, separated by spaces
  WHILST_PACKAGES    \"keep\": install nothing
  WHILST_DATA_DIR    a folder with reference data, for tests that use it (those are left out without)"

say() { printf '==> %s\n' "$*"; }

fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Puts nvcc on PATH where the toolkit's installer left it off.
find_cuda() {
  if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
  fi
}

# Installs those of the Debian packages named that are missing. Elsewhere than on Debian and its kin it does nothing:
# cmake then says what is missing, and fetches most of it.
install_packages() {
  [ "${WHILST_PACKAGES:-}" != keep ] && command -v dpkg-query >/dev/null || return 0
  local missing=() package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local line="apt-get install -y --no-install-recommends ${missing[*]}" as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo -n true 2>/dev/null || fail "packages are missing. Run this, then try again:
  sudo apt-get update && sudo $line"
    as_root=(sudo -n)
  fi
  say "Installing ${missing[*]}"
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086  # a line of words
  if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $line; } \
    </dev/null >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    fail "packages could not be installed; WHILST_PACKAGES=keep goes on without them. The line was: $line"
  fi
  rm -f "$log"
}

install_build_packages() {
  install_packages g++ cmake ninja-build zlib1g-dev libeigen3-dev libcli11-dev libfmt-dev nlohmann-json3-dev catch2
}

# python_arguments: what configure needs to build the Python module and its tests. Makes a virtual environment in the build
# folder for that; where it cannot, says why the module is left out.
python_arguments=()
prepare_python() {
  local environment=$build_dir/python-environment log=$build_dir/python-environment.log
  local python=$environment/bin/python needs=(nanobind numpy scipy pytest hypothesis)
  left_out() { say "The Python module is left out: $*"; }
  command -v python3 >/dev/null || { left_out "there is no python3" && return; }
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { left_out "python3 is older than 3.9" && return; }
  if ! python3 -c 'import ensurepip, os, sysconfig
os.stat(os.path.join(sysconfig.get_paths()["include"], "Python.h"))' 2>/dev/null; then
    (install_packages python3-venv python3-dev) || { left_out "python3-venv and python3-dev are missing" && return; }
  fi
  if ! "$python" -c 'import hypothesis, nanobind, numpy, pytest, scipy' 2>/dev/null; then
    [ "${WHILST_PACKAGES:-}" != keep ] || { left_out "WHILST_PACKAGES=keep, and $environment is not complete" && return; }
    mkdir -p "$build_dir"
    say "Installing ${needs[*]} in $environment/ (log: $log)"
    if ! { python3 -m venv "$environment" && "$python" -m pip install --disable-pip-version-check "${needs[@]}"; } \
      </dev/null >"$log" 2>&1; then
      left_out "$(tail -n 1 "$log")" && return
    fi
  fi
  if ! grep -q '^WHILST_BUILD_PYTHON:BOOL=ON' "$build_dir/CMakeCache.txt" 2>/dev/null; then
    python_arguments=(-DWHILST_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$(cd "$environment" && pwd)/bin/python")
  fi
}

# configure ARGUMENT...: makes the build folder. One that is there already is left to configure itself again when it must.
configure() {
  local arguments=("$@") first_time=
  [ -z "${WHILST_CUDA:-}" ] || arguments+=("-DWHILST_CUDA=$WHILST_CUDA")
  # shellcheck disable=SC2206  # to be split
  arguments+=(${WHILST_CMAKE_ARGS:-})
  if [ -f "$build_dir/CMakeCache.txt" ]; then
    if [ ${#arguments[@]} -eq 0 ]; then return 0; fi
  else
    first_time=yes
    if command -v ninja >/dev/null; then arguments=(-G Ninja "${arguments[@]}"); fi
    if command -v ccache >/dev/null; then
      # Not for nvcc: ccache could take a change under #if __CUDA_ARCH__ for none.
      arguments+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
  fi
  find_cuda
  mkdir -p "$build_dir"
  say "Configuring in $build_dir/ (log: $build_dir/configure.log)"
  if ! cmake -S "$source_dir" -B "$build_dir" "${arguments[@]}" >"$build_dir/configure.log" 2>&1; then
    cat "$build_dir/configure.log" >&2
    # What a failed first attempt decided must not stick.
    [ -z "$first_time" ] || rm -f "$build_dir/CMakeCache.txt"
    fail "configuring failed, see above"
  fi
  sed -n 's/^-- Whilst: /    /p' "$build_dir/configure.log"
}

# build TARGET...
build() {
  say "Building $* with $jobs at once"
  cmake --build "$build_dir" --parallel "$jobs" --target "$@" || fail "building failed, see above"
}
