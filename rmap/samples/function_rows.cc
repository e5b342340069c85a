#include "rmap/samples/function_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace countrace::rmap {
std::string ContextText(const SampleContext& context,
                        const logformat::TraceInfo& info) {
  std::string text;
  for (const std::uint32_t hook_id : {context.segment, context.system_call}) {
    if (hook_id == 0) continue;
    const logformat::HookInfo* const hook = info.FindHook(hook_id);
    if (!text.empty()) text += " > ";
    text += hook == nullptr ? "?" : hook->FullName();
  }
  return text;
}

std::vector<SampleBooks> SampleBooksOf(const Samples& samples) {
  std::vector<SampleBooks> all(samples.events.size());
  std::vector<double> squares(all.size());
  for (std::uint32_t event = 0; event < all.size(); ++event) {
    all[event].event = event;
    all[event].stacks_lost = samples.stacks_lost;
  }
  for (const SampleSum& sum : samples.sums) {
    all[sum.event].hits += sum.hits;
    all[sum.event].processes += sum.periods;
    squares[sum.event] += sum.squared_periods;
  }
  std::vector<std::uint64_t> counts(all.size());
  for (const SampleCount& count : samples.counts) {
    SampleBooks& books = all[count.event];
    books.counted += count.counted;
    books.idle += count.idle;
    books.outside += count.outside;
    books.lost += count.lost;
    books.throttled += count.throttled;
    ++counts[count.event];
  }
  for (const ShortWaits& waits : samples.shorts) {
    SampleBooks& books = all[waits.event];
    books.shorter += waits.shorter;
    books.shorter_ns += waits.shorter_ns;
    books.lost_ns += waits.lost_ns;
    books.unseen += waits.unseen;
  }
  for (SampleBooks& books : all) {
    const std::uint64_t times = samples.events[books.event].periods;
    if (books.hits > 0) {
      // Each of two periods is left on each CPU: their mean by weight.
      const std::uint64_t period =
          times == 1 ? books.processes / books.hits
                     : static_cast<std::uint64_t>(
                           squares[books.event] /
                           static_cast<double>(books.processes));
      books.per_cpu = counts[books.event] * period;
    }
    for (std::uint64_t* const sum :
         {&books.counted, &books.processes, &books.idle, &books.outside,
          &books.per_cpu}) {
      *sum /= times;
    }
    books.residual = static_cast<std::int64_t>(
        books.counted - books.processes - books.idle - books.outside -
        books.shorter_ns - books.lost_ns);
  }
  return all;
}

CodeTable MakeCodeTable(const Samples& samples,
                        const logformat::TraceInfo& info, CodeBy by,
                        const SampleChoice& choice) {
  CodePlaces places(samples, by);
  std::vector<std::string> contexts;
  for (const SampleContext& context : samples.contexts) {
    contexts.push_back(ContextText(context, info));
  }
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
    const std::string& in = contexts[sum.context];
    sums[{sum.event, group, in, places.Of(sum.frame).front()}].self.Add(sum);
    seen.clear();
    for (std::uint32_t frame = sum.frame;;
         frame = samples.frames[frame].parent) {
      if (frame == 0 && sum.frame != 0) break;  // the root of a stack
      for (const std::uint32_t place : places.Of(frame)) {
        if (!seen.insert(place).second) continue;
        sums[{sum.event, group, in, place}].total.Add(sum);
      }
      if (frame == 0) break;
    }
  }
  CodeTable table;
  for (const auto& [key, sum] : sums) {
    const auto& [event, group, in, number] = key;
    const CodePlace& place = places[number];
    table.rows.push_back({event, group, in, place.function, place.inlined,
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
