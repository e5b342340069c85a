#include "logformat/description/metadata_reader.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

#include "absl/strings/str_format.h"
#include "logformat/description/metadata_blocks.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/recorded_part.h"
#include "logformat/no_times.h"

namespace countrace::logformat {
namespace {

constexpr std::string_view kSignature = "/* CTF 1.8 */";
constexpr char kBabeltraceHint[] =
    "only traces of countrace are read here; `countrace import -o TRACE` makes "
    "one of it, and report, script, state, view, diff and info read it as it "
    "is";

// Extracts typed values from an env block; remembers the first key that is
// missing or out of range.
class EnvTaker {
 public:
  explicit EnvTaker(const Env& env) : env_(env) {}

  template <typename T>
  T Number(const std::string& key) {
    const auto at = env_.find(key);
    const std::int64_t* value =
        at == env_.end() ? nullptr : std::get_if<std::int64_t>(&at->second);
    if (value == nullptr || !InRange<T>(*value)) {
      if (bad_key_.empty()) bad_key_ = key;
      return T{};
    }
    return static_cast<T>(*value);
  }
  std::string String(const std::string& key) {
    const auto at = env_.find(key);
    const std::string* value =
        at == env_.end() ? nullptr : std::get_if<std::string>(&at->second);
    if (value == nullptr) {
      if (bad_key_.empty()) bad_key_ = key;
      return {};
    }
    return *value;
  }
  bool Has(const std::string& key) const { return env_.contains(key); }
  void MarkBad(const std::string& key) {
    if (bad_key_.empty()) bad_key_ = key;
  }
  const std::string& bad_key() const { return bad_key_; }

 private:
  template <typename T>
  static bool InRange(std::int64_t value) {
    if constexpr (std::is_unsigned_v<T>) {
      return value >= 0 &&
             static_cast<std::uint64_t>(value) <= std::numeric_limits<T>::max();
    } else {
      return value >= std::numeric_limits<T>::min() &&
             value <= std::numeric_limits<T>::max();
    }
  }

