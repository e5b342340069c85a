#include "tests/runtime/inprocess/test_session.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "logformat/read/trace_reader.h"
#include "runtime/inprocess/process/trace_clock.h"
#include "runtime/rules/dump_rule_text.h"

namespace countrace::test {

namespace lf = countrace::logformat;

namespace {

std::uint64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// The narrowest of some readings: nothing came between the two clocks.
runtime::ClockPair ReadClocks() {
  runtime::ClockPair best{};
  std::uint64_t width = ~0ull;
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t before = runtime::ReadRawCounter();
    const std::uint64_t ns = Now(CLOCK_MONOTONIC);
    const std::uint64_t after = runtime::ReadRawCounter();
    if (after - before >= width) continue;
    width = after - before;
    best = {.raw = before + width / 2, .ns = ns};
  }
  return best;
}

// 2^32 ns per raw tick over 20 ms.
std::uint64_t RawRate() {
  static const std::uint64_t rate = [] {
    const runtime::ClockPair begin = ReadClocks();
    usleep(20000);
    const runtime::ClockPair end = ReadClocks();
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(end.ns - begin.ns) << 32) /
        (end.raw - begin.raw));
  }();
  return rate;
}

int CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0);
  return fd;
}

void ReadAll(int out_fd, int err_fd, ProgramResult& result) {
  pollfd fds[2] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
  int open_fds = 2;
  char buffer[65536];
  while (open_fds > 0 && poll(fds, 2, -1) > 0) {
    for (pollfd& entry : fds) {
      if (entry.fd < 0 || entry.revents == 0) continue;
      const ssize_t got = read(entry.fd, buffer, sizeof(buffer));
      if (got <= 0) {
        close(entry.fd);
        entry.fd = -1;
        --open_fds;
        continue;
      }
      (&entry == &fds[0] ? result.output : result.errors)
          .append(buffer, static_cast<std::size_t>(got));
    }
  }
}

void ParseEmitted(ProgramResult& result) {
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    int tid = 0;
    unsigned long long count = 0;
    if (sscanf(line.c_str(), "emitted %d %llu", &tid, &count) == 2) {
      result.emitted[tid] += count;
      result.emitted_total += count;
    }
  }
}

class Collector : public lf::ItemSink {
 public:
  Collector(const lf::TraceInfo& info, Recorded& out)
      : info_(info), out_(out) {}

  void OnRecord(const lf::EventRecord& record) override {
    ++out_.records;
    if (last_ns_.size() <= record.stream) last_ns_.resize(record.stream + 1);
    if (record.time_ns < last_ns_[record.stream]) ++out_.times_gone_back;
    last_ns_[record.stream] = record.time_ns;
    const lf::HookInfo* hook = info_.FindHook(lf::EventHookId(record.event_id));
    if (hook == nullptr) FAIL("record of an unknown hook");
    std::string name = hook->FullName();
    if (hook->kind == lf::HookKind::kSegment) {
      name += (record.event_id & lf::kEventExitBit) != 0 ? "__exit" : "__enter";
    }
    Recorded::Thread& thread = out_.threads[{record.pid, record.tid}];
    thread.pid = record.pid;
    thread.tid = record.tid;
    ++thread.records;
    ++thread.by_name[name];
    ++out_.by_name[name];
    if (name == "workload:tick") {
      std::uint64_t value = 0;
      if (record.payload.size() < sizeof(value)) FAIL("payload is cut");
      memcpy(&value, record.payload.data(), sizeof(value));
      thread.ticks.push_back(value);
    }
  }
  void OnDiscardedEvents(const lf::DiscardedEvents& loss) override {
    out_.discarded += loss.count;
    for (std::size_t i = 0; i < lf::kDiscardCauses; ++i) {
      out_.by_cause[i] += loss.by_cause[i];
    }
  }
  void OnDiscardedPackets(const lf::DiscardedPackets& loss) override {
    UNSCOPED_INFO("discarded packets: " << loss.reason);
    out_.discarded_packets += loss.packets;
  }

 private:
  const lf::TraceInfo& info_;
  Recorded& out_;
  std::vector<std::uint64_t> last_ns_;
};

}  // namespace

TestSession::TestSession() : TestSession(Options{}) {}

