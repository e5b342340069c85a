#include "logformat/import/program/import_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>

#include "absl/strings/str_format.h"
#include "base/jail/inner_program.h"
#include "base/posix/scoped_fd.h"
#include "logformat/import/program/file_service.h"
#include "logformat/import/program/import_talk.h"
#include "logformat/import/trace_output.h"
#include "logformat/import/trace_search.h"
#include "logformat/session_layout.h"

namespace countrace::importer {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// Reading takes about 0.03 s a MiB.
constexpr std::uint64_t kCpuSecondsAtLeast = 60;
// libbabeltrace2 has at most one packet of each stream decoded at a time.
constexpr std::uint64_t kMemoryBytesAtLeast = 1024 * kMiB;
constexpr std::uint64_t kMemoryBytesAtMost = 4096 * kMiB;
constexpr std::uint64_t kMemoryFactor = 64;
constexpr std::uint64_t kOutputBytesAtLeast = 256 * kMiB;
constexpr std::uint64_t kOutputFactor = 16;

// Both ends of a pipe, closed by the destructor.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void CloseRead() {
    if (read_end >= 0) close(read_end);
    read_end = -1;
  }
  void CloseWrite() {
    if (write_end >= 0) close(write_end);
    write_end = -1;
  }
};

constexpr base::InnerProgram kProgram = {
    .name = "countrace-import",
    .variable = "COUNTRACE_IMPORT",
    .build_folder = "logformat/import",
    .without = "so traces of others cannot be read"};

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1).substr(0, 300);
}

// The first log line of the library: "DATE TIME PID TID E TAG
// FUNCTION@FILE:LINE [COMPONENT] TEXT". It names the line or offset closest to
// the defect.
std::string FirstLog(const std::string& errors) {
  const std::string line = errors.substr(0, errors.find('\n'));
  const std::size_t level = line.find(" E ");
  const std::size_t text = line.find("] ", level);
  if (level == line.npos || text == line.npos) return "";
  return line.substr(text + 2, 400);
}

std::string Sources(const ImportRequest& request) {
  std::string text;
  for (const std::string& source : request.sources) {
    text += (text.empty() ? "" : " and ") + source;
  }
  return text;
}

absl::Status OfDeath(const ImportRequest& request, const ImportLimits& limits,
                     std::uint64_t source_bytes, const ImportTalk& talk,
                     int status) {
  const std::string what = "Cannot read " + Sources(request);
  const bool perf = IsPerfDataFile(request.sources.front());
  const char* const reader = perf ? "the import program" : "libbabeltrace2";
  const std::string last = LastLine(talk.errors);
  const std::string said = last.empty() ? "" : " (" + last + ")";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    return absl::InternalError(absl::StrFormat(
        "%s: the import program did not start with %d bytes of memory "
        "(--import-limit memory=)%s",
        what, limits.memory_bytes, said));
  }
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
    return absl::CancelledError(absl::StrFormat(
        "%s: interrupted while it was converted, with %d of its bytes read",
        what, talk.done_bytes));
  }
  if (signal == SIGXFSZ) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s: a file of the converted trace has more than %d bytes: "
        "--import-limit output=%d lets it have more",
        what, limits.output_bytes, limits.output_bytes * 4));
  }
  if (signal == SIGXCPU || signal == SIGKILL) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s: it took more than %d s of CPU time, %d of its bytes were read by "
        "then. A damaged trace can keep %s busy for ever; if this "
        "one is sound, give it longer: --import-limit cpu=%ds",
        what, limits.cpu_seconds, talk.done_bytes, reader,
        limits.cpu_seconds * 10));
  }
  if (talk.errors.find("failed to allocate") != std::string::npos ||
      talk.errors.find("bad_alloc") != std::string::npos) {
    if (!perf && source_bytes <= limits.memory_bytes / kMemoryFactor) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: it is damaged: a packet claims more than its files hold, which "
          "are %d bytes; %s needed more than %d bytes of memory for it%s. A "
          "larger --import-limit memory= does not help",
          what, source_bytes, reader, limits.memory_bytes, said));
    }
    return absl::ResourceExhaustedError(absl::StrFormat(
        "%s: %s needed more than %d bytes of memory%s. If the "
        "trace is sound, give it more: --import-limit memory=%dG",
        what, reader, limits.memory_bytes, said,
        std::max<std::uint64_t>(1, limits.memory_bytes >> 30) * 4));
  }
  return absl::AbortedError(absl::StrFormat(
      "%s: %s died of it: signal=%d (%s), exit-status=%d%s. The "
      "trace is damaged, or this is a fault of the %s: `%s` "
      "will show the same",
      what, reader, signal, signal == 0 ? "none" : strsignal(signal),
      WIFEXITED(status) ? WEXITSTATUS(status) : 0, said,
      perf ? "program" : "library", perf ? "perf script" : "babeltrace2"));
}

