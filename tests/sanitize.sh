#!/usr/bin/env bash
# The kernel tests on instrumented builds of the extension: AddressSanitizer with UBSan over everything that reaches the kernels, and
# ThreadSanitizer over what is promised to be free of data races (tests/locked_paths.py). Prints PASS or FAIL for each stage, and what
# the sanitizers reported; exits non-zero if there was any report, or any test failed.
#
#     tests/sanitize.sh [address] [thread]     both, if none is named
#
#   PYTHON            the python3 that makes a fresh environment (3.10 or later, with venv; needs a package index)
#   SANITIZE_PYTHON   use this interpreter and install nothing: it has numpy, pytest, hypothesis, nanobind, ml_dtypes, cmake and ninja
#   CXX               g++ (12 was tried; Linux only: the runtimes are preloaded as g++ has them)
#   SANITIZE_JOBS     compilers at a time (2)
#   SANITIZE_EXAMPLES hypothesis examples a test (40); they differ from run to run
#
# Takes 8 to 11 minutes on two cores (measured). Nothing is written outside a temporary folder, which is removed at the end.
#
# Each build is first shown faults of its own, in a library beside the extension: a sanitizer that does not report those is not at
# work, and its silence means nothing. Nothing is suppressed: ThreadSanitizer sees CPython's and NumPy's locks, copies and memory
# through its interceptors, and so far has had nothing to say about them.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CXX=${CXX:-g++}
failed=0

say() { printf '%s (%d s)\n' "$*" "$SECONDS"; }

# Whether a sanitizer has found anything. AddressSanitizer also notes where it refused a huge allocation, which is no finding.
reported() {
    grep -qsE 'ERROR: AddressSanitizer|runtime error:|(WARNING|ERROR|FATAL): ThreadSanitizer|CHECK failed|DEADLYSIGNAL' "$work"/report.* "$work/log"
}

# One stage: PASS if the command succeeds and nothing is reported.
stage() {  # title, command ...
    local title=$1 ok=1
    shift
    rm -f "$work"/report.*
    "$@" > "$work/log" 2>&1 || ok=0
    if reported; then ok=0; fi
    if [ $ok = 1 ]; then
        say "PASS $title: $(tail -n 1 "$work/log")"
    else
        tail -n 100 "$work/log"
        for report in "$work"/report.*; do [ ! -e "$report" ] || head -n 100 "$report"; done
        say "FAIL $title"
        failed=1
        return 1
    fi
}

# The other way round: a fault is made, and must be reported.
canary() {  # fault, text of the report
    rm -f "$work"/report.*
    instrumented python -c "import ctypes, sys; getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(4)" "$here/canary.so" "$1" > "$work/log" 2>&1 || true
    if grep -qs -- "$2" "$work"/report.* "$work/log"; then
        say "PASS canary: $1 is reported"
    else
        cat "$work/log"
        say "FAIL canary: $1 is not reported"
        failed=1
    fi
}

# ---- an environment ---------------------------------------------------------------------------------------------------------------------

if [ -n "${SANITIZE_PYTHON:-}" ]; then
    python=$(command -v "$SANITIZE_PYTHON") || exit 2
else
    python=$work/venv/bin/python
    "${PYTHON:-python3}" -m venv "$work/venv" &&
        "$python" -m pip install --quiet numpy pytest hypothesis nanobind ml_dtypes cmake ninja || exit 2
fi
PATH=$(dirname "$python"):$PATH
unset PYTHONPATH PYTHONHOME LD_PRELOAD PARAMSTORE_ISA PARAMSTORE_NUM_THREADS PARAMSTORE_DETERMINISTIC
# A fixed memory layout: the shadow memory of older runtimes does not fit every random one.
fixed=()
if setarch "$(uname -m)" -R true 2> /dev/null; then fixed=(setarch "$(uname -m)" -R); fi

cat > "$work/canary.cpp" <<'CANARY'
#include <thread>
extern "C" void outside(int n) { volatile char* p = new char[n]; p[n] = 1; delete[] p; }
extern "C" int overflow(int n) { return n + 0x7fffffff; }
extern "C" int race(int n) {
    std::thread other([&] { for (int i = 0; i < 1000; ++i) ++*const_cast<volatile int*>(&n); });
    for (int i = 0; i < 1000; ++i) ++*const_cast<volatile int*>(&n);
    other.join();
    return n;
}
CANARY

