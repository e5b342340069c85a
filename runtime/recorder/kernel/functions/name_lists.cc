#include "runtime/recorder/kernel/functions/name_lists.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace countrace::runtime {

std::string NearNames(const std::string& glob,
                      const std::vector<std::string>& all) {
  std::string core = glob;
  core.erase(std::remove_if(core.begin(), core.end(),
                            [](char c) { return c == '*' || c == '?'; }),
             core.end());
  std::vector<std::string> near;
  for (std::size_t length = core.size(); length >= 3 && near.empty();
       --length) {
    for (const std::string& name : all) {
      if (near.size() < 5 &&
          name.find(core.substr(0, length)) != std::string::npos) {
        near.push_back(name);
      }
    }
  }
  if (near.empty()) return "";
  return "; there is " + absl::StrJoin(near, ", ");
}

std::string SomeOf(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  const auto named =
      static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed));
  std::string list = absl::StrJoin(names.begin(), names.begin() + named, ", ");
  if (names.size() > kNamed) {
    list += absl::StrFormat(" and %d more", names.size() - kNamed);
  }
  return list;
}

}  // namespace countrace::runtime