  const Env& env_;
  std::string bad_key_;
};

// PREFIX_0, PREFIX_1, ...: event names, or dump rules.
std::vector<std::string> TakeTexts(const char* prefix, std::size_t most,
                                   EnvTaker& take) {
  std::vector<std::string> texts;
  for (std::size_t i = 0;; ++i) {
    const std::string key = absl::StrFormat("%s_%d", prefix, i);
    if (!take.Has(key)) return texts;
    texts.push_back(take.String(key));
    if (texts.size() > most) {
      take.MarkBad(key);
      return texts;
    }
  }
}

std::vector<std::size_t> TakeSetSizes(const std::string& key, EnvTaker& take) {
  if (!take.Has(key)) return {};
  auto sizes = ParseSetSizes(take.String(key));
  if (!sizes || sizes->empty()) take.MarkBad(key);
  return std::move(sizes).value_or(std::vector<std::size_t>());
}

// cpu_event_width_I, cpu_event_rate_I: only for events with such a limit.
std::vector<CounterLimit> TakeLimits(const std::string& who, std::size_t events,
                                     EnvTaker& take) {
  std::vector<CounterLimit> limits;
  for (std::size_t i = 0; i < events; ++i) {
    CounterLimit limit;
    const std::string width = absl::StrFormat("%s_event_width_%d", who, i);
    if (take.Has(width)) {
      limit.width = take.Number<std::uint32_t>(width);
      if (limit.width == 0 || limit.width >= kCounterBits) take.MarkBad(width);
    }
    const std::string rate = absl::StrFormat("%s_event_rate_%d", who, i);
    if (take.Has(rate)) {
      limit.per_second = take.Number<std::uint64_t>(rate);
      if (limit.per_second == 0) take.MarkBad(rate);
    }
    if (!limit.any()) continue;
    limits.resize(i + 1);
    limits[i] = limit;
  }
  return limits;
}

void TakeStreams(EnvTaker& take, TraceDescription& description) {
  if (take.Has("clock_packets")) {
    description.info.clock_packets =
        take.Number<std::uint64_t>("clock_packets");
    description.streams.push_back(
        {kClockStream, *description.info.clock_packets});
  }
  for (std::size_t i = 0;; ++i) {
    const std::string key = absl::StrFormat("stream_%d", i);
    if (!take.Has(key)) return;
    const std::string text = take.String(key);
    const std::size_t tab = text.find('\t');
    FinishedStream stream;
    stream.file = text.substr(0, tab);
    const char* end = text.data() + text.size();
    const char* digits = tab == std::string::npos ? end : text.data() + tab + 1;
    const auto parsed = std::from_chars(digits, end, stream.packets);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      take.MarkBad(key);
      return;
    }
    description.streams.push_back(std::move(stream));
  }
}

void TakeProcesses(EnvTaker& take, TraceInfo& info) {
  for (std::size_t i = 0;; ++i) {
    const std::string key = absl::StrFormat("process_%d", i);
    if (!take.Has(key)) return;
    std::optional<ProcessName> process = ParseProcessText(take.String(key));
    if (!process) {
      take.MarkBad(key);
      return;
    }
    info.processes.push_back(*std::move(process));
  }
}

void TakeOwners(EnvTaker& take, TraceInfo& info) {
  for (std::size_t i = 0;; ++i) {
    const std::string key = absl::StrFormat("owner_%d", i);
    if (!take.Has(key)) return;
    if (!ParseOwnerText(take.String(key), info)) {
      take.MarkBad(key);
      return;
    }
  }
}

void TakeTriggers(EnvTaker& take, TraceInfo& info) {
  for (std::size_t i = 0;; ++i) {
    const std::string key = absl::StrFormat("trigger_%d", i);
    if (!take.Has(key)) return;
    std::optional<TriggerFiring> firing = ParseTriggerText(take.String(key));
    if (!firing) {
      take.MarkBad(key);
      return;
    }
    info.triggers.push_back(*std::move(firing));
  }
}

void TakeHooks(const Env& env, EnvTaker& take, TraceInfo& info) {
  constexpr std::string_view kPrefix = "hook_";
  for (auto at = env.lower_bound(kPrefix);
       at != env.end() && at->first.starts_with(kPrefix); ++at) {
    const std::string_view digits =
        std::string_view(at->first).substr(kPrefix.size());
    std::uint32_t id = 0;
    const char* end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, id);
    const auto* text = std::get_if<std::string>(&at->second);
    std::optional<HookInfo> hook;
    if (parsed.ptr == end && text != nullptr) hook = ParseHookText(id, *text);
    if (!hook) {
      take.MarkBad(at->first);
      return;
    }
    info.hooks.push_back(*std::move(hook));
  }
  std::sort(info.hooks.begin(), info.hooks.end(),
            [](const HookInfo& a, const HookInfo& b) { return a.id < b.id; });
  for (HookInfo& hook : info.hooks) {
    std::string key = absl::StrFormat("probe_cost_%d", hook.id);
    if (take.Has(key) && !TakeCostText(take.String(key), hook))
      take.MarkBad(key);
    key = absl::StrFormat("level_%d", hook.id);
    if (take.Has(key) && !SetLevel(take.String(key), hook)) take.MarkBad(key);
    key = absl::StrFormat("payload_names_%d", hook.id);
    if (!take.Has(key)) continue;
    hook.payload_names = ParsePayloadNames(take.String(key));
    if (hook.origin != HookOrigin::kProgram ||
        hook.payload_names.size() != hook.payload.size()) {
      take.MarkBad(key);
      return;
    }
  }
}

void TakeIdentity(EnvTaker& take, TraceInfo& info) {
  const std::optional<Uuid> boot_id = ParseUuid(take.String("boot_id"));
  if (boot_id) {
    info.boot_id = *boot_id;
  } else {
    take.MarkBad("boot_id");
  }
  info.hostname = take.String("hostname");
  if (take.Has("machine_hash")) info.machine_hash = take.String("machine_hash");
  if (take.Has("container")) info.container = take.String("container");
  info.kernel_release = take.String("kernel_release");
  info.command = take.String("command");
  const auto scope = take.Number<std::uint32_t>("scope");
  if (scope > static_cast<std::uint32_t>(SessionScope::kSystem)) {
    take.MarkBad("scope");
  }
  info.scope = static_cast<SessionScope>(scope);
  info.root_pid = take.Number<std::int32_t>("root_pid");
  info.recorder_pid = take.Number<std::int32_t>("recorder_pid");
  info.cpus = take.Number<std::uint32_t>("cpus");
  info.begin_ns = take.Number<std::uint64_t>("begin_ns");
  info.realtime_offset_ns = take.Number<std::int64_t>("realtime_offset_ns");
  if (take.Has("snapshot_ns")) {
    info.snapshot_ns = take.Number<std::uint64_t>("snapshot_ns");
  }
}

