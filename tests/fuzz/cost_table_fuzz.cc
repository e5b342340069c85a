// Any bytes as a table of costs, and as a file of counts: what can be shown, or
// a message with the place.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rmap/stat/costs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::rmap;  // NOLINT: the test's subject
  // The table, a byte 0, the counts.
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(text.find('\0'), text.size());
  const auto table = ParseCostTable(text.substr(0, end), "fuzz");
  const auto counts =
      ParseCounts(text.substr(std::min(end + 1, text.size())), "fuzz");
  for (const auto& status : {table.status(), counts.status()}) {
    if (!status.ok() && status.message().find("fuzz:") != 0) std::abort();
  }
  if (!table.ok() || !counts.ok()) return 0;
  const std::string out =
      CostsText(*table, *counts, 80, false) + PerfexText(*table, *counts);
  if (out.find('\x1b') != std::string::npos) std::abort();
  return 0;
}
