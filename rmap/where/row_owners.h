// `--process`, `--thread`: rows by whose they are.
#ifndef COUNTRACE_RMAP_WHERE_ROW_OWNERS_H_
#define COUNTRACE_RMAP_WHERE_ROW_OWNERS_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "rmap/columns/report_by.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::where {

// Globs for a name or a number; empty: any.
struct OwnerGlobs {
  std::string process, thread;

  bool given() const { return !process.empty() || !thread.empty(); }
  std::string Text() const;  // "--process 'nginx*'"
};

// `table`: the only table of the output; kDefault: any table will do.
// Errors: kInvalidArgument: its rows have no owner; names those that have.
absl::Status CheckOwners(const OwnerGlobs& globs, ReportBy table);

class OwnerFilter {
 public:
  OwnerFilter(OwnerGlobs globs, const Report& report);

  // The field that rows of this kind lack: "process", "thread"; "": none.
  template <typename Row>
  std::string MissingIn() const {
    constexpr bool kHasProcess = requires(const Row& row) { row.comm; };
    constexpr bool kHasThread = requires(const Row& row) { row.tid; };
    if (!globs_.process.empty() && !kHasProcess) return "process";
    if (!globs_.thread.empty() && !kHasThread) return "thread";
    return "";
  }

  template <typename Row>
  bool Has(const Row& row) const {
    bool has = true;
    if constexpr (requires { row.tid; }) {
      has = globs_.thread.empty() || Matches(globs_.thread, row.comm, row.tid);
    }
    if (globs_.process.empty()) return has;
    if constexpr (requires { row.process; }) {
      return has && processes_.contains(row.process);
    } else if constexpr (requires { row.parent_pid; }) {
      return has && processes_.contains(row.index);
    }
    return has;
  }

 private:
  static bool Matches(const std::string& glob, const std::string& name,
                      std::int32_t number);

  OwnerGlobs globs_;
  std::set<ProcessIndex> processes_;
};

}  // namespace countrace::rmap::where

#endif  // COUNTRACE_RMAP_WHERE_ROW_OWNERS_H_