void TakeOwnCosts(EnvTaker& take, TraceInfo& info) {
  if (take.Has("own_bpf_sampled_ns")) {
    info.own_bpf_ns = take.Number<std::uint64_t>("own_bpf_ns");
    info.own_bpf_sampled_ns = take.Number<std::uint64_t>("own_bpf_sampled_ns");
  }
  if (take.Has("own_hook_ps")) {
    info.own_hook_cpu_ps = take.Number<std::uint32_t>("own_hook_cpu_ps");
    info.own_hook_ps = take.Number<std::uint32_t>("own_hook_ps");
    info.own_hook_dump_ps = take.Number<std::uint32_t>("own_hook_dump_ps");
  }
}

void TakeEvents(EnvTaker& take, TraceInfo& info) {
  info.cpu_events = TakeTexts("cpu_event", kMaxEvents, take);
  info.thread_events = TakeTexts("thread_event", kSessionEvents, take);
  info.cpu_set_sizes = TakeSetSizes("cpu_event_sets", take);
  info.thread_set_sizes = TakeSetSizes("thread_event_sets", take);
  if (!info.cpu_sets().valid()) take.MarkBad("cpu_event_sets");
  if (!info.thread_sets().valid()) take.MarkBad("thread_event_sets");
  info.cpu_counter_limits = TakeLimits("cpu", info.cpu_events.size(), take);
  info.thread_counter_limits =
      TakeLimits("thread", info.thread_events.size(), take);
  info.cpu_event_configs = TakeTexts("cpu_event_config", kMaxEvents, take);
  info.thread_event_configs =
      TakeTexts("thread_event_config", kSessionEvents, take);
}

// Where the trace is from, and what it does not have.
void TakeSources(EnvTaker& take, TraceInfo& info) {
  if (take.Has("source")) info.source = take.String("source");
  info.source_paths = TakeTexts("source_path", kMaxSourcePaths, take);
  info.not_known = TakeTexts("not_known", kMaxNotKnown, take);
  info.listing = TakeTexts("listing", kListingTexts, take);
  info.has_times =
      take.Has("has_times")
          ? take.Number<std::uint8_t>("has_times") != 0
          : std::ranges::find(info.not_known, kNoTimes) == info.not_known.end();
  for (const std::string& line :
       TakeTexts("not_recorded", kMaxNotRecorded, take)) {
    auto what = ParseNotRecordedText(line);
    if (!what) take.MarkBad("not_recorded_0");
    if (what) info.not_recorded.push_back(*std::move(what));
  }
}

// Adds a message if `text` is another than the one that was written.
void CompareChecksum(std::string_view text, EnvTaker& take,
                     TraceDescription& description) {
  constexpr std::string_view kChecksumKey = "text_checksum";
  if (!take.Has(std::string(kChecksumKey))) return;
  const auto stored = take.Number<std::int64_t>(std::string(kChecksumKey));
  // The line begins with a tab.
  const std::size_t line = text.rfind(kChecksumKey) - 1;
  if (static_cast<std::uint64_t>(stored) !=
      TextChecksum(text.substr(0, line))) {
    description.messages.push_back(
        "metadata was changed after it was written: names, and what is "
        "said of the trace as a whole, may be wrong");
  }
}

absl::Status OfAnotherTracer(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s/metadata is of another CTF tracer: %s", path, kBabeltraceHint));
}

absl::Status Damaged(const std::string& path, std::string_view what) {
  return absl::DataLossError(absl::StrFormat(
      "Cannot read %s/metadata: %s; the streams may be sound, but "
      "nothing describes them",
      path, what));
}

