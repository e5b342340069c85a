// Any bytes as what countrace-code answers: numbers of texts and frames lie
// within what came, and what was read is written as it was. The first byte
// chooses the message.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "rmap/code/code_messages.h"

namespace countrace::rmap {
namespace {

// Reads a message, and writes it again.
template <typename Read, typename Take>
void Check(std::string_view bytes, const Read& read, const Take& take) {
  countrace::base::MessageReader reader(bytes);
  const auto value = read(reader);
  if (!value) return;
  take(*value);
  countrace::base::MessageWriter again;
  Write(*value, again);
  // Flags are 0 or not.
  if (again.text().size() + reader.left() != bytes.size()) std::abort();
}

void CheckNames(std::string_view bytes) {
  const std::size_t addresses = bytes.size() % 7;
  Check(
      bytes, [&](auto& reader) { return ReadNames(reader, addresses); },
      [&](const NamedAddresses& names) {
        if (names.ends.size() != addresses) std::abort();
        std::uint64_t last = 0;
        for (const std::uint64_t end : names.ends) {
          if (end <= last || end > names.frames.size()) std::abort();
          last = end;
        }
        for (const NamedAddresses::Frame& frame : names.frames) {
          if (std::max(frame.function, frame.file) >= names.texts.size()) {
            std::abort();
          }
        }
      });
}

void CheckMessage(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  const auto nothing = [](const auto&) {};
  switch (data[0] % 5) {
    case 0:
      CheckNames(bytes);
      break;
    case 1:
      Check(bytes, ReadQuestion, nothing);
      break;
    case 2:
      Check(bytes, ReadOpened, nothing);
      break;
    case 3:
      Check(bytes, ReadSymbol, nothing);
      break;
    case 4:
      Check(bytes, ReadInstructions, nothing);
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
