// Where what is kept of a trace goes if its own directory cannot have it.
#ifndef COUNTRACE_VIEWER_INDEX_OPEN_CACHE_DIRECTORY_H_
#define COUNTRACE_VIEWER_INDEX_OPEN_CACHE_DIRECTORY_H_

#include <string>

namespace countrace::viewer {

// $XDG_CACHE_HOME/countrace or ~/.cache/countrace; empty if neither is set.
std::string CacheDirectory();

// With what it is in. False: it is not there then, or cannot be written.
bool MakeCacheDirectory(const std::string& path);

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_OPEN_CACHE_DIRECTORY_H_
