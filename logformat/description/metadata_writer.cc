#include "logformat/description/metadata_writer.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "logformat/description/recorded_part.h"
#include "logformat/event_schema.h"

namespace countrace::logformat {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

constexpr std::string_view kTypes = R"(/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := comm_char_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 24; align = 8; signed = false; } := uint24_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
typealias integer { size = 64; align = 8; signed = false; base = 16; } := pointer_t;
typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := float64_t;

)";

constexpr std::string_view kClockTypes =
    R"(typealias integer { size = 48; align = 8; signed = false; map = clock.monotonic.value; } := time48_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := time64_t;

)";

// The members of PacketHead after the CTF packet header.
constexpr std::string_view kPacketContext = R"(struct packet_context {
	time64_t timestamp_begin;
	time64_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
)";
constexpr std::string_view kSequence[] = {"\tuint64_t packet_seq_num;\n",
                                          "\tuint32_t packet_seq_num;\n"
                                          "\tuint32_t checksum;\n"};

constexpr std::string_view kPacketContextEnd = R"(	uint64_t raw_begin;
	uint64_t monotonic_begin;
	uint64_t raw_end;
	uint64_t monotonic_end;
	int32_t cpu_id;
	int32_t pid;
	int32_t tid;
	uint32_t mmcr;
	uint32_t present;
	uint32_t flags;
};

struct event_header {
	uint16_t id;
	time48_t timestamp;
} align(64);

)";

const char* TypeName(FieldType type) {
  switch (type) {
    case FieldType::kUint16:
      return "uint16_t";
    case FieldType::kUint24:
      return "uint24_t";
    case FieldType::kUint32:
      return "uint32_t";
    case FieldType::kInt32:
      return "int32_t";
    case FieldType::kUint64:
    case FieldType::kCounter:
      return "uint64_t";
    case FieldType::kInt64:
      return "int64_t";
    case FieldType::kPointer:
      return "pointer_t";
    case FieldType::kDouble:
      return "float64_t";
    case FieldType::kString:
      return "string";
    case FieldType::kComm:
      return "comm_char_t";
    case FieldType::kMmcr:
    case FieldType::kEventSet:
      break;  // have shapes of their own
  }
  return "";
}

// The number of the event set in force.
void AppendMmcr(const std::vector<EventField>& fields, std::string& text) {
  std::size_t sets = 0;
  for (const EventField& field : fields) sets += field.options.size();
  text += "\t\tenum : uint32_t {";
  for (std::size_t set = 0; set < sets; ++set) {
    absl::StrAppendFormat(&text, "%s set_%d = %d", set == 0 ? "" : ",", set,
                          set);
  }
  text += " } mmcr;\n";
}

// The values of the set. The tag is a field of the same struct, because
// babeltrace2 2.0.4 does not accept a tag in the packet's context.
void AppendEventSet(const EventField& field, std::string& text) {
  text += "\t\tvariant <mmcr> {\n";
  for (std::size_t set = 0; set < field.options.size(); ++set) {
    text += "\t\t\tstruct {";
    for (const EventField& value : field.options[set]) {
      absl::StrAppendFormat(&text, " uint64_t _%s;", value.name);
    }
    absl::StrAppendFormat(&text, " } set_%d;\n", set);
  }
  absl::StrAppendFormat(&text, "\t\t} %s;\n", field.name);
}

void AppendStruct(const char* role, const std::vector<EventField>& fields,
                  std::string& text) {
  if (fields.empty()) return;
  absl::StrAppendFormat(&text, "\t%s := struct {\n", role);
  for (const EventField& field : fields) {
    if (field.type == FieldType::kMmcr) {
      AppendMmcr(fields, text);
      continue;
    }
    if (field.type == FieldType::kEventSet) {
      AppendEventSet(field, text);
      continue;
    }
    // Readers strip one leading '_'. With it, names such as "event" or "01c"
    // are neither TSDL keywords nor invalid identifiers.
    absl::StrAppendFormat(&text, "\t\t%s %s%s%s;\n", TypeName(field.type),
                          field.any_name ? "_" : "", field.name,
                          field.type == FieldType::kComm ? "[16]" : "");
  }
  text += "\t};\n";
}

void AppendClock(const TraceInfo& info, std::string& text) {
  const std::int64_t offset_ns =
      std::max<std::int64_t>(info.realtime_offset_ns, 0);
  text += "clock {\n\tname = \"monotonic\";\n";
  if (info.boot_id != Uuid{}) {
    absl::StrAppendFormat(&text, "\tuuid = \"%s\";\n",
                          FormatUuid(info.boot_id));
  }
  absl::StrAppendFormat(
      &text,
      "\tdescription = \"CLOCK_MONOTONIC\";\n"
      "\tfreq = %d;\n\toffset_s = %d;\n\toffset = %d;\n};\n\n",
      kNsPerSecond, offset_ns / kNsPerSecond, offset_ns % kNsPerSecond);
}

