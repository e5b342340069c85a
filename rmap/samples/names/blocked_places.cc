#include "rmap/samples/names/blocked_places.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "logformat/sample_points.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap {
namespace {

constexpr std::size_t kMostFunctions = 3;

// Without its arguments: they are in the last parentheses, unless a name
// follows these.
std::string PlainName(const std::string& function) {
  const std::size_t end = function.rfind(')');
  if (end == std::string::npos ||
      function.find("::", end) != std::string::npos) {
    return function;
  }
  int depth = 0;
  for (std::size_t at = end + 1; at-- > 1;) {
    depth += function[at] == ')' ? 1 : function[at] == '(' ? -1 : 0;
    if (depth != 0) continue;
    const std::string name = function.substr(0, at);
    return name.ends_with("operator") ? function : name;
  }
  return function;
}

// The innermost functions of user code; of a thread of the kernel those of the
// kernel.
std::vector<std::string> FunctionsAt(const Samples& samples,
                                     std::uint32_t stack, CodePlaces& places) {
  std::vector<std::string> user, kernel;
  for (std::uint32_t frame = stack; frame != 0 && user.size() < kMostFunctions;
       frame = samples.frames[frame].parent) {
    const bool in_kernel = samples.files[samples.frames[frame].file].path ==
                           logformat::kKernelCode;
    std::vector<std::string>& names = in_kernel ? kernel : user;
    for (const std::uint32_t place : places.Of(frame)) {
      if (names.size() == kMostFunctions) break;
      names.push_back(PlainName(places[place].function));
    }
  }
  return user.empty() ? kernel : user;
}

}  // namespace

void NameBlockedPlaces(Report& report) {
  if (report.samples == nullptr) return;
  CodePlaces places(*report.samples, SampleBy::kFunction);
  for (WakerRow& row : report.wakers) {
    std::map<std::vector<std::string>, BlockedPlace> joined;
    for (const BlockedPlace& place : row.places) {
      std::vector<std::string> functions =
          FunctionsAt(*report.samples, place.stack, places);
      BlockedPlace& to = joined[functions];
      to.functions = std::move(functions);
      to.stack = place.stack;
      to.times += place.times;
      to.blocked_ns += place.blocked_ns;
    }
    row.places.clear();
    for (auto& [functions, place] : joined) {
      if (!functions.empty()) row.places.push_back(std::move(place));
    }
    std::stable_sort(row.places.begin(), row.places.end(),
                     [](const BlockedPlace& a, const BlockedPlace& b) {
                       return a.blocked_ns > b.blocked_ns;
                     });
  }
}

}  // namespace countrace::rmap
