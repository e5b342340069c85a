#include "viewer/index/file/row_limits.h"

#include <algorithm>
#include <optional>

namespace countrace::viewer {
namespace {

using rmap::Bounds;
using rmap::Number;

Bounds BoundsOf(const rmap::RowBounds& bounds, Number number,
                std::optional<std::uint64_t> value) {
  if (const auto found = bounds.Of(number)) return *found;
  return value ? Bounds{*value, *value} : Bounds{};
}

std::uint64_t More(const Bounds& bounds, std::uint64_t sum) {
  if (bounds.hi == Bounds::kNone) return kUnknownTime;
  return bounds.hi - std::min(bounds.hi, sum);
}

}  // namespace

void LeafSums::Add(const LeafSums& other) {
  on_cpu_ns += other.on_cpu_ns;
  wait_ns += other.wait_ns;
  dispatches += other.dispatches;
  unplaced_dispatches += other.unplaced_dispatches;
  elsewhere |= other.elsewhere;
  const auto add = [](std::vector<std::uint64_t>& sums,
                      const std::vector<std::uint64_t>& parts) {
    sums.resize(std::max(sums.size(), parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) sums[i] += parts[i];
  };
  add(counts, other.counts);
  add(unplaced, other.unplaced);
}

std::uint64_t& RowLimits::At(std::size_t number, std::size_t field) {
  const std::size_t stride = LimitStride(events_);
  if (values_.size() < (number + 1) * stride) {
    values_.resize((number + 1) * stride, 0);
  }
  return values_[number * stride + field];
}

template <typename Row>
void RowLimits::AddRow(std::size_t number, const Row& row, LeafSums& sums,
                       bool elsewhere) {
  At(number, kLimitOnCpu) =
      elsewhere ? kUnknownTime
                : More(BoundsOf(row.bounds, Number::kOnCpu, row.on_cpu_ns),
                       sums.on_cpu_ns);
  // A dispatch that a loss cut is two leaves.
  const Bounds dispatches =
      BoundsOf(row.bounds, Number::kDispatches, row.dispatches);
  At(number, kLimitDispatches) = More(dispatches, sums.dispatches);
  At(number, kLimitDispatchesLess) =
      sums.dispatches - std::min(sums.dispatches, dispatches.lo);
  // A process has at least what its threads have.
  sums.unplaced_dispatches =
      std::max(sums.unplaced_dispatches,
               row.dispatches - std::min(row.dispatches, sums.dispatches));
  At(number, kUnplacedDispatches) = sums.unplaced_dispatches;
  sums.counts.resize(events_);
  sums.unplaced.resize(events_);
  for (std::uint32_t event = 0; event < events_; ++event) {
    std::uint64_t& more = At(number, CountLimit(event));
    // An estimate limits nothing that was counted.
    if (event < row.scaled.size() && row.scaled[event]) {
      more = kUnknownTime;
    } else if (event < row.counts.size()) {
      more = More(BoundsOf(row.bounds,
                           rmap::CountNumber(event, rmap::CountPart::kWhole),
                           row.counts[event]),
                  sums.counts[event]);
      const std::uint64_t count = row.counts[event].value_or(0);
      sums.unplaced[event] = std::max(
          sums.unplaced[event], count - std::min(count, sums.counts[event]));
    }
    At(number, UnplacedCount(event, events_)) = sums.unplaced[event];
  }
}

void RowLimits::Add(std::size_t number, const rmap::ThreadRow& row,
                    LeafSums& sums) {
  AddRow(number, row, sums, !row.on_cpu_ns);
  const Bounds wait = BoundsOf(row.bounds, Number::kWait, row.wait_ns);
  At(number, kLimitWaitLess) = sums.wait_ns - std::min(sums.wait_ns, wait.lo);
  At(number, kLimitWaitMore) = More(wait, sums.wait_ns);
  if (const auto blocked = row.bounds.Of(Number::kBlocked)) {
    const std::uint64_t ns = row.blocked_ns.value_or(0);
    At(number, kLimitBlockedLess) = ns - std::min(ns, blocked->lo);
    At(number, kLimitBlockedMore) = More(*blocked, ns);
  }
}

void RowLimits::Add(std::size_t number, const rmap::ProcessRow& row,
                    LeafSums& sums) {
  AddRow(number, row, sums, sums.elsewhere);
}

std::vector<std::uint64_t> RowLimits::Take(std::size_t rows) {
  if (std::all_of(values_.begin(), values_.end(),
                  [](std::uint64_t value) { return value == 0; })) {
    return {};
  }
  values_.resize(rows * LimitStride(events_), 0);
  return std::move(values_);
}

}  // namespace countrace::viewer
