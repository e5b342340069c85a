// Parameters of a component (`babeltrace2 --params`), with types; unknown ones
// are errors.
//
//   Parameters parameters(params);
//   parameters.Text("map", map);        // unchanged if it is absent
//   status = parameters.Finish();       // the first error
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
  // `params`: a map from the library; it outlives this.
  explicit Parameters(const bt_value* params);

  void Text(const char* name, std::string& into);
  void Number(const char* name, std::uint64_t& into);
  void Texts(const char* name, std::vector<std::string>& into);
  // Reports that the value of `name` is not among `allowed`.
  void Refuse(const char* name, const std::string& value,
              const std::vector<std::string>& allowed);
  // Errors: INVALID_ARGUMENT: a parameter has a wrong type, or was never looked
  // up.
  absl::Status Finish() const;

 private:
  // Returns null if it is absent or has a wrong type.
  const bt_value* Find(const char* name, bt_value_type type, const char* like);

  const bt_value* params_;
  std::vector<std::string> known_;
  absl::Status status_;
};

}  // namespace countrace::rmap::babeltrace_plugin

#endif  // COUNTRACE_RMAP_BABELTRACE_PLUGIN_PARAMETERS_H_
