#include "rmap/state/gate.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"

namespace countrace::rmap {

using logformat::EventMode;
using logformat::Gating;
using logformat::MarkKind;
using logformat::MarkSpec;
using logformat::ModeOfEvent;

namespace {

// A recorder that counts nothing still records which threads ran: in a command
// trace, those of its processes.
Gating RecordedProcesses(const logformat::TraceInfo& info) {
  Gating recorded = logformat::GatingOf(info);
  if (info.scope == logformat::SessionScope::kHooksOnly) {
    // No kernel record says which processes are marked; all that joined are
    // recorded.
    recorded.marked = recorded.unmarked = true;
    return recorded;
  }
  if (!recorded.nothing()) return recorded;
  recorded.marked = true;
  recorded.unmarked = info.scope != logformat::SessionScope::kCommand;
  return recorded;
}

Gating Asked(const GatingRequest& request) {
  if (request.count) return *request.count;
  Gating asked;
  asked.unmarked = request.marks.empty();
  return asked;
}

bool CountsMode(const Gating& gating, const std::string& event) {
  if (gating.every_mode()) return true;
  const EventMode mode = ModeOfEvent(event);
  return gating.user ? mode.user && !mode.kernel : mode.kernel && !mode.user;
}

absl::Status CheckModes(const logformat::TraceInfo& info, const Gating& asked) {
  if (asked.nothing() || asked.every_mode()) return absl::OkStatus();
  const auto counted = [&asked](const std::string& event) {
    return CountsMode(asked, event);
  };
  if (std::any_of(info.cpu_events.begin(), info.cpu_events.end(), counted) ||
      std::any_of(info.thread_events.begin(), info.thread_events.end(),
                  counted)) {
    return absl::OkStatus();
  }
  std::string events;
  for (const std::string& event : info.cpu_events) {
    events += (events.empty() ? "" : ", ") + event;
  }
  const char* const letter = asked.user ? "u" : "k";
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s has no count of %s mode alone (its events: %s): record with -e "
      "page-faults:%s or another EVENT:%s, or with --count %s",
      info.path, asked.user ? "user" : "kernel",
      events.empty() ? "none" : events, letter, letter,
      asked.user ? "user" : "kernel"));
}

}  // namespace

absl::Status CheckRequest(const logformat::TraceInfo& info,
                          const GatingRequest& request) {
  for (const MarkSpec& mark : request.marks) {
    if (mark.kind == MarkKind::kUser || mark.kind == MarkKind::kCgroup) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "Mark %s: a log does not tell users and cgroups; mark a process id "
          "or a command's name, or record with --mark %s",
          logformat::MarkText(mark), logformat::MarkText(mark)));
    }
  }
  const Gating asked = Asked(request);
  if (asked.nothing()) return absl::OkStatus();
  const Gating recorded = RecordedProcesses(info);
  // With its own marks, the report chooses among everything that was recorded.
  const bool missing = (!recorded.marked && !asked.unmarked) ||
                       (!recorded.unmarked && !asked.marked);
  if (request.marks.empty() && missing) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has only %s processes (recorded with --count %s), and --count %s "
        "selects the others: record them",
        info.path, recorded.marked ? "marked" : "unmarked",
        logformat::GatingText(logformat::GatingOf(info)),
        logformat::GatingText(asked)));
  }
  return CheckModes(info, asked);
}

Gate::Gate(const logformat::TraceInfo& info, const GatingRequest& request)
    : recorded_(RecordedProcesses(info)),
      asked_(Asked(request)),
      mode_(asked_),
      nothing_(asked_.nothing()),
      command_(info.scope == logformat::SessionScope::kCommand),
      own_marks_(!request.marks.empty()) {
  // Nothing is counted: every row stays, without counts.
  if (nothing_) asked_.marked = asked_.unmarked = true;
  for (const MarkSpec& mark : request.marks) {
    marks_.push_back(logformat::MarkText(mark));
    if (mark.kind == MarkKind::kPid) pids_.insert(mark.pid);
    if (mark.kind == MarkKind::kSelf) pids_.insert(info.recorder_pid);
    if (mark.kind == MarkKind::kComm) globs_.push_back(mark.glob);
  }
  if (!own_marks_) marks_ = info.marks;
}

bool Gate::TakePid(std::int32_t pid) { return pids_.erase(pid) != 0; }

bool Gate::MatchesComm(std::string_view comm) const {
  if (globs_.empty()) return false;
  char name[COUNTRACE_COMM_BYTES] = {};
  std::memcpy(name, comm.data(), std::min(comm.size(), sizeof(name)));
  return std::any_of(globs_.begin(), globs_.end(),
                     [&name](const countrace_comm_glob& glob) {
                       return countrace_comm_glob_matches(&glob, name) != 0;
                     });
}

bool Gate::CountsEvent(const std::string& event) const {
  return !nothing_ && CountsMode(mode_, event);
}

std::string Gate::CountText() const {
  if (nothing_) return logformat::GatingText({false, false, false, false});
  Gating both = mode_;
  both.user &= recorded_.user;
  both.kernel &= recorded_.kernel;
  both.marked = asked_.marked && (own_marks_ || recorded_.marked);
  both.unmarked = asked_.unmarked && (own_marks_ || recorded_.unmarked);
  return logformat::GatingText(both);
}

}  // namespace countrace::rmap
