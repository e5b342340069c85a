// Any bytes in an index file whose checksums are right: what an attacker or a
// writer's error could leave. Opening it, and every question to it, ends
// without a crash. The input is patches of a small index: six bytes each, four
// of place and two of content; a first byte that is odd cuts the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/posix/small_file.h"
#include "tests/fuzz/small_index.h"
#include "tests/support/trace_builder.h"
#include "viewer/index/file/checksum.h"
#include "viewer/index/file/file_layout.h"
#include "viewer/server/api/timeline_api.h"

namespace {

using countrace::viewer::ChecksumOf;
using countrace::viewer::FileHeader;
using countrace::viewer::TimelineIndex;
using Bytes = std::vector<std::byte>;

Bytes ReadFile(const std::string& path) {
  Bytes bytes;
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) std::abort();
  std::byte piece[4096];
  std::size_t got = 0;
  while ((got = std::fread(piece, 1, sizeof(piece), file)) != 0) {
    bytes.insert(bytes.end(), piece, piece + got);
  }
  std::fclose(file);
  return bytes;
}

void WriteFile(const std::string& path, const Bytes& bytes) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr ||
      std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
      std::fclose(file) != 0) {
    std::abort();
  }
}

Bytes Patched(Bytes bytes, std::span<const std::uint8_t> input) {
  const bool cut = !input.empty() && (input[0] & 1) != 0;
  for (std::size_t at = 1; at + 6 <= input.size(); at += 6) {
    std::uint32_t place = 0;
    std::memcpy(&place, &input[at], 4);
    // Most of the file is row data: half of the places are in the header.
    const std::size_t range =
        (place & 1) != 0 ? sizeof(FileHeader) : bytes.size() - 1;
    std::memcpy(&bytes[(place >> 1) % range], &input[at + 4], 2);
  }
  if (cut)
    bytes.resize(bytes.size() -
                 std::min<std::size_t>(bytes.size() / 2, input.size()));
  return bytes;
}

void RepairChecksums(Bytes& bytes) {
  if (bytes.size() < sizeof(FileHeader)) return;
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.file_bytes = bytes.size();
  for (auto& section : header.sections) {
    if (section.offset > bytes.size() ||
        section.bytes > bytes.size() - section.offset) {
      continue;
    }
    section.checksum = ChecksumOf({bytes.data() + section.offset,
                                   static_cast<std::size_t>(section.bytes)});
  }
  header.header_checksum =
      ChecksumOf({reinterpret_cast<const std::byte*>(&header),
                  offsetof(FileHeader, header_checksum)});
  std::memcpy(bytes.data(), &header, sizeof(header));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const countrace::test_support::TempDirectory folder(
      countrace::test_support::TempDirectory::Place::kMemory);
  static const Bytes sound =
      ReadFile(countrace::fuzz::WriteSmallIndex(folder.path()));
  Bytes bytes = Patched(sound, {data, size});
  RepairChecksums(bytes);
  const std::string path = folder / "patched";
  WriteFile(path, bytes);
  const auto index = TimelineIndex::Open(path, nullptr);
  if (!index.ok()) {
    if (size == 0 || (size == 1 && data[0] == 0)) {  // nothing was patched
      std::fprintf(stderr, "does not hold: a sound index opens: %s\n",
                   index.status().ToString().c_str());
      std::abort();
    }
    return 0;
  }
  for (const auto& request : countrace::fuzz::ApiRequests(**index)) {
    (void)countrace::viewer::AnswerApi(**index, nullptr, request);
  }
  return 0;
}
