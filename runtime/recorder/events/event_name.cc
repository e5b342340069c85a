// More than 400 lines: the grammar of event names, a function for each
// spelling.
#include "runtime/recorder/events/event_name.h"

#include <linux/hw_breakpoint.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/text/quantity_parse.h"
#include "logformat/perf_event_names.h"
#include "runtime/recorder/events/libpfm_event.h"
#include "runtime/recorder/events/pmu_event.h"
#include "runtime/recorder/events/vocabulary_event.h"
#include "runtime/recorder/system/tracefs.h"

namespace countrace::runtime {
namespace {

using logformat::PerfEventName;

constexpr std::string_view kBreakpoint = "mem:";

absl::Status UnknownEvent(std::string_view name, std::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrFormat("Unknown event \"%s\": %s. `countrace list events` shows "
                      "the events of this machine",
                      name, why));
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [lower](char x, char y) { return lower(x) == lower(y); });
}

// Its config: the index in `table`.
std::optional<std::uint64_t> FindFixed(std::span<const PerfEventName> table,
                                       std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (logformat::PerfEventOfAlias(name) == table[i].name) return i;
  }
  return std::nullopt;
}

// perf versions differ in the case of cache names (L1-dcache, l1-d).
std::optional<std::uint64_t> FindCache(std::string_view name) {
  for (std::size_t i = 0; i < std::size(logformat::kPerfCaches); ++i) {
    const PerfEventName& cache = logformat::kPerfCaches[i];
    for (const std::string_view prefix : {cache.name, cache.alias}) {
      if (prefix.empty()) continue;
      if (name.size() <= prefix.size() + 1 || name[prefix.size()] != '-' ||
          !EqualsIgnoringCase(name.substr(0, prefix.size()), prefix)) {
        continue;
      }
      const std::string_view rest = name.substr(prefix.size() + 1);
      std::uint64_t config = i;
      for (const auto& [access, miss] : logformat::kPerfCacheOperations) {
        if (rest == access) {
          return config | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 16;
        }
        if (rest == miss) {
          return config | PERF_COUNT_HW_CACHE_RESULT_MISS << 16;
        }
        config += 1 << 8;
      }
    }
  }
  return std::nullopt;
}

// rNNN: raw event number in hexadecimal.
std::optional<std::uint64_t> FindRaw(std::string_view name) {
  if (name.size() < 2 || name.size() > 17 || name[0] != 'r') {
    return std::nullopt;
  }
  return base::ParseInteger(name.substr(1), 16);
}

bool IsModifier(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("uk") == std::string_view::npos;
}

void ApplyModifier(std::string_view modifier, EventSpec& event) {
  const bool user = modifier.find('u') != std::string_view::npos;
  const bool kernel = modifier.find('k') != std::string_view::npos;
  if (!user && !kernel) return;
  event.exclude_user = !user;
  event.exclude_kernel = !kernel;
}

absl::StatusOr<EventSpec> ParseTracepoint(std::string_view system,
                                          std::string_view tracepoint,
                                          EventSpec event) {
  // The names become a path: reject names that could leave the events
  // directory.
  for (const std::string_view part : {system, tracepoint}) {
    if (part.empty() || part[0] == '.' ||
        part.find('/') != std::string_view::npos) {
      return UnknownEvent(event.name, "not a tracepoint name system:event");
    }
  }
  const absl::StatusOr<Tracefs> tracefs = Tracefs::Open();
  if (!tracefs.ok()) {
    return absl::Status(
        tracefs.status().code(),
        absl::StrFormat("Cannot look up tracepoint %s: %s", event.name,
                        base::StatusText(tracefs.status())));
  }
  const absl::StatusOr<std::uint64_t> id =
      tracefs->TracepointId(std::string(system), std::string(tracepoint));
  if (!id.ok()) {
    return UnknownEvent(event.name, "this kernel has no such tracepoint");
  }
  event.kind = EventKind::kTracepoint;
  event.type = PERF_TYPE_TRACEPOINT;
  event.config = *id;
  return event;
}

