#include "base/code/code_history.h"

#include <algorithm>
#include <iterator>

namespace countrace::base {

void CodeHistory::Remove(std::uint64_t begin, std::uint64_t bytes,
                         std::uint64_t time_ns) {
  if (bytes == 0 || begin + bytes < begin) return;
  auto at = current_.upper_bound(begin);
  if (at != current_.begin()) {
    const auto before = std::prev(at);
    if (before->first + all_[before->second].bytes > begin) at = before;
  }
  while (at != current_.end() && at->first < begin + bytes) {
    TimedFunction& ended = all_[at->second];
    ended.until_ns = std::max(time_ns, ended.from_ns);
    at = current_.erase(at);
  }
}

void CodeHistory::Add(std::uint64_t begin, std::uint64_t bytes,
                      std::string_view name, std::uint64_t time_ns) {
  if (bytes == 0 || begin + bytes < begin) return;
  Remove(begin, bytes, time_ns);
  current_[begin] = all_.size();
  all_.push_back(
      {begin, bytes, time_ns, TimedFunction::kOpenEnd, std::string(name)});
}

void CodeHistory::Sort() {
  by_begin_.resize(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) by_begin_[i] = i;
  std::stable_sort(by_begin_.begin(), by_begin_.end(),
                   [this](std::size_t a, std::size_t b) {
                     return all_[a].begin < all_[b].begin;
                   });
  ends_.clear();
  std::uint64_t end = 0;
  for (const std::size_t one : by_begin_) {
    end = std::max(end, all_[one].begin + all_[one].bytes);
    ends_.push_back(end);
  }
}

std::vector<std::size_t> CodeHistory::At(std::uint64_t address) const {
  const auto after =
      std::upper_bound(by_begin_.begin(), by_begin_.end(), address,
                       [this](std::uint64_t wanted, std::size_t one) {
                         return wanted < all_[one].begin;
                       });
  std::vector<std::size_t> found;
  for (auto i = static_cast<std::size_t>(after - by_begin_.begin());
       i > 0 && ends_[i - 1] > address; --i) {
    const TimedFunction& one = all_[by_begin_[i - 1]];
    if (address - one.begin < one.bytes) found.push_back(by_begin_[i - 1]);
  }
  std::sort(found.begin(), found.end());  // as they were made
  return found;
}

}  // namespace countrace::base
