// Makes the rows of the streamed tables while a trace is reconstructed.
//
//   rmap::Reconstruct --> StreamObserver --> RowWriter of each wanted table
//
// Memory: a number for each thread. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_STREAM_OBSERVER_H_
#define COUNTRACE_RMAP_EXPORT_STREAM_OBSERVER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logformat/read/script_json.h"
#include "logformat/trace_info.h"
#include "rmap/export/streamed_tables.h"
#include "rmap/export/table_writer.h"
#include "rmap/result/timeline_observer.h"

namespace countrace::rmap {

class StreamObserver final : public TimelineObserver {
 public:
  // Whose rows are wanted, by number; absent: all.
  using Threads = std::optional<std::vector<bool>>;

  // Begins the streamed tables that `writer` takes. Both must outlive it.
  // `events`: names, in the order of Report::events. `texts`: ExportRows.
  StreamObserver(const logformat::TraceInfo& info,
                 std::vector<std::string> events, Threads threads, bool texts,
                 TableWriter& writer);

  // Null: not wanted.
  RowWriter* Rows(Streamed table) const {
    return rows_[static_cast<std::size_t>(table)];
  }
  Value Tid(ThreadIndex thread) const;
  bool Has(ThreadIndex thread) const {
    const auto number = static_cast<std::size_t>(thread);
    return !threads_ || (number < threads_->size() && (*threads_)[number]);
  }
  // Absent for 0.
  Value HookName(std::uint32_t hook_id) const;

  bool WantsCallCounts() const override {
    return Rows(Streamed::kCalls) != nullptr;
  }
  void OnThread(ThreadIndex thread, std::int32_t tid) override;
  void OnDispatch(const DispatchSpan& span) override;
  void OnSegment(const SegmentSpan& span) override;
  void OnInterrupt(const InterruptSpan& span) override;
  void OnHook(const HookHit& hit) override;
  void OnFault(const FaultHit& hit) override;
  void OnWait(const WaitSpan& span) override;
  void OnBlocked(const BlockedSpan& span) override;
  void OnCounts(const AttributedCount& counted) override;
  void OnUnseen(const UnseenCount& unseen) override;
  void OnLoss(const LossSpan& loss) override;

 private:
  std::array<RowWriter*, kStreamed> rows_{};
  const std::vector<std::string> events_;
  const Threads threads_;
  struct Hook {
    std::string name;
    std::size_t values;  // of its payload
  };
  std::unordered_map<std::uint32_t, Hook> hooks_;
  const logformat::ScriptJsonRenderer records_;
  std::vector<std::int32_t> tids_;  // by thread
};

// Absent for kNoThread.
Value ThreadValue(ThreadIndex thread);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_STREAM_OBSERVER_H_
