#include "viewer/index/rows/counter_row.h"

#include <algorithm>

#include "viewer/index/file/forest.h"
#include "viewer/index/file/visit_count.h"

namespace countrace::viewer {
namespace {

void Widen(CounterRow::Rates& rates, double min, double max) {
  rates.min = rates.known ? std::min(rates.min, min) : min;
  rates.max = rates.known ? std::max(rates.max, max) : max;
  rates.known = true;
}

}  // namespace

CounterRow::CounterRow(const TimelineIndex& index, std::uint32_t row)
    : index_(index),
      entry_(index.rows()[row]),
      dumps_(index.bytes(), index.At<std::uint64_t>(entry_.leaf_offset),
             CounterShape(entry_.extras)) {}

std::uint64_t CounterRow::FirstAfter(std::uint64_t time_ns,
                                     std::uint64_t hint) const {
  std::uint64_t low = std::min(hint, entry_.leaves);
  if (low > 0 && Time(low - 1) > time_ns) low = 0;  // useless hint
  std::uint64_t step = 1;
  std::uint64_t high = low;
  std::uint64_t visits = 1;
  while (high < entry_.leaves && Time(high) <= time_ns) {
    ++visits;
    low = high + 1;
    high += step;
    step *= 2;
  }
  high = std::min(high, entry_.leaves);
  while (low < high) {
    ++visits;
    const std::uint64_t middle = low + (high - low) / 2;
    if (Time(middle) <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  VisitCount() += visits;
  return low;
}

CounterRow::Value CounterRow::Before(std::uint64_t time_ns, std::uint32_t event,
                                     std::uint64_t* hint) const {
  if (entry_.leaves == 0) return {0, false, true, false};
  const std::uint64_t next = FirstAfter(time_ns, hint == nullptr ? 0 : *hint);
  if (hint != nullptr) *hint = next;
  if (next == 0) return {0, false, true, true};
  const Dump last = At(next - 1, event);
  const auto base = static_cast<double>(last.value);
  if (next == entry_.leaves) {
    const bool after = time_ns > last.time_ns;
    return {base, false, after, after, base, base};
  }
  const Dump after = At(next, event);
  const bool gap = after.gap;
  if (time_ns == last.time_ns) return {base, false, gap, false, base, base};
  if (gap) return {base, false, gap, false, base, -1};
  const double share = static_cast<double>(time_ns - last.time_ns) /
                       static_cast<double>(std::max<std::uint64_t>(
                           after.time_ns - last.time_ns, 1));
  const double step = static_cast<double>(after.value) - base;
  return {base + step * share, step != 0, false, false, base, base + step};
}

void CounterRow::AddSteps(std::uint64_t first, std::uint64_t end,
                          std::uint32_t event, Rates& rates) const {
  if (first >= end) return;
  Dump from = At(first, event);
  for (std::uint64_t step = first; step < end; ++step) {
    const Dump to = At(step + 1, event);
    if (to.gap) {
      rates.gap = rates.unknown = true;
    } else if (to.time_ns > from.time_ns) {
      const double rate = static_cast<double>(to.value - from.value) /
                          static_cast<double>(to.time_ns - from.time_ns);
      Widen(rates, rate, rate);
    }
    from = to;
  }
}

CounterRow::Rates CounterRow::RatesIn(TimeRange range, std::uint32_t event,
                                      std::uint64_t* hint) const {
  Rates rates;
  if (entry_.leaves < 2) {
    rates.gap = true;
    return rates;
  }
  const std::uint64_t steps = entry_.leaves - 1;
  // Step i lasts from leaf i to leaf i + 1. It touches the range if it ends
  // after the range begins and begins before the range ends.
  const std::uint64_t after =
      FirstAfter(range.begin_ns, hint == nullptr ? 0 : *hint);
  if (hint != nullptr) *hint = after;
  const std::uint64_t first = after == 0 ? 0 : after - 1;
  const std::uint64_t end = std::min(
      steps, range.end_ns == 0 ? 0 : FirstAfter(range.end_ns - 1, after));
  if (after == 0 || Time(entry_.leaves - 1) < range.end_ns) {
    rates.gap = true;
  }
  const std::uint64_t block_begin = (first + kCounterBlock - 1) / kCounterBlock;
  const std::uint64_t block_end = end / kCounterBlock;
  if (block_begin >= block_end) {
    AddSteps(first, end, event, rates);
    return rates;
  }
  AddSteps(first, block_begin * kCounterBlock, event, rates);
  const std::uint64_t blocks =
      steps / kCounterBlock + (steps % kCounterBlock != 0 ? 1 : 0);
  const CounterNode* nodes =
      index_.At<CounterNode>(entry_.node_offset) + event * ForestNodes(blocks);
  VisitForestRange(block_begin, block_end, [&](std::uint64_t at) {
    if (nodes[at].gaps != 0) rates.gap = rates.unknown = true;
    if (nodes[at].min_rate <= nodes[at].max_rate) {
      Widen(rates, nodes[at].min_rate, nodes[at].max_rate);
    }
  });
  AddSteps(block_end * kCounterBlock, end, event, rates);
  return rates;
}

}  // namespace countrace::viewer
