#include "rmap/samples/rows/place_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace countrace::rmap {

CodeTable MakePlaceTable(const Samples& samples,
                         const std::vector<std::string>& in,
                         FramePlaces& places, const SampleChoice& choice) {
  struct Sums {
    SampleWeight self, total;
  };
  // By event, group, context, place.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::string, std::uint32_t>,
           Sums>
      sums;
  std::vector<SampleTotal> events = EmptyTotals(samples);
  std::set<std::uint32_t> seen;
  for (const SampleSum& sum : samples.sums) {
    if (!choice.Has(sum.context)) continue;
    events[sum.event].Add(sum);
    const std::uint32_t group = choice.GroupOf(sum.context);
    const std::string& context = in[sum.context];
    sums[{sum.event, group, context, places.Of(sum.frame).front()}].self.Add(
        sum);
    seen.clear();
    for (std::uint32_t frame = sum.frame;;
         frame = samples.frames[frame].parent) {
      if (frame == 0 && sum.frame != 0) break;  // the root of a stack
      for (const std::uint32_t place : places.Of(frame)) {
        if (!seen.insert(place).second) continue;
        sums[{sum.event, group, context, place}].total.Add(sum);
      }
      if (frame == 0) break;
    }
  }
  CodeTable table;
  for (const auto& [key, sum] : sums) {
    const auto& [event, group, context, number] = key;
    const CodePlace& place = places[number];
    table.rows.push_back({event, group, context, place.function, place.inlined,
                          CodeFileName(place.dso), SourceText(place),
                          place.address, AmountOf(sum.self, events[event]),
                          AmountOf(sum.total, events[event])});
  }
  // By name in the end: numbers of places differ from range to range.
  std::stable_sort(
      table.rows.begin(), table.rows.end(),
      [](const CodeRow& a, const CodeRow& b) {
        return std::tie(a.event, b.self.value, b.total.value, a.in, a.function,
                        a.dso, a.source, a.address, a.inlined, a.group) <
               std::tie(b.event, a.self.value, a.total.value, b.in, b.function,
                        b.dso, b.source, b.address, b.inlined, b.group);
      });
  table.messages = places.messages();
  return table;
}

}  // namespace countrace::rmap
