// The slowest calls of some segments: where the time of each went, for `report
// --slowest`. Memory: by the number asked for. Thread: one.
#ifndef COUNTRACE_RMAP_SLOWEST_CALLS_H_
#define COUNTRACE_RMAP_SLOWEST_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rmap/noted_reader.h"
#include "rmap/pipeline.h"
#include "rmap/timed_calls.h"
#include "rmap/where/record_condition.h"

namespace countrace::rmap {

using SlowCall = TimedCall;

class SlowestCalls final : public TimedCalls<where::RecordCondition::Values>,
                           public RecordNotes {
 public:
  // The `most` slowest calls of `hooks` that begin in `range` and whose values
  // satisfy `condition`: null: all; else it must outlive this object, which has
  // to note the records (NotedReader).
  SlowestCalls(std::size_t most, std::unordered_set<std::uint32_t> hooks,
               TableRange range = {},
               const where::RecordCondition* condition = nullptr)
      : most_(most),
        hooks_(std::move(hooks)),
        range_(range),
        condition_(condition) {}

  void OnRecord(const logformat::EventRecord& record) override {
    record_ = &record;
  }
  void AfterRecord() override { record_ = nullptr; }

  // Slowest first; the earlier one of two.
  std::vector<SlowCall> Take();

 private:
  using Values = where::RecordCondition::Values;
  std::optional<Values> Begins(const SegmentBegin& begin,
                               const Values* inside) override;
  void Ends(SlowCall call, Values values) override;
  // Adds those of the record that begins or ends a call of `hook_id`.
  void ReadValues(std::uint32_t hook_id, bool exit, Values& values) const;

  std::size_t most_;
  std::unordered_set<std::uint32_t> hooks_;
  TableRange range_;
  const where::RecordCondition* condition_;
  const logformat::EventRecord* record_ = nullptr;
  std::vector<SlowCall> calls_;  // a heap, the fastest of them first
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_SLOWEST_CALLS_H_
