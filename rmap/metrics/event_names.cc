#include "rmap/metrics/event_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "logformat/perf_event_names.h"

namespace countrace::rmap::metrics {
namespace {

using logformat::PerfEventName;

std::vector<std::string> MakeGenericEvents() {
  std::vector<std::string> names;
  for (const PerfEventName& event : logformat::kPerfHardwareEvents) {
    names.emplace_back(event.name);
  }
  for (const PerfEventName& event : logformat::kPerfSoftwareEvents) {
    if (event.name != "dummy") names.emplace_back(event.name);
  }
  for (const PerfEventName& cache : logformat::kPerfCaches) {
    for (const auto& [access, miss] : logformat::kPerfCacheOperations) {
      names.push_back(absl::StrFormat("%s-%s", cache.name, access));
      names.push_back(absl::StrFormat("%s-%s", cache.name, miss));
    }
  }
  return names;
}

}  // namespace

const std::vector<std::string>& GenericEvents() {
  static const auto* const names =
      new std::vector<std::string>(MakeGenericEvents());
  return *names;
}

std::string CanonicalEvent(std::string_view name) {
  const std::size_t colon = name.find(':');
  std::string event(logformat::PerfEventOfAlias(name.substr(0, colon)));
  if (colon != name.npos) event += name.substr(colon);
  return event;
}

bool IsEventName(std::string_view name) {
  if (name.find_first_of(":/") != name.npos) return true;
  const auto& events = GenericEvents();
  if (std::find(events.begin(), events.end(), CanonicalEvent(name)) !=
      events.end()) {
    return true;
  }
  return name.size() > 1 && name[0] == 'r' &&
         std::all_of(name.begin() + 1, name.end(),
                     [](char c) { return absl::ascii_isxdigit(c); });
}

}  // namespace countrace::rmap::metrics
