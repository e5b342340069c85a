// Any bytes as the format file of a tracepoint: names that the metadata can
// hold, or none.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "runtime/recorder/system/tracepoint_names.h"

namespace {

std::optional<std::uint64_t> ValueOf(std::string_view word) {
  if (word.size() % 2 == 0) return std::nullopt;
  return word.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& [field, names] : runtime::TracepointNames(text, ValueOf)) {
    if (names == nullptr) continue;
    const std::string written = NumberNamesText(*names);
    const auto again = logformat::ParseNumberNames(written);
    if (again == nullptr || NumberNamesText(*again) != written) std::abort();
  }
  return 0;
}
