// Names of threads and processes, and of what --group-by joined, in text
// tables.
#ifndef COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_
#define COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "rmap/result/tables.h"

namespace countrace::rmap {

inline std::string OwnerWord(const Report& report, RowsOf of) {
  const std::string& by = report.rows_by;
  if (by == "comm") return "command";
  if (by == "user" || by == "cgroup" || by == "host") return by;
  return of == RowsOf::kThread && by != "process" ? "thread" : "process";
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

// "HOST: ", or nothing.
template <typename Row>
std::string HostText(const Row& row) {
  return row.host ? *row.host + ": " : "";
}

// A row that --group-by may have added up.
template <typename Row>
std::string OwnerText(const Row& row) {
  if (row.grouped.value) return *row.grouped.value;
  const std::string host = HostText(row);
  if (row.grouped.rows > 1 && row.comm.empty()) return host + "(several)";
  std::int32_t tid = 0;
  if constexpr (requires { row.tid; }) tid = row.tid;
  return host + OwnerText(row.comm, row.pid, tid);
}

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_COLUMNS_OWNER_TEXT_H_
