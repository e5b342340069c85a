#include "logformat/import/perf/kept_files.h"

#include <cstdlib>

#include "absl/strings/str_format.h"

namespace countrace::importer::perf {
namespace {

// "ab/cdef" of abcdef.
std::string InFolders(const std::string& build_id) {
  constexpr std::size_t kFolder = 2;
  if (build_id.size() <= kFolder) return "";
  return build_id.substr(0, kFolder) + "/" + build_id.substr(kFolder);
}

}  // namespace

std::string KeptFile(const std::string& build_id, const char* name) {
  const char* const home = std::getenv("HOME");
  const std::string place = InFolders(build_id);
  if (home == nullptr || place.empty()) return "";
  return absl::StrFormat("%s/.debug/.build-id/%s/%s", home, place, name);
}

std::string DebugFile(const std::string& build_id) {
  const std::string place = InFolders(build_id);
  return place.empty() ? "" : "/usr/lib/debug/.build-id/" + place + ".debug";
}

}  // namespace countrace::importer::perf
