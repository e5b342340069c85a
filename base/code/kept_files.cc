#include "base/code/kept_files.h"

#include <cstddef>
#include <cstdlib>

namespace countrace::base {
namespace {

// "ab/cdef" of abcdef.
std::string InFolders(const std::string& build_id) {
  constexpr std::size_t kLeast = 6, kFolder = 2;
  if (build_id.size() < kLeast ||
      build_id.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return "";
  }
  return build_id.substr(0, kFolder) + "/" + build_id.substr(kFolder);
}

}  // namespace

std::string KeptFile(const std::string& build_id, const char* name) {
  const char* const home = std::getenv("HOME");
  const std::string place = InFolders(build_id);
  if (home == nullptr || place.empty()) return "";
  return std::string(home) + "/.debug/.build-id/" + place + "/" + name;
}

std::string DebugFile(const std::string& build_id) {
  const std::string place = InFolders(build_id);
  return place.empty() ? "" : "/usr/lib/debug/.build-id/" + place + ".debug";
}

}  // namespace countrace::base
