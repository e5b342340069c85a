#include "runtime/recorder/session/hook_cost.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/scoped_fd.h"
#include "countrace/hook_site.h"
#include "runtime/pid_namespace.h"
#include "runtime/recorder/control/left_files.h"
#include "runtime/recorder/directory/session_file.h"
#include "runtime/recorder/system/file_rights.h"
#include "runtime/recorder/system/monotonic_clock.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::runtime {
namespace {

constexpr int kRuns = 21;
constexpr int kPairsOfRun = 100;
constexpr int kWarmUpPairs = 500;
constexpr int kPairsOfCpuTime = 40'000;
constexpr int kChildMilliseconds = 500;

using Attach = decltype(&countrace_runtime_attach);
using Join = void (*)(const char* session);

// A folder that is removed at the end with all its files.
class ScratchFolder {
 public:
  static absl::StatusOr<ScratchFolder> Create() {
    for (const char* place : {"/dev/shm", "/tmp"}) {
      std::string path =
          absl::StrFormat("%s/%s%d-%d-XXXXXX", place, kCostFolderPrefix,
                          getpid(), OwnPidNamespace());
      if (mkdtemp(path.data()) != nullptr) return ScratchFolder(path);
    }
    return base::ErrnoStatus(errno,
                             "Cannot create a folder in /dev/shm or /tmp");
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})) {}
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

countrace_hook_site Site(const char* name) {
  countrace_hook_site site{};
  site.bytes = sizeof(site);
  site.kind = COUNTRACE_SITE_SEGMENT;
  site.provider = "calibration";
  site.name = name;
  site.file = "hook_cost.cc";
  return site;
}

// Fires a hook as the macros of countrace/hooks.h do.
inline void Fire(countrace_hook_site& site, std::uint32_t event_bit) {
  const volatile std::uint64_t& gate = site.gate.word;
  if (gate != 0) site.sink->emit(site.event_id | event_bit);
}

void FirePairs(countrace_hook_site& site, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    Fire(site, 0);
    Fire(site, 1);
  }
}

std::uint32_t PicosecondsOf(std::uint64_t ns, int pairs) {
  const std::uint64_t ps = ns * 1000 / (2 * static_cast<std::uint64_t>(pairs));
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(ps, std::numeric_limits<std::uint32_t>::max()));
}

std::uint32_t TimeRecords(countrace_hook_site& site) {
  FirePairs(site, kWarmUpPairs);
  std::array<std::uint64_t, kRuns> runs;
  for (std::uint64_t& ns : runs) {
    const std::uint64_t begin_ns = MonotonicNs();
    FirePairs(site, kPairsOfRun);
    ns = MonotonicNs() - begin_ns;
  }
  std::nth_element(runs.begin(), runs.begin() + kRuns / 2, runs.end());
  return PicosecondsOf(runs[kRuns / 2], kPairsOfRun);
}

std::uint64_t CpuNs() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(used.tv_nsec);
}

std::uint32_t CpuTimeOfRecords(countrace_hook_site& site) {
  const std::uint64_t begin_ns = CpuNs();
  FirePairs(site, kPairsOfCpuTime);
  return PicosecondsOf(CpuNs() - begin_ns, kPairsOfCpuTime);
}

