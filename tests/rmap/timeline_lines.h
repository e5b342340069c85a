// All that an observer of a reconstruction receives, as lines of text, to
// compare with what a test expects.
#ifndef COUNTRACE_TESTS_RMAP_TIMELINE_LINES_H_
#define COUNTRACE_TESTS_RMAP_TIMELINE_LINES_H_

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "rmap/result/timeline_observer.h"

namespace countrace::test_support {

class TimelineLines final : public rmap::TimelineObserver {
 public:
  explicit TimelineLines(bool call_counts) : call_counts_(call_counts) {}
  std::string lines() const { return out_.str(); }

  bool WantsCallCounts() const override { return call_counts_; }
  void OnTime(const rmap::AttributedTime& time) override {
    Line("time", time.cpu, time.account, time.thread, time.begin_ns,
         time.end_ns);
  }
  void OnCounts(const rmap::AttributedCount& count) override {
    Line("counts", count.cpu, count.account, count.thread, count.begin_ns,
         count.end_ns, count.event, count.count);
  }
  void OnUnseen(const rmap::UnseenCount& unseen) override {
    Line("unseen", unseen.begin_ns, unseen.end_ns, unseen.event.value_or(~0u),
         unseen.count);
  }
  void OnDispatch(const rmap::DispatchSpan& span) override {
    Line("dispatch", span.cpu, span.thread, span.begin_ns, span.end_ns,
         span.end_state, span.interrupts_ns, span.begin_inferred,
         span.end_inferred, span.outside);
    for (const std::uint64_t count : span.counts) Line("count", count);
  }
  void OnWait(const rmap::WaitSpan& span) override {
    Line("wait", span.thread, span.begin_ns, span.end_ns);
  }
  void OnInterrupt(const rmap::InterruptSpan& span) override {
    Line("interrupt", span.cpu, span.hook_id, span.depth, span.begin_ns,
         span.end_ns, span.end_inferred);
  }
  void OnSegmentBegin(const rmap::SegmentBegin& begin) override {
    Line("enter", begin.thread, begin.hook_id, begin.time_ns, begin.depth);
  }
  void OnSegment(const rmap::SegmentSpan& span) override {
    Line("segment", span.thread, span.hook_id, span.depth, span.begin_ns,
         span.end_ns, Or(span.on_cpu_ns), span.begin_inferred,
         span.end_inferred, span.switches, span.faults, span.on_cpu_exact);
    for (const auto& count : span.dumps) Line("dump", Or(count));
  }
  void OnHook(const rmap::HookHit& hit) override {
    Line("hook", hit.thread, hit.hook_id, hit.time_ns);
  }
  void OnFault(const rmap::FaultHit& hit) override {
    Line("fault", hit.cpu, hit.thread, hit.time_ns);
  }
  void OnCounters(const rmap::CounterDump& dump) override {
    Line("counters", dump.cpu, dump.time_ns, dump.present.word(0));
    for (const std::uint64_t value : dump.values) Line("value", value);
  }
  void OnLoss(const rmap::LossSpan& span) override {
    Line("loss", static_cast<std::uint64_t>(span.cpu), span.thread,
         span.begin_ns, span.end_ns, span.count);
  }

 private:
  // 1 more than the value, 0 for none.
  static std::uint64_t Or(const std::optional<std::uint64_t>& value) {
    return value ? *value + 1 : 0;
  }
  template <typename... Numbers>
  void Line(const char* what, Numbers... numbers) {
    out_ << what;
    ((out_ << ' ' << static_cast<std::uint64_t>(numbers)), ...);
    out_ << '\n';
  }

  bool call_counts_;
  std::ostringstream out_;
};

}  // namespace countrace::test_support

#endif  // COUNTRACE_TESTS_RMAP_TIMELINE_LINES_H_
