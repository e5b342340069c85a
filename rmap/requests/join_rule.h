// Which value says what request a call is of (`view --join`): that of one name,
// or, in a file, one for the hooks of each line:
//
//   # hooks, by glob    their value
//   client:*            arg0
//   server:request      id
//
// Thread: any.
#ifndef COUNTRACE_RMAP_REQUESTS_JOIN_RULE_H_
#define COUNTRACE_RMAP_REQUESTS_JOIN_RULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "logformat/read/named_value.h"
#include "logformat/records.h"
#include "logformat/trace_info.h"

namespace countrace::rmap {

struct JoinLine {
  std::string hooks;  // a glob
  std::string value;
  std::size_t line;  // counts from 1
};

struct JoinRule {
  std::string text;             // as the user gave it
  std::vector<JoinLine> lines;  // empty: `text` is the name of a value
};

// `text`: the name of a value, of letters, digits and `_` alone, else the path
// of a file. Errors: of reading it; kInvalidArgument FILE:LINE:COLUMN.
absl::StatusOr<JoinRule> ReadJoinRule(const std::string& text);
absl::StatusOr<JoinRule> ParseJoinLines(std::string_view text,
                                        const std::string& file);

// Its values in the records of a trace.
class JoinValues {
 public:
  // Errors: kInvalidArgument: no hook has such a value, names those that there
  // are; of a file with its line.
  static absl::StatusOr<JoinValues> Bind(const JoinRule& rule,
                                         const logformat::TraceInfo& info);

  bool IsOf(std::uint32_t hook_id) const { return hooks_.contains(hook_id); }
  // Such records are of threads (program), or of CPUs (kernel).
  bool of_programs() const { return of_programs_; }
  bool of_kernel() const { return of_kernel_; }
  // In the record of an enter or a point of the hook. Absent: it is empty,
  // damaged, or could not be read.
  std::optional<std::string> Of(const logformat::EventRecord& record,
                                std::uint32_t hook_id) const;

 private:
  void Add(std::uint32_t hook_id, std::size_t value);

  std::vector<logformat::NamedValue> values_;
  std::unordered_map<std::uint32_t, std::size_t> hooks_;  // to their values
  bool of_programs_ = false, of_kernel_ = false;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_REQUESTS_JOIN_RULE_H_
