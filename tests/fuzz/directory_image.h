// A trace directory as one fuzz input: for each file a byte that selects its
// name, four bytes of length (little-endian), the content. Content beyond the
// end is cut, so that every input is valid.
#ifndef COUNTRACE_TESTS_FUZZ_DIRECTORY_IMAGE_H_
#define COUNTRACE_TESTS_FUZZ_DIRECTORY_IMAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/logformat/directory_bytes.h"

namespace countrace::fuzz {

logformat::DirectoryBytes FromImage(std::span<const std::uint8_t> image);

// Files whose names an image cannot select are left out.
std::string ToImage(const logformat::DirectoryBytes& files);

}  // namespace countrace::fuzz

#endif  // COUNTRACE_TESTS_FUZZ_DIRECTORY_IMAGE_H_
