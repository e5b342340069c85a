#include "viewer/index/open/cache_directory.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace countrace::viewer {

std::string CacheDirectory() {
  if (const char* cache = ::getenv("XDG_CACHE_HOME");
      cache != nullptr && *cache == '/') {
    return std::string(cache) + "/countrace";
  }
  if (const char* home = ::getenv("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/countrace";
  }
  return {};
}

bool MakeCacheDirectory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return !error && ::access(path.c_str(), W_OK) == 0;
}

}  // namespace countrace::viewer