absl::Status NameMetadata(const std::string& directory) {
  const std::string made = directory + "/" + kNewMetadataFile;
  if (rename(made.c_str(),
             (directory + "/" + logformat::kMetadataFile).c_str()) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, "Cannot rename " + made);
}

// Reads the available bytes. Returns false at the end of the pipe.
bool Drain(int fd, std::string& out) {
  char block[16384];
  const ssize_t got = read(fd, block, sizeof(block));
  if (got > 0) out.append(block, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

}  // namespace

absl::Status SetLimit(std::string_view text, ImportLimits& limits) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  std::string_view amount =
      equals == text.npos ? std::string_view() : text.substr(equals + 1);
  std::uint64_t number = 0;
  const auto parsed =
      std::from_chars(amount.data(), amount.data() + amount.size(), number);
  const std::string_view unit(
      parsed.ptr,
      static_cast<std::size_t>(amount.data() + amount.size() - parsed.ptr));
  const bool bytes = name == "memory" || name == "output";
  const bool seconds = name == "cpu" || name == "stall";
  std::uint64_t factor = 0;
  if (unit.empty()) factor = 1;
  if (bytes && unit == "K") factor = 1 << 10;
  if (bytes && unit == "M") factor = 1 << 20;
  if (bytes && unit == "G") factor = 1 << 30;
  if (seconds && unit == "s") factor = 1;
  if (seconds && unit == "m") factor = 60;
  if (seconds && unit == "h") factor = 3600;
  const bool fits = factor != 0 && number <= (~std::uint64_t{0} >> 1) / factor;
  if ((!bytes && !seconds && name != "files") || parsed.ec != std::errc() ||
      number == 0 || !fits) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is no limit; write memory=8G, cpu=10m, output=100G, files=4096 or "
        "stall=5m",
        text));
  }
  number *= factor;
  if (name == "memory") limits.memory_bytes = number;
  if (name == "output") limits.output_bytes = number;
  if (name == "cpu") limits.cpu_seconds = number;
  if (name == "stall") limits.stall_seconds = number;
  if (name == "files") limits.files = number;
  return absl::OkStatus();
}