// Runs in the child. Writes its results to `fd`, or nothing.
[[noreturn]] void Measure(const std::string& folder, const std::string& library,
                          bool counters, int fd) {
  // Recorded programs have none of the recorder's rights.
  if (!SetFileRights(FileRights::kGivenUp).ok()) _exit(1);
  unsetenv(logformat::kSessionEnvironment);
  setenv("COUNTRACE_CONTROL", "off", 1);
  void* const runtime = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (runtime == nullptr) _exit(1);
  const auto attach =
      reinterpret_cast<Attach>(dlsym(runtime, "countrace_runtime_attach"));
  const auto join =
      reinterpret_cast<Join>(dlsym(runtime, "countrace_runtime_join"));
  if (attach == nullptr || join == nullptr) _exit(1);
  static countrace_hook_site plain = Site("record");
  static countrace_hook_site dumped = Site("dump");
  static countrace_hook_site* const sites[] = {&plain, &dumped};
  attach(std::begin(sites), std::end(sites), COUNTRACE_ABI_VERSION);
  join(folder.c_str());
  if (plain.gate.word == 0 || dumped.gate.word == 0) _exit(1);
  HookCost cost;
  cost.record_ps = TimeRecords(plain);
  cost.cpu_ps = std::max(CpuTimeOfRecords(plain), cost.record_ps);
  if (counters) cost.dump_record_ps = TimeRecords(dumped);
  const bool said = write(fd, &cost, sizeof(cost)) == sizeof(cost);
  _exit(said ? 0 : 1);
}

absl::Status PublishScratchSession(const logformat::SessionControl& session,
                                   SessionFile& scratch) {
  logformat::SessionControl& control = scratch.control();
  scratch.Describe();
  control.mode = logformat::SessionMode::kStream;
  control.scope = logformat::SessionScope::kHooksOnly;
  control.sub_buffer_bytes = session.sub_buffer_bytes;
  control.sub_buffers = session.sub_buffers;
  control.realtime_offset_ns = session.realtime_offset_ns;
  control.begin_ns = MonotonicNs();
  control.raw_ns_mult = session.raw_ns_mult;
  control.tick_ns = session.tick_ns;
  control.thread_event_count = session.thread_event_count;
  std::copy(std::begin(session.thread_events), std::end(session.thread_events),
            control.thread_events);
  control.thread_set_count = session.thread_set_count;
  std::copy(std::begin(session.thread_set_sizes),
            std::end(session.thread_set_sizes), control.thread_set_sizes);
  control.thread_rotate_ns = session.thread_rotate_ns;
  const auto rules = ParseDumpRules({"calibration:record never", "*"});
  if (!rules.ok()) return rules.status();
  std::copy(rules->begin(), rules->end(), control.dump_rules);
  control.dump_rule_count = static_cast<std::uint32_t>(rules->size());
  const absl::Status announced = scratch.Announce();
  return announced.ok() ? scratch.Publish() : announced;
}

}  // namespace

absl::StatusOr<HookCost> MeasureHookCost(
    const logformat::SessionControl& session, const std::string& library) {
  // Its code would run with capabilities that the caller does not have.
  if (getauxval(AT_SECURE) != 0 && getenv("COUNTRACE_RUNTIME") != nullptr) {
    return absl::PermissionDeniedError(
        "The cost of a hook was not measured: a program with capabilities runs "
        "no library that COUNTRACE_RUNTIME names");
  }
  auto folder = ScratchFolder::Create();
  if (!folder.ok()) return folder.status();
  auto scratch = SessionFile::Create(folder->path());
  if (!scratch.ok()) return scratch.status();
  const absl::Status published = PublishScratchSession(session, *scratch);
  if (!published.ok()) return published;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return base::ErrnoStatus(errno, "Cannot create a pipe");
  }
  const base::ScopedFd from_child(ends[0]);
  base::ScopedFd to_parent(ends[1]);
  const pid_t child = fork();
  if (child < 0) return base::ErrnoStatus(errno, "Cannot fork");
  if (child == 0) {
    Measure(folder->path(), library, session.thread_event_count != 0,
            to_parent.get());
  }
  to_parent = base::ScopedFd();
  pollfd ready = {from_child.get(), POLLIN, 0};
  HookCost cost;
  const bool measured =
      poll(&ready, 1, kChildMilliseconds) == 1 &&
      read(from_child.get(), &cost, sizeof(cost)) == sizeof(cost) &&
      cost.record_ps != 0;
  // The child has finished, or was held up.
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (measured) return cost;
  return absl::UnavailableError(
      "The cost of a hook could not be measured: the child with the runtime "
      "library did not answer");
}

}  // namespace countrace::runtime
