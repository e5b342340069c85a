#include "logformat/repair/user_streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/file_output.h"
#include "base/posix/scoped_fd.h"
#include "base/text/name_escape.h"
#include "logformat/description/session_files.h"
#include "logformat/description/trace_directory.h"
#include "logformat/repair/thread_ids.h"
#include "logformat/repair/user_folder.h"
#include "logformat/repair/user_hooks.h"
#include "logformat/repair/user_packets.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {
namespace {

// As the runtime library accepts it (runtime/inprocess/sites/hook_registry.cc).
constexpr std::size_t kMostHookBytes = 64 << 20;
constexpr std::size_t kForeignNamed = 5;

std::unique_ptr<SessionControl> ReadSession(int fd) {
  auto session = std::make_unique<SessionControl>();
  void* const to = session.get();
  return pread(fd, to, sizeof(SessionControl), 0) ==
                 static_cast<ssize_t>(sizeof(SessionControl))
             ? std::move(session)
             : nullptr;
}

// "thread-PID-N".
bool IsStreamName(std::string_view name) {
  constexpr std::string_view kPrefix = "thread-";
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  const std::size_t dash = name.find('-');
  return name.size() < 32 && dash != 0 && dash + 1 < name.size() &&
         name.find_first_not_of("0123456789-") == name.npos &&
         name.find('-', dash + 1) == name.npos && dash != name.npos;
}

// The process in the name of a stream of the trace; 0: none.
std::int32_t PidOf(const std::string& name) {
  int pid = 0;
  return std::sscanf(name.c_str(), "thread-%d-", &pid) == 1 ? pid  // NOLINT
                                                            : 0;
}

class UserAdoption {
 public:
  UserAdoption(const std::string& from, std::uint32_t user, std::string to,
               const TraceDescription& trace, const PacketLimits& limits,
               ThreadIds& ids, HookMerge& hooks, const AdoptOptions& options)
      : folder_(from, user),
        to_(std::move(to)),
        options_(options),
        limits_(limits) {
    ParseHooks(folder_.Read(kHooksFile, kMostHookBytes), described_);
    hooks_ = hooks.Add(described_.info.hooks);
    packets_.emplace(user, trace.info, hooks_, limits_, ids);
  }

  // After the ids of its hooks are in the trace.
  absl::Status CopyStreams() {
    for (const std::string& name : folder_.Names()) {
      if (name == kSessionFile || name == kHooksFile ||
          name == kIncompleteFile) {
        continue;
      }
      if (!IsStreamName(name)) {
        Foreign(name);
        continue;
      }
      const base::ScopedFd file = folder_.Open(name);
      if (!file.is_open()) {
        ++refused_;
        Foreign(name);
        continue;
      }
      if (absl::Status s = CopyStream(file.get(), name); !s.ok()) return s;
      if (!options_.keep) folder_.Remove(name);
    }
    return absl::OkStatus();
  }

  // Names of its processes, as lines of `.hooks`.
  std::string ProcessLines() const {
    std::string lines;
    for (const ProcessName& process : described_.info.processes) {
      if (packets_->pids().contains(process.pid)) {
        lines += absl::StrFormat("0\tprocess\t%s\n", ProcessText(process));
      }
    }
    return lines;
  }

  // What its programs could not store.
  std::unique_ptr<SessionControl> Session() const {
    const base::ScopedFd file = folder_.Open(kSessionFile);
    return file.is_open() ? ReadSession(file.get()) : nullptr;
  }

  void Describe(AdoptResult& result) const {
    const auto say = [&](const std::string& what) {
      result.messages.push_back(
          absl::StrFormat("Records of user %d: %s", folder_.user(), what));
    };
    if (packets_refused_ != 0) {
      say(absl::StrFormat(
          "%d packets are not in the trace: their times lie outside of the "
          "recording, or their process is another user's",
          packets_refused_));
    }
    if (hooks_.refused != 0) {
      say(absl::StrFormat("%d hooks got no id in the trace", hooks_.refused));
    }
    if (foreign_ != 0) {
      say(absl::StrFormat(
          "%d files in %s are no streams of that user and were "
          "ignored: %s%s",
          foreign_, UserFolderName(folder_.user()), ForeignNames(),
          foreign_ > kForeignNamed ? ", ..." : ""));
    }
    if (bytes_read_ >= kMostUserBytes) {
      say(absl::StrFormat("only the first %d bytes are in the trace",
                          kMostUserBytes));
    }
    result.refused += packets_refused_ + refused_;
  }

 private:
  void Foreign(const std::string& name) {
    ++foreign_;
    // First those that look like a stream.
    auto& names = IsStreamName(name) ? like_streams_ : others_;
    if (names.size() < kForeignNamed) names.push_back(base::EscapeName(name));
  }

  std::string ForeignNames() const {
    std::vector<std::string> names = like_streams_;
    names.insert(names.end(), others_.begin(), others_.end());
    names.resize(std::min(names.size(), kForeignNamed));
    return absl::StrJoin(names, ", ");
  }

