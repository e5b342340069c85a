#include "rmap/export/perfetto/track_events.h"

#include <cstddef>
#include <span>
#include <variant>

#include "logformat/read/field_value.h"
#include "logformat/read/named_value.h"
#include "rmap/export/table_writer.h"

namespace countrace::rmap::perfetto {
namespace {

using logformat::EventField;
using logformat::FieldType;

// The thread, process and number of a kernel hook's record come first.
constexpr std::size_t kIds = 3;

void AddInterned(Message& interned, Tag of, std::uint64_t iid,
                 std::string_view text) {
  Message entry(interned, of);
  entry.add_uint64(kIid, iid);
  AddText(entry, kInternedText, text);
}

void AddClock(Message& snapshot, std::uint32_t clock, std::uint64_t time_ns) {
  Message entry(snapshot, kClocks);
  entry.add_uint32(kClockId, clock);
  entry.add_uint64(kClockTime, time_ns);
  if (clock == kDeltas) entry.add_bool(kClockIsIncremental, true);
}

struct ValueAdder {
  Message& annotation;
  void operator()(std::monostate) const {}
  void operator()(std::uint64_t value) const {
    annotation.add_uint64(kUnsigned, value);
  }
  void operator()(std::int64_t value) const {
    annotation.add_int64(kSigned, value);
  }
  void operator()(double value) const { annotation.add_double(kDouble, value); }
  void operator()(logformat::PointerValue value) const {
    annotation.add_uint64(kPointer, value.address);
  }
  void operator()(std::string_view value) const {
    AddText(annotation, kText, value);
  }
};

bool IsCount(const EventField& field) {
  return field.type == FieldType::kCounter || field.type == FieldType::kMmcr;
}

}  // namespace

void AddText(Message& message, Tag tag, std::string_view text) {
  std::string kept;
  const std::string_view whole = Utf8Text(text, kept);
  message.add_string(tag, whole.data(), whole.size());
}

TrackEvents::TrackEvents(Packets& packets, const logformat::TraceInfo& info,
                         const Report& report, bool texts)
    : packets_(packets), texts_(texts), last_ns_(report.begin_ns) {
  for (logformat::EventClass& of : logformat::EventClasses(info)) {
    auto& by_id = by_id_[static_cast<std::size_t>(of.stream_class)];
    if (of.id >= by_id.size()) by_id.resize(of.id + 1, 0);
    auto& names = names_.emplace_back();
    for (const EventField& field : of.fields) {
      names.push_back(logformat::NamesOf(info, of, field));
    }
    classes_.push_back(std::move(of));
    by_id[classes_.back().id] = static_cast<std::uint32_t>(classes_.size());
  }
  packets_.Begin(kTracks, [&](Message& packet) {
    Message snapshot(packet, kClockSnapshot);
    // Events of ftrace are on CLOCK_BOOTTIME, which a trace of ours does not
    // have: it is said to be the same.
    for (const Clocks clock : {kDeltas, kMonotonic, kBoottime}) {
      AddClock(snapshot, clock, report.begin_ns);
    }
    if (info.realtime_offset_ns > 0) {
      AddClock(snapshot, kRealtime,
               report.begin_ns +
                   static_cast<std::uint64_t>(info.realtime_offset_ns));
    }
    snapshot.add_enum(kPrimaryTraceClock, kMonotonic);
  });
  packets_.Add(kTracks, kNeedsState, [&](Message& packet) {
    Message(packet, kPacketDefaults).add_uint32(kDefaultClockId, kDeltas);
    InternNames(packet, info);
  });
  if (report.kernel_release.empty()) return;
  packets_.Add(kTracks, 0, [&](Message& packet) {
    Message system(packet, kSystemInfo);
    Message name(system, kUtsname);
    name.add_string(kSysname, "Linux");
    AddText(name, kRelease, report.kernel_release);
  });
}

void TrackEvents::InternNames(Message& packet,
                              const logformat::TraceInfo& info) {
  Message interned(packet, kInternedData);
  for (const logformat::HookInfo& hook : info.hooks) {
    AddInterned(interned, kEventNames, hook.id + 1, hook.FullName());
  }
  for (const logformat::EventClass& of : classes_) {
    for (const EventField& field : of.fields) {
      if (IsCount(field)) continue;
      const auto [name, added] =
          value_names_.try_emplace(field.name, value_names_.size() + 1);
      if (added) {
        AddInterned(interned, kAnnotationNames, name->second, field.name);
      }
    }
  }
}

void TrackEvents::AddTime(Message& packet, std::uint64_t time_ns,
                          bool from_last) {
  if (from_last && time_ns >= last_ns_) {
    packet.add_uint64(kTimestamp, time_ns - last_ns_);
    last_ns_ = time_ns;
  } else {
    packet.add_uint64(kTimestamp, time_ns);
    packet.add_uint32(kTimestampClockId, kMonotonic);
  }
}

void TrackEvents::Annotate(Message& event, std::string_view name,
                           std::string_view text) {
  Message annotation(event, kAnnotations);
  AddText(annotation, kAnnotationName, name);
  AddText(annotation, kText, text);
}

void TrackEvents::Annotate(Message& event, std::string_view name,
                           std::uint64_t value) {
  Message annotation(event, kAnnotations);
  AddText(annotation, kAnnotationName, name);
  annotation.add_uint64(kUnsigned, value);
}

void TrackEvents::AnnotateValues(Message& event,
                                 const logformat::EventRecord& record) const {
  const auto& by_id = by_id_[static_cast<std::size_t>(record.stream_class)];
  if (record.event_id >= by_id.size() || by_id[record.event_id] == 0) return;
  const std::size_t number = by_id[record.event_id] - 1;
  const logformat::EventClass& of = classes_[number];
  const auto& names = names_[number];
  const bool of_cpu = record.stream_class == logformat::StreamClass::kCpu;
  std::span<const std::byte> bytes =
      of_cpu ? record.bytes.subspan(sizeof(std::uint64_t)) : record.payload;
  for (std::size_t i = 0; i < of.fields.size(); ++i) {
    const EventField& field = of.fields[i];
    if (field.type == FieldType::kEventSet) {
      for (const EventField& count :
           logformat::FieldsOfSet(field, record.mmcr)) {
        logformat::TakeField(count, bytes);
      }
      continue;
    }
    const logformat::FieldValue value = logformat::TakeField(field, bytes);
    if (value.index() == 0 || IsCount(field) || (of_cpu && i < kIds)) continue;
    if (!texts_ && std::holds_alternative<std::string_view>(value)) continue;
    {
      Message annotation(event, kAnnotations);
      annotation.add_uint64(kAnnotationNameIid,
                            value_names_.find(field.name)->second);
      std::visit(ValueAdder{annotation}, value);
    }
    const std::string name = logformat::NameOf(names[i], value);
    if (!name.empty()) Annotate(event, field.name + "_name", name);
  }
}

}  // namespace countrace::rmap::perfetto
