// Texts of values as numbers, which distinguish calls. Thread: one.
#ifndef COUNTRACE_RMAP_VALUES_VALUE_TABLE_H_
#define COUNTRACE_RMAP_VALUES_VALUE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "logformat/read/named_value.h"
#include "rmap/state/call_paths.h"

namespace countrace::rmap {

class ValueTable {
 public:
  static constexpr std::uint32_t kNone = 0;  // not recorded, or not known
  // So many values differ; all others are one.
  static constexpr std::size_t kMaxValues = 65536;
  // So many are unreadable in the enters of their calls.
  static constexpr std::size_t kMaxUnread = 1024;

  std::uint32_t Of(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    if (texts_.size() >= kMaxValues) return PathNode::kOtherValue;
    const std::uint32_t id = Add(std::string(text));
    ids_.emplace(std::string(text), id);
    return id;
  }
  // A value whose text the exit of its call may have.
  std::uint32_t Unread() {
    const std::uint32_t so_far = Of(logformat::kUnreadable);
    if (unread_.size() >= kMaxUnread) return so_far;
    const std::uint32_t id = Add(std::string(logformat::kUnreadable));
    unread_.emplace(id, so_far);
    return id;
  }
  bool IsUnread(std::uint32_t id) const { return unread_.contains(id); }
  // Requires: IsUnread(id).
  void SetText(std::uint32_t id, std::string_view text) {
    unread_[id] = Of(text);
  }

  // Values with equal texts have equal numbers here.
  std::uint32_t Settled(std::uint32_t id) const {
    const auto found = unread_.find(id);
    return found == unread_.end() ? id : found->second;
  }
  const std::string& TextOf(std::uint32_t id) const { return texts_[id]; }

 private:
  std::uint32_t Add(std::string text) {
    texts_.push_back(std::move(text));
    return static_cast<std::uint32_t>(texts_.size() - 1);
  }

  std::vector<std::string> texts_ = {"", "(others)"};  // by number
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  std::map<std::uint32_t, std::uint32_t> unread_;  // and what they became
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_VALUES_VALUE_TABLE_H_
