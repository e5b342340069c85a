#include "rmap/samples/rows/function_rows.h"

namespace countrace::rmap {
namespace {

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

}  // namespace

std::vector<std::string> ContextTexts(const Samples& samples,
                                      const logformat::TraceInfo& info) {
  std::vector<std::string> texts;
  for (const SampleContext& context : samples.contexts) {
    texts.push_back(ContextText(context, info));
  }
  return texts;
}

SampleTable MakeCodeTable(const Samples& samples,
                          const logformat::TraceInfo& info, SampleBy by,
                          const SampleChoice& choice) {
  CodePlaces places(samples, by);
  places.Expect(choice.chosen);
  SampleChoice frames = choice;
  frames.innermost = IsOfInstructions(by);
  return MakePlaceTable(samples, ContextTexts(samples, info), places, frames);
}

}  // namespace countrace::rmap
