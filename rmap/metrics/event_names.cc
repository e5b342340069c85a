#include "rmap/metrics/event_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"

namespace countrace::rmap::metrics {
namespace {

// perf_event_open(2) and perf-list(1).
constexpr std::string_view kPlain[] = {
    "cycles",
    "instructions",
    "cache-references",
    "cache-misses",
    "branches",
    "branch-misses",
    "bus-cycles",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
    "ref-cycles",
    "cpu-clock",
    "task-clock",
    "page-faults",
    "context-switches",
    "cpu-migrations",
    "minor-faults",
    "major-faults",
    "alignment-faults",
    "emulation-faults",
    "bpf-output",
    "cgroup-switches",
};
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"cpu-cycles", "cycles"},
    {"branch-instructions", "branches"},
    {"idle-cycles-frontend", "stalled-cycles-frontend"},
    {"idle-cycles-backend", "stalled-cycles-backend"},
    {"faults", "page-faults"},
    {"cs", "context-switches"},
    {"migrations", "cpu-migrations"},
};
constexpr std::string_view kCaches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
                                        "iTLB",      "branch",    "node"};
constexpr std::string_view kAccesses[] = {"-loads",      "-load-misses",
                                          "-stores",     "-store-misses",
                                          "-prefetches", "-prefetch-misses"};

std::vector<std::string> MakeGenericEvents() {
  std::vector<std::string> names(std::begin(kPlain), std::end(kPlain));
  for (const std::string_view cache : kCaches) {
    for (const std::string_view access : kAccesses) {
      names.push_back(std::string(cache) + std::string(access));
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
  std::string base(name.substr(0, colon));
  for (const auto& [alias, event] : kAliases) {
    if (base == alias) base = std::string(event);
  }
  return colon == name.npos ? base : base + std::string(name.substr(colon));
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
