// Which processes are marked: the texts of `--mark`.
//
//   spec = PID | "self" | "comm:" GLOB | GLOB | "user:" (NAME | UID)
//        | "cgroup:/" PATH | "cgroup:" ID
//
// ID: the begin of the name of one cgroup of the recorded machine, as container
// programs make it from the container's id ("docker-4f2a...scope" has 4f2a).
// A bare word that is not a number is a glob on the command's name. In: text.
// Out: specs in canonical spelling, as a trace stores them. The recorder
// (process_marks.h) and rmap (gate.h) find the processes they match. Thread:
// any.
#ifndef COUNTRACE_LOGFORMAT_MARK_SPEC_H_
#define COUNTRACE_LOGFORMAT_MARK_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/rules/comm_glob.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {

enum class MarkKind { kPid, kSelf, kComm, kUser, kCgroup };

struct MarkSpec {
  MarkKind kind = MarkKind::kComm;
  std::int32_t pid = 0;  // kPid
  std::string text;  // kComm: glob; kUser: name or uid; kCgroup: /path, or id
  countrace_comm_glob glob{};  // kComm
};

// Returns: INVALID_ARGUMENT not one of the above; the message lists them.
absl::StatusOr<MarkSpec> ParseMark(std::string_view text);
// Each text may hold several specs, separated by commas. Also returns:
// INVALID_ARGUMENT more than kMaxMarks.
absl::StatusOr<std::vector<MarkSpec>> ParseMarks(
    const std::vector<std::string>& texts);
// "7", "self", "comm:redis*", "user:1000", "cgroup:/a".
std::string MarkText(const MarkSpec& mark);

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_MARK_SPEC_H_
