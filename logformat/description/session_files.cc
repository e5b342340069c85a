#include "logformat/description/session_files.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "logformat/description/recorded_part.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {
namespace {

// Text of a fixed-size field; safe if the NUL is missing.
template <std::size_t N>
std::string Text(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

absl::Status Damaged(const std::string& path, std::string_view what,
                     std::uint64_t found, std::uint64_t expected) {
  return absl::DataLossError(absl::StrFormat(
      "Cannot read %s/%s: %s=%d, expected %d; without it the streams cannot be "
      "described",
      path, kSessionFile, what, found, expected));
}

// The fields of perf_event_attr that select the event. On POWER the kernel
// computes an event's part of MMCR0 to MMCR3 and MMCRA from config.
std::string ConfigText(const SessionEvent& event) {
  return absl::StrFormat(
      "type=%d config=0x%x config1=0x%x config2=0x%x%s%s", event.type,
      event.config, event.config1, event.config2,
      (event.flags & kEventExcludeUser) != 0 ? " exclude_user" : "",
      (event.flags & kEventExcludeKernel) != 0 ? " exclude_kernel" : "");
}

absl::Status Check(const SessionControl& session, const std::string& path) {
  if (session.magic != kSessionMagic) {
    return Damaged(path, "magic", session.magic, kSessionMagic);
  }
  if (session.version != kSessionVersion) {
    return Damaged(path, "version", session.version, kSessionVersion);
  }
  if (session.bytes != sizeof(SessionControl)) {
    return Damaged(path, "bytes", session.bytes, sizeof(SessionControl));
  }
  if (session.scope > SessionScope::kSystem) {
    return Damaged(path, "scope", static_cast<std::uint64_t>(session.scope),
                   static_cast<std::uint64_t>(SessionScope::kSystem));
  }
  for (const auto& [count, most] :
       {std::pair{session.cpu_event_count, kMaxEvents},
        std::pair{session.thread_event_count, kSessionEvents}}) {
    if (count > most) return Damaged(path, "event-count", count, most);
  }
  for (const auto& [count, most] :
       {std::pair{session.cpu_set_count, kMaxEventSets},
        std::pair{session.thread_set_count, kSessionEventSets}}) {
    if (count > most) return Damaged(path, "event-set-count", count, most);
  }
  if (session.dump_rule_count > COUNTRACE_MAX_DUMP_RULES) {
    return Damaged(path, "dump-rule-count", session.dump_rule_count,
                   COUNTRACE_MAX_DUMP_RULES);
  }
  if (session.mark_count > kMaxMarks) {
    return Damaged(path, "mark-count", session.mark_count, kMaxMarks);
  }
  return absl::OkStatus();
}

// The events of CPUs, and the sizes of their sets.
struct CpuEvents {
  std::vector<SessionEvent> events;
  std::vector<std::uint32_t> set_sizes;
};

absl::StatusOr<CpuEvents> ReadCpuEvents(const SessionControl& session,
                                        const std::string& path) {
  CpuEvents found;
  if (!AreMany(session.cpu_event_count, session.cpu_set_count)) {
    found.events.assign(session.cpu_events,
                        session.cpu_events + session.cpu_event_count);
    found.set_sizes.assign(session.cpu_set_sizes,
                           session.cpu_set_sizes + session.cpu_set_count);
    return found;
  }
  const absl::StatusOr<base::FileMapping> file =
      base::FileMapping::Open(path + "/" + kCpuEventsFile);
  if (!file.ok()) return file.status();
  found.events.resize(session.cpu_event_count);
  found.set_sizes.resize(session.cpu_set_count);
  const std::size_t events_bytes = found.events.size() * sizeof(SessionEvent);
  const std::size_t sizes_bytes =
      found.set_sizes.size() * sizeof(found.set_sizes[0]);
  if (file->bytes().size() != events_bytes + sizes_bytes) {
    return absl::DataLossError(absl::StrFormat(
        "Cannot read %s/%s: bytes=%d, expected %d; without it the streams "
        "cannot be described",
        path, kCpuEventsFile, file->bytes().size(),
        events_bytes + sizes_bytes));
  }
  std::memcpy(found.events.data(), file->bytes().data(), events_bytes);
  std::memcpy(found.set_sizes.data(), file->bytes().data() + events_bytes,
              sizes_bytes);
  if (const absl::Status whole = file->CheckWhole(); !whole.ok()) return whole;
  return found;
}

// The first hook of an id stays: records were written with its line.
void DropRepeated(const char* file, TraceDescription& description) {
  std::vector<HookInfo>& hooks = description.info.hooks;
  std::stable_sort(
      hooks.begin(), hooks.end(),
      [](const HookInfo& a, const HookInfo& b) { return a.id < b.id; });
  const auto repeated = std::unique(
      hooks.begin(), hooks.end(), [&](const HookInfo& a, const HookInfo& b) {
        if (a.id != b.id) return false;
        if (HookText(a) != HookText(b)) {
          description.messages.push_back(absl::StrFormat(
              "%s has two hooks with id %d: %s and %s; the first is used", file,
              a.id, a.FullName(), b.FullName()));
        }
        return true;
      });
  hooks.erase(repeated, hooks.end());
}

}  // namespace

void ParseHooks(std::string_view text, TraceDescription& description,
                const char* file) {
  std::vector<HookInfo>& hooks = description.info.hooks;
  std::size_t line_number = 0, named = 0;
  while (!text.empty()) {
    ++line_number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      description.messages.push_back(absl::StrFormat(
          "%s line %d was cut after %d bytes: its writer died while it "
          "registered a hook, which has no records or lacks names of numbers",
          file, line_number, text.size()));
      break;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t tab = line.find('\t');
    std::uint32_t id = 0;
    std::optional<HookInfo> hook;
    constexpr std::string_view kProcess = "0\tprocess\t";
    if (line.starts_with(kProcess)) {
      auto process = ParseProcessText(line.substr(kProcess.size()));
      if (process) {
        description.info.processes.push_back(*std::move(process));
      } else {
        description.messages.push_back(absl::StrFormat(
            "%s line %d is damaged: it names no process", file, line_number));
      }
      continue;
    }
    if (named < kMaxNamedValues && ParseNumberNamesText(line, hooks)) {
      ++named;
      continue;
    }
    constexpr std::string_view kLevel = "0\tlevel\t";
    if (line.starts_with(kLevel)) {
      if (!TakeLevelText(line.substr(kLevel.size()), hooks)) {
        description.messages.push_back(absl::StrFormat(
            "%s line %d is damaged: it says of no hook that it is a level",
            file, line_number));
      }
      continue;
    }
    if (tab != std::string_view::npos) {
      const auto parsed = std::from_chars(line.data(), line.data() + tab, id);
      if (parsed.ec == std::errc() && parsed.ptr == line.data() + tab) {
        // Behind the line of its hook.
        constexpr std::string_view kCost = "cost\t";
        const std::string_view rest = line.substr(tab + 1);
        if (rest.starts_with(kCost) && !hooks.empty() &&
            hooks.back().id == id &&
            TakeCostText(rest.substr(kCost.size()), hooks.back())) {
          continue;
        }
        hook = ParseHookText(id, rest);
      }
    }
    if (!hook) {
      // A line behind that of a hook that is known adds to it.
      const bool adds = !hooks.empty() && hooks.back().id == id;
      description.messages.push_back(absl::StrFormat(
          "%s line %d is damaged: %s", file, line_number,
          adds ? absl::StrFormat("names of numbers of hook %d, or what its "
                                 "probe costs, are not known",
                                 id)
               : "records of its hook cannot be read"));
      continue;
    }
    hooks.push_back(*std::move(hook));
  }
  DropRepeated(file, description);
}

void ParseTriggers(std::string_view text, TraceDescription& description) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::optional<TriggerFiring> firing;
    if (end != std::string_view::npos) {
      firing = ParseTriggerText(text.substr(0, end));
    }
    if (firing) {
      AddFiring(*std::move(firing), description.info);
    } else {
      description.messages.push_back(
          absl::StrFormat("%s is damaged after %d triggers", kTriggersFile,
                          description.info.triggers.size()));
      return;
    }
    text.remove_prefix(end + 1);
  }
  SettlePart(description.info.triggers);
}

