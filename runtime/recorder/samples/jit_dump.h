// Functions that a compiler at run time made, as it describes them in a file
// jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of the
// kernel), which it maps executable so that tracers see it.
//
// In: mappings while recording, then the files. Out: names of addresses. Its
// writer may have put anything into a file. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_H_
#define COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/samples/code_history.h"
#include "runtime/recorder/samples/local_symbols.h"

namespace countrace::runtime {

// Bytes from `offset` on, as many as there are; fewer than `out` at the end.
using ReadAt =
    std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

// Limits of what is read of a file.
inline constexpr std::uint64_t kLargestJitDump = std::uint64_t{4} << 30;
inline constexpr std::size_t kMostJitFunctions = 1'000'000;
inline constexpr std::size_t kLongestJitName = 4096;

struct JitDump {
  LocalSymbols symbols;  // the last one at each address
  CodeHistory history;
  // The times of `history` are CLOCK_MONOTONIC's, as far as the file says.
  bool has_times = false;
  std::uint64_t last_ns = 0;  // of its functions
  // Not OK: the file is damaged, or has more than the limits, from a place on
  // that the message names. What comes before is in `symbols`.
  absl::Status status;
};
// Functions by the order in which they were made or moved: a later one replaces
// earlier ones at its addresses. The last record may be torn: its writer may
// have been killed.
JitDump ReadJitDump(const ReadAt& read);

// "/tmp/jit-5.dump": the name of such a file.
bool IsJitDumpPath(std::string_view path);

// The files that recorded processes have mapped.
class JitDumps {
 public:
  // Opens the file, if it is a regular one and its owner is the process's
  // user: that it may be removed, and the process end.
  void OnMapping(std::int32_t pid, std::string_view path);
  // The process has code that was made at run time; it has a new program.
  void OnCode(std::int32_t pid);
  void OnNewProgram(std::int32_t pid) { users_.erase(pid); }
  // Whose it was when it had such code; absent: it ended before that was known.
  std::optional<std::uint32_t> UserOf(std::int32_t pid) const;
  // At the end. Appends to `messages` what is wrong with the file.
  JitDump Read(std::int32_t pid, std::vector<std::string>& messages) const;

 private:
  static constexpr std::size_t kMostFiles = 256;
  struct File {
    std::string path;
    base::ScopedFd fd;
  };
  std::map<std::int32_t, File> files_;  // by process; its latest
  std::map<std::int32_t, std::uint32_t> users_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_SAMPLES_JIT_DUMP_H_
