#include "rmap/samples/sums/timed_frames.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace countrace::rmap {

TimedFrames::TimedFrames(Samples& samples) : samples_(samples) {
  const std::vector<TimedSymbol>& all = samples_.timed_symbols;
  for (std::uint32_t i = 0; i < all.size(); ++i) order_.push_back(i);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return std::pair(all[a].file, all[a].begin) <
                            std::pair(all[b].file, all[b].begin);
                   });
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const TimedSymbol& symbol = all[order_[i]];
    if (i == 0 || all[order_[i - 1]].file != symbol.file) end = 0;
    // A damaged trace may have one that ends behind all addresses.
    const std::uint64_t room =
        std::numeric_limits<std::uint64_t>::max() - symbol.begin;
    end = std::max(end, symbol.begin + std::min(symbol.bytes, room));
    ends_.push_back(end);
  }
}

std::uint32_t TimedFrames::SymbolAt(const StackFrame& frame,
                                    std::uint64_t time_ns) const {
  const std::vector<TimedSymbol>& all = samples_.timed_symbols;
  const auto after = std::upper_bound(
      order_.begin(), order_.end(), std::pair(frame.file, frame.address),
      [&](const auto& wanted, std::uint32_t one) {
        return wanted < std::pair(all[one].file, all[one].begin);
      });
  for (auto i = static_cast<std::size_t>(after - order_.begin()); i > 0; --i) {
    const TimedSymbol& symbol = all[order_[i - 1]];
    if (symbol.file != frame.file || ends_[i - 1] <= frame.address) break;
    if (frame.address - symbol.begin < symbol.bytes &&
        time_ns >= symbol.from_ns && time_ns < symbol.until_ns) {
      return order_[i - 1] + 1;
    }
  }
  return 0;
}

std::uint32_t TimedFrames::At(std::uint32_t frame, std::uint64_t time_ns) {
  chain_.clear();
  for (std::uint32_t at = frame; at != 0; at = samples_.frames[at].parent) {
    chain_.push_back(at);
  }
  std::uint32_t parent = 0;
  for (auto one = chain_.rbegin(); one != chain_.rend(); ++one) {
    StackFrame timed = samples_.frames[*one];
    const std::uint32_t symbol = SymbolAt(timed, time_ns);
    if (symbol == 0 && parent == timed.parent) {
      parent = *one;  // as it is
      continue;
    }
    const auto [found, added] =
        frames_.try_emplace({parent, *one, symbol},
                            static_cast<std::uint32_t>(samples_.frames.size()));
    if (added) {
      timed.parent = parent;
      timed.symbol = symbol;
      samples_.frames.push_back(timed);
    }
    parent = found->second;
  }
  return parent;
}

}  // namespace countrace::rmap
