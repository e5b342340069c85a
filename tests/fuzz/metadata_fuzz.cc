// Arbitrary metadata text and text of the files of a session: `.hooks`,
// `.owners`, `.not_recorded`, `.triggers`. An accepted text
// can be written again and then reads back as the same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "logformat/description/metadata_reader.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/session_files.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace countrace::logformat;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto parsed = ParseMetadata(text, "fuzz"); parsed.ok()) {
    const std::string written = MetadataText(*parsed);
    const auto again = ParseMetadata(written, "fuzz");
    if (!again.ok() || MetadataText(*again) != written) std::abort();
  }
  TraceDescription description;
  ParseHooks(text, description);
  for (const HookInfo& hook : description.info.hooks) {
    const auto again = ParseHookText(hook.id, HookText(hook));
    if (!again || HookText(*again) != HookText(hook)) std::abort();
    std::vector<HookInfo> named = {*again};
    const auto names = NumberNamesTexts({hook});
    for (const std::string& name : names) {
      if (!ParseNumberNamesText(name, named)) std::abort();
    }
    if (NumberNamesTexts(named) != names) std::abort();
  }
  ParseOwners(text, description);
  ParseTriggers(text, description);
  ParseNotRecorded(text, description);
  for (const NotRecorded& what : description.info.not_recorded) {
    const auto again = ParseNotRecordedText(NotRecordedText(what));
    if (!again || NotRecordedText(*again) != NotRecordedText(what)) {
      std::abort();
    }
  }
  return 0;
}
