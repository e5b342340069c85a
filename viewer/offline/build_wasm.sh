#!/usr/bin/env bash
# Builds the WebAssembly module, index_module.wasm.gz, and writes the checksums
# of its sources, index_module.sources:
#
#   viewer/offline/build_wasm.sh [OUT.wasm.gz [WORK_FOLDER]]
#
# Without an argument the committed one. Its bytes depend on the sources and on
# Debian's clang 14, libc++ 14, wasi-libc and nlohmann-json only. With ccache and
# a work folder that stays, only what changed is compiled.
# Exit: 0 built, 1 an error, 77 a tool is missing.
set -euo pipefail

root=$(realpath "$(dirname "$0")/../..")
out=$(realpath -m "${1:-$root/viewer/offline/index_module.wasm.gz}")
if [[ $# -ge 2 ]]; then
  work=$(realpath -m "$2")
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
cd "$root"
for tool in clang++-14 wasm-ld-14; do
  command -v "$tool" >/dev/null || { echo "no $tool" >&2; exit 77; }
done
for header in wasm32-wasi/stdlib.h wasm32-wasi/c++/v1/vector; do
  [[ -e /usr/include/$header ]] || { echo "no $header" >&2; exit 77; }
done

# All that answers from an index, and from samples; row_condition.cc and
# chi_squared.cc are others here.
sources=(
  viewer/index/file/{timeline_index,interval_summary,overview_columns}.cc
  viewer/index/limits/{unknown_time,unseen_counts,inferred_switches}.cc
  viewer/index/rows/{interval_row,counter_row,thread_run,thread_states}.cc
  viewer/index/rows/{process_life,row_tree}.cc
  viewer/index/range/{run_totals,run_limits,range_totals,thread_totals}.cc
  viewer/index/range/{cpu_totals,wait_split,wait_totals,call_durations}.cc
  viewer/index/range/{group_totals,rare_events}.cc
  viewer/index/instant/{instant_state,nearest_step,tile}.cc
  viewer/server/http/query_string.cc
  viewer/server/wire/{state_json,range_json,wait_json,api_answer,api_query}.cc
  viewer/server/tables/{table_order,narrowed_tables,function_table}.cc
  viewer/server/tables/catalog_items.cc
  viewer/server/api/{catalog_api,rows_api,tiles_api,instant_api,range_api}.cc
  viewer/server/api/{frames_api,index_api}.cc
  viewer/offline/stored_functions.cc
  viewer/offline/wasm/{module_main,row_condition,chi_squared}.cc
  rmap/samples/names/{named_samples,frame_places}.cc
  rmap/samples/rows/{place_rows,period_comparison,samples_json}.cc
  rmap/samples/sums/{sampled_amount,event_books}.cc
  rmap/result/{tables,bounds}.cc
  base/text/{quantity_parse,name_escape}.cc
)
# Only these headers of the host are for this target.
mkdir -p "$work/include"
ln -sfn /usr/include/nlohmann "$work/include/nlohmann"
cache=$(command -v ccache || true)
compile() {
  # shellcheck disable=SC2086 # empty without ccache
  $cache clang++-14 --target=wasm32-wasi -std=c++20 -O2 -fno-exceptions \
    -DNDEBUG -DJSON_NOEXCEPTION -DJSON_HAS_FILESYSTEM=0 \
    -DJSON_HAS_EXPERIMENTAL_FILESYSTEM=0 -Wall -Wextra \
    -I. -Iviewer/offline/wasm -isystem "$work/include" \
    -MMD -MF "$work/${1//\//_}.d" -c "$1" -o "$work/${1//\//_}.o"
}
export -f compile
export work cache
printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I{} bash -c 'compile {}'
objects=("${sources[@]//\//_}")
(
  cd "$work"
  clang++-14 --target=wasm32-wasi -mexec-model=reactor -O2 -s \
    -Wl,--gc-sections -Wl,-z,stack-size=1048576 -o module.wasm \
    "${objects[@]/%/.o}"
)
gzip -9nc "$work/module.wasm" >"$out"
# What it was built from, so that a test need not build it again.
(cd "$work" && cat "${objects[@]/%/.d}" && echo "viewer/offline/${0##*/}") |
  tr ' \\' '\n\n' |
  sed -n 's|^\./||; /^[a-z].*\.\(h\|cc\|sh\)$/p' | LC_ALL=C sort -u |
  xargs sha256sum >"${out%.wasm.gz}.sources"
