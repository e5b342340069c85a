// Any bytes as the metadata of a CTF 2 trace: TSDL, or an error that says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "logformat/import/ctf/tsdl_translation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tsdl = countrace::importer::TranslateToTsdl(text);
  if (tsdl.ok() && !tsdl->starts_with("/* CTF 1.8 */")) std::abort();
  if (!tsdl.ok() && tsdl.status().message().empty()) std::abort();
  return 0;
}
