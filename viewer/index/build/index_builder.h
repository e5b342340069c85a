// Collects the reports of the reconstruction into rows on disk, then writes the
// index.
//
// Flow: rmap::Reconstruct calls the On... functions; Finish() turns the rows
// into an index file (index_assembly.cc). Memory: a small buffer for each row,
// not the trace. Thread: one.
#ifndef COUNTRACE_VIEWER_INDEX_BUILD_INDEX_BUILDER_H_
#define COUNTRACE_VIEWER_INDEX_BUILD_INDEX_BUILDER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "logformat/progress.h"
#include "logformat/trace_info.h"
#include "rmap/result/tables.h"
#include "rmap/result/timeline_observer.h"
#include "viewer/index/build/missing_spans.h"
#include "viewer/index/build/row_spool.h"
#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Events of a trace that are in its index: an index has at most 64 values for a
// dispatch, and two of them count no event. Of more events the first ones are,
// those that always count before those of sets.
inline constexpr std::size_t kMaxIndexedEvents = 62;
static_assert(RunExtras(kMaxIndexedEvents) == 64);

// One row as collected; times are absolute (CLOCK_MONOTONIC).
struct CollectedRow {
  RowKind kind;
  std::uint32_t owner;
  std::uint32_t depth;
  std::uint32_t extras;
  std::uint32_t flags;  // RowFlags
  std::uint32_t spool_row;
  std::uint64_t last_end_ns;
};

struct CollectedLoss {
  std::int32_t cpu;
  std::uint32_t thread;
  std::uint64_t begin_ns, end_ns, count;
  std::uint32_t cause;  // index into causes
};

// Counts of a dispatch that became known after its end: it ended with a switch
// that has no dump. Times are absolute.
struct LateCount {
  std::uint64_t begin_ns, end_ns, event, count;
};
// Spool row of the LateCounts of a row, by its RowKey().
using LateCounts = std::unordered_map<std::uint64_t, std::uint32_t>;

constexpr std::uint64_t RowKey(RowKind kind, std::uint32_t owner,
                               std::uint32_t depth = 0) {
  return (static_cast<std::uint64_t>(kind) << 56) |
         (std::uint64_t{depth} << 32) | owner;
}

// Changes that make intervals fit the rows' rule (in time order, without
// overlap). All 0 if reconstruction delivers them so.
struct CollectionOddities {
  std::uint64_t clipped = 0;       // begins moved up to the previous end
  std::uint64_t displaced = 0;     // segments drawn below their depth
  std::uint64_t out_of_order = 0;  // points and dumps moved up in time
  std::uint64_t too_deep = 0;      // segments below the last row, not indexed
};

class IndexBuilder final : public rmap::TimelineObserver {
 public:
  // `events`: kernel dump events of the trace. `directory`: for temporary
  // storage. `to_the_end`: reconstruction will not be stopped halfway, so that
  // threads may be read one after the other. Returns: errors of
  // RowSpool::Create.
  static absl::StatusOr<std::unique_ptr<IndexBuilder>> Create(
      std::uint32_t events, const std::string& directory,
      bool to_the_end = false);

  bool TakesThreadRuns() const override { return to_the_end_; }

  void OnTime(const rmap::AttributedTime& attributed) override;
  void OnCounts(const rmap::AttributedCount& attributed) override;
  void OnUnseen(const rmap::UnseenCount& unseen) override;
  void OnOwnersUnknown(std::uint64_t since_ns) override {
    missing_.Add({since_ns, kUnknownTime});
  }
  void OnDispatch(const rmap::DispatchSpan& span) override;
  void OnInferredSwitch(const rmap::InferredSwitch& inferred) override;
  void OnBlocked(const rmap::BlockedSpan& span) override;
  void OnWait(const rmap::WaitSpan& span) override;
  void OnInterrupt(const rmap::InterruptSpan& span) override;
  void OnSegment(const rmap::SegmentSpan& span) override;
  void OnHook(const rmap::HookHit& hit) override;
  void OnLevel(const rmap::LevelSpan& span) override;
  void OnFault(const rmap::FaultHit& fault) override;
  void OnCounters(const rmap::CounterDump& dump) override;
  void OnLoss(const rmap::LossSpan& loss) override;

  // What went wrong while rows were collected, as Finish() returns it.
  const absl::Status& status() const { return spool_->status(); }
  // The index is of a range of the trace, that begins so long after it.
  void SetPart(std::uint64_t from_ns) { part_from_ns_ = from_ns; }
  // The trace has pauses: what a thread does in one is no gap of its rows.
  void SetPauses() { has_pauses_ = true; }
  // Writes the index to `path`: of the first part of the trace if the report
  // was interrupted. Call once, after reconstruction. Returns: errors of the
  // spool, of writing and of renaming; CANCELLED if `progress` says stop.
  absl::Status Finish(const rmap::Report& report,
                      const logformat::TraceInfo& info,
                      const Fingerprint& fingerprint, const std::string& path,
                      const logformat::ProgressCallback& progress = nullptr);

 private:
  IndexBuilder(std::uint32_t events, bool to_the_end,
               std::unique_ptr<RowSpool> spool)
      : events_(events), to_the_end_(to_the_end), spool_(std::move(spool)) {}
  CollectedRow& Row(RowKind kind, std::uint32_t owner, std::uint32_t depth,
                    std::uint32_t extras);
  // `extras`: as many as the row has.
  void AppendInterval(CollectedRow& row, IntervalLeaf leaf,
                      const std::uint64_t* extras);
  // Appends to the row of `kind` at `depth`, or to the first deeper one where
  // the leaf fits.
  void AppendNested(RowKind kind, std::uint32_t owner, std::uint32_t depth,
                    IntervalLeaf leaf, std::uint64_t extra);
  void See(std::uint64_t begin_ns, std::uint64_t end_ns);

  std::uint32_t events_;
  bool to_the_end_;
  std::unique_ptr<RowSpool> spool_;
  std::vector<CollectedRow> rows_;
  std::unordered_map<std::uint64_t, std::uint32_t> row_of_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> counters_;
  LateCounts late_counts_;
  std::vector<bool> ended_;  // by CPU: a dispatch ended since its last dump
  std::vector<CollectedLoss> losses_;
  std::vector<std::string> causes_;
  // By thread: the end of its last sleep.
  struct WakeUp {
    std::uint64_t time_ns;
    rmap::WakerKind kind;
    std::uint32_t waker;
  };
  std::unordered_map<std::uint32_t, WakeUp> woken_;
  MissingSpans missing_;                // times are absolute
  std::vector<InferredStep> inferred_;  // times are absolute
  // Threads that have more of them; with `split`.
  std::set<std::pair<std::uint32_t, std::uint32_t>> inferred_anywhere_;
  CollectionOddities oddities_;
  std::uint64_t first_ns_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last_ns_ = 0;
  std::optional<std::uint64_t> part_from_ns_;
  bool has_pauses_ = false;
  std::vector<std::uint64_t> run_extras_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_BUILD_INDEX_BUILDER_H_