// mem:ADDRESS[/BYTES][:ACCESS][:MODIFIER], perf's spelling of a hardware
// breakpoint: at each access to these bytes. ACCESS: r, w, x (default rw).
absl::StatusOr<EventSpec> ParseBreakpoint(EventSpec event) {
  std::string_view rest = event.name;
  rest.remove_prefix(kBreakpoint.size());
  const auto wrong = [&event](std::string_view why) {
    return UnknownEvent(
        event.name,
        absl::StrFormat("%s; a breakpoint is mem:ADDRESS, with /BYTES and "
                        ":ACCESS of r, w, x: mem:0x404010/8:w",
                        why));
  };
  // "0x404010", then perhaps "8".
  const std::string_view place = rest.substr(0, rest.find(':'));
  rest.remove_prefix(place.size());
  const std::size_t slash = place.find('/');
  const auto number = [](std::string_view text) {
    const bool hex = text.starts_with("0x");
    return base::ParseInteger(std::string(hex ? text.substr(2) : text),
                              hex ? 16 : 10);
  };
  const auto address = number(place.substr(0, slash));
  if (!address || *address == 0) return wrong("the address is no number");
  std::uint64_t access = 0;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(':'));
    rest.remove_prefix(word.size());
    if (IsModifier(word)) {
      ApplyModifier(word, event);
      continue;
    }
    for (const char letter : word) {
      switch (letter) {
        case 'r':
          access |= HW_BREAKPOINT_R;
          break;
        case 'w':
          access |= HW_BREAKPOINT_W;
          break;
        case 'x':
          access |= HW_BREAKPOINT_X;
          break;
        default:
          return wrong(
              absl::StrFormat("access \"%s\" is not of r, w, x", word));
      }
    }
  }
  if (access == 0) access = HW_BREAKPOINT_RW;
  std::uint64_t bytes = (access & HW_BREAKPOINT_X) != 0 ? sizeof(long) : 4;
  if (slash != std::string_view::npos) {
    const auto given = number(place.substr(slash + 1));
    if (!given || *given == 0 || *given > 8 || (*given & (*given - 1)) != 0) {
      return wrong("the bytes are not 1, 2, 4 or 8");
    }
    bytes = *given;
  }
  event.kind = EventKind::kHardware;
  event.type = PERF_TYPE_BREAKPOINT;
  event.config = access;  // ToPerfAttr() puts it where the kernel has it
  event.config1 = *address;
  event.config2 = bytes;
  return event;
}

// Looks up the vendors' names, for events without a perf name: in libpfm4, then
// in vocabularies. Returns `otherwise` if neither has `base`.
absl::StatusOr<EventSpec> ParseVendorName(std::string_view base,
                                          EventSpec event,
                                          absl::Status otherwise) {
  const absl::StatusOr<LibpfmEvent> found = FindLibpfmEvent(base);
  if (!found.ok() || !found->pmu_is_here) {
    const auto raw = FindRawEvent(base);
    if (raw.ok()) {
      event.kind = EventKind::kPmu;
      event.type = PERF_TYPE_RAW;
      event.config = *raw;
      return event;
    }
    const bool in_libpfm =
        found.ok() || absl::IsInvalidArgument(found.status());
    if (!in_libpfm && !absl::IsNotFound(raw.status())) {
      return absl::InvalidArgumentError(base::StatusText(raw.status()));
    }
  }
  if (absl::IsNotFound(found.status()) ||
      absl::IsUnimplemented(found.status())) {
    return otherwise;
  }
  if (!found.ok())
    return UnknownEvent(event.name, base::StatusText(found.status()));
  if (!found->pmu_is_here) {
    const std::string others =
        found->other_pmus == 0
            ? std::string()
            : absl::StrFormat(" (and of %d other PMUs)", found->other_pmus);
    return absl::InvalidArgumentError(absl::StrFormat(
        "Event \"%s\" is %s%s in libpfm4, but this machine has no such PMU; "
        "virtual machines often have no hardware counters. `countrace list "
        "events` shows the events of this machine",
        event.name, found->full_name, others));
  }
  event.kind = EventKind::kPmu;
  event.type = found->type;
  event.config = found->config;
  event.config1 = found->config1;
  event.config2 = found->config2;
  event.exclude_user |= found->exclude_user;
  event.exclude_kernel |= found->exclude_kernel;
  return event;
}

