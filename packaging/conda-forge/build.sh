#!/usr/bin/env bash
set -euo pipefail
# shellcheck disable=SC2086  # a line of words
cmake -G Ninja -S . -B build ${CMAKE_ARGS:-} -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DWHILST_CUDA=OFF \
  -DWHILST_BUILD_BENCHMARKS=OFF -DWHILST_BUILD_TESTS=OFF
cmake --build build --parallel "${CPU_COUNT:-2}"
cmake --install build --prefix "$PREFIX"