  absl::Status CopyStream(int fd, const std::string& name) {
    const std::string file = absl::StrFormat("%s-%d", name, folder_.user());
    const std::string target = to_ + "/" + file;
    // Done before a kill.
    if (access(target.c_str(), F_OK) == 0) return absl::OkStatus();
    const std::string temporary = to_ + "/" + kRewritePrefix + file;
    base::FileOutput out;
    std::uint64_t end = 0;
    off_t at = 0;
    while (bytes_read_ < kMostUserBytes) {
      const off_t data = lseek(fd, at, SEEK_DATA);
      if (data < 0) break;  // only holes follow, or nothing
      at = std::max(at, data / static_cast<off_t>(kPacketAlignBytes) *
                            static_cast<off_t>(kPacketAlignBytes));
      PacketHead head;
      if (pread(fd, &head, sizeof(head), at) != sizeof(head)) break;
      bytes_read_ += kPacketAlignBytes;
      if (!packets_->IsHead(head)) {
        at += static_cast<off_t>(kPacketAlignBytes);
        continue;
      }
      std::vector<std::byte> packet(head.packet_bits / 8);
      const ssize_t got = pread(fd, packet.data(), packet.size(), at);
      at += static_cast<off_t>(packet.size());
      bytes_read_ += packet.size();
      // The head again: it may have changed.
      if (got == static_cast<ssize_t>(packet.size()) &&
          std::memcmp(packet.data(), &head,
                      offsetof(PacketHead, content_bits)) == 0) {
        std::memcpy(&head, packet.data(), sizeof(head));
      } else {
        head.packet_bits = 0;
      }
      if (head.packet_bits / 8 != packet.size() ||
          !packets_->Translate(packet)) {
        ++packets_refused_;
        continue;
      }
      if (end == 0) {
        if (absl::Status s = out.Create(temporary); !s.ok()) return s;
      }
      if (absl::Status s = out.WriteAt(end, packet); !s.ok()) {
        unlink(temporary.c_str());
        return s;
      }
      end += packet.size();
    }
    if (end != 0 && rename(temporary.c_str(), target.c_str()) != 0) {
      return absl::ErrnoToStatus(errno, "Cannot rename " + temporary);
    }
    return absl::OkStatus();
  }

  UserFolder folder_;
  std::string to_;
  const AdoptOptions& options_;
  const PacketLimits& limits_;
  TraceDescription described_;  // by the user
  UserHooks hooks_;
  std::optional<UserPackets> packets_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t packets_refused_ = 0, refused_ = 0, foreign_ = 0;
  std::vector<std::string> like_streams_, others_;  // escaped
};

absl::Status AppendHooks(const std::string& to, const std::string& lines) {
  if (lines.empty()) return absl::OkStatus();
  const std::string path = to + "/" + kHooksFile;
  const base::ScopedFd file(open(
      path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.is_open() && write(file.get(), lines.data(), lines.size()) ==
                            static_cast<ssize_t>(lines.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, "Cannot write " + path);
}

void AddCounts(const SessionControl& user, SessionControl& trace) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    trace.discarded_by_cause[i].fetch_add(
        std::min(kMost, user.discarded_by_cause[i].load()));
  }
  if (trace.last_errno.load() == 0) {
    trace.last_errno.store(user.last_errno.load() % 4096);
  }
}

// Live processes may use the other fields.
bool StoreCounts(int fd, const SessionControl& trace) {
  constexpr std::size_t kBegin = offsetof(SessionControl, discarded_by_cause);
  constexpr std::size_t kEnd = offsetof(SessionControl, late_sub_buffers);
  static_assert(kEnd == kBegin + sizeof(trace.discarded_by_cause) +
                            sizeof(trace.last_errno));
  const auto* const bytes = reinterpret_cast<const char*>(&trace);
  return pwrite(fd, bytes + kBegin, kEnd - kBegin, kBegin) ==
         static_cast<ssize_t>(kEnd - kBegin);
}

}  // namespace

absl::StatusOr<AdoptResult> AdoptUserStreams(const std::string& from,
                                             const std::string& to,
                                             const AdoptOptions& options) {
  AdoptResult result;
  const std::vector<std::uint32_t> users = UserFolders(from);
  if (users.empty()) return result;
  const auto directory = ListTraceDirectory(to);
  if (!directory.ok()) return directory.status();
  auto trace = ReadSessionFiles(to);
  if (!trace.ok()) return trace.status();
  const base::ScopedFd session_file(
      open((to + "/" + kSessionFile).c_str(),
           O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const std::unique_ptr<SessionControl> session =
      ReadSession(session_file.get());
  if (session == nullptr) {
    return absl::ErrnoToStatus(errno, "Cannot read the session of " + to);
  }
  PacketLimits limits;
  limits.most_bytes = session->sub_buffer_bytes;
  limits.begin_ns = session->begin_ns;
  limits.now_ns = options.now_ns;
  for (const ProcessName& process : trace->info.processes) {
    limits.foreign_pids.insert(process.pid);
  }
  for (const StreamFile& stream : directory->streams) {
    // Not those that were adopted before a kill.
    if (std::count(stream.name.begin(), stream.name.end(), '-') == 2) {
      limits.foreign_pids.insert(PidOf(stream.name));
    }
  }
  ThreadIds ids(to);
  HookMerge hooks(trace->info.hooks);
  std::string processes;
  for (const std::uint32_t user : users) {
    const std::size_t known = hooks.lines().size();
    UserAdoption adoption(from, user, to, *trace, limits, ids, hooks, options);
    absl::Status done = AppendHooks(to, hooks.lines().substr(known));
    if (done.ok()) done = adoption.CopyStreams();
    if (done.ok()) done = AppendHooks(to, adoption.ProcessLines());
    if (!done.ok()) return done;
    adoption.Describe(result);
    if (const auto counts = adoption.Session(); counts != nullptr) {
      AddCounts(*counts, *session);
      if (!StoreCounts(session_file.get(), *session)) {
        return absl::ErrnoToStatus(errno, "Cannot write the session of " + to);
      }
    }
    if (!options.keep && !RemoveUserFolder(from, user)) {
      result.messages.push_back(absl::StrFormat(
          "%s/%s is left: what user %d put there could not be removed", from,
          UserFolderName(user), user));
    }
  }
  // Its recorder let the users pass, and may have died.
  if (!options.keep) (void)chmod(from.c_str(), 0700);
  return result;
}

}  // namespace countrace::logformat
