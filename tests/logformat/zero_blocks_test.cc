// WriteZeros: the bytes it writes, the bytes it leaves, and its errors.
#include "logformat/zero_blocks.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/logformat/trace_generator.h"

namespace countrace::logformat {
namespace {

using test_support::TempDirectory;

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A file of `bytes` letters, open for writing.
int OpenLetters(const std::string& path, std::size_t bytes) {
  std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(fd >= 0);
  return fd;
}

TEST_CASE("zero_blocks: zeros there, nothing else anywhere",
          "[logformat][zero_blocks]") {
  // In blocks: inside one write, to its end, across it, over several.
  const std::uint64_t first = GENERATE(0, 1, 63, 64, 100);
  const std::uint64_t blocks = GENERATE(0, 1, 28, 64, 65, 200);
  const std::size_t letters = GENERATE(0, 5, 300) * kZeroBlockBytes;
  CAPTURE(first, blocks, letters);
  const TempDirectory temp;
  const std::string path = temp / "file";
  const int fd = OpenLetters(path, letters);
  const std::uint64_t offset = first * kZeroBlockBytes;
  const std::uint64_t bytes = blocks * kZeroBlockBytes;
  CHECK(WriteZeros(fd, offset, bytes) == 0);
  close(fd);
  std::string expected(letters, 'x');
  if (bytes != 0) {
    expected.resize(std::max(letters, offset + bytes), '\0');
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(offset), bytes,
                '\0');
  }
  CHECK((Contents(path) == expected));
}

TEST_CASE("zero_blocks: the error of a write that was cut short is reported",
          "[logformat][zero_blocks]") {
  // Largest file size: a block's end, inside a block, a write's end.
  const rlim_t limit = GENERATE(0, 100, 4096, 10'000, 64 * 4096, 64 * 4096 + 1);
  CAPTURE(limit);
  const TempDirectory temp;
  const std::string path = temp / "file";
  const int fd = OpenLetters(path, 0);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit less = before;
  less.rlim_cur = limit;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &less) == 0);
  const int error = WriteZeros(fd, 0, 100 * kZeroBlockBytes);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  signal(SIGXFSZ, handler);
  CHECK(error == EFBIG);
  close(fd);
  CHECK((Contents(path) == std::string(limit, '\0')));
}

TEST_CASE("zero_blocks: a file that cannot be written", "[logformat]") {
  CHECK(WriteZeros(-1, 0, kZeroBlockBytes) == EBADF);
}

}  // namespace
}  // namespace countrace::logformat
