#include "rmap/export/sample_tables.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "rmap/samples/names/code_places.h"

namespace countrace::rmap {

void WriteSample(const Samples& samples, const TimedSample& sample,
                 const StreamObserver& names, RowWriter& rows) {
  const SampleContext& context = samples.contexts[sample.context];
  if (!names.Has(context.thread)) return;
  rows.Write(std::array<Value, 8>{
      Integer(sample.time_ns),
      std::string_view(samples.events[sample.event].name),
      ThreadValue(context.thread), names.Tid(context.thread),
      names.HookName(context.segment), names.HookName(context.system_call),
      Integer(sample.period),
      sample.frame == 0 ? Value() : Integer(sample.frame)});
}

void WriteFrames(const Samples& samples, RowWriter& rows) {
  CodePlaces places(samples, SampleBy::kFunction);
  places.Expect({});
  for (std::uint32_t frame = 1; frame < samples.frames.size(); ++frame) {
    const StackFrame& at = samples.frames[frame];
    const std::vector<std::uint32_t>& chain = places.Of(frame);
    const CodePlace& place = places[chain.back()];
    std::string inlined;
    for (std::size_t i = chain.size() - 1; i-- > 0;) {
      if (!inlined.empty()) inlined += " > ";
      inlined += places[chain[i]].function;
    }
    const std::string address = absl::StrFormat("0x%x", at.address);
    rows.Write(std::array<Value, 7>{
        Integer(frame), at.parent == 0 ? Value() : Integer(at.parent),
        std::string_view(place.function), TextOrAbsent(inlined),
        std::string_view(place.dso),
        TextOrAbsent(samples.files[at.file].build_id),
        std::string_view(address)});
  }
}

}  // namespace countrace::rmap
