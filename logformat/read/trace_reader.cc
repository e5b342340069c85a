#include "logformat/read/trace_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/description/trace_description.h"
#include "logformat/description/trace_directory.h"
#include "logformat/event_schema.h"
#include "logformat/read/overwritten_packets.h"
#include "logformat/read/record_table.h"
#include "logformat/read/stream_cursor.h"
#include "logformat/read/stream_identity.h"
#include "logformat/read/stream_merge.h"

namespace countrace::logformat {
namespace {

class MappedTraceReader final : public TraceReader {
 public:
  static absl::StatusOr<std::unique_ptr<TraceReader>> Create(
      const std::string& path, const std::string& shown_as) {
    absl::StatusOr<TraceDirectory> directory = ListTraceDirectory(path);
    if (!directory.ok()) return directory.status();
    absl::StatusOr<TraceDescription> description = DescribeTrace(*directory);
    if (!description.ok()) return description.status();
    if (!shown_as.empty()) description->info.path = shown_as;
    std::unique_ptr<MappedTraceReader> reader(
        new MappedTraceReader(*std::move(description), path));
    for (std::string& message :
         MissingStreams(*directory, reader->description_)) {
      reader->description_.messages.push_back(std::move(message));
    }
    const ExpectedPackets expected(reader->description_.streams);
    for (const StreamFile& file : directory->streams) {
      if (file.stream_class == StreamClass::kClock) {
        continue;  // clock_samples.h
      }
      if (absl::Status status =
              reader->AddStream(file, expected, directory->grows());
          !status.ok()) {
        return status;
      }
    }
    reader->FindBegin();
    return reader;
  }

  const TraceInfo& info() const override { return description_.info; }
  const std::vector<StreamInfo>& streams() const override { return infos_; }
  const std::string& directory() const override { return directory_; }
  std::uint64_t complete_from_ns() const override { return complete_from_ns_; }
  std::uint64_t end_ns() const override { return end_ns_; }
  void VisitPackets(
      const std::function<void(const PacketExtent&)>& visit) const override {
    for (const OpenStream& stream : streams_) VisitPackets(stream, visit);
  }
  bool keeps_records() const override { return true; }  // in mapped files
  std::array<std::uint64_t, kDiscardCauses> session_discarded() const override {
    return description_.discarded;
  }
  std::uint32_t session_last_errno() const override {
    return description_.last_errno;
  }
  std::uint32_t late_sub_buffers() const override {
    return description_.late_sub_buffers;
  }
  const std::vector<std::string>& messages() const override {
    return description_.messages;
  }

  absl::Status Read(ItemSink& sink, const ProgressCallback& progress) override {
    Reading reading(*this, sink, progress);
    const bool runs = sink.TakesThreadRuns();
    StreamMerge cpus(reading.NextNs(StreamClass::kCpu));
    StreamMerge threads(reading.NextNs(StreamClass::kThread));
    while (!(cpus.at_end() && threads.at_end()) && !reading.state.cancelled) {
      if (threads.IsBefore(cpus)) {
        StreamCursor& cursor = reading.cursors[threads.stream()];
        const std::uint64_t limit_ns = cpus.limit_ns(threads.stream());
        cursor.DeliverRun(runs ? limit_ns
                               : std::min(limit_ns, threads.limit_ns()));
        threads.Advance(cursor.next_ns());
      } else {
        StreamCursor& cursor = reading.cursors[cpus.stream()];
        cursor.Deliver(
            std::min(cpus.limit_ns(), threads.limit_ns(cpus.stream())));
        cpus.Advance(cursor.next_ns());
      }
    }
    if (!reading.state.cancelled) return CheckWhole();
    return absl::CancelledError(
        absl::StrFormat("Reading stopped after %d of %d bytes",
                        reading.state.done_bytes, reading.state.total_bytes));
  }

 private:
  // Cursors over all streams, and their shared state.
  struct Reading {
    Reading(const MappedTraceReader& reader, ItemSink& sink,
            const ProgressCallback& progress) {
      state.sink = &sink;
      state.trace_begin_ns = reader.description_.info.begin_ns;
      state.trace_end_ns = reader.end_ns_;
      state.progress = progress;
      state.total_bytes = reader.total_bytes_;
      // Bytes to keep mapped of all streams together, if there are few.
      constexpr std::size_t kKeptBytes = std::size_t{32} << 20;
      state.release_bytes = std::clamp<std::size_t>(
          kKeptBytes / std::max<std::size_t>(1, reader.streams_.size()),
          std::size_t{1} << 20, std::size_t{8} << 20);
      cursors.reserve(reader.streams_.size());
      for (std::uint32_t i = 0; i < reader.streams_.size(); ++i) {
        cursors.emplace_back(reader.streams_[i], i, state);
      }
    }

    // By stream; kEnd for streams of another class.
    std::vector<std::uint64_t> NextNs(StreamClass stream_class) const {
      std::vector<std::uint64_t> next_ns;
      for (const StreamCursor& cursor : cursors) {
        const bool same = cursor.stream_class() == stream_class;
        next_ns.push_back(same ? cursor.next_ns() : StreamCursor::kEnd);
      }
      return next_ns;
    }