# Not a release build, which nanobind strips of the names that reports need.
build() {  # address or thread
    local flags=-fsanitize=thread
    [ "$1" = thread ] || flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined"
    here=$work/$1
    mkdir "$here" &&
        cp -r "$root/paramstore" "$root/kernels" "$root/tests" "$root/pyproject.toml" "$here" &&
        cmake -S "$root/kernels" -B "$here/build" -G Ninja -DPARAMSTORE_SANITIZE="$1" -DPython_EXECUTABLE="$python" \
            -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS=-D_GLIBCXX_ASSERTIONS &&
        cmake --build "$here/build" -j "${SANITIZE_JOBS:-2}" &&
        cp "$here"/build/_cpu*.so "$here/paramstore" &&
        "$CXX" $flags -O0 -g1 -fPIC -shared "$work/canary.cpp" -o "$here/canary.so" -pthread || return 1
    # The runtimes must come first, and look for the C++ library's functions when they start.
    runtimes=$(ldd "$here/canary.so" | awk '$1 ~ /^lib(a|ub|t)san/ {print $3} $1 ~ /^libstdc/ {last = $3} END {print last}' | paste -sd:)
    echo "$runtimes"
}

# Runs a command in $here under the preloaded runtimes. They write what they find to files, because tests keep the output of the
# processes that they start; UBSan writes to stderr all the same, so pytest must let that through.
# Memory comes from malloc and not from Python's own allocator, so that every object has its red zones.
instrumented() {
    (cd "$here" && "${fixed[@]}" env LD_PRELOAD="$runtimes" PYTHONPATH="$here" PYTHONMALLOC=malloc PYTHONDONTWRITEBYTECODE=1 \
        OPENBLAS_NUM_THREADS=1 PARAMSTORE_TEST_EXAMPLES="${SANITIZE_EXAMPLES:-40}" \
        ASAN_OPTIONS="log_path=$work/report:detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1" \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        TSAN_OPTIONS="log_path=$work/report:exitcode=66" \
        "$@")
}

present() {  # the tests pass without the extension, too
    instrumented python -W error -c "
import paramstore, paramstore._cpu as c
assert c.__file__.startswith('$here/') and paramstore.__file__.startswith('$here/'), c.__file__
print(c.isa())"
}

tests() {
    instrumented python -m pytest -q --capture=sys -p no:cacheprovider -p no:faulthandler "$@"
}

# ---- the stages -------------------------------------------------------------------------------------------------------------------------

address() {
    stage "build with AddressSanitizer and UBSan" build address || return
    stage "the extension is there" present
    canary outside heap-buffer-overflow
    canary overflow "signed integer overflow"
    local kernel_tests=(tests/test_matrix.py tests/test_properties*.py tests/test_memory.py tests/test_threads_*.py
        tests/test_slices.py tests/test_optim.py)
    stage "kernel tests" tests "${kernel_tests[@]}"
    # Without the test that starts others of these anew under each instruction set.
    PARAMSTORE_ISA=baseline stage "kernel tests, PARAMSTORE_ISA=baseline" \
        tests tests/test_matrix.py tests/test_properties*.py tests/test_memory.py --deselect tests/test_properties_sizes.py::test_other_instruction_sets
}

thread() {
    stage "build with ThreadSanitizer" build thread || return
    stage "the extension is there" present
    canary race "data race"
    stage "locked paths" instrumented python tests/locked_paths.py 50
    PARAMSTORE_ISA=baseline stage "locked paths, PARAMSTORE_ISA=baseline" instrumented python tests/locked_paths.py 15
    # The CUDA kernels, run by the processor: both sets of code paths that they choose from by the GPU's generation.
    local generation
    for generation in 900 750; do
        PARAMSTORE_CUDA_HOST_CXXFLAGS="-fsanitize=thread -g1" PARAMSTORE_CUDA_HOST_ARCH=$generation \
            stage "CUDA kernels on the host, as for sm_${generation%0}" instrumented python tests/cuda_races.py
    done
}

[ $# -gt 0 ] || set -- address thread
for kind; do
    case $kind in
        address | thread) "$kind" ;;
        *) echo "usage: tests/sanitize.sh [address] [thread]" >&2; exit 2 ;;
    esac
done
if [ $failed = 0 ]; then say "no reports"; else say "FAILED"; fi
exit $failed
