// Lists of names in messages.
#ifndef COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_NAME_LISTS_H_
#define COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_NAME_LISTS_H_

#include <string>
#include <vector>

namespace countrace::runtime {

// "; there is X, Y": a few names that contain the text, or begin with the same
// letters; empty: none do.
std::string NearNames(const std::string& glob,
                      const std::vector<std::string>& all);

// "X, Y, Z and 2 more"
std::string SomeOf(const std::vector<std::string>& names);

}  // namespace countrace::runtime

#endif  // COUNTRACE_RUNTIME_RECORDER_KERNEL_FUNCTIONS_NAME_LISTS_H_
