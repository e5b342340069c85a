// Tracks and what is on them: the sequence of track events.
//
// Rules (perfetto.dev, docs/reference/synthetic-track-event, and comments
// in its track_descriptor.proto and clock_snapshot.proto):
//   - a track is described once, before its first event; slices of one nest
//   - a second descriptor with the same pid or tid means that it was reused.
//     They count from their packets' times on, so these are when the process
//     or thread was first seen
//   - times are on CLOCK_MONOTONIC: a sequence-scoped clock counts from one
//     event to the next, and what is earlier than the last one names its clock
//   - interned names are there before what refers to them; iid 0 is none
// Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_PERFETTO_TRACK_EVENTS_H_
#define COUNTRACE_RMAP_EXPORT_PERFETTO_TRACK_EVENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logformat/event_schema.h"
#include "logformat/read/call_flags.h"
#include "logformat/records.h"
#include "rmap/export/perfetto/packets.h"
#include "rmap/result/tables.h"

namespace countrace::rmap::perfetto {

// Uuids of tracks: each kind counts for itself.
enum class TrackOf : std::uint64_t {
  kThread,
  kProcess,
  kLossesOfThread,
  kLossesOfCpu,
  kInterrupts,
  kCounter,
  kRecording
};
constexpr std::uint64_t TrackUuid(TrackOf of, std::uint64_t number) {
  return 8 * (number + 1) + static_cast<std::uint64_t>(of);
}
inline std::uint64_t ThreadUuid(ThreadIndex thread) {
  return TrackUuid(TrackOf::kThread, static_cast<std::uint64_t>(thread));
}

void AddText(Message& message, Tag tag, std::string_view text);

class TrackEvents {
 public:
  // Begins the sequence: its clocks, the names of hooks and of their values.
  // `texts` false: values that are texts are left out.
  TrackEvents(Packets& packets, const logformat::TraceInfo& info,
              const Report& report, bool texts);

  // `fill(Message&)` adds to the descriptor.
  template <typename Fill>
  void Describe(std::uint64_t uuid, std::uint64_t time_ns, const Fill& fill) {
    packets_.Add(kTracks, kNeedsState, [&](Message& packet) {
      AddTime(packet, time_ns, /*from_last=*/false);
      Message track(packet, kTrackDescriptor);
      track.add_uint64(kUuid, uuid);
      fill(track);
    });
  }
  template <typename Fill>
  void Add(std::uint64_t time_ns, EventType type, std::uint64_t track,
           const Fill& fill) {
    packets_.Add(kTracks, kNeedsState, [&](Message& packet) {
      AddTime(packet, time_ns, /*from_last=*/true);
      Message event(packet, kTrackEvent);
      event.add_enum(kType, static_cast<std::int32_t>(type));
      event.add_uint64(kTrackUuid, track);
      fill(event);
    });
  }

  static void AddName(Message& event, std::uint32_t hook_id) {
    event.add_uint64(kNameIid, hook_id + 1);
  }
  static void Annotate(Message& event, std::string_view name,
                       std::string_view text);
  static void Annotate(Message& event, std::string_view name,
                       std::uint64_t value);
  // The values that `record`, of a hook, has besides ids and counters.
  void AnnotateValues(Message& event,
                      const logformat::EventRecord& record) const;

 private:
  void AddTime(Message& packet, std::uint64_t time_ns, bool from_last);
  void InternNames(Message& packet, const logformat::TraceInfo& info);

  Packets& packets_;
  const bool texts_;
  std::uint64_t last_ns_;
  std::vector<logformat::EventClass> classes_;
  std::vector<std::uint32_t> by_id_[logformat::kStreamClasses];  // as names_
  std::vector<std::vector<const logformat::NumberNames*>>
      names_;  // as classes_
  std::unordered_map<std::string, std::uint64_t> value_names_;
};

}  // namespace countrace::rmap::perfetto

#endif  // COUNTRACE_RMAP_EXPORT_PERFETTO_TRACK_EVENTS_H_
