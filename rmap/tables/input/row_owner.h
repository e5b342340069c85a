// Whose row it is, of those that are for a thread, a process or a name.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_
#define COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "rmap/result/tables.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

struct RowOwner {
  // Unique; tids and pids are reused.
  using Key = std::pair<std::uint32_t, std::string>;

  RowOwner() = default;  // no owner
  // `thread`: may be null unless rows are for threads.
  RowOwner(RowsOf of, const ProcessState& owner, const ThreadState* thread)
      : comm(owner.comm) {
    if (of == RowsOf::kComm) {
      key = {0, comm};
      return;
    }
    process = owner.index;
    pid = owner.pid;
    key.first = static_cast<std::uint32_t>(owner.index);
    if (of == RowsOf::kProcess) return;
    tid = thread->tid;
    if (!thread->comm.empty()) comm = thread->comm;
    key.first = static_cast<std::uint32_t>(thread->index);
  }

  Key key{~std::uint32_t{0}, ""};
  ProcessIndex process{};
  std::int32_t pid = 0, tid = 0;  // 0: of several
  std::string comm;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_
