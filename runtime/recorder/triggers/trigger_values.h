// The comparisons of triggers with values of records (`if count > 4096`).
//
// In: hooks, records. Out: which triggers' comparisons do not hold. By the
// rules of dump rules (dump_rule_eval.h): a record without the value does not
// fire. Thread: one.
#ifndef COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_VALUES_H_
#define COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "runtime/rules/trigger_text.h"

namespace countrace::runtime {

class TriggerValues {
 public:
  // `triggers` must outlive the object.
  explicit TriggerValues(const std::vector<Trigger>& triggers);

  bool any() const { return !values_.empty(); }
  // The trace with all hooks registered so far.
  void SetHooks(const logformat::TraceInfo& info);
  // Bit i: `record`, a point or an enter, does not fulfil trigger i.
  std::uint32_t Failed(const logformat::EventRecord& record) const;
  // Why trigger `i` could not fire: a value that no hook with a matching name
  // has, and those that there are. Empty: all have a hook.
  std::string Missing(std::size_t i) const;

 private:
  struct Compared {
    std::size_t trigger;
    countrace_predicate predicate;
    std::string name;
    logformat::NamedValue value;
  };
  const std::vector<Trigger>& triggers_;
  std::vector<Compared> values_;
  std::vector<logformat::HookInfo> hooks_;
};

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_TRIGGERS_TRIGGER_VALUES_H_
