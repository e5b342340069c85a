// Names of threads, processes, and of all processes of one name, in text
// tables.
#ifndef COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_
#define COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

inline const char* OwnerWord(RowsOf of) {
  switch (of) {
    case RowsOf::kThread:
      return "thread";
    case RowsOf::kProcess:
      return "process";
    case RowsOf::kComm:
      break;
  }
  return "command";
}

// `pid`, `tid`: 0 if the row is of several.
inline std::string OwnerText(const std::string& comm, std::int32_t pid,
                             std::int32_t tid) {
  std::string text = comm.empty() ? "(no name)" : comm;
  if (tid != 0) {
    absl::StrAppendFormat(&text, " (pid %d, tid %d)", pid, tid);
  } else if (pid != 0) {
    absl::StrAppendFormat(&text, " (pid %d)", pid);
  }
  return text;
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_
