// Which execution a report counts: the part of the recorded execution that the
// request selects, with the trace's marks or with marks chosen now.
//
// In: the trace's description and the request. Out: decisions for the registry,
// which keeps the marks of processes, and for the tables. Thread: one.
#ifndef COUNTRACE_RMAP_STATE_GATE_H_
#define COUNTRACE_RMAP_STATE_GATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "logformat/rules/gating.h"
#include "logformat/trace_info.h"
#include "rmap/state/gating_request.h"

namespace countrace::rmap {

// Errors: INVALID_ARGUMENT: a mark that a trace cannot be searched for;
// FAILED_PRECONDITION: the trace did not record what is requested (the message
// says how to record it).
absl::Status CheckRequest(const logformat::TraceInfo& info,
                          const GatingRequest& request);

class Gate {
 public:
  // Everything that the trace recorded, with its own marks.
  explicit Gate(const logformat::TraceInfo& info) : Gate(info, {}) {}
  // Requires: CheckRequest() is ok.
  Gate(const logformat::TraceInfo& info, const GatingRequest& request);

  // Kernel records exist for marked processes only: a thread known from them is
  // marked, any other thread is outside.
  bool records_marked_only() const { return !recorded_.unmarked; }
  // Idle CPUs are unmarked.
  bool counts_idle() const { return recorded_.unmarked && asked_.unmarked; }
  // A new process is marked in the trace unless a record says otherwise.
  bool implies_mark(bool known_from_kernel) const {
    return records_marked_only() && (known_from_kernel || command_);
  }

  bool has_own_marks() const { return own_marks_; }
  // True if the marks chosen now name this pid. A pid applies only to the first
  // process that has it.
  bool TakePid(std::int32_t pid);
  bool MatchesComm(std::string_view comm) const;

  // For a process with this mark in the trace (`trace_mark`) and this mark
  // among those in force (`mark`).
  bool Counts(bool trace_mark, bool mark) const {
    return recorded_.CountsProcess(trace_mark) && asked_.CountsProcess(mark);
  }
  // False: the event counts execution that was not requested.
  bool CountsEvent(const std::string& event) const;

  // The text for the report.
  std::string CountText() const;
  const std::vector<std::string>& marks() const { return marks_; }
  bool separates_processes() const { return !asked_.every_process(); }

 private:
  // `asked_` holds the processes only; the modes are in `mode_`.
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
