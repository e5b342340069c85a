// Whose row it is, of those that are for a thread or a process.
#ifndef COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_
#define COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_

#include <cstdint>
#include <string>

#include "rmap/result/tables.h"
#include "rmap/state/thread_state.h"

namespace countrace::rmap {

struct RowOwner {
  // Unique; tids and pids are reused.
  using Key = std::uint32_t;

  RowOwner() = default;  // no owner
  // `thread`: may be null unless rows are for threads.
  RowOwner(RowsOf of, const ProcessState& owner, const ThreadState* thread)
      : key(static_cast<std::uint32_t>(owner.index)),
        process(owner.index),
        pid(owner.pid),
        comm(owner.comm) {
    if (of == RowsOf::kProcess) return;
    tid = thread->tid;
    if (!thread->comm.empty()) comm = thread->comm;
    key = static_cast<std::uint32_t>(thread->index);
  }

  Key key = ~std::uint32_t{0};
  ProcessIndex process{};
  std::int32_t pid = 0, tid = 0;  // 0: of a process
  std::string comm;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_TABLES_INPUT_ROW_OWNER_H_
