#include "viewer/server/tables/limited_query.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/jail/inner_program.h"
#include "base/posix/scoped_fd.h"

namespace countrace::viewer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLookMs = 20;  // for a later query

// The queries of a trace.
struct Line {
  std::atomic<std::uint64_t> newest{0};
  std::mutex running;
};
Line& LineOf(const std::string& trace_path) {
  static std::mutex& mutex = *new std::mutex;
  static auto& lines = *new std::map<std::string, Line>;
  const std::lock_guard lock(mutex);
  return lines[trace_path];
}

// A process that ends with this object.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    Wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int Wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

absl::Status TooMuch(const QueryLimits& limits, std::string_view what) {
  return absl::ResourceExhaustedError(absl::StrFormat(
      "The query was ended: it needs more than %s of %d s and %d MiB; "
      "`countrace query` has no limits",
      what, limits.time.count() / 1000, limits.memory_bytes >> 20));
}

absl::Status Replaced() { return absl::CancelledError("A later query came"); }

// Reads until the other end is closed, or the answer is full.
absl::Status ReadAnswer(int from, const Line& line, std::uint64_t own,
                        const QueryLimits& limits, QueryAnswer& answer) {
  const Clock::time_point end = Clock::now() + limits.time;
  for (;;) {
    pollfd ready = {from, POLLIN, 0};
    ::poll(&ready, 1, kLookMs);
    if (line.newest != own) return Replaced();
    if (Clock::now() >= end) return TooMuch(limits, "its time");
    if (ready.revents == 0) continue;
    char bytes[1 << 14];
    const ssize_t got = ::read(from, bytes, sizeof(bytes));
    if (got < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "query");
    if (got == 0) return absl::OkStatus();
    if (got > 0) answer.csv.append(bytes, static_cast<std::size_t>(got));
    if (answer.csv.size() <= limits.answer_bytes) continue;
    // No cell has the end of a line in it (base::EscapeName).
    answer.csv.resize(answer.csv.rfind("\r\n", limits.answer_bytes - 2) + 2);
    answer.cut = true;
    return absl::OkStatus();
  }
}

// The first bytes of it, without the command's name.
std::string SaidIn(int errors) {
  char bytes[4096];
  const ssize_t got = ::pread(errors, bytes, sizeof(bytes), 0);
  std::string text(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
  constexpr std::string_view kBegin = "countrace query: ";
  if (text.starts_with(kBegin)) text.erase(0, kBegin.size());
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Why it ended without an answer.
absl::Status ErrorOf(int status, const std::string& said,
                     const QueryLimits& limits) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGXCPU) return TooMuch(limits, "its time");
    if (signal == SIGABRT || signal == SIGXFSZ) {
      return TooMuch(limits, "its memory");
    }
    return absl::InternalError(
        absl::StrFormat("The query was ended by signal %d", signal));
  }
  if (said.starts_with("Cannot ") &&
      (said.ends_with(": out of memory") || said.ends_with("disk is full"))) {
    return TooMuch(limits, "its memory");
  }
  return absl::InvalidArgumentError(said);
}

}  // namespace

absl::StatusOr<QueryAnswer> RunLimitedQuery(const std::string& trace_path,
                                            const std::string& sql,
                                            std::optional<TimeRange> range,
                                            const QueryLimits& limits) {
  Line& line = LineOf(trace_path);
  const std::uint64_t own = ++line.newest;
  const std::lock_guard lock(line.running);
  if (line.newest != own) return Replaced();
  // A statement that begins with a comment is no option.
  std::vector<std::string> words = {limits.program, "query",         "--format",
                                    "csv",          "--no-progress", " " + sql,
                                    trace_path};
  if (range) {
    words.insert(words.end(),
                 {"--from", absl::StrFormat("%dns", range->begin_ns), "--to",
                  absl::StrFormat("%dns", range->end_ns)});
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  const base::ScopedFd out(ends[0]);
  base::ScopedFd in(ends[1]);
  const base::ScopedFd errors(::memfd_create("query-errors", MFD_CLOEXEC));
  const auto seconds = static_cast<std::uint64_t>(limits.time.count() / 1000);
  const auto started = base::StartInner({.words = std::move(words),
                                         .socket = in.get(),
                                         .output = in.get(),
                                         .errors = errors.get(),
                                         .cpu_seconds = seconds + 1,
                                         .data_bytes = limits.memory_bytes,
                                         .file_bytes = limits.memory_bytes});
  if (!started.ok()) return started.status();
  Child child(*started);
  in = base::ScopedFd();
  QueryAnswer answer;
  if (absl::Status read = ReadAnswer(out.get(), line, own, limits, answer);
      !read.ok()) {
    return read;
  }
  if (answer.cut) return answer;
  const int status = child.Wait();
  answer.said = SaidIn(errors.get());
  if (status != 0) return ErrorOf(status, answer.said, limits);
  return answer;
}

}  // namespace countrace::viewer
