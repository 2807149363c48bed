#!/usr/bin/env bash
# Everything that only a GPU can show, unattended: builds the package as it is here, and runs the tests of this folder, small calls under
# compute-sanitizer, and the benchmark with its table. Prints PASS, FAIL or SKIP for each stage; exits non-zero if any failed.
#
#     tests/gpu/run.sh [REPORT.json]     the report goes to ./gpu-report.json if no other file is named
#
#   PYTHON   the python that has numpy, cupy, pytest, hypothesis, scikit-build-core, nanobind, cmake and ninja (python3); torch and
#            ml_dtypes if they are to be compared and tested too
#
# Needs an NVIDIA GPU, a C++ compiler, and no network. Takes at most 8 minutes: each stage has its limit. Nothing is written but the
# report and a temporary folder, which is removed at the end.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
report=$(realpath -m "${1:-gpu-report.json}")
python=$(command -v "${PYTHON:-python3}") || { echo "no ${PYTHON:-python3}" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH=$(dirname "$python"):$PATH CUPY_CACHE_DIR=$work/cupy PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH PYTHONHOME PARAMSTORE_DETERMINISTIC PARAMSTORE_NUM_THREADS PARAMSTORE_ISA PARAMSTORE_GPU_TESTS
failed=0
: > "$work/stages"

note() {  # title, PASS or FAIL or SKIP, seconds, last line
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >> "$work/stages"
    printf '%s %s: %s (%s s)\n' "$2" "$1" "$4" "$3"
}

stage() {  # title, limit in seconds, command ...
    local title=$1 limit=$2 begin=$SECONDS code
    shift 2
    timeout -k 5 "$limit" "$@" > "$work/log" 2>&1
    code=$?
    cp "$work/log" "$work/log.$(wc -l < "$work/stages")"
    if [ $code = 0 ]; then
        note "$title" PASS $((SECONDS - begin)) "$(tail -n 1 "$work/log")"
        return 0
    fi
    tail -n 60 "$work/log"
    [ $code != 124 ] || echo "stopped after $limit s"
    note "$title" FAIL $((SECONDS - begin)) "exit code $code"
    failed=1
    return 1
}

# Outside of the tree, so that what is imported is what was built.
installed() { (cd "$work" && PYTHONPATH=$work/site "$@"); }
export -f installed
export work

build() {
    "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "$work/site" "$root" &&
        installed "$python" -W error -c "import paramstore, paramstore._cpu as c; print(paramstore.__file__, c.isa())"
}
export -f build
export root python

there() { "$python" -c "import cupy, sys; n = cupy.cuda.runtime.getDeviceCount(); print(n, 'GPU', cupy.cuda.runtime.getDeviceProperties(0)['name'].decode(), 'CuPy', cupy.__version__); sys.exit(not n)"; }
export -f there

sanitized() {  # tool
    installed compute-sanitizer --tool "$1" --error-exitcode 9 "$python" "$root/tests/gpu/small.py"
}
export -f sanitized

main() {
    stage "a GPU is there" 15 bash -c there || return
    stage "build without a network" 140 bash -c build || return
    stage "tests" 150 bash -c 'installed "$python" -m pytest -q -rs -p no:cacheprovider -c "$root/pyproject.toml" --rootdir "$root" "$root/tests/gpu"'
    if command -v compute-sanitizer > /dev/null; then
        stage "compute-sanitizer memcheck" 45 bash -c 'sanitized memcheck'
        stage "compute-sanitizer racecheck" 25 bash -c 'sanitized racecheck'
    else
        note "compute-sanitizer" SKIP 0 "it is not installed"
    fi
    if stage "benchmark" 100 bash -c 'installed "$python" "$root/tests/gpu/bench.py" --seconds 60 --json "$work/bench.json"'; then
        cat "$work/log"
    fi
}
main

"$python" - "$work" "$report" <<'REPORT'
import json, pathlib, sys
work, report = map(pathlib.Path, sys.argv[1:])
rows = [line.split("\t") for line in (work / "stages").read_text().splitlines()]
bench = work / "bench.json"
found = {
    "stages": [dict(zip(("stage", "result", "seconds", "told"), row)) for row in rows],
    "bench": json.loads(bench.read_text()) if bench.exists() else None,
}
report.write_text(json.dumps(found, indent=1))
print(f"report: {report}")
REPORT
if [ $failed = 0 ]; then echo "all passed ($SECONDS s)"; else echo "FAILED ($SECONDS s)"; fi
exit $failed
