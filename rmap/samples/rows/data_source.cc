#include "rmap/samples/rows/data_source.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace countrace::rmap {
namespace {

constexpr char kNotSaid[] = "-";

// Places in the word: the same on either byte order.
struct Field {
  unsigned shift, bits;
};
constexpr Field kOperation{0, 5}, kLevel{5, 14}, kSnoop{19, 5}, kLock{24, 2},
    kTlb{26, 7}, kLevelNumber{33, 4}, kRemote{37, 1}, kMoreSnoop{38, 2},
    kHops{43, 3};

std::uint64_t Get(std::uint64_t word, Field field) {
  return word >> field.shift & ((std::uint64_t{1} << field.bits) - 1);
}

// Bit 0 of the fields with a bit for each word is "not available".
std::vector<std::string_view> Words(std::uint64_t bits, unsigned first,
                                    std::span<const std::string_view> names) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((bits >> (first + i) & 1) != 0) words.push_back(names[i]);
  }
  return words;
}

std::string Joined(const std::vector<std::string_view>& words,
                   const char* between) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string OrNotSaid(std::string text) {
  return text.empty() ? kNotSaid : std::move(text);
}

// "L1 hit", "L1 or LFB miss".
std::string Leveled(const std::vector<std::string_view>& levels,
                    std::uint64_t bits) {
  std::string text = Joined(levels, " or ");
  // PERF_MEM_LVL_HIT, PERF_MEM_LVL_MISS; of a TLB they are the same bits.
  constexpr std::uint64_t kHit = 2, kMiss = 4;
  for (const auto& [bit, word] :
       {std::pair{kHit, "hit"}, std::pair{kMiss, "miss"}}) {
    if ((bits & bit) == 0) continue;
    if (!text.empty()) text += ' ';
    text += word;
  }
  return OrNotSaid(std::move(text));
}

constexpr std::array<std::string_view, 4> kOperations = {"load", "store",
                                                         "prefetch", "execute"};
constexpr std::array<std::string_view, 11> kLevels = {"L1",
                                                      "LFB",
                                                      "L2",
                                                      "L3",
                                                      "RAM",
                                                      "remote RAM (1 hop)",
                                                      "remote RAM (2 hops)",
                                                      "remote cache (1 hop)",
                                                      "remote cache (2 hops)",
                                                      "I/O",
                                                      "uncached"};
constexpr std::array<std::string_view, 4> kSnoops = {"none", "hit", "miss",
                                                     "HitM"};
constexpr std::array<std::string_view, 2> kMoreSnoops = {"forwarded", "peer"};
constexpr std::array<std::string_view, 4> kTlbs = {"L1", "L2", "walker", "OS"};
// By number; empty: none.
constexpr std::array<std::string_view, 16> kLevelNumbers = {"",
                                                            "L1",
                                                            "L2",
                                                            "L3",
                                                            "L4",
                                                            "L2 MHB",
                                                            "memory-side cache",
                                                            "",
                                                            "uncached",
                                                            "CXL",
                                                            "I/O",
                                                            "any cache",
                                                            "LFB",
                                                            "RAM",
                                                            "PMEM",
                                                            ""};
constexpr std::array<std::string_view, 5> kDistances = {
    "", "other core", "other node", "other socket", "other board"};

std::string MemoryText(std::uint64_t word) {
  const std::uint64_t bits = Get(word, kLevel);
  std::vector<std::string_view> levels;
  // The number is newer, and says more.
  const std::string_view number = kLevelNumbers[Get(word, kLevelNumber)];
  std::string remote;
  if (!number.empty()) {
    if (Get(word, kRemote) != 0) remote = "remote " + std::string(number);
    levels.push_back(remote.empty() ? number : std::string_view(remote));
  } else {
    constexpr unsigned kFirst = 3;  // behind NA, HIT, MISS
    levels = Words(bits, kFirst, kLevels);
  }
  std::string text = Leveled(levels, bits);
  const std::uint64_t hops = Get(word, kHops);
  if (hops != 0 && hops < kDistances.size()) {
    text += ", " + std::string(kDistances[hops]);
  }
  return text;
}

std::string TlbText(std::uint64_t word) {
  const std::uint64_t bits = Get(word, kTlb);
  constexpr unsigned kFirst = 3;
  return Leveled(Words(bits, kFirst, kTlbs), bits);
}

std::string LockText(std::uint64_t bits) {
  constexpr std::uint64_t kLocked = 2;
  if ((bits & kLocked) != 0) return "yes";
  return bits == 0 ? "no" : kNotSaid;
}

}  // namespace

DataSource DecodeDataSource(std::uint64_t word) {
  DataSource source;
  source.access =
      OrNotSaid(Joined(Words(Get(word, kOperation), 1, kOperations), " or "));
  source.memory = MemoryText(word);
  std::vector<std::string_view> snoop = Words(Get(word, kSnoop), 1, kSnoops);
  for (const std::string_view more :
       Words(Get(word, kMoreSnoop), 0, kMoreSnoops)) {
    snoop.push_back(more);
  }
  source.snoop = OrNotSaid(Joined(snoop, ", "));
  source.tlb = TlbText(word);
  source.locked = LockText(Get(word, kLock));
  return source;
}

}  // namespace countrace::rmap
