// Any bytes as a file of code, in countrace-code: its names, lines and
// instructions end, and frames are those of the addresses.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "rmap/code/code_image.h"

using countrace::base::ScopedFd;
using countrace::rmap::CodeImage;
using countrace::rmap::CodePart;
using countrace::rmap::NamedAddresses;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  ScopedFd file(memfd_create("code", MFD_CLOEXEC));
  if (write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const auto image = CodeImage::Open(std::move(file), [](const auto& question) {
    if (question.number != 0) std::abort();  // none was found before
    return ScopedFd();
  });
  if (!image.ok()) return 0;
  std::vector<std::uint64_t> addresses = {0, 0x1000, ~std::uint64_t{0}};
  for (const CodePart& part : (*image)->opened().parts) {
    if (addresses.size() > 16) break;
    for (const std::uint64_t at :
         {part.address, part.address + part.bytes / 2}) {
      addresses.push_back(at);
    }
  }
  const NamedAddresses names = (*image)->NamesOf(addresses);
  if (names.addresses.size() != addresses.size() || !names.IsSound()) {
    std::abort();
  }
  for (const std::string& text : names.texts) {
    if (text.size() > countrace::rmap::kLongestName + 3) std::abort();
  }
  const auto mnemonics = (*image)->MnemonicsAt(addresses);
  if (mnemonics.ok() && mnemonics->size() != addresses.size()) std::abort();
  for (const std::uint64_t address : addresses) {
    const auto code = (*image)->InstructionsOf(address, address + 64);
    if (code.ok() && code->size() > 64) std::abort();
  }
  return 0;
}