TestSession::TestSession(const Options& options) {
  if (options.directory.empty()) {
    std::string pattern = "/tmp/countrace-test-XXXXXX";
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  } else {
    path_ = options.directory;
    std::filesystem::create_directories(path_);
  }
  lock_fd_ = CreateFile(path_ + "/" + lf::kIncompleteFile);
  REQUIRE(flock(lock_fd_, LOCK_EX | LOCK_NB) == 0);
  close(CreateFile(path_ + "/" + lf::kHooksFile));
  const int fd = CreateFile(path_ + "/" + lf::kSessionFile);
  REQUIRE(posix_fallocate(fd, 0, sizeof(lf::SessionControl)) == 0);
  control_ = static_cast<lf::SessionControl*>(
      mmap(nullptr, sizeof(lf::SessionControl), PROT_READ | PROT_WRITE,
           MAP_SHARED, fd, 0));
  REQUIRE(control_ != MAP_FAILED);
  close(fd);
  control_->version = lf::kSessionVersion;
  control_->bytes = sizeof(lf::SessionControl);
  memset(control_->uuid, 0x5a, sizeof(control_->uuid));
  control_->state = lf::SessionState::kRecording;
  control_->mode = options.mode;
  control_->scope = lf::SessionScope::kHooksOnly;
  control_->recorder_pid = getpid();
  control_->cpus = static_cast<std::uint32_t>(sysconf(_SC_NPROCESSORS_CONF));
  control_->sub_buffer_bytes = options.sub_buffer_bytes;
  control_->sub_buffers = options.sub_buffers;
  control_->max_bytes = options.max_bytes;
  control_->begin_ns = Now(CLOCK_MONOTONIC);
  control_->realtime_offset_ns =
      static_cast<std::int64_t>(Now(CLOCK_REALTIME) - control_->begin_ns);
  control_->raw_ns_mult = options.calibrated ? RawRate() : 0;
  for (const auto& [name, config] : options.software_events) {
    lf::SessionEvent& event =
        control_->thread_events[control_->thread_event_count++];
    snprintf(event.name, sizeof(event.name), "%s", name.c_str());
    event.type = 1;  // PERF_TYPE_SOFTWARE
    event.config = config;
  }
  control_->thread_set_count =
      static_cast<std::uint32_t>(options.set_sizes.size());
  std::copy(options.set_sizes.begin(), options.set_sizes.end(),
            control_->thread_set_sizes);
  control_->thread_rotate_ns = options.rotate_ns;
  const auto rules = runtime::ParseDumpRules(options.dump_rules);
  INFO(rules.status().message());
  REQUIRE(rules.ok());
  std::copy(rules->begin(), rules->end(), control_->dump_rules);
  control_->dump_rule_count = static_cast<std::uint32_t>(rules->size());
  control_->tick_ns = runtime::KernelTickNs();
  snprintf(control_->hook_filter, sizeof(control_->hook_filter), "%s",
           options.hook_filter.c_str());
  control_->magic = lf::kSessionMagic;
}

TestSession::~TestSession() {
  munmap(control_, sizeof(lf::SessionControl));
  if (lock_fd_ >= 0) close(lock_fd_);
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ProgramResult TestSession::Run(
    const std::vector<std::string>& arguments) const {
  return Run(arguments, [](int) {});
}

ProgramResult TestSession::Run(
    const std::vector<std::string>& arguments,
    const std::function<void(int)>& while_running) const {
  int out[2];
  int err[2];
  REQUIRE(pipe2(out, O_CLOEXEC) == 0);
  REQUIRE(pipe2(err, O_CLOEXEC) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    setenv(lf::kSessionEnvironment, path_.c_str(), 1);
    setenv("LD_PRELOAD", COUNTRACE_RUNTIME_LIBRARY, 1);
    std::vector<char*> argv{const_cast<char*>(COUNTRACE_WORKLOAD)};
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));
    }
    argv.push_back(nullptr);
    execv(COUNTRACE_WORKLOAD, argv.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  while_running(child);
  ProgramResult result;
  ReadAll(out[0], err[0], result);
  REQUIRE(waitpid(child, &result.status, 0) == child);
  ParseEmitted(result);
  return result;
}

void TestSession::Stop() {
  control_->state = lf::SessionState::kStopped;
  for (lf::ProcessSlot& slot : control_->processes) {
    if (slot.owner == 0) continue;
    slot.wake.fetch_add(1);
    syscall(SYS_futex, &slot.wake, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

lf::FinishResult TestSession::Finish() {
  Stop();
  close(lock_fd_);
  lock_fd_ = -1;
  absl::StatusOr<lf::FinishResult> result = lf::FinishTrace(path_, {});
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *std::move(result);
}

Recorded TestSession::Read() const {
  Recorded recorded;
  auto reader = lf::TraceReader::Open(path_);
  INFO(reader.status().ToString());
  REQUIRE(reader.ok());
  Collector collector((*reader)->info(), recorded);
  REQUIRE((*reader)->Read(collector).ok());
  const auto outside = (*reader)->session_discarded();
  for (std::size_t i = 0; i < lf::kDiscardCauses; ++i) {
    recorded.by_cause[i] += outside[i];
    recorded.discarded += outside[i];
  }
  return recorded;
}

std::string ShellOutput(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  pclose(pipe);
  return output;
}

}  // namespace countrace::test