absl::Status CheckCharacters(std::string_view name) {
  if (name.empty()) return UnknownEvent(name, "the name is empty");
  if (name.size() >= sizeof(logformat::SessionEvent::name)) {
    return UnknownEvent(
        name, absl::StrFormat("name-bytes=%d, at most %d", name.size(),
                              sizeof(logformat::SessionEvent::name) - 1));
  }
  // Printable ASCII only: the name is stored in the trace's metadata.
  for (const char c : name) {
    if (c <= ' ' || c > '~' || c == '"' || c == '\\') {
      return UnknownEvent("?", "the name has a character outside ASCII");
    }
  }
  return absl::OkStatus();
}

// PMU/TERMS/MODIFIER.
absl::StatusOr<EventSpec> ParsePmu(EventSpec event) {
  const std::string_view name = event.name;
  const std::size_t slash = name.find('/');
  const std::size_t last = name.rfind('/');
  if (last == slash) return UnknownEvent(name, "the closing / is missing");
  std::string_view modifier = name.substr(last + 1);
  if (!modifier.empty() && modifier[0] == ':') modifier.remove_prefix(1);
  if (!modifier.empty() && !IsModifier(modifier)) {
    return UnknownEvent(
        name, absl::StrFormat("modifier \"%s\" is not one of u, k", modifier));
  }
  const absl::StatusOr<PmuConfig> pmu = ParsePmuEvent(
      name.substr(0, slash), name.substr(slash + 1, last - slash - 1));
  if (!pmu.ok()) return UnknownEvent(name, base::StatusText(pmu.status()));
  event.kind = EventKind::kPmu;
  event.type = pmu->type;
  event.config = pmu->config[0];
  event.config1 = pmu->config[1];
  event.config2 = pmu->config[2];
  event.cpus = pmu->cpus;
  ApplyModifier(modifier, event);
  return event;
}

// SYSTEM:EVENT, or a vendor's name with a colon. `base`: without the modifier.
absl::StatusOr<EventSpec> ParseColonName(std::string_view base,
                                         std::size_t colon, EventSpec event) {
  const std::string_view head = base.substr(0, colon);
  const std::string_view tail = base.substr(colon + 1);
  const bool known_base =
      FindFixed(logformat::kPerfCountedSoftwareEvents, head).has_value() ||
      FindFixed(logformat::kPerfHardwareEvents, head).has_value() ||
      FindCache(head).has_value();
  if (known_base) {
    return UnknownEvent(
        event.name,
        absl::StrFormat("modifier \"%s\" is not one of u, k", tail));
  }
  auto tracepoint = ParseTracepoint(head, tail, event);
  if (tracepoint.ok()) return tracepoint;
  return ParseVendorName(base, std::move(event), tracepoint.status());
}

void SetEvent(EventKind kind, std::uint32_t type, std::uint64_t config,
              EventSpec& event) {
  event.kind = kind;
  event.type = type;
  event.config = config;
}

