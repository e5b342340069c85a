# What makes a whole build faster: most of its time goes to headers.
set(countrace_libraries
  countrace_base countrace_code countrace_logformat countrace_conversion
  countrace_recorder countrace_rules countrace_rmap countrace_samples
  countrace_viewer countrace_cli_base countrace)

# A file whose local names another file of its folder has, too, or that the
# runtime library has: a program may link both.
set(countrace_compiled_alone
  base/code/jit_dump.cc
  base/posix/kernel_clock.cc
  cli/program/wall_clock.cc
  logformat/import/ctf/conversion.cc
  logformat/import/ctf/function_names.cc
  logformat/packet_checksum.cc
  logformat/read/script_json.cc
  logformat/repair/trace_verify.cc
  rmap/diff/aligned_rows.cc
  rmap/diff/diff_sections.cc
  rmap/diff/row_amounts.cc
  rmap/report/segments_text.cc
  rmap/tables/bounds/unseen_bounds.cc
  rmap/tables/rows/preemptor_rows.cc
  runtime/recorder/control/process_control.cc
  runtime/recorder/control/snapshot_dumps.cc
  runtime/recorder/events/gated_events.cc
  runtime/recorder/kernel/hooks/function_exits.cc
  runtime/recorder/kernel/hooks/unwound_functions.cc
  runtime/recorder/session/recording_finish.cc
  runtime/rules/trigger_text.cc
  viewer/replay/player.cc
  viewer/server/api/functions_api.cc)

# The files of a folder are compiled as one, which parses their headers once.
function(countrace_compile_by_folder library)
  get_target_property(folder ${library} SOURCE_DIR)
  get_target_property(sources ${library} SOURCES)
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cc$" OR IS_ABSOLUTE ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
               OUTPUT_VARIABLE name)
    if(name IN_LIST countrace_compiled_alone)
      continue()
    endif()
    cmake_path(GET name PARENT_PATH group)
    string(REPLACE "/" "_" group "${group}")
    set_source_files_properties(${source} TARGET_DIRECTORY ${library}
      PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${library} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

foreach(library IN LISTS countrace_libraries)
  if(TARGET ${library} AND COUNTRACE_UNITY_BUILD)
    countrace_compile_by_folder(${library})
  endif()
  # The headers that most files include, parsed once for each library. A file
  # then compiles without an #include that it needs.
  if(TARGET ${library} AND COUNTRACE_PRECOMPILE_HEADERS)
    target_precompile_headers(${library} PRIVATE
      <algorithm> <cstdint> <map> <memory> <optional> <span> <string>
      <string_view> <utility> <vector>
      "<absl/status/statusor.h>" "<absl/strings/str_format.h>")
  endif()
endforeach()
