// A trace in memory, for tests of reconstruction without files.
//
// Add items in any order of streams, but in time order within a stream; Read()
// delivers them merged, as TraceReader promises.
#ifndef COUNTRACE_TESTS_RMAP_MEMORY_TRACE_H_
#define COUNTRACE_TESTS_RMAP_MEMORY_TRACE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::test_support {

using Counters = std::vector<std::uint64_t>;

struct HookDump {
  std::uint32_t mmcr = 0, present = 0;
  Counters counters;
};

class MemoryTrace final : public logformat::TraceReader {
 public:
  // Thread streams come after the CPU streams of the same time, or before them.
  explicit MemoryTrace(bool threads_first = false)
      : threads_first_(threads_first) {}

  logformat::TraceInfo& mutable_info() { return info_; }
  void AddHook(std::uint32_t id, logformat::HookKind kind,
               const std::string& provider, const std::string& name,
               logformat::HookOrigin origin = logformat::HookOrigin::kProgram,
               const std::vector<logformat::PayloadType>& payload = {});

  // The event set of the following dumps of a CPU.
  void SetEventSet(std::int32_t cpu, std::uint32_t mmcr) { mmcr_[cpu] = mmcr; }

  void Dispatch(std::uint64_t time_ns, std::int32_t cpu, std::uint32_t prev,
                std::uint32_t next, std::uint16_t state,
                const Counters& counters);
  void SwitchIn(std::uint64_t time_ns, std::int32_t cpu, std::uint32_t prev,
                std::uint32_t next, bool computed = false);
  void Wakeup(std::uint64_t time_ns, std::int32_t cpu, std::uint32_t waker,
              std::uint32_t wakee);
  void Dump(std::uint64_t time_ns, std::int32_t cpu,
            logformat::CountersReason reason, std::uint32_t running_tid,
            const Counters& counters);
  struct Task {
    std::int32_t pid = 0, tid = 0, parent_pid = 0, parent_tid = 0;
  };
  void Fork(std::uint64_t time_ns, std::int32_t cpu, const Task& task);
  void Exit(std::uint64_t time_ns, std::int32_t cpu, const Task& task);
  void Exec(std::uint64_t time_ns, std::int32_t cpu, const Task& task,
            const std::string& comm);
  void Comm(std::uint64_t time_ns, std::int32_t cpu, const Task& task,
            const std::string& comm);
  void State(std::uint64_t time_ns, std::int32_t cpu, const Task& task,
             const std::string& comm, std::uint32_t flags = 0);
  // `owner` without its header.
  void Owner(std::uint64_t time_ns, std::int32_t cpu,
             const logformat::OwnerRecord& owner);
  void Fault(std::uint64_t time_ns, std::int32_t cpu, const Task& task);
  // A record of an event that the format does not describe.
  void Unknown(std::uint64_t time_ns, std::int32_t cpu, std::uint16_t event);

  struct Hook {
    std::int32_t pid = 0, tid = 0;
    std::uint32_t hook_id = 0;
    bool exit = false;
    std::uint16_t number = 0;  // of a kernel hook
    // A program's hook, or a kernel hook without a dump, has them.
    std::vector<std::uint64_t> payload = {};
    std::uint64_t returned = 0;  // at a kernel hook's exit
  };
  void HookRecord(std::uint64_t time_ns, const Hook& hook,
                  const std::optional<HookDump>& dump = std::nullopt);

  // A record of a hook that the kernel dumps, in the stream of `cpu`.
  void KernelHook(std::uint64_t time_ns, std::int32_t cpu, const Hook& hook,
                  const std::optional<Counters>& counters = std::nullopt);

