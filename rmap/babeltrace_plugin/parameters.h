// Parameters of a component (`babeltrace2 --params`): typed, and none that the
// component does not know.
//
//   Parameters parameters(params);
//   parameters.Text("map", map);        // left as it is if it is not there
//   status = parameters.Finish();       // the first thing that was wrong
//
// Thread: one.
#ifndef COUNTRACE_RMAP_BABELTRACE_PLUGIN_PARAMETERS_H_
#define COUNTRACE_RMAP_BABELTRACE_PLUGIN_PARAMETERS_H_

#include <babeltrace2/babeltrace.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace countrace::rmap::babeltrace_plugin {

class Parameters {
 public:
  // `params`: a map, as the library hands it out; it outlives this.
  explicit Parameters(const bt_value* params);

  void Text(const char* name, std::string& into);
  void Number(const char* name, std::uint64_t& into);
  void Texts(const char* name, std::vector<std::string>& into);
  // Says that the value of `name` is none of `allowed`.
  void Refuse(const char* name, const std::string& value,
              const std::vector<std::string>& allowed);
  // Returns: INVALID_ARGUMENT the parameter of a wrong type, or that nobody
  // asked for.
  absl::Status Finish() const;

 private:
  // Null: not there, or of a wrong type.
  const bt_value* Find(const char* name, bt_value_type type, const char* like);

  const bt_value* params_;
  std::vector<std::string> known_;
  absl::Status status_;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_PARAMETERS_H_
