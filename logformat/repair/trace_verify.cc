#include "logformat/repair/trace_verify.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/trace_directory.h"
#include "logformat/event_schema.h"
#include "logformat/read/overwritten_packets.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/read/stream_identity.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {
namespace {

class Verifier {
 public:
  explicit Verifier(TraceDirectory directory)
      : directory_(std::move(directory)) {}

  absl::StatusOr<VerifyResult> Run() {
    absl::StatusOr<TraceDescription> description = DescribeTrace(directory_);
    // Another tool's trace breaks no rule of FORMAT.md.
    if (absl::IsInvalidArgument(description.status()) &&
        directory_.streams.empty() && !directory_.has_session &&
        !directory_.incomplete) {
      return description.status();
    }
    CheckDirectory();
    if (!description.ok()) {
      Add(kMetadataFile, 0, std::string(description.status().message()));
      return std::move(result_);
    }
    for (const std::string& message : description->messages) {
      Add(description->from_metadata ? kMetadataFile : kHooksFile, 0, message);
    }
    if (directory_.has_metadata) CheckMetadata(*description);
    result_.loss.AddDiscarded(description->discarded);
    for (const NotRecorded& what : NotRecordedOf(description->info)) {
      result_.loss.Add(what);
    }
    const std::vector<EventClass> classes = EventClasses(description->info);
    CheckMissing(*description);
    const RecordTable tables[] = {RecordTable(classes, StreamClass::kCpu),
                                  RecordTable(classes, StreamClass::kThread),
                                  RecordTable(classes, StreamClass::kClock)};
    const ExpectedPackets expected(description->streams);
    for (const StreamFile& file : directory_.streams) {
      CheckStream(file, tables[static_cast<std::size_t>(file.stream_class)],
                  *description, expected);
    }
    result_.loss.damaged = result_.ok ? 0 : 1;
    return std::move(result_);
  }

 private:
  void Add(std::string file, std::uint64_t offset, std::string what,
           bool is_loss = false) {
    result_.ok = result_.ok && is_loss;
    result_.findings.push_back(
        {std::move(file), offset, std::move(what), is_loss});
  }

  void CheckDirectory() {
    if (directory_.incomplete) {
      Add(kIncompleteFile, 0,
          directory_.locked ? "the trace is still being recorded"
          : directory_.copied
              ? "the trace was copied before its recording ended; `countrace "
                "recover` finishes the copy"
              : "the recorder died before it finished the trace: run "
                "`countrace recover`",
          /*is_loss=*/directory_.copied);
    }
    AddEach(directory_.strangers,
            "not a file of a trace: babeltrace2 refuses the directory while it "
            "is there");
    AddEach(directory_.temporaries,
            "left behind by an interrupted `countrace recover`");
  }

  // A folder may hold 100,000 of them.
  void AddEach(const std::vector<std::string>& names, const std::string& what) {
    constexpr std::size_t kMostNamed = 20;
    for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) {
      Add(names[i], 0, what);
    }
    if (names.size() <= kMostNamed) return;
    Add("", 0,
        absl::StrFormat("%d more files: %s", names.size() - kMostNamed, what));
  }

  // The text follows from its env block; a difference is a later change.
  void CheckMetadata(const TraceDescription& description) {
    if (!description.from_metadata) {
      Add(kMetadataFile, 0, "cannot be read; the session files were used");
      return;
    }
    absl::StatusOr<base::FileMapping> file =
        base::FileMapping::Open(directory_.path + "/" + kMetadataFile);
    if (!file.ok()) {
      Add(kMetadataFile, 0, std::string(file.status().message()));
      return;
    }
    const std::string expected = MetadataText(description);
    const std::string_view text = file->text();
    const auto differ = std::mismatch(text.begin(), text.end(),
                                      expected.begin(), expected.end());
    if (const absl::Status whole = file->CheckWhole(); !whole.ok()) {
      Add(kMetadataFile, 0, std::string(whole.message()));
      return;
    }
    if (differ.first == text.end() && differ.second == expected.end()) return;
    Add(kMetadataFile, static_cast<std::uint64_t>(differ.first - text.begin()),
        absl::StrFormat("text of %d bytes is not what its env block describes, "
                        "which takes %d bytes",
                        text.size(), expected.size()));
  }

