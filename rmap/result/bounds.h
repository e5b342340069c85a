// How sure the numbers of a row are: why not, and the interval that holds the
// truth.
#ifndef COUNTRACE_RMAP_RESULT_BOUNDS_H_
#define COUNTRACE_RMAP_RESULT_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rmap/result/event_columns.h"
#include "rmap/result/limits.h"
#include "rmap/result/rare.h"

namespace countrace::rmap {

// How sure a number is; every number has one.
enum class Quality : std::uint8_t { kExact, kScaled, kBounded, kInferred };
const char* QualityName(Quality quality);  // "exact", ...

// The worse of two qualities: a sum is as sure as its least sure part.
constexpr Quality Worse(Quality a, Quality b) { return a < b ? b : a; }

// The reasons why numbers of a row are not exact; none: they are.
class Qualities {
 public:
  void Add(Quality quality) {
    if (quality != Quality::kExact) {
      bits_ = static_cast<std::uint8_t>(bits_ | Bit(quality));
    }
  }
  bool Has(Quality quality) const { return (bits_ & Bit(quality)) != 0; }
  bool any() const { return bits_ != 0; }
  Quality Worst() const;
  std::vector<std::string> Names() const;

 private:
  static constexpr unsigned Bit(Quality quality) {
    return 1u << static_cast<unsigned>(quality);
  }
  std::uint8_t bits_ = 0;
};

// The numbers of rows. A count of an event: kCounts + 3 * event + a CountPart.
enum class Number : std::uint16_t {
  kOnCpu,
  kDispatches,
  kMigrations,
  kWait,
  kThrottled,
  kBlocked,
  kThreads,
  kBusy,
  kIdle,
  kInterrupts,
  kOutside,
  kCalls,
  kWallIncl,
  kWallExcl,
  kWallMean,
  kWallStddev,
  kWallMin,
  kWallMax,
  kWallP50,
  kWallP90,
  kWallP99,
  kOnCpuIncl,
  kOnCpuExcl,
  kOffCpuIncl,
  kOffCpuExcl,
  kWaitIncl,
  kWaitExcl,
  kBlockedIncl,
  kBlockedExcl,
  kTimes,
  kLongest,
  kOpens,
  kFailedOpens,
  kReads,
  kWrites,
  kReadBytes,
  kWrittenBytes,
  kUp,
  kCounts
};
enum class CountPart : std::uint8_t { kWhole, kIncl, kExcl };
constexpr Number CountNumber(std::size_t event, CountPart part) {
  return static_cast<Number>(static_cast<std::size_t>(Number::kCounts) +
                             3 * event + static_cast<std::size_t>(part));
}
// As in the JSON of the row: "on_cpu_ns", "wall_ns.incl", "counts.cycles.excl".
std::string NumberName(const EventColumns& events, Number number);
// The number of that name; absent: there is none.
std::optional<Number> NumberNamed(const EventColumns& events,
                                  std::string_view name);

// The intervals of the numbers of one row that are not exact.
class RowBounds {
 public:
  using Entry = std::pair<Number, Bounds>;

  // No effect if the interval holds `value` alone.
  void Set(Number number, std::uint64_t value, Bounds bounds);
  // Absent: the number is exact.
  std::optional<Bounds> Of(Number number) const;
  bool empty() const { return entries().empty(); }
  const std::vector<Entry>& entries() const { return entries_.Read(); }

 private:
  Rare<std::vector<Entry>> entries_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_RESULT_BOUNDS_H_
