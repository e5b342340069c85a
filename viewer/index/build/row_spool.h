// Temporary storage of leaves while a trace is read: many rows, each appended
// in its own order, in one unnamed file. Memory is limited to a small buffer
// for each row.
//
// Flow: IndexBuilder appends, then calls Seal(), then AssembleIndex reads each
// row with RowCursor. Thread: one. Errors are stored and returned by Seal().
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_ROW_SPOOL_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_ROW_SPOOL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace countrace::viewer {

class RowSpool {
 public:
  // `directory`: the folder of the unnamed file.
  // Returns: the errno of open(2) as a Status.
  static absl::StatusOr<std::unique_ptr<RowSpool>> Create(
      const std::string& directory);
  ~RowSpool();
  RowSpool(const RowSpool&) = delete;
  RowSpool& operator=(const RowSpool&) = delete;

  // Returns the row's number. All its leaves have `leaf_bytes` bytes.
  std::uint32_t AddRow(std::size_t leaf_bytes);
  // Place for the next leaf of a row, to be filled in before the next call.
  // Requires: not sealed.
  std::byte* Append(std::uint32_t row_number) {
    Row& row = rows_[row_number];
    if (row.used_bytes == row.buffer.size()) [[unlikely]]
      MakeRoom(row);
    std::byte* const leaf = row.buffer.data() + row.used_bytes;
    row.used_bytes += row.leaf_bytes;
    ++row.leaves;
    return leaf;
  }
  std::uint64_t leaves(std::uint32_t row) const { return rows_[row].leaves; }
  // The first error of a write, as Seal() returns it.
  const absl::Status& status() const { return status_; }

  // Flushes and maps the file. No Append afterwards.
  absl::Status Seal();

 private:
  friend class RowCursor;
  struct Chunk {
    std::uint64_t offset;
    std::uint32_t bytes;
  };
  struct Row {
    std::size_t leaf_bytes;
    std::uint64_t leaves = 0;
    std::size_t used_bytes = 0;     // of the buffer
    std::vector<std::byte> buffer;  // grows, so that short rows stay small
    std::vector<Chunk> chunks;
  };
  explicit RowSpool(int descriptor) : descriptor_(descriptor) {}
  void FlushRow(Row& row);
  void MakeRoom(Row& row);
  void FlushFile();

  int descriptor_;
  std::vector<Row> rows_;
  std::vector<std::byte> pending_;  // bytes at the end of the file, unwritten
  std::uint64_t written_bytes_ = 0;
  const std::byte* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  absl::Status status_;
};

// Reads the leaves of one row in the order of Append.
class RowCursor {
 public:
  RowCursor(const RowSpool& spool, std::uint32_t row)
      : spool_(spool), row_(spool.rows_[row]) {}

  // Next leaf, or null after the last. Valid as long as the spool.
  const std::byte* Next() {
    while (chunk_ < row_.chunks.size()) {
      const RowSpool::Chunk& chunk = row_.chunks[chunk_];
      if (at_ < chunk.bytes) {
        const std::byte* leaf = spool_.mapping_ + chunk.offset + at_;
        at_ += row_.leaf_bytes;
        return leaf;
      }
      ++chunk_;
      at_ = 0;
    }
    return nullptr;
  }

 private:
  const RowSpool& spool_;
  const RowSpool::Row& row_;
  std::size_t chunk_ = 0;
  std::size_t at_ = 0;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_ROW_SPOOL_H_
