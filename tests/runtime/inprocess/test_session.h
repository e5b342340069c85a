// A recording without a kernel side, for tests of the runtime library alone:
// makes the session files, runs programs with the library preloaded, finishes
// the trace and reads the recorded hooks back.
#ifndef COUNTRACE_TESTS_RUNTIME_INPROCESS_TEST_SESSION_H_
#define COUNTRACE_TESTS_RUNTIME_INPROCESS_TEST_SESSION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "logformat/repair/trace_finish.h"
#include "logformat/session_layout.h"

namespace countrace::test {

struct ProgramResult {
  int status = 0;  // wait(2)
  std::string output;
  std::string errors;
  // "emitted TID COUNT" lines, summed by tid.
  std::map<int, std::uint64_t> emitted;
  std::uint64_t emitted_total = 0;
};

// The content of the trace, by thread.
struct Recorded {
  struct Thread {
    int pid = 0;
    int tid = 0;
    std::map<std::string, std::uint64_t> by_name;  // "workload:pair" + suffix
    std::vector<std::uint64_t> ticks;  // payload of workload:tick, in order
    std::uint64_t records = 0;
  };
  std::map<std::pair<int, int>, Thread> threads;  // (pid, tid)
  std::uint64_t records = 0;
  std::uint64_t discarded = 0;
  std::array<std::uint64_t, logformat::kDiscardCauses> by_cause{};
  std::uint64_t discarded_packets = 0;
  std::uint64_t times_gone_back = 0;  // within a stream
  std::map<std::string, std::uint64_t> by_name;
};

class TestSession {
 public:
  struct Options {
    logformat::SessionMode mode = logformat::SessionMode::kStream;
    std::uint64_t sub_buffer_bytes = 1 << 20;
    std::uint32_t sub_buffers = 8;
    std::uint64_t max_bytes = 0;
    std::vector<std::pair<std::string, std::uint64_t>> software_events;
    std::vector<std::uint32_t> set_sizes;  // of the last of them
    std::uint64_t rotate_ns = 0;
    std::string hook_filter;
    std::vector<std::string> dump_rules;
    std::string directory;   // empty: a new one under the build's temporary
    bool calibrated = true;  // false: the raw counter's rate is unknown
  };
  TestSession();
  explicit TestSession(const Options& options);
  ~TestSession();  // removes the directory
  TestSession(const TestSession&) = delete;
  TestSession& operator=(const TestSession&) = delete;

  const std::string& path() const { return path_; }
  logformat::SessionControl& control() { return *control_; }

  // Runs the workload program with `arguments` to its end.
  ProgramResult Run(const std::vector<std::string>& arguments) const;
  // Runs it, calls `while_running(pid)`, then waits.
  ProgramResult Run(const std::vector<std::string>& arguments,
                    const std::function<void(int pid)>& while_running) const;

  void Stop();                       // as the recorder does
  logformat::FinishResult Finish();  // Stop, then FinishTrace
  Recorded Read() const;             // finished or not

 private:
  std::string path_;
  logformat::SessionControl* control_ = nullptr;
  int lock_fd_ = -1;
};

// Standard output of a shell command; fails the test if it cannot be run.
std::string ShellOutput(const std::string& command);

}  // namespace countrace::test

#endif  // COUNTRACE_TESTS_RUNTIME_INPROCESS_TEST_SESSION_H_