// The oldest format that has all of the trace.
std::uint32_t FormatOf(const TraceInfo& info) {
  if (!info.pauses.empty()) return kPauseFormatVersion;
  if (PartBeginNs(info) != 0) return kPartFormatVersion;
  const auto has_values = [](const HookInfo& hook) {
    const bool kernel_point =
        hook.origin == HookOrigin::kKernel && hook.kind == HookKind::kPoint;
    return hook.origin != HookOrigin::kProgram && !kernel_point &&
           hook.payload.size() + hook.exit_payload.size() != 0;
  };
  if (std::any_of(info.hooks.begin(), info.hooks.end(), has_values)) {
    return kFormatVersion;
  }
  if (AreMany(info.cpu_events.size(), info.cpu_set_sizes.size())) {
    return kPointValuesVersion;
  }
  return std::min(info.format, kFewEventsVersion);
}

// The lines of the env block.
class EnvText {
 public:
  explicit EnvText(std::string& text) : text_(text) {}

  void Number(const std::string& key, std::int64_t value) {
    absl::StrAppendFormat(&text_, "\t%s = %d;\n", key, value);
  }
  void String(const std::string& key, std::string_view value) {
    absl::StrAppendFormat(&text_, "\t%s = %s;\n", key, TsdlString(value));
  }
  // PREFIX_0, PREFIX_1, ...
  void Strings(const char* prefix, const std::vector<std::string>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      String(absl::StrFormat("%s_%d", prefix, i), values[i]);
    }
  }

 private:
  std::string& text_;
};

void AppendIdentity(const TraceInfo& info, EnvText& env) {
  env.String("boot_id", FormatUuid(info.boot_id));
  env.String("hostname", info.hostname);
  if (!info.machine_hash.empty()) {
    env.String("machine_hash", info.machine_hash);
  }
  if (!info.container.empty()) env.String("container", info.container);
  env.String("kernel_release", info.kernel_release);
  env.String("command", info.command);
  env.Number("scope", static_cast<std::int64_t>(info.scope));
  env.Number("root_pid", info.root_pid);
  env.Number("recorder_pid", info.recorder_pid);
  env.Number("cpus", info.cpus);
  env.Number("begin_ns", static_cast<std::int64_t>(info.begin_ns));
  env.Number("realtime_offset_ns", info.realtime_offset_ns);
  if (info.snapshot_ns != 0) {
    env.Number("snapshot_ns", static_cast<std::int64_t>(info.snapshot_ns));
  }
}

void AppendOwnCosts(const TraceInfo& info, EnvText& env) {
  if (info.own_bpf_sampled_ns != 0) {
    env.Number("own_bpf_ns", static_cast<std::int64_t>(info.own_bpf_ns));
    env.Number("own_bpf_sampled_ns",
               static_cast<std::int64_t>(info.own_bpf_sampled_ns));
  }
  if (info.own_hook_ps != 0) {
    env.Number("own_hook_cpu_ps",
               static_cast<std::int64_t>(info.own_hook_cpu_ps));
    env.Number("own_hook_ps", static_cast<std::int64_t>(info.own_hook_ps));
    env.Number("own_hook_dump_ps",
               static_cast<std::int64_t>(info.own_hook_dump_ps));
  }
}

void AppendLimits(const std::string& who, const std::vector<CounterLimit>& of,
                  EnvText& env) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (of[i].narrow()) {
      env.Number(absl::StrFormat("%s_event_width_%d", who, i), of[i].width);
    }
    if (of[i].per_second != 0) {
      env.Number(absl::StrFormat("%s_event_rate_%d", who, i),
                 static_cast<std::int64_t>(of[i].per_second));
    }
  }
}

void AppendSets(const std::string& who, const EventSets& of,
                const std::vector<std::string>& names, EnvText& env) {
  if (!of.rotates()) return;
  env.String(who + "_event_sets", SetSizesText(of));
  for (std::size_t i = 0; i < of.sizes.size(); ++i) {
    env.String(absl::StrFormat("%s_event_set_%d", who, i),
               SetText(of, i, names));
  }
}

void AppendEvents(const TraceInfo& info, EnvText& env) {
  env.Strings("cpu_event", info.cpu_events);
  env.Strings("thread_event", info.thread_events);
  AppendLimits("cpu", info.cpu_counter_limits, env);
  AppendLimits("thread", info.thread_counter_limits, env);
  AppendSets("cpu", info.cpu_sets(), info.cpu_events, env);
  AppendSets("thread", info.thread_sets(), info.thread_events, env);
  env.Strings("cpu_event_config", info.cpu_event_configs);
  env.Strings("thread_event_config", info.thread_event_configs);
}

// What was chosen for the recording, what came of it, and where it is from.
void AppendRecording(const TraceInfo& info, EnvText& env) {
  env.Strings("dump_rule", info.dump_rules);
  for (std::size_t i = 0; i < info.triggers.size(); ++i) {
    env.String(absl::StrFormat("trigger_%d", i), TriggerText(info.triggers[i]));
  }
  env.Strings("pause", PauseTexts(info.pauses));
  for (std::size_t i = 0; i < info.not_recorded.size(); ++i) {
    env.String(absl::StrFormat("not_recorded_%d", i),
               NotRecordedText(info.not_recorded[i]));
  }
  if (!info.source.empty()) env.String("source", info.source);
  env.Strings("source_path", info.source_paths);
  env.Strings("not_known", info.not_known);
  env.Strings("listing", info.listing);
  if (!info.has_times) env.Number("has_times", 0);
  if (info.gating) env.String("count", GatingText(*info.gating));
  env.Strings("mark", info.marks);
}

