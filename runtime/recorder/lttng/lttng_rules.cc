#include "runtime/recorder/lttng/lttng_rules.h"

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/posix/scoped_fd.h"
#include "runtime/recorder/events/event_list.h"
#include "runtime/recorder/events/event_name.h"

namespace countrace::runtime {
namespace {

std::uint64_t SumOf(const std::string& xml, const std::string& element) {
  const std::string open = "<" + element + ">";
  std::uint64_t sum = 0;
  for (std::size_t at = xml.find(open); at != std::string::npos;
       at = xml.find(open, at + 1)) {
    sum += std::strtoull(xml.c_str() + at + open.size(), nullptr, 10);
  }
  // LTTng 2.13 adds 2^63 each time its tracer's count goes back: the count is
  // sampled after the reservation, and LTTng treats that as a wrap. The lower
  // bits are right.
  return sum & ((std::uint64_t{1} << 63) - 1);
}

}  // namespace

absl::StatusOr<std::string> LttngFilter(const std::string& globs) {
  std::string filter;
  for (std::size_t begin = 0; begin < globs.size();) {
    const std::size_t end = std::min(globs.find(',', begin), globs.size());
    const std::string glob = globs.substr(begin, end - begin);
    begin = end + 1;
    if (glob.empty()) continue;
    if (glob.find_first_of("?[\\\"") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--hooks %s: LTTng's filters support `*` only, not "
                          "`?`, `[...]` or `\\`",
                          glob));
    }
    filter +=
        absl::StrFormat("%sname == \"%s\"", filter.empty() ? "" : " || ", glob);
  }
  return filter;
}

absl::StatusOr<std::string> LttngContext(const std::string& event) {
  const auto spec = ParseEvent(event);
  if (!spec.ok()) return spec.status();
  std::string context;
  if (spec->kind == EventKind::kRaw && event.find(':') == std::string::npos) {
    context = absl::StrFormat("perf:thread:raw:%s:%s", event, event);
  } else if (spec->kind == EventKind::kSoftware ||
             spec->kind == EventKind::kHardware ||
             spec->kind == EventKind::kCache) {
    // The one name that LTTng spells differently.
    context = "perf:thread:" +
              (event == "page-faults" ? std::string("page-fault") : event);
  } else {
    return absl::InvalidArgumentError(absl::StrFormat(
        "-e %s: LTTng counts software, hardware and cache events, and raw ones "
        "(rNNN), no %s events; leave out --backend lttng for those",
        event, EventKindName(spec->kind)));
  }
  perf_event_attr attr = ToPerfAttr(*spec);
  attr.disabled = 1;
  const base::ScopedFd fd(OpenPerfEvent(attr, 0, -1, -1));
  if (!fd.is_open()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "-e %s: %s. LTTng would record nothing at all with it: leave it out",
        event, ExplainOpenError(errno)));
  }
  return context;
}

std::uint64_t NextPowerOfTwo(std::uint64_t value, std::uint64_t least) {
  std::uint64_t power = least;
  while (power < value && power < std::uint64_t{1} << 62) power *= 2;
  return power;
}

LttngLosses ParseLttngLosses(const std::string& xml) {
  return {SumOf(xml, "discarded_events"), SumOf(xml, "lost_packets")};
}

const std::vector<std::string>& LttngKernelEvents() {
  static const std::vector<std::string> events = {
      "sched_switch",       "sched_wakeup",       "sched_wakeup_new",
      "sched_process_fork", "sched_process_exec", "sched_process_exit",
      "sched_process_free", "sched_migrate_task"};
  return events;
}

}  // namespace countrace::runtime
