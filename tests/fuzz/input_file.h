// The input of a fuzzer as a file, for parsers that open one.
#ifndef COUNTRACE_TESTS_FUZZ_INPUT_FILE_H_
#define COUNTRACE_TESTS_FUZZ_INPUT_FILE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "tests/support/trace_builder.h"

namespace countrace::fuzz {

class InputFile {
 public:
  // Replaces the content; returns the path, the same each time.
  const std::string& Write(std::span<const std::uint8_t> bytes) {
    std::FILE* const file = std::fopen(path_.c_str(), "wb");
    if (file == nullptr ||
        std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        std::fclose(file) != 0) {
      std::abort();
    }
    return path_;
  }

 private:
  test_support::TempDirectory folder_{
      test_support::TempDirectory::Place::kMemory};
  std::string path_ = folder_ / "input";
};

}  // namespace countrace::fuzz

#endif  // COUNTRACE_TESTS_FUZZ_INPUT_FILE_H_
