// Any bytes as the target of an HTTP request: numbers are digits or nothing.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text/quantity_parse.h"
#include "viewer/server/http/query_string.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto target = countrace::viewer::ParseTarget(text);
  if (target.path.size() > text.size()) std::abort();
  for (const auto& [name, value] : target.parameters) {
    const bool digits =
        !value.empty() && value.find_first_not_of("0123456789") == value.npos;
    if (countrace::base::ParseInteger(value) && !digits) std::abort();
  }
  return 0;
}
