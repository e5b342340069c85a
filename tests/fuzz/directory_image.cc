#include "tests/fuzz/directory_image.h"

#include <algorithm>

namespace countrace::fuzz {
namespace {

// The order is part of the corpus: only append.
constexpr const char* kNames[] = {
    "metadata",      "cpu-0",         "cpu-1",          "thread-100-0",
    "thread-101-0",  ".incomplete",   ".session",       ".hooks",
    "stranger",      ".kernel_hooks", "thread-100-100", "thread-100-101",
    "thread-100-102"};
constexpr std::size_t kHeadBytes = 5;

}  // namespace

logformat::DirectoryBytes FromImage(std::span<const std::uint8_t> image) {
  logformat::DirectoryBytes files;
  while (image.size() >= kHeadBytes) {
    const char* const name = kNames[image[0] % std::size(kNames)];
    const std::uint32_t length = static_cast<std::uint32_t>(image[1]) |
                                 static_cast<std::uint32_t>(image[2]) << 8 |
                                 static_cast<std::uint32_t>(image[3]) << 16 |
                                 static_cast<std::uint32_t>(image[4]) << 24;
    image = image.subspan(kHeadBytes);
    const std::size_t bytes = std::min<std::size_t>(length, image.size());
    files[name].assign(image.begin(),
                       image.begin() + static_cast<std::ptrdiff_t>(bytes));
    image = image.subspan(bytes);
  }
  return files;
}

std::string ToImage(const logformat::DirectoryBytes& files) {
  std::string image;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const auto file = files.find(kNames[i]);
    if (file == files.end()) continue;
    image += static_cast<char>(i);
    for (int shift = 0; shift < 32; shift += 8) {
      image += static_cast<char>(file->second.size() >> shift);
    }
    image += file->second;
  }
  return image;
}

}  // namespace countrace::fuzz
