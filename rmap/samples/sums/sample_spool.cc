#include "rmap/samples/sums/sample_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "base/posix/errno_status.h"

namespace countrace::rmap {
namespace {

static_assert(std::is_trivially_copyable_v<TimedSample>);

constexpr char kWhat[] = "Cannot keep samples in a temporary file";

int OpenUnnamed() {
  const char* const wanted = std::getenv("TMPDIR");
  const std::string folder =
      wanted == nullptr || *wanted == '\0' ? "/tmp" : wanted;
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  // File systems without O_TMPFILE: a name that is removed at once.
  std::string name = folder + "/countrace-samples-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

// Transfers all of a part with pread or pwrite. False: errno says why.
template <typename Transfer, typename Byte>
bool TransferAll(const Transfer& transfer, int file, Byte* bytes,
                 std::size_t size, std::uint64_t at) {
  while (size > 0) {
    const ssize_t done = transfer(file, bytes, size, static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = EIO;
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<std::size_t>(done);
    at += static_cast<std::uint64_t>(done);
  }
  return true;
}

}  // namespace

void SampleSpool::Clear() {
  part_.clear();
  written_ = 0;  // the file is written over
}

void SampleSpool::WritePart() {
  if (!file_.is_open()) file_ = base::ScopedFd(OpenUnnamed());
  if (!file_.is_open() ||
      !TransferAll(
          ::pwrite, file_.get(), reinterpret_cast<const char*>(part_.data()),
          part_.size() * sizeof(TimedSample), written_ * sizeof(TimedSample))) {
    status_.Update(base::OutputStatus(errno, kWhat));
  } else {
    written_ += part_.size();
  }
  part_.clear();
}

void SampleSpool::ForEach(const std::function<void(TimedSample)>& visit) const {
  std::vector<TimedSample> part(written_ == 0 ? 0 : kPart);
  for (std::uint64_t at = 0; at < written_; at += kPart) {
    if (!TransferAll(::pread, file_.get(), reinterpret_cast<char*>(part.data()),
                     part.size() * sizeof(TimedSample),
                     at * sizeof(TimedSample))) {
      status_.Update(base::ErrnoStatus(errno, kWhat));
      return;
    }
    for (const TimedSample& sample : part) visit(sample);
  }
  for (const TimedSample& sample : part_) visit(sample);
}

}  // namespace countrace::rmap
