// The hooks of another user's programs get ids of the trace.
#ifndef COUNTRACE_LOGFORMAT_REPAIR_USER_HOOKS_H_
#define COUNTRACE_LOGFORMAT_REPAIR_USER_HOOKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "logformat/trace_info.h"

namespace countrace::logformat {

// A user's hooks with the ids in his records, and those in the trace.
struct UserHooks {
  std::vector<HookInfo> hooks;  // that have an id in the trace
  // By the id in a record; 0: not one of them.
  std::vector<std::uint16_t> ids;
  std::size_t refused = 0;  // no id is left, or not a hook of a program
};

class HookMerge {
 public:
  // `hooks`: of the trace so far.
  explicit HookMerge(const std::vector<HookInfo>& hooks);

  // A hook has the id of the trace's hook of the same kind, types and name,
  // else a new one: its own if it is free.
  UserHooks Add(const std::vector<HookInfo>& hooks);

  // Lines of `.hooks` for the new ones.
  const std::string& lines() const { return lines_; }

 private:
  std::uint32_t IdFor(const HookInfo& hook);

  std::map<std::string, std::uint32_t> ids_;  // by kind, types and name
  std::set<std::uint32_t> taken_;
  std::uint32_t next_ = kHookIdAutomaticMin;
  std::string lines_;
};

}  // namespace countrace::logformat

#endif  // COUNTRACE_LOGFORMAT_REPAIR_USER_HOOKS_H_
