// countrace-import: converts CTF traces of other tracers and perf.data files,
// in a process that may die.
//
// import_process.cc starts and limits it. stdout: lines `progress BYTES
// TIME_NS`, `unconfined TEXT`, `error CODE TEXT`, `done`: for that program, not
// for users. Before it reads what may be hostile it enters its jail
// (process_jail.h).
#include <babeltrace2/babeltrace.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/code/file_version.h"
#include "base/jail/inner_program.h"
#include "base/jail/process_jail.h"
#include "base/posix/file_mapping.h"
#include "base/posix/regular_file.h"
#include "base/posix/scoped_fd.h"
#include "logformat/import/ctf/conversion.h"
#include "logformat/import/ctf/message_graph.h"
#include "logformat/import/ctf/older_metadata.h"
#include "logformat/import/ctf/process_peek.h"
#include "logformat/import/listing/listing.h"
#include "logformat/import/listing_trace.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/perf/perf_conversion.h"
#include "logformat/import/program/file_service.h"
#include "logformat/import/trace_output.h"
#include "logformat/import/trace_search.h"

namespace {

using countrace::base::FileMapping;
using countrace::base::kInnerSocketFd;
using countrace::base::ScopedFd;
using countrace::importer::Conversion;
using countrace::importer::FileRequest;
using countrace::importer::Mapping;
using countrace::importer::OlderMetadata;
using countrace::importer::TraceOutput;
using countrace::importer::TraceOutputOptions;

struct Arguments {
  std::string output, mapping_file;
  std::uint64_t max_output = ~std::uint64_t{0};
  std::vector<std::string> sources, directories;
};

bool Parse(int argc, char** argv, Arguments& arguments) {
  int i = 1;
  for (; i + 1 < argc && std::string_view(argv[i]) != "--"; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--output") {
      arguments.output = argv[i + 1];
    } else if (name == "--map") {
      arguments.mapping_file = argv[i + 1];
    } else if (name == "--max-output") {
      arguments.max_output = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--source") {
      arguments.sources.emplace_back(argv[i + 1]);
    } else {
      return false;
    }
  }
  for (++i; i < argc; ++i) arguments.directories.emplace_back(argv[i]);
  return !arguments.output.empty() && !arguments.directories.empty();
}

void SayLine(const std::string& line) {
  // The parent closed the pipe: the trace is not needed any more.
  if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    _exit(1);
  }
}

using ProgressLine = std::function<void(std::uint64_t, std::uint64_t)>;

void EnterJail(const Arguments& arguments,
               const std::vector<std::string>& also_readable = {}) {
  // A file may pass the limit a little before its size is looked at.
  constexpr std::uint64_t kMore = std::uint64_t{256} << 20;
  std::vector<std::string> readable = arguments.directories;
  readable.insert(readable.end(), also_readable.begin(), also_readable.end());
  const countrace::base::Jail jail{
      .readable = std::move(readable),
      .file_bytes =
          std::max(arguments.max_output, arguments.max_output + kMore),
  };
  for (const std::string& missing : countrace::base::EnterJail(jail)) {
    SayLine("unconfined " + missing + "\n");
  }
}

// libbabeltrace2 looks at the heads of all packets first, and goes round for
// ever in one that has less than a byte. Sound traces take 2 ms, and 5 ms for a
// MiB of the smallest packets: slow machines have 200 times as long.
constexpr std::uint64_t kOpeningMsAtLeast = 500;
constexpr std::uint64_t kOpeningMsOfMiB = 1000, kMiB = std::uint64_t{1} << 20;

std::atomic<bool> g_opening{false};
std::string& NeverOpens() {
  static std::string& line = *new std::string;
  return line;
}

void OnOpeningTime(int) {
  if (!g_opening.load(std::memory_order_relaxed)) return;
  const std::string& line = NeverOpens();
  [[maybe_unused]] const ssize_t written =
      write(STDOUT_FILENO, line.data(), line.size());
  _exit(1);
}

