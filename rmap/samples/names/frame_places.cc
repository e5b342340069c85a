#include "rmap/samples/names/frame_places.h"

namespace countrace::rmap {

std::string SourceText(const CodePlace& place) {
  return place.line == 0 ? place.source
                         : place.source + ":" + std::to_string(place.line);
}

std::string CodeFileName(const std::string& path) {
  if (path.empty() || path.front() != '/') return path;
  return path.substr(path.rfind('/') + 1);
}

}  // namespace countrace::rmap
