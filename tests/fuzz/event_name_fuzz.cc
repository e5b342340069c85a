// Any bytes as an event of `record -e`: a specification or a message.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/recorder/events/event_name.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto event = countrace::runtime::ParseEvent(text);
  if (!event.ok() && event.status().message().empty()) std::abort();
  if (event.ok() && event->name != text) std::abort();
  return 0;
}
