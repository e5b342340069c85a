// Names for rows of a report that the lists of an index lack.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_UNLISTED_NAMES_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_UNLISTED_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "rmap/result/tables.h"
#include "viewer/index/file/timeline_index.h"

namespace countrace::viewer {

// Names of the processes and threads that are in a report but not in the lists
// of the index.
class UnlistedNames {
 public:
  UnlistedNames() = default;  // none
  UnlistedNames(const TimelineIndex& index, const rmap::Report& report) {
    Add(index.processes().size(), report.processes, processes_);
    Add(index.threads().size(), report.threads, threads_);
  }

  // Adds `pid` and `comm`, of a thread also `tid`, if `row` is of such a one.
  template <typename Row>
  void Put(const Row& row, nlohmann::json& item) const {
    if constexpr (requires { row.thread; }) {
      Put(threads_, row.thread, item);
    } else if constexpr (requires { row.process; }) {
      Put(processes_, row.process, item);
    }
  }

 private:
  using Names = std::map<std::uint32_t, nlohmann::json>;  // by number

  template <typename Row>
  static void Add(std::size_t first, const std::vector<Row>& rows,
                  Names& names) {
    for (const Row& row : rows) {
      const auto number = static_cast<std::uint32_t>(row.index);
      if (number < first) continue;
      nlohmann::json& name = names[number];
      name = {{"pid", row.pid}, {"comm", row.comm}};
      if constexpr (requires { row.tid; }) name["tid"] = row.tid;
    }
  }
  static void Put(const Names& names, std::uint32_t number,
                  nlohmann::json& item) {
    const auto found = names.find(number);
    if (found != names.end()) item.update(found->second);
  }

  Names processes_, threads_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_UNLISTED_NAMES_H_
