// Builds real traces for tests, record by record, with the recorder's writer: a
// session directory with `.session`, `.hooks` and stream files. Finish() makes
// a finished trace of it, Abandon() leaves it as after a kill -9.
//
//   TraceBuilder trace(directory);
//   trace.SetCpuEvents({"task-clock", "page-faults"});
//   const auto handle = trace.AddSegment("server", "handle", "us");
//   trace.Cpu(0).Dispatch(1000, 0, 42, kSwitchRunnable, {0, 0});
//   trace.Thread(42, 42).Enter(handle, 1500, {std::uint64_t{7}, "GET"});
//   trace.Finish();
#ifndef COUNTRACE_TESTS_SUPPORT_TRACE_BUILDER_H_
#define COUNTRACE_TESTS_SUPPORT_TRACE_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "logformat/packet_layout.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/session_layout.h"
#include "logformat/write/packet_writer.h"

namespace countrace::test_support {

// A new directory; the destructor removes it with its contents.
class TempDirectory {
 public:
  // kDisk: under $TMPDIR. kMemory: under /dev/shm if it exists, for tests that
  // would wait for thousands of fsync calls.
  enum class Place { kDisk, kMemory };
  explicit TempDirectory(Place place = Place::kDisk);
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory();
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

 private:
  std::string path_;
};

struct Pointer {
  std::uint64_t value;
};
using PayloadValue =
    std::variant<std::int64_t, std::uint64_t, double, std::string, Pointer>;
using Payload = std::vector<PayloadValue>;

// Payload bytes as in FORMAT.md 4.2, padded to 8.
std::vector<std::byte> EncodePayload(const Payload& payload);

// The values of a dump at a user hook.
struct Dump {
  std::uint32_t mmcr = 0;
  std::uint32_t present = 0;
  std::vector<std::uint64_t> counters;
};

// One `cpu-N` stream. All times are CLOCK_MONOTONIC ns and must not go back.
class CpuStreamBuilder {
 public:
  explicit CpuStreamBuilder(std::unique_ptr<logformat::PacketWriter> writer)
      : writer_(std::move(writer)) {}

  bool Dispatch(std::uint64_t time_ns, std::uint32_t prev_tid,
                std::uint32_t next_tid, std::uint16_t state,
                const std::vector<std::uint64_t>& counters);
  bool SwitchIn(std::uint64_t time_ns, std::uint32_t prev, std::uint32_t next);
  // `ret`: for an exit, whose event id has the exit bit; `counters` with the
  // dump bit.
  bool KernelHook(std::uint64_t time_ns, std::uint16_t event_id,
                  std::uint64_t ids, const std::vector<std::uint64_t>& counters,
                  std::optional<std::int64_t> ret, const Payload& payload = {});
  bool Wakeup(std::uint64_t time_ns, std::uint32_t waker, std::uint32_t wakee,
              std::uint16_t target_cpu);
  bool Counters(std::uint64_t time_ns, logformat::CountersReason reason,
                std::uint32_t running_tid,
                const std::vector<std::uint64_t>& counters);
  bool Fork(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
            std::int32_t parent_pid, std::int32_t parent_tid);
  bool Exit(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
            std::int32_t parent_pid = 0, std::int32_t parent_tid = 0);
  bool Exec(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
            std::string_view comm);
  bool Comm(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
            std::string_view comm);
  bool Fault(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
             std::uint64_t address);
  bool ProcessState(std::uint64_t time_ns, std::int32_t pid, std::int32_t tid,
                    std::int32_t parent_pid, std::uint32_t flags,
                    std::string_view comm);
  bool Owner(std::uint64_t time_ns, const logformat::OwnerRecord& owner);
  // Event set and present bits of the following dumps, if sets are multiplexed.
  void SetEventSet(std::uint32_t mmcr, std::uint32_t present) {
    head_ = logformat::ThreadDump{mmcr, present};
  }
  logformat::PacketWriter& writer() { return *writer_; }

 private:
  std::optional<logformat::ThreadDump> head_;  // of dumps
  std::unique_ptr<logformat::PacketWriter> writer_;
};

// One `thread-…` stream.
class ThreadStreamBuilder {
 public:
  explicit ThreadStreamBuilder(std::unique_ptr<logformat::PacketWriter> writer)
      : writer_(std::move(writer)) {}

