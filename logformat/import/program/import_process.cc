#include "logformat/import/program/import_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/jail/inner_program.h"
#include "base/posix/scoped_fd.h"
#include "logformat/import/ctf/older_metadata.h"
#include "logformat/import/program/file_service.h"
#include "logformat/import/program/import_talk.h"
#include "logformat/import/trace_output.h"
#include "logformat/import/trace_search.h"
#include "logformat/session_layout.h"

namespace countrace::importer {

namespace {

using Clock = std::chrono::steady_clock;

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

// `text` with the traces that were given in place of OlderMetadata's.
std::string OfSources(const ImportRequest& request,
                      const std::vector<std::string>& directories,
                      std::string text) {
  const std::string made = request.output + "/" + kOlderTraces + "/";
  // From the last: 1 is the begin of 10.
  for (std::size_t i = directories.size(); i-- > 0;) {
    absl::StrReplaceAll({{made + std::to_string(i), directories[i]}}, &text);
  }
  return text;
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

// What is read, and its size.
struct Traces {
  std::vector<std::string> directories;
  std::uint64_t bytes = 0;
};

absl::StatusOr<Traces> TracesOf(const ImportRequest& request) {
  Traces traces;
  for (const std::string& source : request.sources) {
    if (const bool perf = IsPerfDataFile(source);
        perf || IsListingFile(source)) {
      if (request.sources.size() > 1) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "%s is %s and cannot be read together with other traces: give "
            "it alone",
            source, perf ? "of perf" : "a listing"));
      }
      struct stat file {};
      if (stat(source.c_str(), &file) == 0) {
        traces.bytes = static_cast<std::uint64_t>(file.st_size);
      }
      traces.directories.push_back(source);
      continue;
    }
    const auto found = FindCtfTraces(source);
    if (!found.ok()) return found.status();
    for (const std::string& directory : found->directories) {
      // A trace that is given twice would be read twice.
      if (std::find(traces.directories.begin(), traces.directories.end(),
                    directory) == traces.directories.end()) {
        traces.directories.push_back(directory);
      }
    }
    traces.bytes += found->bytes;
  }
  return traces;
}

std::vector<std::string> CommandLine(
    const std::string& program, const ImportRequest& request,
    const ImportLimits& limits, const std::vector<std::string>& directories) {
  std::vector<std::string> words = {program, "--output", request.output,
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
  return words;
}

// The program while it runs.
class ImportProgram {
 public:
  ImportProgram(const ImportRequest& request, const ImportLimits& limits,
                std::uint64_t source_bytes)
      : request_(request),
        limits_(limits),
        source_bytes_(source_bytes),
        service_(request.output) {}

  absl::Status Start(std::vector<std::string> words) {
    if (!status_pipe_.Open() || !error_pipe_.Open()) {
      return absl::ErrnoToStatus(errno, "Cannot make a pipe");
    }
    int files[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) != 0) {
      return absl::ErrnoToStatus(errno, "Cannot make a socket");
    }
    files_end_ = base::ScopedFd(files[0]);
    const base::ScopedFd program_files_end(files[1]);
    const auto started = base::StartInner({.words = std::move(words),
                                           .socket = program_files_end.get(),
                                           .output = status_pipe_.write_end,
                                           .errors = error_pipe_.write_end,
                                           .memory_bytes = limits_.memory_bytes,
                                           .cpu_seconds = limits_.cpu_seconds,
                                           .files = limits_.files});
    if (!started.ok()) return started.status();
    child_ = *started;
    status_pipe_.CloseWrite();
    error_pipe_.CloseWrite();
    return absl::OkStatus();
  }

  // Serves it until it has closed its output. Errors: why it shall not go on.
  absl::Status Serve() {
    last_progress_ = Clock::now();
    while (status_open_ || errors_open_) {
      if (!TakeOutput()) break;
      absl::Status on = MayGoOn();
      if (!on.ok()) return on;
    }
    return absl::OkStatus();
  }

  // Returns: its status, as of waitpid().
  int End(bool killed) {
    if (killed) kill(child_, SIGKILL);
    int status = 0;
    while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  const ImportTalk& talk() const { return talk_; }

 private:
  // False: nothing can be read any more.
  bool TakeOutput() {
    pollfd watched[] = {{status_open_ ? status_pipe_.read_end : -1, POLLIN, 0},
                        {errors_open_ ? error_pipe_.read_end : -1, POLLIN, 0},
                        {files_open_ ? files_end_.get() : -1, POLLIN, 0}};
    const int ready = poll(watched, 3, 1000);
    if (ready < 0 && errno != EINTR) return false;
    if (watched[2].revents != 0)
      files_open_ = service_.Answer(files_end_.get());
    if (watched[1].revents != 0) {
      std::string text;
      errors_open_ = Drain(error_pipe_.read_end, text);
      talk_.TakeErrors(text);
    }
    if (watched[0].revents != 0) {
      std::string text;
      status_open_ = Drain(status_pipe_.read_end, text);
      if (talk_.TakeOutput(text)) last_progress_ = Clock::now();
    }
    return true;
  }

  absl::Status MayGoOn() const {
    if (request_.progress != nullptr &&
        !request_.progress(
            {std::min(talk_.done_bytes, source_bytes_), source_bytes_})) {
      return absl::CancelledError("Reading was stopped");
    }
    if (Clock::now() - last_progress_ >
        std::chrono::seconds(limits_.stall_seconds)) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "Cannot read %s: its reader got no further for %d s, at byte %d "
          "of %d: the trace is damaged. If it is sound and the disk slow, "
          "wait longer: --import-limit stall=%ds",
          Sources(request_), limits_.stall_seconds, talk_.done_bytes,
          source_bytes_, limits_.stall_seconds * 10));
    }
    return absl::OkStatus();
  }

  const ImportRequest& request_;
  const ImportLimits& limits_;
  const std::uint64_t source_bytes_;
  Pipe status_pipe_, error_pipe_;
  base::ScopedFd files_end_;
  FileService service_;
  pid_t child_ = -1;
  bool status_open_ = true, errors_open_ = true, files_open_ = true;
  Clock::time_point last_progress_;
  ImportTalk talk_;
};

}  // namespace

absl::Status ImportTrace(const ImportRequest& request) {
  const auto program = base::FindInnerProgram(kProgram);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Traces> traces = TracesOf(request);
  if (!traces.ok()) return traces.status();
  const ImportLimits limits = WithDefaults(request.limits, traces->bytes);
  ImportProgram running(request, limits, traces->bytes);
  const absl::Status started = running.Start(
      CommandLine(*program, request, limits, traces->directories));
  if (!started.ok()) return started;
  const absl::Status stopped = running.Serve();
  const int status = running.End(/*killed=*/!stopped.ok());
  const ImportTalk& talk = running.talk();
  std::error_code no_matter;
  std::filesystem::remove_all(request.output + "/" + kOlderTraces, no_matter);
  if (!talk.unconfined.empty() && request.say != nullptr) {
    request.say(
        "the program that reads traces of other tools has more rights "
        "than it needs: " +
        talk.unconfined);
  }
  if (!stopped.ok()) return stopped;
  if (talk.error) {
    const std::string log = FirstLog(talk.first_errors);
    return absl::Status(
        talk.error->code(),
        OfSources(request, traces->directories,
                  log.empty() ? std::string(talk.error->message())
                              : absl::StrFormat("%s (%s)",
                                                talk.error->message(), log)));
  }
  if (talk.done && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return NameMetadata(request.output);
  }
  return OfDeath(request, limits, traces->bytes, talk, status);
}

}  // namespace countrace::importer
