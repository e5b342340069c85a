// Any bytes as a mapping file: a mapping whose names can be looked up, or a
// message with the place.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "logformat/import/mapping/mapping_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::importer;  // NOLINT: the test's subject
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto mapping = ParseMapping(text, "fuzz");
  if (!mapping.ok()) {
    if (mapping.status().message().find("fuzz:") != 0) std::abort();
    return 0;
  }
  for (const SegmentMapping& segment : mapping->segments) {
    if (segment.begin.empty() || segment.end.empty()) std::abort();
    if (segment.begin == segment.end) std::abort();
    if (segment.across_threads && segment.key.empty()) std::abort();
    if (segment.name.find(':') == std::string::npos) std::abort();
  }
  for (const std::string& glob : mapping->ignore) {
    if (!MatchesEventGlob("*", glob)) std::abort();
    MatchesEventGlob(glob, "shop:serve_begin");
  }
  return 0;
}
