# The headers that most files include, parsed once for each library instead of
# once for each file: a third less time of a build with -O1. Off by default, as
# a file then compiles without an #include that it needs; on for cross builds.
foreach(target IN ITEMS countrace_base countrace_logformat countrace_conversion
                        countrace_recorder countrace_rmap countrace_viewer
                        countrace)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <cstdint> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <vector>
    "<absl/status/statusor.h>" "<absl/strings/str_format.h>")
endforeach()
