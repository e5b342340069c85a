// The parts of a program or library that are loaded: its memory is larger than
// what the file has of it, by what begins as zeros (.bss).
//
// Thread: any.
#ifndef COUNTRACE_LOGFORMAT_IMAGE_PARTS_H_
#define COUNTRACE_LOGFORMAT_IMAGE_PARTS_H_

#include <cstdint>
#include <vector>

namespace countrace::logformat {

struct ImagePart {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t file_bytes = 0, memory_bytes = 0;
};

// The loaded parts of an open ELF file; empty: it is none, or cannot be read.
std::vector<ImagePart> ReadImageParts(int fd);

// Where the memory of the part ends of which the file's pages are mapped up to
// `mapped_end`, all of them offsets in the file, as if it went on; 0: no part
// ends there.
std::uint64_t ImageEnd(const std::vector<ImagePart>& parts,
                       std::uint64_t mapped_end);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_IMAGE_PARTS_H_