  bool Enter(std::uint32_t hook_id, std::uint64_t time_ns,
             const Payload& payload = {},
             const std::optional<Dump>& dump = std::nullopt);
  bool Exit(std::uint32_t hook_id, std::uint64_t time_ns,
            const std::optional<Dump>& dump = std::nullopt);
  // A point hook is stored like an enter.
  bool Point(std::uint32_t hook_id, std::uint64_t time_ns,
             const Payload& payload = {},
             const std::optional<Dump>& dump = std::nullopt) {
    return Enter(hook_id, time_ns, payload, dump);
  }
  // From here on another thread uses the stream.
  void SetThread(std::int32_t pid, std::int32_t tid);
  logformat::PacketWriter& writer() { return *writer_; }

 private:
  bool Append(std::uint32_t event_id, std::uint64_t time_ns,
              const Payload& payload, const std::optional<Dump>& dump);

  std::unique_ptr<logformat::PacketWriter> writer_;
};

// A failure of the file system ends the test run: Check() aborts with a
// message.
class TraceBuilder {
 public:
  // Creates `directory`, which must not exist, with a session in it.
  explicit TraceBuilder(const std::string& directory);
  TraceBuilder(const TraceBuilder&) = delete;
  TraceBuilder& operator=(const TraceBuilder&) = delete;
  ~TraceBuilder();

  const std::string& directory() const { return directory_; }
  // `.session`, mapped: tests may set any field. Defaults: kSystem, 2 CPUs,
  // begin_ns 0, a fixed uuid, boot id, host and command.
  logformat::SessionControl& session() { return *session_; }

  // Call before the first stream. Counters of all of them are present.
  // `set_sizes`: sizes of the multiplexed event sets, which hold the last
  // events.
  void SetCpuEvents(const std::vector<std::string>& names,
                    const std::vector<std::uint32_t>& set_sizes = {});
  void SetThreadEvents(const std::vector<std::string>& names,
                       const std::vector<std::uint32_t>& set_sizes = {});
  void SetPacketBytes(std::size_t bytes) { packet_bytes_ = bytes; }

  // `types`: one kPayloadTypeLetters letter for each value. Ids increase from
  // kHookIdAutomaticMin unless given.
  std::uint32_t AddSegment(std::string_view provider, std::string_view name,
                           std::string_view types = "", std::uint32_t id = 0);
  std::uint32_t AddPoint(std::string_view provider, std::string_view name,
                         std::string_view types = "", std::uint32_t id = 0);

  // A hook that the kernel recorder dumps; `kind` as in `.kernel_hooks`.
  // `types`, `value_names`: of a point's payload.
  std::uint32_t AddKernelHook(std::string_view kind, std::string_view provider,
                              std::string_view name,
                              std::string_view types = "-",
                              std::string_view value_names = "");

  // The stream, created at the first call.
  CpuStreamBuilder& Cpu(std::int32_t cpu);
  ThreadStreamBuilder& Thread(std::int32_t pid, std::int32_t tid);

  // Closes the streams and finishes the trace.
  logformat::FinishResult Finish();
  // Closes the streams without finishing the session.
  void CloseStreams();
  // Leaves everything as if all processes were killed now.
  void Abandon();

 private:
  std::uint32_t AddHook(std::string_view kind, std::string_view provider,
                        std::string_view name, std::string_view types,
                        std::uint32_t id);
  logformat::PacketWriterOptions Options() const;

  std::string directory_;
  logformat::SessionControl* session_ = nullptr;
  std::size_t packet_bytes_ = 64 * 1024;
  std::size_t cpu_values_ = 0;  // present in each dump
  std::uint32_t next_hook_id_ = logformat::kHookIdAutomaticMin;
  std::uint32_t next_kernel_hook_id_ = logformat::kHookIdKernelMin;
  std::map<std::int32_t, CpuStreamBuilder> cpus_;
  std::map<std::pair<std::int32_t, std::int32_t>, ThreadStreamBuilder> threads_;
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_SUPPORT_TRACE_BUILDER_H_
