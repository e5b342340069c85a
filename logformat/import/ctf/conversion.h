// Converts babeltrace2 messages to the records of a countrace trace: finds out
// which tracer wrote them and passes them on.
//
// In: messages, merged by time. Out: records to TraceOutput, and the trace's
// description. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_CTF_CONVERSION_H_
#define COUNTRACE_LOGFORMAT_IMPORT_CTF_CONVERSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "logformat/import/ctf/ctf_event.h"
#include "logformat/import/ctf/message_graph.h"
#include "logformat/import/ctf/own_events.h"
#include "logformat/import/ctf/user_events.h"
#include "logformat/import/kernel/cpu_records.h"
#include "logformat/import/kernel/kernel_events.h"
#include "logformat/import/mapping/mapping_file.h"
#include "logformat/import/source_stream.h"
#include "logformat/import/trace_output.h"

namespace countrace::importer {

// True if a kernel tracer recorded it.
bool IsKernelTrace(const bt_trace& trace);

class Conversion final : public MessageReceiver {
 public:
  // Called now and then with the bytes read, estimated from the time reached,
  // and that time.
  using Progress =
      std::function<void(std::uint64_t bytes, std::uint64_t time_ns)>;

  Conversion(TraceOutput& output, const Mapping& mapping, Progress progress);

  // Sets the process of a kernel trace's thread, found by process_peek.h.
  void SetProcess(std::int32_t tid, std::int32_t pid) {
    cpu_records_.SetProcess(tid, pid);
  }

  // Bytes of all files: a packet with more events than they have bits is
  // refused as damaged, because its events take no room.
  void SetSourceBytes(std::uint64_t bytes) { source_bits_ = bytes * 8; }
  // For progress, which stays 0 without it.
  void SetSourceRange(const TimeRange& range) { source_range_ = range; }
  // Opens the programs and libraries that the trace names.
  void OpenObjectsBy(FunctionNames::OpenObject open) {
    user_.OpenObjectsBy(std::move(open));
  }

  absl::Status OnStreams(const std::vector<const bt_stream*>& streams) override;
  // Adds a stream that was not in the first messages: it becomes the next
  // input. Behind a filter that cuts, streams begin with their first message.
  absl::Status OnLateStream(const bt_stream& stream);
  absl::Status OnMessage(const bt_message& message, std::int64_t time_ns,
                         std::size_t input) override;
  // Completes the records and the description; the output is not finished.
  absl::Status Finish();
  // The source's size: no packet has more events. No limit by default.
  std::uint64_t source_bits_ = ~std::uint64_t{0};
  // Time 0 of the records, relative to the origin of the clocks.
  std::int64_t origin_ns() const { return offset_ns_; }

 private:
  absl::Status AddSource(const bt_stream* stream);
  void DescribeTrace(const bt_trace& trace, SourceStream& stream);
  void DescribeClock(const std::vector<const bt_stream*>& streams);
  void DescribeUserCounters();
  void DescribeKernelCounters();
  absl::Status CheckMapping(const SourceStream& stream) const;
  void NoteMissingEvents();
  void PlanSegments();
  CtfEventPlan& PlanOf(const bt_event_class& event_class, bool kernel);
  void ClassifyUser(const bt_event_class& event_class, CtfEventPlan& plan);
  void OnPacketBegin(const bt_packet& packet, SourceStream& stream,
                     std::uint64_t time_ns);
  void OnPacketEnd(const SourceStream& stream, std::uint64_t time_ns);
  void OnLoss(const bt_message& message, SourceStream& stream,
              std::uint64_t time_ns);
  std::uint64_t DoneBytes(std::int64_t from_origin_ns) const;
  std::uint64_t TimeOf(std::int64_t time_ns) const {
    return time_ns <= offset_ns_
               ? 0
               : static_cast<std::uint64_t>(time_ns - offset_ns_);
  }

  TraceOutput& output_;
  const Mapping& mapping_;
  Progress progress_;
  UserEvents user_;
  CpuRecords cpu_records_;
  KernelEvents kernel_;
  std::unique_ptr<OwnEvents> own_;
  std::vector<SourceStream> streams_;
  absl::flat_hash_map<const bt_event_class*, std::unique_ptr<CtfEventPlan>>
      plans_;
  const bt_event_class* last_class_ = nullptr;
  CtfEventPlan* last_plan_ = nullptr;
  std::vector<std::string> user_counters_;    // fields, in dump order
  std::vector<std::string> kernel_counters_;  // contexts of sched_switch
  std::int64_t offset_ns_ = 0;
  std::uint64_t messages_ = 0;
  TimeRange source_range_;
  std::uint64_t first_ns_ = ~std::uint64_t{0};
  std::set<std::int32_t> cpus_;
  std::set<std::string> tracers_;
  std::set<std::string> event_names_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_CTF_CONVERSION_H_
