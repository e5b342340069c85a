#include "viewer/index/build/index_file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"

namespace countrace::viewer {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<IndexFileWriter>> IndexFileWriter::Create(
    const std::string& path) {
  std::string temporary = path + ".XXXXXX.tmp";
  const int descriptor = ::mkostemps(temporary.data(), 4, O_CLOEXEC);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(
        errno, absl::StrFormat("Cannot create the timeline index: path=%s",
                               temporary));
  }
  std::unique_ptr<IndexFileWriter> writer(
      new IndexFileWriter(descriptor, path, temporary));
  writer->buffer_.resize(sizeof(FileHeader));  // written by Commit
  writer->Pad();
  return writer;
}

IndexFileWriter::~IndexFileWriter() {
  ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void IndexFileWriter::Pad() {
  const std::uint64_t over = offset() % kSectionAlignBytes;
  if (over != 0) buffer_.resize(buffer_.size() + kSectionAlignBytes - over);
}

void IndexFileWriter::BeginSection(Section section) {
  Pad();
  open_ = section;
  checksum_ = Checksum();
  sections_[static_cast<std::size_t>(section)].offset = offset();
}

void IndexFileWriter::EndSection() {
  SectionEntry& entry = sections_[static_cast<std::size_t>(open_)];
  entry.bytes = offset() - entry.offset;
  entry.checksum = checksum_.value();
}

void IndexFileWriter::Append(std::span<const std::byte> bytes) {
  checksum_.Add(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  if (buffer_.size() >= kBufferBytes) Flush();
}

void IndexFileWriter::Flush() {
  std::size_t done = 0;
  while (status_.ok() && done < buffer_.size()) {
    const ssize_t bytes =
        ::pwrite(descriptor_, buffer_.data() + done, buffer_.size() - done,
                 static_cast<off_t>(written_bytes_ + done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) {
      status_ = absl::ErrnoToStatus(
          bytes < 0 ? errno : ENOSPC,
          absl::StrFormat("Cannot write the timeline index: path=%s, "
                          "offset-bytes=%d, bytes=%d",
                          temporary_, written_bytes_ + done,
                          buffer_.size() - done));
      break;
    }
    done += static_cast<std::size_t>(bytes);
  }
  written_bytes_ += buffer_.size();
  buffer_.clear();
}

absl::Status IndexFileWriter::Commit(FileHeader header) {
  Flush();
  if (!status_.ok()) return status_;
  header.magic = kIndexMagic;
  header.version = kIndexVersion;
  header.header_bytes = sizeof(FileHeader);
  header.file_bytes = written_bytes_;
  std::memcpy(header.sections, sections_, sizeof(sections_));
  header.header_checksum =
      ChecksumOf(std::as_bytes(std::span(&header, 1))
                     .first(offsetof(FileHeader, header_checksum)));
  // The header is written last: an incomplete file has no magic.
  if (::pwrite(descriptor_, &header, sizeof(header), 0) !=
          static_cast<ssize_t>(sizeof(header)) ||
      ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return absl::ErrnoToStatus(
        errno,
        absl::StrFormat("Cannot finish the timeline index: path=%s", path_));
  }
  committed_ = true;
  return absl::OkStatus();
}

}  // namespace countrace::viewer
