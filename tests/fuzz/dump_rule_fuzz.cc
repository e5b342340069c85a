// Any bytes as a rule of `record --dump`: gives a rule whose canonical spelling
// is the same rule, or a message.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/rules/dump_rule_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rule = countrace::runtime::ParseDumpRule(text);
  if (!rule.ok()) {
    if (rule.status().message().empty()) std::abort();
    return 0;
  }
  const auto again = countrace::runtime::ParseDumpRule(rule->text);
  if (!again.ok() || std::memcmp(&*rule, &*again, sizeof(*rule)) != 0) {
    std::abort();
  }
  return 0;
}
