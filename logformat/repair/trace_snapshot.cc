#include "logformat/repair/trace_snapshot.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/file_mapping.h"
#include "base/posix/file_output.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/session_files.h"
#include "logformat/description/trace_description.h"
#include "logformat/description/trace_directory.h"
#include "logformat/packet_checksum.h"
#include "logformat/repair/user_streams.h"
#include "logformat/session_layout.h"
#include "logformat/write/flight_stream.h"

namespace countrace::logformat {
namespace {

// A stream that a flight recording overwrites nothing in while it is open.
base::ScopedFd OpenKept(const std::string& path) {
  base::ScopedFd fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.is_open()) flock(fd.get(), LOCK_SH);
  return fd;
}

absl::Status CopyBytes(const std::string& from, const std::string& to) {
  const auto source = base::FileMapping::Open(from);
  if (!source.ok()) return source.status();
  base::FileOutput out;
  absl::Status status = out.Create(to);
  if (status.ok()) status = out.WriteAt(0, source->bytes());
  return status;
}

// Whether the head was read at once; the records of a closed packet stay.
bool IsWhole(const PacketHead& head, std::span<const std::byte> packet) {
  if (head.checksum == 0 || head.content_bits < kPacketHeadBytes * 8) {
    return true;
  }
  const std::size_t records = CheckedRecordBytes(head);
  return kPacketHeadBytes + records <= packet.size() &&
         PacketChecksum(head, packet.data() + kPacketHeadBytes) ==
             head.checksum;
}

// Copies one packet: its records up to the end of the last one that was begun;
// an empty packet without the hole behind its head.
absl::Status CopyPacket(int fd, std::uint64_t offset, PacketHead head,
                        FlightNumbering& numbering, base::FileOutput& out,
                        std::uint64_t& end) {
  const std::uint64_t bytes = head.content_bits == kPacketHeadBytes * 8
                                  ? kPacketAlignBytes
                                  : head.packet_bits / 8;
  std::vector<std::byte> packet(bytes);
  const ssize_t got =
      pread(fd, packet.data(), bytes, static_cast<off_t>(offset));
  if (got != static_cast<ssize_t>(bytes)) {
    return absl::DataLossError(absl::StrFormat(
        "a packet at offset %d has %d bytes, expected %d", offset, got, bytes));
  }
  // Its writer may have changed the head meanwhile.
  for (int i = 0; i < 3 && !IsWhole(head, packet); ++i) {
    if (pread(fd, &head, sizeof(head), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(sizeof(head))) {
      break;
    }
  }
  numbering.Apply(head);
  const PacketHead before = head;
  head.packet_bits = bytes * 8;
  if (head.checksum != 0) head.checksum = ChangedChecksum(before, head);
  std::memcpy(packet.data(), &head, sizeof(head));
  const absl::Status status = out.WriteAt(end, packet);
  end += bytes;
  return status;
}

absl::Status CopyStream(const std::string& from, const std::string& to) {
  const base::ScopedFd source = OpenKept(from);
  if (!source.is_open()) {
    return absl::ErrnoToStatus(errno, absl::StrFormat("Cannot open %s", from));
  }
  base::FileOutput out;
  absl::Status status = out.Create(to);
  struct stat info = {};
  if (fstat(source.get(), &info) != 0) info.st_size = 0;
  FlightNumbering numbering;
  std::uint64_t end = 0;
  for (std::uint64_t offset = 0;
       status.ok() && offset < static_cast<std::uint64_t>(info.st_size);) {
    PacketHead head;
    if (pread(source.get(), &head, sizeof(head), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(sizeof(head))) {
      break;
    }
    const std::uint64_t bytes = head.packet_bits / 8;
    if (head.magic != kPacketMagic || bytes < kPacketAlignBytes ||
        bytes % kPacketAlignBytes != 0) {
      offset += kPacketAlignBytes;  // a sub-buffer that is not yet in use
      const off_t data =
          lseek(source.get(), static_cast<off_t>(offset), SEEK_DATA);
      if (data < 0 && errno == ENXIO) break;  // only a hole follows
      offset =
          std::max(offset, static_cast<std::uint64_t>(data < 0 ? 0 : data) /
                               kPacketAlignBytes * kPacketAlignBytes);
      continue;
    }
    status = CopyPacket(source.get(), offset, head, numbering, out, end);
    offset += bytes;
  }
  return status;
}

// What the recording in `from` leaves out, a snapshot of it does, too.
std::string PartText(const std::string& from) {
  std::string text;
  const auto file = base::FileMapping::Open(from + "/" + kTriggersFile);
  if (!file.ok()) return text;
  const std::span<const std::byte> bytes = file->bytes();
  std::string_view left(reinterpret_cast<const char*>(bytes.data()),
                        bytes.size());
  while (!left.empty()) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(left.size(), line.size() + 1));
    const auto firing = ParseTriggerText(line);
    if (firing && BoundsPart(*firing)) text += TriggerText(*firing) + "\n";
  }
  return text;
}

absl::Status WriteReasons(const std::string& from,
                          const std::vector<TriggerFiring>& reasons,
                          const std::string& to) {
  std::string text = PartText(from);
  if (reasons.empty() && text.empty()) return absl::OkStatus();
  for (const TriggerFiring& reason : reasons) {
    text += TriggerText(reason) + "\n";
  }
  base::FileOutput out;
  absl::Status status = out.Create(to + "/" + kTriggersFile);
  if (status.ok()) status = out.WriteAt(0, std::as_bytes(std::span(text)));
  return status;
}

// Copies `.session`, with SessionControl::snapshot_ns.
absl::Status CopySession(const std::string& from, const std::string& to,
                         std::uint64_t snapshot_ns) {
  const auto source = base::FileMapping::Open(from);
  if (!source.ok()) return source.status();
  base::FileOutput out;
  absl::Status status = out.Create(to);
  if (status.ok()) status = out.WriteAt(0, source->bytes());
  if (!status.ok() || source->bytes().size() < sizeof(SessionControl)) {
    return status;  // FinishTrace() says what is wrong with a short file
  }
  return out.WriteAt(offsetof(SessionControl, snapshot_ns),
                     std::as_bytes(std::span(&snapshot_ns, 1)));
}

absl::Status CopyFiles(const TraceDirectory& source,
                       const SnapshotContent& content, const std::string& to) {
  for (const StreamFile& stream : source.streams) {
    const absl::Status copied =
        CopyStream(source.path + "/" + stream.name, to + "/" + stream.name);
    if (!copied.ok()) return copied;
  }
  if (content.kept != nullptr) content.kept->Release();
  // Hooks come last: a hook is registered before its first record.
  const absl::Status session =
      CopySession(source.path + "/" + kSessionFile, to + "/" + kSessionFile,
                  content.dumped_ns);
  if (!session.ok()) return session;
  for (const char* name :
       {kHooksFile, kKernelHooksFile, kThreadIdsFile, kCpuEventsFile,
        kOwnersFile, kHostFile, kNotRecordedFile}) {
    const absl::Status copied =
        CopyBytes(source.path + "/" + name, to + "/" + name);
    // Only where something was to be written there.
    const std::string_view file = name;
    if (absl::IsNotFound(copied) &&
        (file == kKernelHooksFile || file == kThreadIdsFile ||
         file == kCpuEventsFile || file == kOwnersFile || file == kHostFile ||
         file == kNotRecordedFile)) {
      continue;
    }
    if (!copied.ok()) return copied;
  }
  base::FileOutput incomplete;
  absl::Status made = incomplete.Create(to + "/" + kIncompleteFile);
  const std::string text = IncompleteText(0);  // TraceDirectory::copied
  if (made.ok()) made = incomplete.WriteAt(0, std::as_bytes(std::span(text)));
  return made;
}

absl::Status OutputExists(const std::string& to) {
  return absl::AlreadyExistsError(absl::StrFormat(
      "Output exists: %s; --force replaces it, -o chooses another name", to));
}

// A folder of another name becomes `to` as all is copied: a kill leaves an
// unfinished trace there, or nothing.
absl::Status CopyTo(const std::string& to, const TraceDirectory& source,
                    const SnapshotContent& content) {
  if (access(to.c_str(), F_OK) == 0) return OutputExists(to);
  const std::string folder = absl::StrFormat("%s.new-%d", to, getpid());
  if (mkdir(folder.c_str(), 0700) != 0) {
    return base::OutputStatus(errno, absl::StrFormat("Cannot create %s", to));
  }
  absl::Status copied = CopyFiles(source, content, folder);
  if (copied.ok()) copied = WriteReasons(source.path, content.reasons, folder);
  if (copied.ok()) {
    if (renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, to.c_str(),
                  RENAME_NOREPLACE) == 0) {
      return copied;
    }
    copied = errno == EEXIST
                 ? OutputExists(to)
                 : base::OutputStatus(errno,
                                      absl::StrFormat("Cannot create %s", to));
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return copied;
}

}  // namespace

