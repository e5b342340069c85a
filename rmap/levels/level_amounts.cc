// What was attributed while levels were up (levels.h).
#include <algorithm>

#include "rmap/levels/levels.h"

namespace countrace::rmap {
namespace {

__extension__ typedef unsigned __int128 Wide;

std::uint64_t PartOf(std::uint64_t count, std::uint64_t part_ns,
                     std::uint64_t whole_ns) {
  return static_cast<std::uint64_t>(Wide{count} * part_ns / whole_ns);
}

}  // namespace

void Levels::OnTime(const AttributedTime& attributed) {
  const std::size_t cpu = attributed.cpu;
  time_ns_.resize(std::max(time_ns_.size(), cpu + 1));
  done_ns_.resize(time_ns_.size());
  time_ns_[cpu] = attributed.end_ns;
  // Without counters no dump follows.
  if (kinds_.empty() || done_ns_[cpu] == 0) done_ns_[cpu] = attributed.begin_ns;
  if (attributed.thread != kNoThread) {
    const std::uint64_t begin_ns = std::max(attributed.begin_ns, begin_ns_);
    ForEachOf(attributed.thread, [&](OwnedLevel& level) {
      level.on_cpu_ns += level.track.UpIn(begin_ns, attributed.end_ns);
    });
  }
  next_.OnTime(attributed);
}

void Levels::OnCounts(const AttributedCount& attributed) {
  if (attributed.event < kinds_.size()) {
    const std::vector<std::uint64_t> instants = instants_.Take(attributed);
    if (attributed.thread != kNoThread) {
      ForEachOf(attributed.thread, [&](OwnedLevel& level) {
        AddCount(attributed, instants, level);
      });
    }
  }
  next_.OnCounts(attributed);
}

void Levels::AddCount(const AttributedCount& attributed,
                      const std::vector<std::uint64_t>& instants,
                      OwnedLevel& level) const {
  OwnedLevel::Count& sum = level.counts[attributed.event];
  // What happened between two times, or at one of them.
  const auto add = [&](std::uint64_t begin_ns, std::uint64_t end_ns,
                       std::uint64_t count) {
    const bool sure =
        begin_ns >= begin_ns_ && level.track.IsSame(begin_ns, end_ns);
    if (sure && !level.track.UpAt(end_ns)) return;
    const std::uint64_t up_ns =
        level.track.UpIn(std::max(begin_ns, begin_ns_), end_ns);
    sum.value += sure || begin_ns == end_ns
                     ? count
                     : PartOf(count, up_ns, end_ns - begin_ns);
    sum.lo += sure ? count : 0;
    sum.hi += count;
    sum.split |= !sure;
  };
  const std::uint64_t count = attributed.count;
  if (!instants.empty()) {
    for (const std::uint64_t time_ns : instants) add(time_ns, time_ns, 1);
  } else if (kinds_[attributed.event] == CounterKind::kClock &&
             count == attributed.end_ns - attributed.begin_ns) {
    const std::uint64_t up_ns = level.track.UpIn(
        std::max(attributed.begin_ns, begin_ns_), attributed.end_ns);
    sum.value += up_ns;
    sum.lo += up_ns;
    sum.hi += up_ns;
  } else {
    add(attributed.begin_ns, attributed.end_ns, count);
  }
}

void Levels::OnCounters(const CounterDump& dump) {
  instants_.OnCounters(dump);
  if (dump.cpu < time_ns_.size()) {
    done_ns_[dump.cpu] = std::min(dump.time_ns, time_ns_[dump.cpu]);
  }
  next_.OnCounters(dump);
}

}  // namespace countrace::rmap
