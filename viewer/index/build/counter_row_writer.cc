#include "viewer/index/build/counter_row_writer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "viewer/index/build/packed_row_writer.h"
#include "viewer/index/file/forest.h"
#include "viewer/index/rows/counter_row.h"

namespace countrace::viewer {

void WriteCounterRow(const RowSpool& spool, const CollectedRow& row,
                     std::size_t events, const TraceSpan& span,
                     IndexFileWriter& out, RowEntry& entry) {
  std::vector<ForestBuilder<CounterNode>> forests(events);
  const CounterNode empty{
      .min_rate = 1, .max_rate = 0, .gaps = 0, .reserved = 0};
  std::vector<CounterNode> blocks(events, empty);
  const auto merge = [](const CounterNode& a, const CounterNode& b) {
    CounterNode node = a;
    node.gaps += b.gaps;
    if (b.min_rate <= b.max_rate) {
      const bool none = node.min_rate > node.max_rate;
      node.min_rate = none ? b.min_rate : std::min(node.min_rate, b.min_rate);
      node.max_rate = none ? b.max_rate : std::max(node.max_rate, b.max_rate);
    }
    return node;
  };
  std::uint64_t steps = 0;
  const auto close = [&] {
    for (std::size_t event = 0; event < events; ++event) {
      forests[event].Append(blocks[event], merge);
      blocks[event] = empty;
    }
  };
  CounterLeaf last{};
  std::vector<std::uint64_t> values(events), last_values(events);
  PackedRowWriter dumps(out, CounterShape(events));
  RowCursor cursor(spool, row.spool_row);
  bool first = true;
  for (const std::byte* bytes = cursor.Next(); bytes != nullptr;
       bytes = cursor.Next(), first = false) {
    CounterLeaf leaf;
    std::memcpy(&leaf, bytes, sizeof(leaf));
    std::memcpy(values.data(), bytes + sizeof(leaf), 8 * events);
    leaf.time_ns = span.Relative(leaf.time_ns);
    if (!first) {
      for (std::size_t event = 0; event < events; ++event) {
        CounterNode step = empty;
        if (((leaf.gaps >> event) & 1) != 0) {
          step.gaps = 1;
        } else if (leaf.time_ns > last.time_ns) {
          step.min_rate = step.max_rate = static_cast<float>(
              static_cast<double>(values[event] - last_values[event]) /
              static_cast<double>(leaf.time_ns - last.time_ns));
        }
        blocks[event] = merge(blocks[event], step);
      }
      if (++steps % kCounterBlock == 0) close();
    }
    last = leaf;
    last_values = values;
    dumps.AddRow();
    dumps.Set(kCounterTime, leaf.time_ns);
    dumps.Set(kCounterGaps, leaf.gaps);
    for (std::size_t event = 0; event < events; ++event) {
      dumps.Set(kCounterValues + event, values[event]);
    }
  }
  entry.leaf_offset = dumps.Finish();
  if (steps % kCounterBlock != 0) close();
  entry.node_offset = out.offset();  // one forest for each event, in order
  for (const ForestBuilder<CounterNode>& forest : forests) {
    out.AppendArray(std::span(forest.nodes()));
  }
}

}  // namespace countrace::viewer
