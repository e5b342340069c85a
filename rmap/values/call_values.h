// The values that distinguish calls and points of a report: those of one name,
// or the files of system calls.
//
// In: records of hooks, in time order. Out: a number of its ValueTable for each
// call and hit. Thread: one.
#ifndef COUNTRACE_RMAP_VALUES_CALL_VALUES_H_
#define COUNTRACE_RMAP_VALUES_CALL_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"
#include "rmap/state/thread_state.h"
#include "rmap/values/exit_values.h"
#include "rmap/values/file_calls.h"
#include "rmap/values/value_table.h"

namespace countrace::rmap {

// The file of a system call; other hooks may have a value of that name.
inline constexpr char kFileValue[] = "file";
// Before the name of a level: 1 in calls that begin while it is up for their
// thread, 0 in others.
inline constexpr char kLevelValue[] = "level.";

class Levels;

class CallValues {
 public:
  // `name`: WantedRows::value. `levels`: of the trace; null: it has none.
  CallValues(const logformat::TraceInfo& info, const std::string& name,
             const Levels* levels = nullptr);

  bool any() const {
    return files_ || (named_ && named_->any()) || levels_ != nullptr;
  }
  // What has to read the trace ahead of the calls; null: nothing.
  ExitValues* exits() { return exits_ ? &*exits_ : nullptr; }
  // Hooks of programs have such values.
  bool of_programs() const { return of_programs_; }
  // Null: another value distinguishes calls.
  const FileCalls* files() const { return files_ ? &*files_ : nullptr; }
  const ValueTable& table() const { return table_; }

  // The value in the record of an enter or point.
  std::uint32_t Enter(const logformat::EventRecord& record,
                      std::uint32_t hook_id, CallTask task);
  // The record ends the call of `hook_id` that `frame` is of; null: its enter
  // was not recorded. Calls that began before `range_begin_ns` are in no sum.
  // Returns: the call's value.
  std::uint32_t Exit(const logformat::EventRecord& record,
                     std::uint32_t hook_id, const Frame* frame, CallTask task,
                     std::uint64_t range_begin_ns);
  // Counts a hit of `hook_id` in `process`: the enter or exit of a call with
  // the value, or a point.
  void CountHit(std::uint32_t hook_id, std::uint32_t value,
                ProcessState& process) const {
    if (named_ && value != ValueTable::kNone) {
      ++process.value_hits[{hook_id, value}];
    }
  }
  void OnTask(const logformat::EventRecord& record) {
    if (files_) files_->OnTask(record);
  }
  void OnLoss() {
    if (files_) files_->OnLoss();
  }

 private:
  ValueTable table_;
  std::optional<logformat::NamedValue> named_;  // absent: files alone
  std::optional<ExitValues> exits_;
  std::optional<FileCalls> files_;
  bool of_programs_ = false;
  const Levels* levels_ = nullptr;  // null: the values are not a level's
  std::vector<const logformat::HookInfo*> level_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_VALUES_CALL_VALUES_H_
