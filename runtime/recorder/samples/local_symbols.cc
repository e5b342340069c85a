#include "runtime/recorder/samples/local_symbols.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "base/posix/small_file.h"

namespace countrace::runtime {
namespace {

constexpr std::uint64_t kLargestMap = 256 << 20;

std::string_view NextLine(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view NextWord(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(" \t");
  line.remove_prefix(std::min(begin, line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<std::uint64_t> Hex(std::string_view word) {
  std::uint64_t value = 0;
  if (!absl::SimpleHexAtoi({word.data(), word.size()}, &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

LocalSymbols LocalSymbols::OfKernel(std::string_view kallsyms) {
  LocalSymbols out;
  struct Entry {
    std::uint64_t address;
    bool code;
    std::string_view name, module;
  };
  std::vector<Entry> entries;
  while (!kallsyms.empty()) {
    std::string_view line = NextLine(kallsyms);
    const auto address = Hex(NextWord(line));
    const std::string_view type = NextWord(line);
    if (!address || *address == 0 || type.size() != 1) continue;
    const std::string_view name = NextWord(line);
    const bool code =
        std::string_view("tTwW").find(type[0]) != std::string_view::npos;
    entries.push_back({*address, code, name, line});
  }
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const Entry& a, const Entry& b) { return a.address < b.address; });
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    if (!entry.code) continue;
    // Aliases of an address: the first one's name.
    if (!out.symbols_.empty() && out.symbols_.back().begin == entry.address) {
      continue;
    }
    std::size_t next = i + 1;
    while (next < entries.size() && entries[next].address == entry.address) {
      ++next;
    }
    constexpr std::uint64_t kLast = 4096;  // nothing says where it ends
    const std::uint64_t end =
        next < entries.size() ? entries[next].address : entry.address + kLast;
    std::string name(entry.name);
    if (!entry.module.empty()) {
      name += ' ';
      name += entry.module;
    }
    out.symbols_.push_back(
        {entry.address, end - entry.address, std::move(name)});
  }
  return out;
}

void LocalSymbolsBuilder::Add(std::uint64_t begin, std::uint64_t bytes,
                              std::string_view name) {
  if (bytes == 0 || begin + bytes < begin) return;
  auto at = symbols_.upper_bound(begin);
  if (at != symbols_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes > begin) at = before;
  }
  while (at != symbols_.end() && at->first < begin + bytes) {
    at = symbols_.erase(at);
  }
  symbols_[begin] = {begin, bytes, std::string(name)};
}

LocalSymbols LocalSymbolsBuilder::Take() && {
  LocalSymbols out;
  for (auto& [begin, symbol] : symbols_) {
    out.symbols_.push_back(std::move(symbol));
  }
  return out;
}

LocalSymbols LocalSymbols::OfJit(std::string_view map) {
  LocalSymbolsBuilder builder;
  while (!map.empty()) {
    std::string_view line = NextLine(map);
    const auto begin = Hex(NextWord(line));
    const auto bytes = Hex(NextWord(line));
    if (begin && bytes && !line.empty()) builder.Add(*begin, *bytes, line);
  }
  return std::move(builder).Take();
}

const LocalSymbol* LocalSymbols::Find(std::uint64_t address) const {
  const auto after =
      std::upper_bound(symbols_.begin(), symbols_.end(), address,
                       [](std::uint64_t at, const LocalSymbol& symbol) {
                         return at < symbol.begin;
                       });
  if (after == symbols_.begin()) return nullptr;
  const LocalSymbol& symbol = *std::prev(after);
  return address - symbol.begin < symbol.bytes ? &symbol : nullptr;
}

LocalSymbols ReadKernelSymbols() {
  const auto text = base::ReadSmallFile("/proc/kallsyms");
  if (!text.ok()) return {};
  return LocalSymbols::OfKernel(*text);
}

LocalSymbols ReadJitSymbols(std::int32_t pid) {
  const std::string path = absl::StrFormat("/tmp/perf-%d.map", pid);
  const base::ScopedFd fd(open(
      path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY));
  struct stat status;
  if (!fd.is_open() || fstat(fd.get(), &status) != 0 ||
      !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > kLargestMap) {
    return {};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t bytes =
        read(fd.get(), text.data() + have, text.size() - have);
    if (bytes <= 0) break;
    have += static_cast<std::size_t>(bytes);
  }
  return LocalSymbols::OfJit(std::string_view(text).substr(0, have));
}

}  // namespace countrace::runtime