// Names of processes, owners and hooks.
void AppendNames(const TraceInfo& info, EnvText& env) {
  for (std::size_t i = 0; i < info.processes.size(); ++i) {
    env.String(absl::StrFormat("process_%d", i),
               ProcessText(info.processes[i]));
  }
  std::size_t owners = 0;
  for (const auto& [uid, name] : info.users) {
    env.String(absl::StrFormat("owner_%d", owners++), UserText(uid, name));
  }
  for (const auto& [id, cgroup] : info.cgroups) {
    env.String(absl::StrFormat("owner_%d", owners++), CgroupText(id, cgroup));
  }
  for (const HookInfo& hook : info.hooks) {
    const std::string id = std::to_string(hook.id), cost = CostText(hook);
    env.String("hook_" + id, HookText(hook));
    if (!cost.empty()) env.String("probe_cost_" + id, cost);
    if (hook.level != LevelScope::kNone)
      env.String("level_" + id, LevelScopeName(hook.level));
    if (hook.origin == HookOrigin::kProgram && !hook.payload_names.empty()) {
      env.String("payload_names_" + id, PayloadNamesText(hook.payload_names));
    }
  }
}

void AppendEnv(const TraceDescription& description, std::string& text) {
  const TraceInfo& info = description.info;
  EnvText env(text);
  text += "env {\n";
  env.String("tracer_name", "countrace");
  env.Number("countrace_format", FormatOf(info));
  AppendIdentity(info, env);
  for (std::size_t i = 0; i < kDiscardCauses; ++i) {
    env.Number(absl::StrFormat("session_discarded_%s", kDiscardCauseNames[i]),
               static_cast<std::int64_t>(description.discarded[i]));
  }
  env.Number("last_errno", description.last_errno);
  env.Number("late_sub_buffers", description.late_sub_buffers);
  AppendOwnCosts(info, env);
  AppendEvents(info, env);
  AppendRecording(info, env);
  std::size_t streams = 0;
  std::uint64_t clock_packets = 0;
  for (const FinishedStream& stream : description.streams) {
    // Not listed as one: an older reader does not have it.
    if (stream.file == kClockStream) {
      clock_packets = stream.packets;
      continue;
    }
    env.String(absl::StrFormat("stream_%d", streams++),
               absl::StrFormat("%s\t%d", stream.file, stream.packets));
  }
  if (info.clock_packets)
    env.Number("clock_packets", static_cast<std::int64_t>(clock_packets));
  AppendNames(info, env);
  env.Strings("number_names", NumberNamesTexts(info.hooks));
  // verify writes the text again from the values above. This line makes a
  // change to any of them a difference.
  env.Number("text_checksum", static_cast<std::int64_t>(TextChecksum(text)));
  text += "};\n";
}

}  // namespace

std::uint64_t TextChecksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::string TsdlString(std::string_view bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\t') {
      text += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      text += absl::StrFormat("\\%03o", byte);
    } else {
      text += c;
    }
  }
  return text + "\"";
}

std::string MetadataText(const TraceDescription& description) {
  const TraceInfo& info = description.info;
  std::string text(kTypes);
  absl::StrAppendFormat(&text,
                        "trace {\n\tmajor = 1;\n\tminor = 8;\n"
                        "\tuuid = \"%s\";\n\tbyte_order = le;\n"
                        "\tpacket.header := struct {\n"
                        "\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n"
                        "\t\tuint32_t stream_id;\n\t};\n};\n\n",
                        FormatUuid(info.uuid));
  AppendClock(info, text);
  text += kClockTypes;
  text += kPacketContext;
  text += kSequence[HasChecksums(info.format) ? 1 : 0];
  text += "\tuint64_t events_discarded;\n";
  for (const char* cause : kDiscardCauseNames) {
    absl::StrAppendFormat(&text, "\tuint64_t discarded_%s;\n", cause);
  }
  text += kPacketContextEnd;
  for (const StreamClass stream :
       {StreamClass::kCpu, StreamClass::kThread, StreamClass::kClock}) {
    if (stream == StreamClass::kClock && !info.clock_packets) continue;
    absl::StrAppendFormat(&text,
                          "stream {\n\tid = %d;\n"
                          "\tpacket.context := struct packet_context;\n"
                          "\tevent.header := struct event_header;\n};\n\n",
                          static_cast<unsigned>(stream));
  }
  for (const EventClass& event : EventClasses(info)) {
    absl::StrAppendFormat(
        &text, "event {\n\tname = %s;\n\tid = %d;\n\tstream_id = %d;\n",
        TsdlString(event.name), event.id,
        static_cast<unsigned>(event.stream_class));
    AppendStruct("context", event.context, text);
    AppendStruct("fields", event.fields, text);
    text += "};\n\n";
  }
  AppendEnv(description, text);
  return text;
}

}  // namespace countrace::logformat
