#include "rmap/export/perfetto/perfetto_export.h"

#include <string>

#include "rmap/export/perfetto/samples.h"
#include "rmap/export/perfetto/trace_observer.h"
#include "rmap/export/report_facts.h"
#include "rmap/noted_reader.h"
#include "rmap/pipeline.h"

namespace countrace::rmap {
namespace {

using perfetto::EventType;
using perfetto::Message;
using perfetto::TraceObserver;
using perfetto::TrackEvents;

// What the trace is, what it cost and what was lost.
void WriteFacts(const Report& report, perfetto::Packets& packets,
                TrackEvents& events) {
  const std::uint64_t uuid = TrackUuid(perfetto::TrackOf::kRecording, 0);
  events.Describe(uuid, report.begin_ns, [](Message& track) {
    AddText(track, perfetto::kTrackName, "countrace");
  });
  events.Add(report.begin_ns, EventType::kBegin, uuid, [&](Message& event) {
    AddText(event, perfetto::kName, "recording");
    ForEachFact(report, [&](const std::string& name, const std::string& value) {
      TrackEvents::Annotate(event, name, value);
    });
    const OwnCost& own = report.own_cost;
    TrackEvents::Annotate(event, "own.bpf_ns", own.bpf_ns);
    TrackEvents::Annotate(event, "own.hook_records", own.hook_records);
    TrackEvents::Annotate(event, "own.hooks_cpu_ns",
                          own.hook_records * own.hook_cpu_ps / 1000);
    for (std::size_t i = 0; i < report.books.size(); ++i) {
      TrackEvents::Annotate(event, "own." + report.events[i].name,
                            report.books[i].own);
    }
  });
  events.Add(report.end_ns, EventType::kEnd, uuid, [](Message&) {});
  const std::uint64_t lost =
      report.loss.discarded_events - report.loss.overwritten;
  if (lost == 0) return;
  packets.Add(perfetto::kTracks, 0, [&](Message& packet) {
    Message stats(packet, perfetto::kTraceStats);
    Message(stats, perfetto::kBufferStats)
        .add_uint64(perfetto::kPacketLoss, lost);
  });
}

}  // namespace

absl::Status ExportPerfetto(
    logformat::TraceReader& reader, bool texts,
    const logformat::ProgressCallback& progress,
    const std::function<absl::Status(std::string_view)>& parts) {
  perfetto::Packets packets(parts);
  const auto half = [&](std::uint64_t done) {
    return [&progress, &packets, done](const logformat::Progress& now) {
      return packets.status().ok() &&
             (!progress ||
              progress({now.done + done * now.total, 2 * now.total}));
    };
  };
  TimelineObserver same_order;  // in which threads get their numbers
  const auto report =
      Reconstruct(reader, {.observer = &same_order, .progress = half(0)});
  if (!report.ok()) return report.status();
  TrackEvents events(packets, reader.info(), *report, texts);
  TraceObserver observer(packets, events, reader.info(), *report);
  perfetto::SampleWriter samples(*report, packets);
  NotedReader noted(reader, observer);
  const auto again = Reconstruct(
      noted, {.observer = &observer,
              .rows = {.samples = true},
              .on_sample =
                  [&samples](const Samples& of, const TimedSample& one) {
                    samples.Add(of, one);
                  },
              .progress = half(1)});
  if (!packets.status().ok()) return packets.status();
  if (!again.ok()) return again.status();
  if (again->samples) samples.Finish(*again->samples);
  observer.Finish();
  WriteFacts(*report, packets, events);
  return packets.Finish();
}

}  // namespace countrace::rmap
