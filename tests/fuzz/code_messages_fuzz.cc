// Any bytes as what countrace-code answers: numbers of texts and frames lie
// within what came, and what was read is written as it was. The first byte
// chooses the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rmap/code/code_messages.h"

namespace countrace::rmap {
namespace {

// Reads a message, and writes it again.
template <typename Value>
void Check(std::string_view bytes) {
  Value value;
  if (!(base::MessageReader(bytes) >> value).is_whole()) return;
  // Flags are 0 or not.
  if (base::MessageOf(value).size() != bytes.size()) std::abort();
  if constexpr (std::is_same_v<Value, NamedAddresses>) {
    if (!value.IsSound()) return;
    for (const NamedAddress& address : value.addresses) {
      if (address.frames.empty()) std::abort();
      for (const NamedAddress::Frame& frame : address.frames) {
        if (std::max(frame.function, frame.file) >= value.texts.size()) {
          std::abort();
        }
      }
    }
  }
}

void CheckMessage(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  switch (data[0] % 4) {
    case 0:
      Check<NamedAddresses>(bytes);
      break;
    case 1:
      Check<DebugFileQuestion>(bytes);
      break;
    case 2:
      Check<OpenedCode>(bytes);
      break;
    case 3:
      Check<std::vector<Instruction>>(bytes);
      break;
  }
}

}  // namespace
}  // namespace countrace::rmap

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  countrace::rmap::CheckMessage(data, size);
  return 0;
}