void ParseOwners(std::string_view text, TraceDescription& description) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    // A torn last line: the recorder died before it wrote a record of it.
    if (end == std::string_view::npos) return;
    if (!ParseOwnerText(text.substr(0, end), description.info)) {
      description.messages.push_back(absl::StrFormat(
          "%s is damaged after %d users and %d cgroups: others have no names",
          kOwnersFile, description.info.users.size(),
          description.info.cgroups.size()));
      return;
    }
    text.remove_prefix(end + 1);
  }
}

void ParseNotRecorded(std::string_view text, TraceDescription& description) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::optional<NotRecorded> what;
    if (end != std::string_view::npos) {
      what = ParseNotRecordedText(text.substr(0, end));
    }
    if (!what || description.info.not_recorded.size() == kMaxNotRecorded) {
      description.messages.push_back(
          absl::StrFormat("%s is damaged after %d lines", kNotRecordedFile,
                          description.info.not_recorded.size()));
      return;
    }
    description.info.not_recorded.push_back(*std::move(what));
    text.remove_prefix(end + 1);
  }
}

namespace {

void CopyFacts(const SessionControl& session, TraceInfo& info) {
  std::memcpy(info.uuid.data(), session.uuid, sizeof(session.uuid));
  std::memcpy(info.boot_id.data(), session.boot_id, sizeof(session.boot_id));
  info.scope = session.scope;
  info.root_pid = session.root_pid;
  info.recorder_pid = session.recorder_pid;
  info.own_bpf_ns = session.own_bpf_ns.load(std::memory_order_relaxed);
  info.own_bpf_sampled_ns =
      session.own_bpf_sampled_ns.load(std::memory_order_relaxed);
  info.own_hook_cpu_ps =
      session.own_hook_cpu_ps.load(std::memory_order_relaxed);
  info.own_hook_ps = session.own_hook_ps.load(std::memory_order_relaxed);
  info.own_hook_dump_ps =
      session.own_hook_dump_ps.load(std::memory_order_relaxed);
  info.cpus = session.cpus;
  info.begin_ns = session.begin_ns;
  info.snapshot_ns = session.snapshot_ns;
  info.realtime_offset_ns = session.realtime_offset_ns;
  info.hostname = Text(session.hostname);
  info.kernel_release = Text(session.kernel_release);
  info.command = Text(session.command);
}

std::vector<std::string> ConfigTexts(std::span<const SessionEvent> events) {
  std::vector<std::string> texts;
  for (const SessionEvent& event : events) texts.push_back(ConfigText(event));
  return texts;
}

void CopyEvents(const SessionControl& session, const CpuEvents& of_cpus,
                TraceInfo& info) {
  for (const SessionEvent& event : of_cpus.events) {
    info.cpu_events.push_back(Text(event.name));
  }
  for (std::uint32_t i = 0; i < session.thread_event_count; ++i) {
    info.thread_events.push_back(Text(session.thread_events[i].name));
  }
  info.cpu_set_sizes.assign(of_cpus.set_sizes.begin(), of_cpus.set_sizes.end());
  info.thread_set_sizes.assign(
      session.thread_set_sizes,
      session.thread_set_sizes + session.thread_set_count);
  if (info.cpu_sets().rotates()) {
    info.cpu_event_configs = ConfigTexts(of_cpus.events);
  }
  if (info.thread_sets().rotates()) {
    info.thread_event_configs =
        ConfigTexts({session.thread_events, session.thread_event_count});
  }
}

void CopyChoices(const SessionControl& session, TraceInfo& info) {
  for (std::uint32_t i = 0; i < session.dump_rule_count; ++i) {
    info.dump_rules.push_back(Text(session.dump_rules[i].text));
  }
  if ((session.count & kGatingGiven) != 0) {
    info.gating = GatingOfBits(session.count);
  }
  for (std::uint32_t i = 0; i < session.mark_count; ++i) {
    info.marks.push_back(Text(session.marks[i]));
  }
}

void CopyLosses(const SessionControl& session, TraceDescription& description) {
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    // Relaxed: a statistic; no other access depends on its order.
    description.discarded[i] =
        session.discarded_by_cause[i].load(std::memory_order_relaxed);
  }
  description.last_errno = session.last_errno.load(std::memory_order_relaxed);
  description.late_sub_buffers =
      session.late_sub_buffers.load(std::memory_order_relaxed);
}

