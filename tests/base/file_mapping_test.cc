// Forget() releases pages of the file and no other memory; a file that shrinks
// does not end the process.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>

#include "base/posix/file_mapping.h"
#include "tests/support/trace_builder.h"

namespace countrace::base {
namespace {

using test_support::TempDirectory;

constexpr std::size_t kRegionBytes = std::size_t{1} << 20;
constexpr std::size_t kFileBytes = 10'000;

// Memory of the process, not of a file: releasing it loses its content.
class Region {
 public:
  Region()
      : data_(mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(data_ != MAP_FAILED);
    std::ranges::fill(bytes(), std::byte{1});
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() { munmap(data_, kRegionBytes); }

  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(data_), kRegionBytes};
  }

 private:
  void* data_;
};

TEST_CASE("file mapping: what is after the end of the file is kept",
          "[base][file_mapping]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "stream";
  std::ofstream(path) << std::string(kFileBytes, 'x');
  // Mappings grow downwards: this one follows the file's, unless another gap
  // fits it.
  const Region after;
  auto mapping = FileMapping::Open(path);
  REQUIRE(mapping.ok());
  const Region before;
  const auto begin = static_cast<std::size_t>(
      reinterpret_cast<std::uintptr_t>(after.bytes().data()) -
      reinterpret_cast<std::uintptr_t>(mapping->bytes().data()));
  // To the region's end if it is near, else to the largest allowed offset.
  const bool near = begin < 64 * kRegionBytes;
  CAPTURE(near);
  mapping->Forget(0, near ? begin + kRegionBytes : kRegionBytes);
  const auto is_kept = [](std::byte byte) { return byte == std::byte{1}; };
  CHECK(std::ranges::all_of(after.bytes(), is_kept));
  CHECK(std::ranges::all_of(before.bytes(), is_kept));
  CHECK(mapping->text() == std::string(kFileBytes, 'x'));
}

TEST_CASE("file mapping: holes use no disk", "[base][file_mapping]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "stream";
  std::ofstream(path) << std::string(kRegionBytes, 'x');
  auto dense = FileMapping::Open(path);
  REQUIRE(dense.ok());
  CHECK(dense->disk_bytes() == kRegionBytes);
  std::filesystem::resize_file(path, 10 * kRegionBytes);
  auto sparse = FileMapping::Open(path);
  REQUIRE(sparse.ok());
  CHECK(sparse->bytes().size() == 10 * kRegionBytes);
  CHECK(sparse->disk_bytes() == kRegionBytes);
}

TEST_CASE("file mapping: a file that shrinks reads as zeros, and is reported",
          "[base][file_mapping]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "stream";
  const std::string other_path = temp / "other";
  std::ofstream(path) << std::string(kRegionBytes, 'x');
  std::ofstream(other_path) << std::string(kFileBytes, 'y');
  auto mapping = FileMapping::Open(path);
  const auto other = FileMapping::Open(other_path);
  REQUIRE(mapping.ok());
  REQUIRE(other.ok());
  std::filesystem::resize_file(path, kFileBytes);
  const FileMapping moved = std::move(*mapping);
  CHECK(moved.CheckWhole().ok());  // nothing was read that is not there
  const std::string text(moved.text());
  CHECK(text == std::string(kFileBytes, 'x') +
                    std::string(kRegionBytes - kFileBytes, '\0'));
  const std::string message(moved.CheckWhole().message());
  CAPTURE(message);
  CHECK(message.find(path) != std::string::npos);
  CHECK(message.find("1048576") != std::string::npos);
  CHECK(message.find("10000") != std::string::npos);
  CHECK(other->text() == std::string(kFileBytes, 'y'));
  CHECK(other->CheckWhole().ok());
}

struct sigaction BusErrorAction() {
  struct sigaction action = {};
  sigaction(SIGBUS, nullptr, &action);
  return action;
}

TEST_CASE("file mapping: the signal's handler is there while a mapping is",
          "[base][file_mapping]") {
  TempDirectory temp(TempDirectory::Place::kMemory);
  const std::string path = temp / "stream";
  std::ofstream(path) << std::string(kFileBytes, 'x');
  const auto before = BusErrorAction().sa_sigaction;
  {
    const auto mapping = FileMapping::Open(path);
    REQUIRE(mapping.ok());
    CHECK(BusErrorAction().sa_sigaction != before);
  }
  CHECK(BusErrorAction().sa_sigaction == before);
}

}  // namespace
}  // namespace countrace::base
