#include "base/code/perf_map.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace countrace::base {
namespace {

constexpr std::size_t kBlockBytes = 64 << 10;
// Two numbers with blanks, and the longest name.
constexpr std::size_t kLongestLine = kLongestJitName + 64;
// What a symbol takes beside its name.
constexpr std::uint64_t kSymbolBytes = 200;

// Absent: no number of 64 bits stands there, alone.
std::optional<std::uint64_t> TakeHex(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  std::uint64_t value = 0;
  if (!absl::SimpleHexAtoi({line.data(), end}, &value)) return std::nullopt;
  line.remove_prefix(std::min(end + 1, line.size()));
  return value;
}

class Reader {
 public:
  Reader(const std::set<std::uint64_t>& addresses, NameLimits& limits)
      : addresses_(addresses), limits_(limits) {}

  // False: there is no room for its name.
  bool TakeLine(std::string_view line) {
    const auto begin = TakeHex(line);
    if (!begin) return true;
    const auto bytes = TakeHex(line);
    if (!bytes || line.empty() || *begin + *bytes <= *begin) return true;
    Remove(*begin, *begin + *bytes);
    const auto address = addresses_.lower_bound(*begin);
    if (address == addresses_.end() || *address - *begin >= *bytes) return true;
    const std::string_view name = line.substr(0, kLongestJitName);
    if (!limits_.Take(2 * name.size() + kSymbolBytes)) return false;
    symbols_[*begin] = {*begin, *bytes, std::string(name)};
    return true;
  }
  LocalSymbols Take() { return LocalSymbols::Of(std::move(symbols_)); }

 private:
  void Remove(std::uint64_t begin, std::uint64_t end) {
    auto at = symbols_.upper_bound(begin);
    if (at != symbols_.begin()) {
      const auto before = std::prev(at);
      if (before->first + before->second.bytes > begin) at = before;
    }
    while (at != symbols_.end() && at->first < end) {
      limits_.Return(2 * at->second.name.size() + kSymbolBytes);
      at = symbols_.erase(at);
    }
  }

  const std::set<std::uint64_t>& addresses_;
  NameLimits& limits_;
  std::map<std::uint64_t, LocalSymbol> symbols_;  // by begin; no two overlap
};

}  // namespace

PerfMap ReadPerfMap(const ReadAt& read,
                    const std::set<std::uint64_t>& addresses,
                    NameLimits& limits) {
  PerfMap out;
  Reader reader(addresses, limits);
  std::vector<char> block(kLongestLine + kBlockBytes);
  std::size_t have = 0;      // of a line that is not whole yet
  bool skips = false;        // the rest of a line that is too long
  std::uint64_t offset = 0;  // of what is read next
  for (std::size_t got = 1; got != 0; offset += got) {
    if (limits.TimeIsUp()) {
      out.status = NameLimits::NoTime(offset);
      break;
    }
    got = read(offset, std::as_writable_bytes(
                           std::span(block).subspan(have, kBlockBytes)));
    std::string_view text(block.data(), have + got);
    // The last line may have no end.
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == text.npos && got != 0 && text.size() < kLongestLine) break;
      const std::string_view line = text.substr(0, end);
      if (!std::exchange(skips, end == text.npos) && !reader.TakeLine(line)) {
        out.status = NameLimits::NoRoom(offset + got - text.size());
        out.symbols = reader.Take();
        return out;
      }
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    have = text.size();
    std::copy(text.begin(), text.end(), block.begin());
  }
  out.symbols = reader.Take();
  return out;
}

std::string PerfMapPath(std::int32_t pid) {
  return absl::StrCat("/tmp/perf-", pid, ".map");
}

bool IsPerfMapPath(std::string_view path) {
  constexpr std::string_view kBegin = "/tmp/perf-", kEnd = ".map";
  return path.starts_with(kBegin) && path.ends_with(kEnd) &&
         path.size() > kBegin.size() + kEnd.size() &&
         path.find_first_not_of("0123456789", kBegin.size()) ==
             path.size() - kEnd.size();
}

}  // namespace countrace::base