void ParseHost(std::string_view text, TraceDescription& description) {
  const std::size_t tab = text.find('\t'), end = text.find('\n');
  if (tab == text.npos || end == text.npos || end < tab) return;  // torn
  description.info.machine_hash = text.substr(0, tab);
  description.info.container = text.substr(tab + 1, end - tab - 1);
}

// The files beside the session's, of which any may be absent.
absl::Status ReadTexts(const std::string& path, TraceDescription& description) {
  for (const char* name : {kHooksFile, kKernelHooksFile}) {
    absl::StatusOr<base::FileMapping> hooks =
        base::FileMapping::Open(path + "/" + name);
    if (hooks.ok()) {
      ParseHooks(hooks->text(), description, name);
      const absl::Status whole = hooks->CheckWhole();
      if (!whole.ok()) return whole;
    } else if (!absl::IsNotFound(hooks.status())) {
      return hooks.status();
    }
  }
  const auto read = [&path, &description](const char* name, auto parse) {
    const absl::StatusOr<base::FileMapping> text =
        base::FileMapping::Open(path + "/" + name);
    if (absl::IsNotFound(text.status())) return absl::OkStatus();
    if (!text.ok()) return text.status();
    parse(text->text(), description);
    return text->CheckWhole();
  };
  absl::Status whole = read(kTriggersFile, ParseTriggers);
  if (whole.ok()) whole = read(kOwnersFile, ParseOwners);
  if (whole.ok()) whole = read(kHostFile, ParseHost);
  if (whole.ok()) whole = read(kNotRecordedFile, ParseNotRecorded);
  return whole;
}

}  // namespace

