#include "rmap/samples/rows/sample_naming.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "rmap/samples/names/code_places.h"
#include "rmap/samples/rows/function_rows.h"

namespace countrace::rmap {

NamedSamples NameSamples(const Samples& samples,
                         const logformat::TraceInfo& info) {
  NamedSamples out;
  out.begin_ns = info.begin_ns;
  out.in = ContextTexts(samples, info);
  out.samples.events = samples.events;
  out.samples.files = samples.files;
  out.samples.frames = samples.frames;
  out.samples.contexts = samples.contexts;
  out.samples.counts = samples.counts;
  out.samples.shorts = samples.shorts;
  out.samples.processes = samples.processes;
  out.samples.interrupts_ns = samples.interrupts_ns;
  out.samples.cpu_ns = samples.cpu_ns;
  out.samples.of_part = samples.of_part;
  out.samples.lost_records = samples.lost_records;
  out.samples.ends_lost = samples.ends_lost;

  CodePlaces places(samples, SampleBy::kFunction);
  places.Expect({});
  std::map<std::vector<std::uint32_t>, std::uint32_t> chains;
  std::uint32_t most = 0;  // of the numbers of places
  for (std::uint32_t frame = 0; frame < samples.frames.size(); ++frame) {
    const auto [chain, added] = chains.try_emplace(
        places.Of(frame), static_cast<std::uint32_t>(out.chains.size()));
    if (added) out.chains.push_back(chain->first);
    out.chain_of_frame.push_back(chain->second);
    for (const std::uint32_t place : chain->first) {
      most = std::max(most, place);
    }
  }
  for (std::uint32_t place = 0; place <= most; ++place) {
    out.places.push_back(places[place]);
  }
  out.messages = places.messages();

  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>,
           std::uint32_t>
      keys;
  for (const TimedSample& one : samples.timed) {
    const auto [key, added] =
        keys.try_emplace({one.event, one.context, one.frame},
                         static_cast<std::uint32_t>(out.keys.size()));
    if (added) out.keys.push_back({one.event, one.context, one.frame});
    out.stored.push_back(
        {one.time_ns, one.period, key->second, one.second, one.stack_lost});
  }
  return out;
}

}  // namespace countrace::rmap
