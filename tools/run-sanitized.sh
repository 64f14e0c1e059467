#!/usr/bin/env bash
# Runs a test of a sanitizer build with the common settings.   usage: run-sanitized.sh EXECUTABLE [ARG...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# Allocation with `std::nothrow` returns null on failure, as it does without a sanitizer.
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1}
export LSAN_OPTIONS=${LSAN_OPTIONS-suppressions=$here/lsan.supp:print_suppressions=0}
export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
# Libraries of the distribution are not instrumented, so reports about code that they synchronise are ignored.
export TSAN_OPTIONS=${TSAN_OPTIONS-ignore_noninstrumented_modules=1:second_deadlock_stack=1:history_size=4:allocator_may_return_null=1:suppressions=$here/tsan.supp:print_suppressions=0}
# OpenMP's threads (oneDNN) wait in a library that is not instrumented.
export OMP_NUM_THREADS=${OMP_NUM_THREADS-1}
# The thread sanitizer of g++ 12 cannot map its shadow memory if the kernel randomises addresses by many bits.
plain=()
if setarch -R true 2>/dev/null; then plain=(setarch -R); fi
exec "${plain[@]}" "$@" --gtest_color=no --gtest_brief=1
