// The records of a perf.data file, in the order of the file; compressed ones
// (perf record -z) are unpacked.
//
// In: a file's bytes. Out: records, in the order of the file, not of time.
// Memory: the unpacked blocks whose records the caller holds. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_PERF_RECORD_READER_H_
#define COUNTRACE_LOGFORMAT_IMPORT_PERF_RECORD_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/import/perf/file_description.h"

struct ZSTD_DCtx_s;

namespace countrace::importer::perf {

struct RawRecord {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> body;  // after the header
  std::uint64_t offset = 0;         // in the file; if compressed, of its block
  // Keeps `body` where it is; null: the file's own bytes.
  std::shared_ptr<const std::vector<std::byte>> block;
};

class RecordReader {
 public:
  // A larger block from one compressed record is damage.
  static constexpr std::size_t kMaxBlockBytes = std::size_t{256} << 20;

  RecordReader(std::span<const std::byte> bytes, const FileDescription& file);
  ~RecordReader();

  // The next record; nullopt at the end. Returns: INVALID_ARGUMENT the defect
  // and its offset.
  absl::StatusOr<std::optional<RawRecord>> Next();
  // Bytes of the file read so far.
  std::uint64_t done_bytes() const { return at_; }

 private:
  absl::Status Unpack(std::span<const std::byte> packed, std::uint64_t offset);
  std::size_t ReadHead(std::span<const std::byte> bytes,
                       RawRecord& record) const;
  absl::Status SkipData(const RawRecord& record);
  absl::Status TooShort(const RawRecord& record, std::size_t size) const;
  absl::Status Wrong(std::uint64_t offset, const std::string& what) const;

  const std::span<const std::byte> bytes_;
  const FileDescription& file_;
  std::uint64_t at_;
  ZSTD_DCtx_s* unpacker_ = nullptr;
  // The last unpacked block; its records from block_at_ on are still to come.
  std::shared_ptr<std::vector<std::byte>> block_;
  std::size_t block_at_ = 0;
  std::uint64_t block_offset_ = 0;
};

}  // namespace countrace::importer::perf

#endif  // COUNTRACE_LOGFORMAT_IMPORT_PERF_RECORD_READER_H_
