// Samples as a tree of calls, the rows of `report --by calltree` and `--by
// callers`, and when those of a function were taken.
//
// Thread: any.
#ifndef COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_TREE_H_
#define COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "rmap/result/samples.h"
#include "viewer/server/tables/function_table.h"

namespace countrace::viewer {

struct SampleTreeRequest {
  ChosenSamples chosen = {};
  std::uint64_t event = 0;    // of Samples::events
  bool callers = false;       // from the inside out
  std::string function = {};  // where it begins; empty: whole stacks
};

// `sample_tree` of API.md: {rows, left_out}; each row behind its caller.
nlohmann::json SampleTree(const rmap::Samples& samples,
                          const SampleTreeRequest& request);

// `sample_times`: {columns}, of [begin_ns, begin_ns + duration_ns) in so many
// columns: how many samples have the function, of the file `dso`, in their
// stack. Null: the samples have no times.
nlohmann::json SampleTimes(const rmap::Samples& samples,
                           const SampleTreeRequest& request,
                           const std::string& dso, std::uint64_t begin_ns,
                           std::uint64_t duration_ns, std::size_t columns);

// `sample_density`: of each of `threads` how many samples, of all events, are
// in each of so many columns of [begin_ns, end_ns). Null: as above.
nlohmann::json SampleDensity(const rmap::Samples& samples,
                             const std::vector<std::uint64_t>& threads,
                             std::uint64_t begin_ns, std::uint64_t end_ns,
                             std::size_t columns);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_SERVER_TABLES_SAMPLE_TREE_H_
