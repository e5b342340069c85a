// Which records of a trace pass: by time, by the tasks they name, by hook.
//
// In: records. Out: yes or no. Thread: any.
#ifndef COUNTRACE_LOGFORMAT_READ_RECORD_FILTER_H_
#define COUNTRACE_LOGFORMAT_READ_RECORD_FILTER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::logformat {

// A record of a thread's stream names its pid and tid. A record of a CPU's
// stream names what its fields do: those called pid, tid, or ..._pid, ..._tid.
struct TaskChoice {
  std::unordered_set<std::int64_t> pids, tids;  // one of them must be named
};

struct RecordChoice {
  std::uint64_t from_ns = 0, to_ns = ~std::uint64_t{0};  // half-open
  std::vector<TaskChoice> tasks;                         // all must hold
  // Globs, one must match: the hook's "provider:name", or the name of a record
  // that is of no hook ("dispatch"). Absent: all pass.
  std::optional<std::vector<std::string>> hooks;
};

class RecordFilter {
 public:
  RecordFilter(const TraceInfo& info, RecordChoice choice);

  bool Passes(const EventRecord& record) const;
  // The number of hooks and kinds of record that `hooks` matched.
  std::size_t hooks_matched() const { return hooks_matched_; }

 private:
  // A field that names a task.
  struct IdField {
    std::uint32_t offset, bytes;  // in the record
    bool is_pid;
  };
  struct Kind {
    bool passes = true;  // the globs
    std::vector<IdField> ids;
  };
  bool Names(const EventRecord& record, const Kind& kind,
             const TaskChoice& choice) const;

  RecordChoice choice_;
  std::vector<Kind> kinds_;
  std::vector<std::uint32_t> index_[kStreamClasses];  // and event id; +1
  std::size_t hooks_matched_ = 0;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_READ_RECORD_FILTER_H_