  void LoseOnCpu(std::uint64_t begin_ns, std::int32_t cpu, std::uint64_t count,
                 logformat::DiscardCause cause);
  void LoseOfThread(std::uint64_t begin_ns, std::int32_t pid, std::int32_t tid,
                    std::uint64_t count, logformat::DiscardCause cause);
  // `end_ns`: 0, like `begin_ns`.
  void LosePackets(std::uint64_t begin_ns, std::int32_t cpu,
                   const std::string& reason, std::uint64_t end_ns = 0);
  void set_session_discarded(logformat::DiscardCause cause,
                             std::uint64_t records) {
    session_discarded_[static_cast<std::size_t>(cause)] = records;
  }

  void set_late_sub_buffers(std::uint32_t late) { late_ = late; }

  // Removes what `hole` returns for each stream, as a flight recording
  // overwrites it: (after, until], both times of records. Then the trace is
  // complete from complete_from_ns() on.
  using Hole = std::pair<std::uint64_t, std::uint64_t>;
  void Overwrite(const std::map<std::uint32_t, Hole>& holes);
  void set_complete_from(std::uint64_t time_ns) { complete_from_ns_ = time_ns; }
  std::uint64_t complete_from_ns() const override { return complete_from_ns_; }
  // The times of records of each stream, ascending.
  std::map<std::uint32_t, std::vector<std::uint64_t>> RecordTimes() const;

  // Removes records, as a recorder that lost them: calls `lose(i)` for each
  // record in the order of delivery. With `declare`, a DiscardedEvents replaces
  // each run of lost records.
  template <typename Lose>
  std::uint64_t Remove(const Lose& lose, bool declare);
  // The same; `lose(i, of_cpu, stream)`. Every loss is declared.
  template <typename Lose>
  std::uint64_t RemoveOf(Lose& lose) {
    return Remove(
        [&](std::size_t i) {
          const auto& fields = std::get<Record>(items_[i].what).fields;
          return lose(i, fields.stream_class == logformat::StreamClass::kCpu,
                      items_[i].stream);
        },
        /*declare=*/true);
  }
  // Removes dispatch records without a trace: switches that the kernel did not
  // show. `lose(n)`: the n-th in the order of delivery. Returns how many.
  template <typename Lose>
  std::uint64_t HideSwitches(const Lose& lose) {
    std::size_t n = 0;
    return Remove(
        [&](std::size_t i) {
          const auto& fields = std::get<Record>(items_[i].what).fields;
          return fields.stream_class == logformat::StreamClass::kCpu &&
                 static_cast<logformat::CpuEvent>(fields.event_id) ==
                     logformat::CpuEvent::kDispatch &&
                 lose(n++);
        },
        /*declare=*/false);
  }
  // Removes system calls and faults of some times, as `record --max-cpu` leaves
  // them out, behind and before a dump that says so. Of each time, some records
  // of its begin stay. Returns how many were removed.
  std::uint64_t LeaveOutCalls(std::uint32_t seed);
  std::vector<std::uint32_t> StreamIds() const {
    std::set<std::uint32_t> ids;
    for (const Item& item : items_) ids.insert(item.stream);
    return {ids.begin(), ids.end()};
  }
  // Removes the last `records` of the stream of `cpu`, but not its first one;
  // nothing says so.
  void CutStream(std::int32_t cpu, std::size_t records);
  // Remove() keeps the record that was added last.
  void KeepLast() { std::get<Record>(items_.back().what).kept = true; }
  // The record that was added last is a byte shorter than its layout.
  void CutLast(std::size_t layout_bytes) {
    std::get<Record>(items_.back().what).bytes.resize(layout_bytes - 1);
  }
  std::size_t size() const { return items_.size(); }

  const logformat::TraceInfo& info() const override { return info_; }
  const std::vector<logformat::StreamInfo>& streams() const override {
    return streams_;
  }
  absl::Status Read(logformat::ItemSink& sink,
                    const logformat::ProgressCallback& progress) override;
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded()
      const override {
    return session_discarded_;
  }
  bool keeps_records() const override { return keeps_records_; }
  // False: as a reader of messages, whose records are gone after their call.
  void set_keeps_records(bool keeps) { keeps_records_ = keeps; }
  std::uint32_t session_last_errno() const override { return 0; }
  std::uint32_t late_sub_buffers() const override { return late_; }
  const std::vector<std::string>& messages() const override {
    return messages_;
  }

