// The strings of an index while it is written: section kStrings.
#ifndef COUNTRACE_VIEWER_INDEX_FILE_STRING_POOL_H_
#define COUNTRACE_VIEWER_INDEX_FILE_STRING_POOL_H_

#include <cstdint>
#include <map>
#include <string>

#include "viewer/index/file/file_layout.h"

namespace countrace::viewer {

// Strings of kStrings; equal strings are stored once.
class StringPool {
 public:
  NameRef Add(const std::string& text) {
    const auto [entry, added] = known_.try_emplace(text, NameRef{});
    if (added) {
      entry->second = {static_cast<std::uint32_t>(bytes_.size()),
                       static_cast<std::uint32_t>(text.size())};
      bytes_ += text;
    }
    return entry->second;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::map<std::string, NameRef> known_;
  std::string bytes_;
};

}  // namespace countrace::viewer

#endif  // COUNTRACE_VIEWER_INDEX_FILE_STRING_POOL_H_