// Returns false if perf has no event of this name.
bool SetPerfEvent(std::string_view base, EventSpec& event) {
  if (const auto software =
          FindFixed(logformat::kPerfCountedSoftwareEvents, base)) {
    SetEvent(EventKind::kSoftware, PERF_TYPE_SOFTWARE, *software, event);
  } else if (base == logformat::kExecRuntimeEvent) {
    SetEvent(EventKind::kSoftware, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY,
             event);
  } else if (const auto hardware =
                 FindFixed(logformat::kPerfHardwareEvents, base)) {
    SetEvent(EventKind::kHardware, PERF_TYPE_HARDWARE, *hardware, event);
  } else if (const auto cache = FindCache(base)) {
    SetEvent(EventKind::kCache, PERF_TYPE_HW_CACHE, *cache, event);
  } else if (const auto raw = FindRaw(base)) {
    SetEvent(EventKind::kRaw, PERF_TYPE_RAW, *raw, event);
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char* EventKindName(EventKind kind) {
  switch (kind) {
    case EventKind::kSoftware:
      return "software";
    case EventKind::kHardware:
      return "hardware";
    case EventKind::kCache:
      return "cache";
    case EventKind::kRaw:
      return "raw";
    case EventKind::kTracepoint:
      return "tracepoint";
    case EventKind::kPmu:
      return "pmu";
  }
  return "unknown";
}

absl::StatusOr<EventSpec> ParseEvent(std::string_view name) {
  const absl::Status legal = CheckCharacters(name);
  if (!legal.ok()) return legal;
  EventSpec event;
  event.name = std::string(name);
  // Possible outcomes: breakpoint, PMU event, tracepoint, name with or without
  // modifier.
  if (name.starts_with(kBreakpoint)) return ParseBreakpoint(std::move(event));
  if (name.find('/') != std::string_view::npos) {
    return ParsePmu(std::move(event));
  }
  std::string_view base = name;
  std::string_view modifier;
  if (const std::size_t colon = name.rfind(':');
      colon != std::string_view::npos) {
    const std::string_view tail = name.substr(colon + 1);
    const std::string_view head = name.substr(0, colon);
    // "sys:event:u" has a modifier. "sys:u" could be a tracepoint named u, but
    // no kernel has one.
    if (IsModifier(tail)) {
      base = head;
      modifier = tail;
    }
  }
  ApplyModifier(modifier, event);
  if (const std::size_t colon = base.find(':');
      colon != std::string_view::npos) {
    return ParseColonName(base, colon, std::move(event));
  }
  if (base == logformat::kExecRuntimeEvent && !modifier.empty()) {
    return UnknownEvent(name, "the scheduler does not split it by mode");
  }
  if (SetPerfEvent(base, event)) return event;
  auto unknown = UnknownEvent(name, "no such event");
  return ParseVendorName(base, std::move(event), std::move(unknown));
}

absl::StatusOr<std::vector<EventSpec>> ParseEvents(
    const std::vector<std::string>& names) {
  if (names.size() > logformat::kMaxCounters) {
    return absl::InvalidArgumentError(
        absl::StrFormat("Too many events: events=%d, at most %d in one set",
                        names.size(), logformat::kMaxCounters));
  }
  std::vector<EventSpec> events;
  for (const std::string& name : names) {
    absl::StatusOr<EventSpec> event = ParseEvent(name);
    if (!event.ok()) return event.status();
    for (const EventSpec& other : events) {
      if (other.type == event->type && other.config == event->config &&
          other.config1 == event->config1 && other.config2 == event->config2 &&
          other.exclude_user == event->exclude_user &&
          other.exclude_kernel == event->exclude_kernel) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "Event given twice: \"%s\" and \"%s\" count the same", other.name,
            event->name));
      }
    }
    events.push_back(*std::move(event));
  }
  return events;
}

logformat::SessionEvent ToSessionEvent(const EventSpec& event) {
  logformat::SessionEvent session{};
  std::strncpy(session.name, event.name.c_str(), sizeof(session.name) - 1);
  session.type = event.type;
  session.flags = (event.exclude_user ? logformat::kEventExcludeUser : 0u) |
                  (event.exclude_kernel ? logformat::kEventExcludeKernel : 0u);
  session.config = event.config;
  session.config1 = event.config1;
  session.config2 = event.config2;
  return session;
}

perf_event_attr ToPerfAttr(const EventSpec& event) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.config1 = event.config1;
  attr.config2 = event.config2;
  if (event.type == PERF_TYPE_BREAKPOINT) {
    attr.config = 0;
    attr.bp_type = static_cast<std::uint32_t>(event.config);
  }
  attr.exclude_user = event.exclude_user;
  attr.exclude_kernel = event.exclude_kernel;
  attr.exclude_hv = event.exclude_user || event.exclude_kernel;
  return attr;
}

std::vector<NamedEvent> FixedEventNames() {
  std::vector<NamedEvent> names;
  for (const PerfEventName& event : logformat::kPerfCountedSoftwareEvents) {
    names.push_back({std::string(event.name), EventKind::kSoftware});
  }
  names.push_back(
      {std::string(logformat::kExecRuntimeEvent), EventKind::kSoftware});
  for (const PerfEventName& event : logformat::kPerfHardwareEvents) {
    names.push_back({std::string(event.name), EventKind::kHardware});
  }
  for (const PerfEventName& cache : logformat::kPerfCaches) {
    for (const auto& [access, miss] : logformat::kPerfCacheOperations) {
      for (const std::string_view what : {access, miss}) {
        names.push_back(
            {absl::StrFormat("%s-%s", cache.name, what), EventKind::kCache});
      }
    }
  }
  return names;
}

}  // namespace countrace::runtime
