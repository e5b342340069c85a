// Whose execution a report counts: what the trace recorded, and of that what
// the reader asks for, with the trace's marks or with marks chosen now.
//
// In: the trace's description and the request. Out: answers for the registry,
// which keeps the marks of processes, and for the tables. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_GATE_H_
#define COUNTRACE_RMAP_STATE_GATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "logformat/gating.h"
#include "logformat/mark_spec.h"
#include "logformat/read/trace_reader.h"

namespace countrace::rmap {

struct GatingRequest {
  // Not given: marked processes if `marks` are, else all that was recorded.
  std::optional<logformat::Gating> count;
  // Instead of the marks that the trace tells of; process ids, names and
  // `self`, the recorder: users and cgroups are not in a log.
  std::vector<logformat::MarkSpec> marks;
};

// Returns: INVALID_ARGUMENT a mark that a log knows nothing of;
// FAILED_PRECONDITION what the trace did not record (the message says how to
// record it).
absl::Status CheckRequest(const logformat::TraceInfo& info,
                          const GatingRequest& request);

class Gate {
 public:
  // Everything that the trace recorded, with its own marks.
  explicit Gate(const logformat::TraceInfo& info) : Gate(info, {}) {}
  // Requires: CheckRequest() is ok.
  Gate(const logformat::TraceInfo& info, const GatingRequest& request);

  // Kernel records are those of marked processes only: who is known from them
  // is marked, who is not known is somebody else.
  bool records_marked_only() const { return !recorded_.unmarked; }
  // Idle CPUs are unmarked.
  bool counts_idle() const { return recorded_.unmarked && asked_.unmarked; }
  // A new process is marked in the trace unless a record says otherwise.
  bool implies_mark(bool known_from_kernel) const {
    return records_marked_only() && (known_from_kernel || command_);
  }

  bool has_own_marks() const { return own_marks_; }
  // By the marks chosen now. A pid is used up by the first process that has it.
  bool TakePid(std::int32_t pid);
  bool MatchesComm(std::string_view comm) const;

  // Of a process that is marked in the trace (`trace_mark`), or by the marks in
  // force (`mark`).
  bool Counts(bool trace_mark, bool mark) const {
    return recorded_.CountsProcess(trace_mark) && asked_.CountsProcess(mark);
  }
  // False: the event counts what was not asked for.
  bool CountsEvent(const std::string& event) const;

  // As the report tells it.
  std::string CountText() const;
  const std::vector<std::string>& marks() const { return marks_; }
  bool separates_processes() const { return !asked_.every_process(); }

 private:
  // Of `asked_` only the processes; the modes are in `mode_`.
  logformat::Gating recorded_, asked_, mode_;
  bool nothing_ = false;
  bool command_ = false;
  bool own_marks_ = false;
  absl::flat_hash_set<std::int32_t> pids_;
  std::vector<countrace_comm_glob> globs_;
  std::vector<std::string> marks_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_STATE_GATE_H_
