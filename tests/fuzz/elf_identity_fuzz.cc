// Any bytes as a program: little is read, whatever sizes it says, and the id is
// short. Behind its end the file goes on with zeros.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/code/elf_identity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  namespace base = countrace::base;
  for (const std::uint64_t end :
       {std::uint64_t{size}, std::uint64_t{1} << 40}) {
    std::uint64_t read = 0;
    const base::ElfIdentity identity = base::ReadElfIdentity(
        [&](std::uint64_t offset, std::span<std::byte> out) -> std::size_t {
          if (offset >= end || out.empty()) return 0;
          const auto bytes = static_cast<std::size_t>(
              std::min<std::uint64_t>(out.size(), end - offset));
          std::memset(out.data(), 0, bytes);
          if (offset < size) {
            std::memcpy(out.data(), data + offset,
                        std::min<std::size_t>(bytes, size - offset));
          }
          read += bytes;
          return bytes;
        });
    constexpr std::uint64_t kMost =
        64 + base::kMostProgramHeaders * 56 + base::kMostNoteBytes;
    if (read > kMost || identity.bytes_read != read ||
        identity.build_id.size() > 128) {
      std::abort();
    }
  }
  return 0;
}