  void CheckMissing(const TraceDescription& description) {
    for (const std::string& message : MissingStreams(directory_, description)) {
      Add(kMetadataFile, 0, message);
    }
  }

  void CheckStream(const StreamFile& file, const RecordTable& table,
                   const TraceDescription& description,
                   const ExpectedPackets& expected) {
    const TraceInfo& info = description.info;
    ++result_.streams;
    absl::StatusOr<base::FileMapping> mapping =
        base::FileMapping::Open(directory_.path + "/" + file.name);
    if (!mapping.ok()) {
      Add(file.name, 0, std::string(mapping.status().message()));
      return;
    }
    ScanOptions options;
    options.uuid = info.uuid;
    options.stream_class = file.stream_class;
    options.begin_ns = info.begin_ns;
    options.walk_closed = true;
    options.has_checksums = description.has_checksums();
    options.expected_packets = expected.Of(file.name);
    options.grows = directory_.grows();
    options.mapping = &*mapping;
    const StreamScan scan = ScanStream(mapping->bytes(), table, options);
    if (const absl::Status whole = mapping->CheckWhole(); !whole.ok()) {
      Add(file.name, 0, std::string(whole.message()));
    }
    if (std::string copy = identities_.Add(file.name, scan); !copy.empty()) {
      Add(file.name, 0, std::move(copy));
    }
    for (const ScannedPacket& packet : scan.packets) {
      result_.checked_packets += packet.checked_by_writer ? 1 : 0;
    }
    result_.packets += scan.packets.size();
    result_.records += scan.records;
    const auto add_all = [&](const std::vector<ScanFinding>& findings) {
      for (const ScanFinding& finding : findings) {
        std::string what = finding.what;
        if (finding.missing_packets != 0) {
          absl::StrAppendFormat(&what, "; packets lost: %d",
                                finding.missing_packets);
        }
        Add(file.name, finding.offset, std::move(what), finding.is_gap);
      }
    };
    bool named = false;
    for (const ScannedPacket& packet : scan.packets) {
      add_all(packet.findings);
      named = named || !packet.findings.empty();
      if (packet.was_open) {
        if (!directory_.incomplete) {
          Add(file.name, packet.offset,
              absl::StrFormat("packet %d is open: content size 0 with %d "
                              "records in it",
                              packet.head.sequence, packet.record_count));
        }
      } else if (packet.head_changed && !named && !directory_.incomplete) {
        PacketHead stored;
        std::memcpy(&stored, mapping->bytes().data() + packet.offset,
                    sizeof(stored));
        Add(file.name, packet.offset,
            absl::StrFormat("packet content size %d bits, records end at %d",
                            stored.content_bits, packet.head.content_bits));
      }
    }
    add_all(scan.findings_at_end);
    if (!directory_.incomplete && scan.kept_end != mapping->bytes().size() &&
        scan.findings_at_end.empty()) {
      Add(file.name, scan.kept_end,
          absl::StrFormat("packets end at %d, the file at %d", scan.kept_end,
                          mapping->bytes().size()));
    }
    if (scan.packets.empty()) return;
    StreamInfo stream;
    DescribeLoss(scan, stream);
    result_.loss.Add(stream);
  }

  const TraceDirectory directory_;
  StreamIdentities identities_;
  VerifyResult result_;
};

}  // namespace

absl::StatusOr<VerifyResult> VerifyTrace(const std::string& path) {
  absl::StatusOr<TraceDirectory> directory = ListTraceDirectory(path);
  if (!directory.ok()) return directory.status();
  return Verifier(*std::move(directory)).Run();
}

}  // namespace countrace::logformat
