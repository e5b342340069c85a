// Writes one index file front to back: sections, then the header, then the
// rename that makes it visible. A crash leaves only a temporary file.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_INDEX_FILE_WRITER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_INDEX_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "viewer/index/file/checksum.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Thread: one. Write errors are stored and returned by Commit().
class IndexFileWriter {
 public:
  // Opens "<path>.XXXXXX.tmp". Returns: the errno of open(2) as a Status.
  static absl::StatusOr<std::unique_ptr<IndexFileWriter>> Create(
      const std::string& path);
  // Removes the temporary file unless Commit() succeeded.
  ~IndexFileWriter();
  IndexFileWriter(const IndexFileWriter&) = delete;
  IndexFileWriter& operator=(const IndexFileWriter&) = delete;

  void BeginSection(Section section);
  void EndSection();
  // Appends to the open section. Requires: bytes.size() is a multiple of 8,
  // except in the last call of a section.
  void Append(std::span<const std::byte> bytes);
  template <typename T>
  void AppendArray(std::span<const T> values) {
    Append(std::as_bytes(values));
  }
  std::uint64_t offset() const { return written_bytes_ + buffer_.size(); }

  // Fills in the sections and checksums of `header`, writes it and renames.
  absl::Status Commit(FileHeader header);

 private:
  IndexFileWriter(int descriptor, std::string path, std::string temporary)
      : descriptor_(descriptor),
        path_(std::move(path)),
        temporary_(std::move(temporary)) {}
  void Flush();
  void Pad();

  int descriptor_;
  std::string path_, temporary_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_bytes_ = 0;
  SectionEntry sections_[kSections] = {};
  Section open_ = Section::kRowData;
  Checksum checksum_;
  bool committed_ = false;
  absl::Status status_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_INDEX_FILE_WRITER_H_