 private:
  struct Record {
    logformat::EventRecord fields{};
    std::vector<std::byte> bytes;
    std::optional<Counters> counters;
    bool kept = false;
  };
  struct Item {
    std::uint64_t time_ns;
    std::uint32_t stream;
    std::variant<Record, logformat::DiscardedEvents,
                 logformat::DiscardedPackets>
        what;
  };

  // Bytes of a thread's record before its payload.
  static std::size_t HeadBytes(const Record& record);
  static bool IsOfCpu(const Item& item);
  // Delivers items [begin, end), all of threads, as runs.
  void DeliverRuns(std::size_t begin, std::size_t end,
                   logformat::ItemSink& sink) const;
  std::uint32_t CpuStream(std::int32_t cpu);
  std::uint32_t ThreadStream(std::int32_t pid, std::int32_t tid);
  void AddCpuRecord(std::uint64_t time_ns, std::int32_t cpu,
                    logformat::CpuEvent event, const void* layout,
                    std::size_t bytes, const Counters* counters);
  template <typename Layout>
  void AddLayout(std::uint64_t time_ns, std::int32_t cpu,
                 logformat::CpuEvent event, const Layout& layout,
                 const Counters* counters = nullptr) {
    AddCpuRecord(time_ns, cpu, event, &layout, sizeof(layout), counters);
  }
  void Sort();
  void Deliver(const Item& item, logformat::ItemSink& sink) const;

  bool threads_first_;
  bool keeps_records_ = true;
  std::map<std::int32_t, std::uint32_t> mmcr_;  // by CPU
  logformat::TraceInfo info_;
  std::vector<logformat::StreamInfo> streams_;
  std::vector<std::string> messages_;
  std::array<std::uint64_t, logformat::kDiscardCauses> session_discarded_{};
  std::map<std::pair<std::int32_t, std::int32_t>, std::uint32_t>
      thread_streams_;
  std::vector<Item> items_;
  std::uint64_t complete_from_ns_ = 0;
  std::uint32_t late_ = 0;
};

template <typename Lose>
std::uint64_t MemoryTrace::Remove(const Lose& lose, bool declare) {
  Sort();
  std::vector<Item> kept;
  std::map<std::uint32_t, std::uint64_t> last_ns;  // by stream
  std::map<std::uint32_t, std::size_t> open_loss;  // index in `kept`
  std::uint64_t removed = 0;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    const auto* record = std::get_if<Record>(&item.what);
    if (record == nullptr || record->kept || !lose(i)) {
      last_ns[item.stream] = item.time_ns;
      open_loss.erase(item.stream);
      kept.push_back(std::move(item));
      continue;
    }
    ++removed;
    if (!declare) continue;
    if (!open_loss.contains(item.stream)) {
      const logformat::EventRecord& fields = record->fields;
      logformat::DiscardedEvents loss{};
      loss.stream = item.stream;
      loss.stream_class = fields.stream_class;
      loss.cpu = fields.cpu;
      loss.pid = fields.pid;
      loss.tid = fields.tid;
      const auto last = last_ns.find(item.stream);
      loss.begin_ns = last == last_ns.end() ? item.time_ns : last->second;
      open_loss[item.stream] = kept.size();
      kept.push_back({loss.begin_ns, item.stream, loss});
    }
    auto& loss =
        std::get<logformat::DiscardedEvents>(kept[open_loss[item.stream]].what);
    ++loss.count;
    ++loss.by_cause[0];
    loss.end_ns = item.time_ns;
  }
  items_ = std::move(kept);
  return removed;
}

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_MEMORY_TRACE_H_
