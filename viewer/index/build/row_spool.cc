#include "viewer/index/build/row_spool.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_format.h"

namespace countrace::viewer {
namespace {

constexpr std::size_t kFirstLeaves = 16;
constexpr std::size_t kMaxLeaves = 512;
constexpr std::size_t kPendingBytes = std::size_t{1} << 20;

}  // namespace

absl::StatusOr<std::unique_ptr<RowSpool>> RowSpool::Create(
    const std::string& directory) {
  int descriptor =
      ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
    // File systems without O_TMPFILE: a name that is removed at once.
    std::string name = directory + "/.timeline-spool-XXXXXX";
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor >= 0) ::unlink(name.c_str());
  }
  if (descriptor < 0) {
    const int error = errno;
    return absl::ErrnoToStatus(
        error, absl::StrFormat("Cannot create the spool file of the timeline "
                               "index: directory=%s",
                               directory));
  }
  return std::unique_ptr<RowSpool>(new RowSpool(descriptor));
}

RowSpool::~RowSpool() {
  if (mapping_ != nullptr) {
    ::munmap(const_cast<std::byte*>(mapping_), mapping_bytes_);
  }
  ::close(descriptor_);
}

std::uint32_t RowSpool::AddRow(std::size_t leaf_bytes) {
  Row row;
  row.leaf_bytes = leaf_bytes;
  rows_.push_back(std::move(row));
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

void RowSpool::MakeRoom(Row& row) {
  FlushRow(row);
  row.buffer.resize(std::clamp(2 * row.buffer.size(),
                               kFirstLeaves * row.leaf_bytes,
                               kMaxLeaves * row.leaf_bytes));
}

void RowSpool::FlushRow(Row& row) {
  if (row.used_bytes == 0) return;
  row.chunks.push_back({written_bytes_ + pending_.size(),
                        static_cast<std::uint32_t>(row.used_bytes)});
  pending_.insert(
      pending_.end(), row.buffer.begin(),
      row.buffer.begin() + static_cast<std::ptrdiff_t>(row.used_bytes));
  row.used_bytes = 0;
  if (pending_.size() >= kPendingBytes) FlushFile();
}

void RowSpool::FlushFile() {
  std::size_t done = 0;
  while (status_.ok() && done < pending_.size()) {
    const ssize_t bytes =
        ::pwrite(descriptor_, pending_.data() + done, pending_.size() - done,
                 static_cast<off_t>(written_bytes_ + done));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) {
      status_ = absl::ErrnoToStatus(
          bytes < 0 ? errno : ENOSPC,
          absl::StrFormat("Cannot write the spool file of the timeline index: "
                          "offset-bytes=%d, bytes=%d",
                          written_bytes_ + done, pending_.size() - done));
      break;
    }
    done += static_cast<std::size_t>(bytes);
  }
  written_bytes_ += pending_.size();
  pending_.clear();
}

absl::Status RowSpool::Seal() {
  for (Row& row : rows_) {
    FlushRow(row);
    row.buffer = {};
  }
  FlushFile();
  if (!status_.ok() || written_bytes_ == 0) return status_;
  void* address =
      ::mmap(nullptr, written_bytes_, PROT_READ, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED) {
    return absl::ErrnoToStatus(
        errno, absl::StrFormat("Cannot map the spool file of the timeline "
                               "index: bytes=%d",
                               written_bytes_));
  }
  mapping_ = static_cast<const std::byte*>(address);
  mapping_bytes_ = written_bytes_;
  return absl::OkStatus();
}

}  // namespace countrace::viewer
