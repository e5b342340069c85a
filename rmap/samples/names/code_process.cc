#include "rmap/samples/names/code_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/jail/inner_program.h"
#include "base/jail/message.h"

namespace countrace::rmap {
namespace {

using base::Message;
using base::ScopedFd;

constexpr base::InnerProgram kProgram = {
    .name = "countrace-code",
    .variable = "COUNTRACE_CODE",
    .build_folder = "rmap",
    .without = "so code of files has no names"};

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// A request may wait for a disk and not for a CPU.
constexpr int kWaitSeconds = 200;
// A process that sends half a message.
constexpr int kStallSeconds = 30;

constexpr char kDamaged[] = "the file is damaged";

std::string CpuLimit() {
  return absl::StrFormat("%d s of CPU time", kCodeCpuSeconds);
}
std::string MemoryLimit() {
  return absl::StrFormat("%d GiB of memory", kCodeMemoryBytes >> 30);
}
std::string FilesLimit() {
  return absl::StrFormat("%d GiB of files", kCodeFileBytes >> 30);
}

}  // namespace

CodeProcess& CodeProcess::Get() {
  static auto& process = *new CodeProcess;
  return process;
}

std::uint64_t CodeProcess::NextNumber() {
  const std::lock_guard lock(mutex_);
  return ++last_number_;
}

bool CodeProcess::Start(std::string& why) {
  const auto path = base::FindInnerProgram(kProgram);
  if (!path.ok()) {
    why = std::string(path.status().message());
    return false;
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    why = std::strerror(errno);
    return false;
  }
  socket_ = ScopedFd(ends[0]);
  const ScopedFd other(ends[1]);
  const timeval stall{kStallSeconds, 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &stall, sizeof(stall));
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &stall, sizeof(stall));
  // Its own code and libraries, too.
  constexpr std::uint64_t kOwnBytes = std::uint64_t{1} << 29;
  base::InnerStart start{
      .words = {*path},
      .socket = other.get(),
      .memory_bytes = kCodeMemoryBytes + kCodeFileBytes + kOwnBytes};
#ifdef COUNTRACE_ANY_MEMORY
  start.memory_bytes = 0;
#endif
  const auto started = base::StartInner(start);
  if (!started.ok()) {
    why = std::string(started.status().message());
    return false;
  }
  child_ = *started;
  opened_ = 0;
  return true;
}

std::uint64_t CodeProcess::UsedNs() const {
  clockid_t clock;
  timespec used{};
  if (clock_getcpuclockid(child_, &clock) != 0 ||
      clock_gettime(clock, &used) != 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(used.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(used.tv_nsec);
}

std::string CodeProcess::Await(std::uint64_t used_ns) {
  using Clock = std::chrono::steady_clock;
  const auto last = Clock::now() + std::chrono::seconds(kWaitSeconds);
  for (;;) {
    pollfd watched{socket_.get(), POLLIN, 0};
    if (poll(&watched, 1, 500) > 0) return "";
    if (UsedNs() > used_ns + kCodeCpuSeconds * kNsPerSecond) return CpuLimit();
    if (Clock::now() > last) return absl::StrFormat("%d s", kWaitSeconds);
  }
}

// Returns what it ended by.
std::string CodeProcess::End() {
  kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  socket_.Reset();
  return WIFEXITED(status) && WEXITSTATUS(status) == kOutOfMemoryStatus
             ? MemoryLimit()
             : kDamaged;
}

CodeAnswer CodeProcess::Exchange(std::string_view request, int file,
                                 const OpenDebugFile& open) {
  CodeAnswer answer;
  Message message;
  const auto ended = [&](const std::string& limit) {
    const std::string cause = End();
    answer.limit = limit.empty() ? cause : limit;
    return answer;
  };
  const std::uint64_t used_ns = UsedNs();
  if (!base::SendMessage(socket_.get(), request, file)) return ended("");
  // It has a limited number of questions, or it is no longer ours.
  for (int questions = 0; questions <= kMostQuestions; ++questions) {
    if (const std::string limit = Await(used_ns); !limit.empty()) {
      return ended(limit);
    }
    if (!base::ReceiveMessage(socket_.get(), kMostAnswerBytes, message)) {
      // A process that has ended for want of memory is about to be reaped.
      return ended("");
    }
    base::MessageReader reader(message.text);
    CodeMessage kind{};
    reader >> kind;
    if (kind == CodeMessage::kTooLarge) return ended(FilesLimit());
    if (kind != CodeMessage::kQuestion) {
      answer.text = std::move(message.text);
      return answer;
    }
    DebugFileQuestion question;
    const bool is_whole = (reader >> question).is_whole();
    const ScopedFd found =
        is_whole && open != nullptr ? open(question) : ScopedFd();
    if (!base::SendMessage(socket_.get(),
                           base::MessageOf(CodeMessage::kDebugFile),
                           found.get())) {
      return ended("");
    }
  }
  return ended(kDamaged);
}

CodeAnswer CodeProcess::Call(std::string_view request, int file,
                             const OpenDebugFile& open) {
  const std::lock_guard lock(mutex_);
  CodeAnswer answer;
  if (child_ < 0) {
    if (!Start(answer.missing)) return answer;
    Message started;
    // What its jail could not take away would be no news: it opens no file.
    if (!Await(0).empty() ||
        !base::ReceiveMessage(socket_.get(), kMostAnswerBytes, started)) {
      End();
      answer.missing = "countrace-code did not start";
      return answer;
    }
  }
  const std::uint64_t before = opened_;
  opened_ += file >= 0 ? 1 : 0;
  answer = Exchange(request, file, open);
  // A request for a file that is open counts it.
  answer.is_shared = file >= 0 ? before > 0 : before > 1;
  return answer;
}

void CodeProcess::Close(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (child_ < 0) return;
  Exchange(base::MessageOf(CodeMessage::kClose, number), -1, nullptr);
}

}  // namespace countrace::rmap