KeptStreams::KeptStreams(const std::string& trace) {
  constexpr std::size_t kMost = 512;  // of 1,024 descriptors
  const auto directory = ListTraceDirectory(trace);
  if (!directory.ok() || !directory->incomplete) return;
  // Sorted by name: "cpu-0" comes before "thread-1-0".
  for (const StreamFile& stream : directory->streams) {
    if (locks_.size() == kMost) return;
    base::ScopedFd fd = OpenKept(trace + "/" + stream.name);
    if (fd.is_open()) locks_.push_back(std::move(fd));
  }
}

absl::StatusOr<FinishResult> SnapshotTrace(const std::string& from,
                                           const std::string& to,
                                           const SnapshotContent& content) {
  const auto source = ListTraceDirectory(from);
  if (!source.ok()) return source.status();
  if (!source->incomplete || !source->has_session) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is finished: nothing is being recorded there; read it as it is",
        from));
  }
  if (absl::Status made = CopyTo(to, *source, content); !made.ok()) {
    return made;
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::uint64_t now_ns =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
      static_cast<std::uint64_t>(now.tv_nsec);
  const auto adopted =
      AdoptUserStreams(from, to, {.keep = true, .now_ns = now_ns});
  if (!adopted.ok()) return adopted.status();
  auto result = FinishTrace(to, {});
  if (!result.ok()) return result;
  result->messages.insert(result->messages.end(), adopted->messages.begin(),
                          adopted->messages.end());
  return result;
}

}  // namespace countrace::logformat