// Ends the process if it is still opening after so much CPU time. Before the
// jail, which has no timers.
void LimitOpening(const Arguments& arguments, std::uint64_t bytes) {
  const std::uint64_t most_ms =
      kOpeningMsAtLeast + kOpeningMsOfMiB * bytes / kMiB;
  std::string line = absl::StrFormat(
      "error %d Cannot read %s: it is damaged: its files have %d bytes, and "
      "%d ms of CPU time did not find the end of their packets: probably one "
      "has less than a byte",
      static_cast<int>(absl::StatusCode::kInvalidArgument),
      arguments.sources.front(), bytes, most_ms);
  std::replace(line.begin(), line.end(), '\n', '\1');
  NeverOpens() = line + "\n";
  g_opening.store(true, std::memory_order_relaxed);
  std::signal(SIGPROF, OnOpeningTime);
  const itimerval once = {{0, 0},
                          {static_cast<time_t>(most_ms / 1000),
                           static_cast<suseconds_t>(most_ms % 1000 * 1000)}};
  setitimer(ITIMER_PROF, &once, nullptr);
}

absl::Status ImportPerfData(const Arguments& arguments, const Mapping& mapping,
                            TraceOutput& output, const ProgressLine& progress) {
  const std::string& path = arguments.directories.front();
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::ErrnoToStatus(errno, "Cannot open " + path);
  }
  const absl::StatusOr<FileMapping> data = FileMapping::Map(file, path);
  if (!data.ok()) return data.status();
  countrace::importer::perf::MachineFiles machine;
  machine.object = [](const std::string& object) {
    return RequestFile(kInnerSocketFd, FileRequest::kObject, object);
  };
  machine.jit_file = [](const std::string& wanted) {
    return RequestFile(kInnerSocketFd, FileRequest::kJitFile, wanted);
  };
  machine.kernel = [](const std::string& what) {
    return RequestFile(kInnerSocketFd, FileRequest::kKernel, what);
  };
  // perf wrote it last; a copy of it is younger.
  struct stat written {};
  if (fstat(file.get(), &written) == 0) {
    machine.recorded_until_ns = countrace::base::ChangedNs(written);
  }
  EnterJail(arguments);
  const absl::Status status = countrace::importer::perf::ConvertPerfData(
      data->bytes(), mapping, machine, output, progress);
  if (absl::Status whole = data->CheckWhole(); !whole.ok()) return whole;
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrFormat("Cannot read %s: %s", path,
                                                     status.message()));
}

absl::Status ImportListing(const Arguments& arguments, TraceOutput& output) {
  const std::string& path = arguments.directories.front();
  const ScopedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::ErrnoToStatus(errno, "Cannot open " + path);
  }
  EnterJail(arguments);
  const auto text = countrace::base::ReadAll(
      file.get(), countrace::importer::kMaxListingBytes);
  if (!text.ok()) return text.status();
  const auto listing = countrace::importer::ParseListing(*text, path);
  if (!listing.ok()) return listing.status();
  return countrace::importer::WriteListing(*listing, output);
}

std::uint64_t BytesOf(const std::vector<std::string>& directories) {
  std::uint64_t bytes = 0;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (std::filesystem::directory_iterator at(directory, error), end;
         !error && at != end; at.increment(error)) {
      std::error_code unsized;
      const std::uintmax_t size = at->file_size(unsized);
      if (!unsized) bytes += size;
    }
  }
  return bytes;
}

// The library keeps a file of each stream open; the output has the others.
absl::Status ShareFiles(const Arguments& arguments, std::size_t streams,
                        TraceOutput& output) {
  // Pipes, the file service, metadata and packet indices; streams of output.
  constexpr std::size_t kOthers = 32, kOutputAtLeast = 32;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::OkStatus();
  const std::size_t needed = streams + kOthers + kOutputAtLeast;
  if (limit.rlim_cur >= needed) {
    output.LimitOpenStreams(limit.rlim_cur - streams - kOthers);
    return absl::OkStatus();
  }
  const bool by_option = limit.rlim_cur < limit.rlim_max;
  return absl::ResourceExhaustedError(absl::StrFormat(
      "Cannot read %s: it has %d streams, and a file of each must be open at "
      "the same time; %d files may be: %s",
      arguments.sources.front(), streams, limit.rlim_cur,
      by_option
          ? absl::StrFormat("--import-limit files=%d allows enough", 2 * needed)
          : absl::StrFormat("`ulimit -n %d` in root's shell, or nofile in "
                            "/etc/security/limits.conf, allows enough",
                            2 * needed)));
}