absl::Status CheckSignature(std::string_view text, const std::string& path) {
  if (text.starts_with(kSignature)) return absl::OkStatus();
  constexpr std::string_view kPacketMetadata = "\x57\x1d\xd1\x75";
  if (text.starts_with(kPacketMetadata) ||
      text.find("CTF 1.8") < kSignature.size()) {
    return OfAnotherTracer(path);
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s/metadata is not CTF 1.8 metadata: it does not "
                      "begin with \"%s\"",
                      path, kSignature));
}

// Checks that the text is of countrace, and whole.
absl::Status CheckBlocks(const MetadataBlocks& blocks, std::string_view text,
                         const std::string& path, EnvTaker& take) {
  const std::string tracer =
      take.Has("tracer_name") ? take.String("tracer_name") : "";
  if (blocks.has_env && tracer != "countrace") {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is a CTF trace of tracer '%s': %s", path, tracer, kBabeltraceHint));
  }
  // Texts of other tracers may have no env block, and escapes of their own.
  const bool ours = text.find("countrace") != std::string_view::npos ||
                    text.find("comm_char_t") != std::string_view::npos;
  if (!blocks.has_env && !ours) {
    return OfAnotherTracer(path);
  }
  if (blocks.bad) {
    return Damaged(path, absl::StrFormat("damaged at offset %d of %d",
                                         blocks.bad_offset, text.size()));
  }
  if (!blocks.has_env) {
    // Our text ends with the env block.
    return Damaged(path,
                   absl::StrFormat("cut after %d bytes, before its env block",
                                   text.size()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TraceDescription> ParseMetadata(std::string_view text,
                                               const std::string& path) {
  absl::Status ours = CheckSignature(text, path);
  if (!ours.ok()) return ours;
  const MetadataBlocks blocks = ReadMetadataBlocks(text);
  EnvTaker take(blocks.env);
  ours = CheckBlocks(blocks, text, path, take);
  if (!ours.ok()) return ours;
  const auto version = take.Number<std::uint32_t>("countrace_format");
  if (version > kPauseFormatVersion) {
    return absl::UnimplementedError(absl::StrFormat(
        "%s has format %d, this program reads up to %d: use a newer countrace",
        path, version, kPauseFormatVersion));
  }
  TraceDescription description;
  description.from_metadata = true;
  TraceInfo& info = description.info;
  info.path = path;
  info.format = version;
  const std::optional<Uuid> uuid = ParseUuid(blocks.uuid);
  if (!uuid) return Damaged(path, "the trace block holds no uuid");
  info.uuid = *uuid;
  TakeIdentity(take, info);
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    description.discarded[i] = take.Number<std::uint64_t>(
        absl::StrFormat("session_discarded_%s", kDiscardCauseNames[i]));
  }
  description.last_errno = take.Number<std::uint32_t>("last_errno");
  description.late_sub_buffers = take.Number<std::uint32_t>("late_sub_buffers");
  TakeOwnCosts(take, info);
  TakeEvents(take, info);
  info.dump_rules = TakeTexts("dump_rule", COUNTRACE_MAX_DUMP_RULES, take);
  TakeSources(take, info);
  if (take.Has("count")) {
    info.gating = ParseGating(take.String("count"));
    if (!info.gating) take.MarkBad("count");
  }
  info.marks = TakeTexts("mark", kMaxMarks, take);
  CompareChecksum(text, take, description);
  TakeStreams(take, description);
  TakeProcesses(take, info);
  TakeOwners(take, info);
  TakeTriggers(take, info);
  if (!ParsePauses(TakeTexts("pause", kMostPauses, take), info.pauses)) {
    take.MarkBad("pause_0");
  }
  TakeHooks(blocks.env, take, info);
  for (const auto& names : TakeTexts("number_names", kMaxNamedValues, take)) {
    if (ParseNumberNamesText(names, info.hooks)) continue;
    take.MarkBad("number_names");
    break;
  }
  if (version == 0 || !take.bad_key().empty()) {
    return Damaged(path,
                   absl::StrFormat("env key '%s' is missing or out of range",
                                   take.bad_key()));
  }
  return description;
}

}  // namespace countrace::logformat
