#include "base/code/local_symbols.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"

namespace countrace::base {
namespace {

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

// A line of /proc/kallsyms.
struct KernelEntry {
  std::uint64_t address;
  char type;
  std::string_view name, module;
  bool is_code() const {
    return std::string_view("tTwW").find(type) != std::string_view::npos;
  }
};

// As perf means to choose among names of one address: not a weak one, a global
// one, that with the fewest underscores before it, the longest.
bool IsBetter(const KernelEntry& a, const KernelEntry& b) {
  const auto rank = [](const KernelEntry& one) {
    const std::size_t underscores =
        std::min(one.name.find_first_not_of('_'), one.name.size());
    return std::make_tuple(one.type == 'W', one.type != 'T', underscores,
                           -static_cast<std::ptrdiff_t>(one.name.size()));
  };
  return rank(a) < rank(b);
}

}  // namespace

LocalSymbols LocalSymbols::OfKernel(std::string_view kallsyms) {
  LocalSymbols out;
  std::vector<KernelEntry> entries;
  while (!kallsyms.empty()) {
    std::string_view line = NextLine(kallsyms);
    const auto address = Hex(NextWord(line));
    const std::string_view type = NextWord(line);
    if (!address || *address == 0 || type.size() != 1) continue;
    const std::string_view name = NextWord(line);
    entries.push_back({*address, type[0], name, line});
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const KernelEntry& a, const KernelEntry& b) {
                     return a.address < b.address;
                   });
  for (std::size_t i = 0, next = 0; i < entries.size(); i = next) {
    const KernelEntry* best = nullptr;
    for (next = i; next < entries.size(); ++next) {
      const KernelEntry& entry = entries[next];
      if (entry.address != entries[i].address) break;
      if (!entry.is_code()) continue;
      if (best == nullptr || IsBetter(entry, *best)) best = &entry;
    }
    if (best == nullptr) continue;
    constexpr std::uint64_t kLast = 4096;  // nothing says where it ends
    const std::uint64_t end =
        next < entries.size() ? entries[next].address : best->address + kLast;
    std::string name(best->name);
    if (!best->module.empty()) {
      name += ' ';
      name += best->module;
    }
    out.symbols_.push_back(
        {best->address, end - best->address, std::move(name)});
  }
  return out;
}

LocalSymbols LocalSymbols::Of(std::map<std::uint64_t, LocalSymbol> symbols) {
  LocalSymbols out;
  for (auto& [begin, symbol] : symbols) {
    out.symbols_.push_back(std::move(symbol));
  }
  return out;
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

}  // namespace countrace::base
