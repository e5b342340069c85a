#include "rmap/samples/rows/place_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "rmap/samples/sums/sampled_amount.h"

namespace countrace::rmap {

SampleTable MakePlaceTable(const Samples& samples,
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
    events[sum.event].Add(sum, samples);
    const std::uint32_t group = choice.GroupOf(sum.context);
    const std::string context =
        choice.without_in ? std::string() : in[sum.context];
    sums[{sum.event, group, context, places.Of(sum.frame).front()}].self.Add(
        sum, samples);
    if (choice.innermost) continue;
    seen.clear();
    for (std::uint32_t frame = sum.frame;;
         frame = samples.frames[frame].parent) {
      if (frame == 0 && sum.frame != 0) break;  // the root of a stack
      for (const std::uint32_t place : places.Of(frame)) {
        if (!seen.insert(place).second) continue;
        sums[{sum.event, group, context, place}].total.Add(sum, samples);
      }
      if (frame == 0) break;
    }
  }
  SampleTable table;
  for (const auto& [key, sum] : sums) {
    const auto& [event, group, context, number] = key;
    const CodePlace& place = places[number];
    table.rows.push_back(
        {.event = event,
         .group = group,
         .inlined = place.inlined,
         .in = context,
         .function = place.function,
         .dso = CodeFileName(place.dso),
         .source = SourceText(place),
         .instruction = place.instruction,
         .instruction_class = place.instruction_class,
         .address = place.address,
         .self = AmountOf(sum.self, events[event]),
         .total =
             AmountOf(choice.innermost ? sum.self : sum.total, events[event])});
  }
  // By name in the end: numbers of places differ from range to range.
  std::stable_sort(
      table.rows.begin(), table.rows.end(),
      [](const SampleRow& a, const SampleRow& b) {
        return std::tie(a.event, b.self.value, b.total.value, a.in, a.function,
                        a.dso, a.source, a.address, a.instruction,
                        a.instruction_class, a.inlined, a.group) <
               std::tie(b.event, a.self.value, a.total.value, b.in, b.function,
                        b.dso, b.source, b.address, b.instruction,
                        b.instruction_class, b.inlined, b.group);
      });
  table.messages = places.messages();
  return table;
}

}  // namespace countrace::rmap