absl::Status ImportCtf(const Arguments& arguments, const Mapping& mapping,
                       TraceOutput& output, const ProgressLine& progress) {
  if (absl::Status loaded = countrace::importer::LoadCtfReader();
      !loaded.ok()) {
    return loaded;
  }
  const std::uint64_t bytes = BytesOf(arguments.directories);
  std::vector<std::string> directories = arguments.directories;
  OlderMetadata metadata;
  if (absl::Status made = metadata.Prepare(arguments.output, directories);
      !made.ok()) {
    return made;
  }
  LimitOpening(arguments, bytes);
  EnterJail(arguments, directories);
  if (absl::Status written = metadata.Write(); !written.ok()) return written;
  Conversion conversion(output, mapping, progress);
  conversion.SetSourceBytes(bytes);
  const auto extent = countrace::importer::FindExtent(directories);
  g_opening.store(false, std::memory_order_relaxed);
  if (absl::Status enough = ShareFiles(arguments, extent.streams, output);
      !enough.ok()) {
    return enough;
  }
  conversion.SetSourceRange(extent.range);
  conversion.OpenObjectsBy([](const std::string& path) {
    return RequestFile(kInnerSocketFd, FileRequest::kObject, path);
  });
  for (const auto& [tid, pid] :
       countrace::importer::PeekProcesses(directories)) {
    conversion.SetProcess(tid, pid);
  }
  const absl::Status status =
      countrace::importer::ReadMessages(directories, conversion);
  return status.ok() ? conversion.Finish() : status;
}

absl::Status Import(const Arguments& arguments) {
  Mapping mapping;
  if (!arguments.mapping_file.empty()) {
    auto read = countrace::importer::ReadMappingFile(arguments.mapping_file);
    if (!read.ok()) return read.status();
    mapping = *std::move(read);
  }
  TraceOutputOptions options;
  options.directory = arguments.output;
  options.max_bytes = arguments.max_output;
  options.create = [](const std::string& file) {
    return RequestFile(kInnerSocketFd, FileRequest::kCreate, file);
  };
  if (getrandom(options.uuid.data(), options.uuid.size(), 0) !=
      static_cast<ssize_t>(options.uuid.size())) {
    return absl::InternalError("Cannot get random bytes");
  }
  TraceOutput output(options);
  using Clock = std::chrono::steady_clock;
  Clock::time_point next{};
  const ProgressLine progress = [&next](std::uint64_t bytes,
                                        std::uint64_t time_ns) {
    const auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(50);
    SayLine(absl::StrFormat("progress %d %d\n", bytes, time_ns));
  };
  const std::string& first = arguments.directories.front();
  struct stat kind {};
  const bool is_file = stat(first.c_str(), &kind) == 0 && S_ISREG(kind.st_mode);
  const absl::Status status =
      !is_file ? ImportCtf(arguments, mapping, output, progress)
      : countrace::importer::IsListingFile(first)
          ? ImportListing(arguments, output)
          : ImportPerfData(arguments, mapping, output, progress);
  if (!status.ok()) return status;
  if (!output.description().info.source.empty()) {
    output.description().info.source_paths = arguments.sources;
  }
  return output.Finish();
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) {
    std::fputs("countrace-import: used by countrace only\n", stderr);
    return 2;
  }
  absl::Status status;
  try {
    status = Import(arguments);
  } catch (const std::bad_alloc&) {
    std::fputs("bad_alloc\n", stderr);
    return 1;
  }
  if (!status.ok()) {
    std::string text(status.message());
    for (char& c : text) {
      if (c == '\n') c = '\1';
    }
    SayLine(absl::StrFormat("error %d %s\n", static_cast<int>(status.code()),
                            text));
    return 1;
  }
  SayLine("done\n");
  // No cleanup of the library's tables is needed.
  _exit(0);
}