    ReadState state;
    std::vector<StreamCursor> cursors;
  };

  MappedTraceReader(TraceDescription description, const std::string& path)
      : directory_(path),
        description_(std::move(description)),
        classes_(EventClasses(description_.info)),
        cpu_table_(classes_, StreamClass::kCpu),
        thread_table_(classes_, StreamClass::kThread) {
    end_ns_ = description_.info.begin_ns;
  }

  // Losses as a StreamCursor delivers them, as far as heads tell.
  void VisitPackets(
      const OpenStream& stream,
      const std::function<void(const PacketExtent&)>& visit) const {
    const std::vector<ScannedPacket>& packets = stream.scan.packets;
    const auto lose = [&](std::uint64_t from_ns, std::uint64_t until_ns) {
      visit({.stream_class = stream.info.stream_class,
             .time = {from_ns, std::max(from_ns, until_ns)},
             .lost = true});
    };
    std::uint64_t last_ns = description_.info.begin_ns, discarded = 0;
    if (!packets.empty()) {
      last_ns = std::min(last_ns, packets.front().head.begin_ns);
    }
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const PacketHead& head = packets[i].head;
      if (!packets[i].findings.empty()) lose(last_ns, head.begin_ns);
      last_ns = std::max(head.begin_ns, head.end_ns);
      visit({.stream_class = stream.info.stream_class,
             .time = {head.begin_ns, last_ns},
             .record_bytes = packets[i].records.size()});
      if (head.discarded != discarded && !IsOverwritten(stream.scan, i)) {
        lose(last_ns,
             i + 1 < packets.size() ? packets[i + 1].head.begin_ns : end_ns_);
      }
      discarded = head.discarded;
    }
    if (!stream.scan.findings_at_end.empty()) lose(last_ns, end_ns_);
  }

  // The instant from which on all streams are complete.
  void FindBegin() {
    for (const OpenStream& stream : streams_) {
      const auto known_ns = KnownAfterNs(
          stream.scan, *stream.table,
          stream.info.stream_class == StreamClass::kCpu, description_.info);
      if (known_ns) {
        complete_from_ns_ = std::max(complete_from_ns_, *known_ns + 1);
      }
    }
  }

  absl::Status CheckWhole() const {
    for (const OpenStream& stream : streams_) {
      const absl::Status whole = stream.mapping.CheckWhole();
      if (!whole.ok()) return whole;
    }
    return absl::OkStatus();
  }

  absl::Status AddStream(const StreamFile& file,
                         const ExpectedPackets& expected, bool grows) {
    absl::StatusOr<base::FileMapping> mapping =
        base::FileMapping::Open(directory_ + "/" + file.name);
    if (!mapping.ok()) return mapping.status();
    OpenStream stream;
    stream.mapping = *std::move(mapping);
    stream.table =
        file.stream_class == StreamClass::kCpu ? &cpu_table_ : &thread_table_;
    stream.thread_counters = description_.info.thread_sets().slots();
    stream.cpu_dump_heads = description_.info.cpu_sets().rotates();
    stream.has_checksums = description_.has_checksums();
    ScanOptions options;
    options.uuid = description_.info.uuid;
    options.stream_class = file.stream_class;
    options.begin_ns = description_.info.begin_ns;
    options.expected_packets = expected.Of(file.name);
    options.has_checksums = stream.has_checksums;
    options.grows = options.walk_closed = grows;
    options.mapping = &stream.mapping;
    stream.scan = ScanStream(stream.mapping.bytes(), *stream.table, options);
    if (std::string copy = identities_.Add(file.name, stream.scan);
        !copy.empty()) {
      return absl::DataLossError(
          absl::StrFormat("%s/%s: %s", directory_, file.name, copy));
    }
    // The scan has read each packet's head, and the kernel mapped the pages
    // around it.
    stream.mapping.Forget(0, stream.mapping.bytes().size());
    stream.info.file = file.name;
    stream.info.stream_class = file.stream_class;
    stream.info.bytes = stream.mapping.bytes().size();
    stream.info.disk_bytes = stream.mapping.disk_bytes();
    stream.info.packets = stream.scan.packets.size();
    DescribeLoss(stream.scan, stream.info);
    total_bytes_ += stream.info.bytes;
    if (!stream.scan.packets.empty()) {
      end_ns_ = std::max(end_ns_, stream.scan.packets.back().head.end_ns);
    }
    infos_.push_back(stream.info);
    streams_.push_back(std::move(stream));
    return streams_.back().mapping.CheckWhole();
  }

  std::string directory_;
  TraceDescription description_;
  std::vector<EventClass> classes_;
  RecordTable cpu_table_;
  RecordTable thread_table_;
  StreamIdentities identities_;
  std::vector<OpenStream> streams_;
  std::vector<StreamInfo> infos_;
  std::uint64_t end_ns_ = 0;
  std::uint64_t complete_from_ns_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TraceReader>> TraceReader::Open(
    const std::string& path, const std::string& shown_as) {
  return MappedTraceReader::Create(path, shown_as);
}

}  // namespace countrace::logformat