absl::Status ImportTrace(const ImportRequest& request) {
  const auto program = base::FindInnerProgram(kProgram);
  if (!program.ok()) return program.status();
  std::vector<std::string> directories;
  std::uint64_t bytes = 0;
  for (const std::string& source : request.sources) {
    if (IsPerfDataFile(source)) {
      if (request.sources.size() > 1) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s is of perf and cannot be read together with other traces: give "
            "it alone",
            source));
      }
      struct stat file {};
      if (stat(source.c_str(), &file) == 0) {
        bytes = static_cast<std::uint64_t>(file.st_size);
      }
      directories.push_back(source);
      continue;
    }
    const auto found = FindCtfTraces(source);
    if (!found.ok()) return found.status();
    for (const std::string& directory : found->directories) {
      // A trace that is given twice would be read twice.
      if (std::find(directories.begin(), directories.end(), directory) ==
          directories.end()) {
        directories.push_back(directory);
      }
    }
    bytes += found->bytes;
  }
  ImportLimits limits = request.limits;
  if (limits.cpu_seconds == 0) {
    limits.cpu_seconds = kCpuSecondsAtLeast + bytes / kMiB;
  }
  if (limits.memory_bytes == 0) {
    limits.memory_bytes = std::min(kMemoryBytesAtMost,
                                   kMemoryBytesAtLeast + kMemoryFactor * bytes);
  }
  if (limits.output_bytes == 0) {
    limits.output_bytes = kOutputBytesAtLeast + kOutputFactor * bytes;
  }

  std::vector<std::string> words = {*program, "--output", request.output,
                                    "--max-output",
                                    std::to_string(limits.output_bytes)};
  if (!request.mapping_file.empty()) {
    words.insert(words.end(), {"--map", request.mapping_file});
  }
  for (const std::string& source : request.sources) {
    words.insert(words.end(), {"--source", source});
  }
  words.push_back("--");
  words.insert(words.end(), directories.begin(), directories.end());

  Pipe status_pipe, error_pipe;
  if (!status_pipe.Open() || !error_pipe.Open()) {
    return absl::ErrnoToStatus(errno, "Cannot make a pipe");
  }
  int files[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) != 0) {
    return absl::ErrnoToStatus(errno, "Cannot make a socket");
  }
  const base::ScopedFd files_end(files[0]);
  base::ScopedFd program_files_end(files[1]);
  FileService service(request.output);
  const auto started = base::StartInner({.words = std::move(words),
                                         .socket = program_files_end.get(),
                                         .output = status_pipe.write_end,
                                         .errors = error_pipe.write_end,
                                         .memory_bytes = limits.memory_bytes,
                                         .cpu_seconds = limits.cpu_seconds,
                                         .files = limits.files});
  if (!started.ok()) return started.status();
  const pid_t child = *started;
  status_pipe.CloseWrite();
  error_pipe.CloseWrite();
  program_files_end.Reset();

  ImportTalk talk;
  absl::Status stopped;
  auto last_progress = Clock::now();
  bool status_open = true, errors_open = true, files_open = true;
  while ((status_open || errors_open) && stopped.ok()) {
    pollfd watched[] = {{status_open ? status_pipe.read_end : -1, POLLIN, 0},
                        {errors_open ? error_pipe.read_end : -1, POLLIN, 0},
                        {files_open ? files_end.get() : -1, POLLIN, 0}};
    const int ready = poll(watched, 3, 1000);
    if (ready < 0 && errno != EINTR) break;
    if (watched[2].revents != 0) files_open = service.Answer(files_end.get());
    if (watched[1].revents != 0) {
      std::string text;
      errors_open = Drain(error_pipe.read_end, text);
      talk.TakeErrors(text);
    }
    if (watched[0].revents != 0) {
      std::string text;
      status_open = Drain(status_pipe.read_end, text);
      if (talk.TakeOutput(text)) last_progress = Clock::now();
    }
    if (request.progress != nullptr &&
        !request.progress({std::min(talk.done_bytes, bytes), bytes})) {
      stopped = absl::CancelledError("Reading was stopped");
    } else if (Clock::now() - last_progress >
               std::chrono::seconds(limits.stall_seconds)) {
      stopped = absl::ResourceExhaustedError(absl::StrFormat(
          "Cannot read %s: its reader got no further for %d s, at byte %d "
          "of %d: the trace is damaged. If it is sound and the disk slow, "
          "wait longer: --import-limit stall=%ds",
          Sources(request), limits.stall_seconds, talk.done_bytes, bytes,
          limits.stall_seconds * 10));
    }
  }
  if (!stopped.ok()) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!talk.unconfined.empty() && request.say != nullptr) {
    request.say(
        "the program that reads traces of other tools has more rights "
        "than it needs: " +
        talk.unconfined);
  }
  if (!stopped.ok()) return stopped;
  if (talk.error) {
    const std::string log = FirstLog(talk.first_errors);
    if (log.empty()) return *talk.error;
    return absl::Status(talk.error->code(),
                        absl::StrFormat("%s (%s)", talk.error->message(), log));
  }
  if (talk.done && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return NameMetadata(request.output);
  }
  return OfDeath(request, limits, bytes, talk, status);
}

}  // namespace countrace::importer