absl::StatusOr<TraceDescription> ReadSessionFiles(const std::string& path) {
  // It gets its name when the recording begins, so there is always one of both.
  absl::StatusOr<base::FileMapping> file =
      base::FileMapping::Open(path + "/" + kComingSessionFile);
  if (absl::IsNotFound(file.status())) {
    file = base::FileMapping::Open(path + "/" + kSessionFile);
  }
  if (!file.ok()) return file.status();
  if (file->bytes().size() < sizeof(SessionControl)) {
    return Damaged(path, "file-bytes", file->bytes().size(),
                   sizeof(SessionControl));
  }
  const auto& session =
      *reinterpret_cast<const SessionControl*>(file->bytes().data());
  if (absl::Status status = Check(session, path); !status.ok()) return status;

  TraceDescription description;
  TraceInfo& info = description.info;
  info.path = path;
  info.finished = false;
  CopyFacts(session, info);
  if (access((path + "/" + kClockStream).c_str(), F_OK) == 0)
    info.clock_packets = 0;
  const absl::StatusOr<CpuEvents> of_cpus = ReadCpuEvents(session, path);
  if (!of_cpus.ok()) return of_cpus.status();
  CopyEvents(session, *of_cpus, info);
  for (const EventSets& sets : {info.cpu_sets(), info.thread_sets()}) {
    if (!sets.valid()) {
      return Damaged(path, "events-of-sets", sets.slots(), kMaxCounters);
    }
  }
  CopyChoices(session, info);
  CopyLosses(session, description);
  absl::Status whole = ReadTexts(path, description);
  if (whole.ok()) whole = file->CheckWhole();
  if (!whole.ok()) return whole;
  return description;
}

}  // namespace countrace::logformat
