#include "logformat/code_ranges.h"

#include <iterator>

namespace countrace::logformat {

bool IsJitMapping(std::string_view path) {
  for (const std::string_view begin :
       {"//anon", "[heap]", "[stack", "[anon", "/memfd:", "/dev/zero",
        "/anon_hugepage", "/SYSV"}) {
    if (path.starts_with(begin)) return true;
  }
  return path.empty();
}

void CodeRanges::Map(std::uint64_t start, std::uint64_t end,
                     std::uint64_t offset, std::uint32_t file) {
  auto at = ranges_.upper_bound(start);
  if (at != ranges_.begin() && std::prev(at)->second.end > start) --at;
  while (at != ranges_.end() && at->first < end) {
    const auto [old_start, old] = *at;
    at = ranges_.erase(at);
    if (old_start < start) ranges_[old_start] = {start, old.offset, old.file};
    if (old.end > end) {
      ranges_[end] = {old.end, old.offset + (end - old_start), old.file};
      break;
    }
  }
  ranges_[start] = {end, offset, file};
}

std::optional<CodeRanges::Place> CodeRanges::Find(std::uint64_t address) const {
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return std::nullopt;
  --at;
  const auto& [start, range] = *at;
  if (address >= range.end) return std::nullopt;
  return Place{range.file, address - start + range.offset};
}

}  // namespace countrace::logformat
