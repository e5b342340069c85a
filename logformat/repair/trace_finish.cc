#include "logformat/repair/trace_finish.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/posix/file_mapping.h"
#include "base/posix/file_output.h"
#include "base/posix/scoped_fd.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "logformat/description/metadata_writer.h"
#include "logformat/description/session_files.h"
#include "logformat/description/trace_directory.h"
#include "logformat/event_schema.h"
#include "logformat/loss.h"
#include "logformat/read/packet_scanner.h"
#include "logformat/read/record_table.h"
#include "logformat/read/stream_identity.h"
#include "logformat/repair/stream_repair.h"
#include "logformat/repair/thread_ids.h"
#include "logformat/repair/user_streams.h"
#include "logformat/session_layout.h"

namespace countrace::logformat {
namespace {

constexpr std::ptrdiff_t kMostNamed = 20;

// The recorder's lock on `.incomplete`, or on the directory of a finished
// trace: two recovers at the same time would rewrite the same files.
class FinishLock {
 public:
  absl::Status Take(const TraceDirectory& directory) {
    std::string file = directory.path;
    if (directory.incomplete) file += std::string("/") + kIncompleteFile;
    fd_ = base::ScopedFd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd_.is_open()) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrFormat("Cannot open %s", file));
    }
    // A reader holds the lock for an instant only; a recorder keeps it.
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
      if (errno != EWOULDBLOCK && errno != EINTR) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (errno != EWOULDBLOCK) {
      return absl::ErrnoToStatus(errno,
                                 absl::StrFormat("Cannot lock %s", file));
    }
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is still being recorded: another process holds the lock on %s; "
        "stop the recording first",
        directory.path, file));
  }

 private:
  base::ScopedFd fd_;
};

// Finishes one trace. The order of the steps makes the whole repeatable after a
// kill between any two of them.
class Finisher {
 public:
  Finisher(TraceDirectory directory, TraceDescription description,
           const FinishOptions& options)
      : directory_(std::move(directory)),
        description_(std::move(description)),
        expected_(description_.streams),
        options_(options),
        classes_(EventClasses(description_.info)),
        tables_{RecordTable(classes_, StreamClass::kCpu),
                RecordTable(classes_, StreamClass::kThread),
                RecordTable(classes_, StreamClass::kClock)},
        thread_ids_(directory_.path) {}

  absl::StatusOr<FinishResult> Run() {
    result_.messages = description_.messages;
    result_.discarded = description_.discarded;
    std::vector<NotRecorded>& left_out = description_.info.not_recorded;
    if (options_.recorder_died && !description_.from_metadata &&
        left_out.size() < kMaxNotRecorded) {
      left_out.push_back(AfterRecorderDied());
    }
    result_.not_recorded = left_out;
    std::vector<std::string>& not_known = description_.info.not_known;
    not_known.insert(not_known.end(), options_.not_known.begin(),
                     options_.not_known.end());
    for (const std::string& name : directory_.temporaries) Remove(name);
    bool changed = false;
    // The listed ones come first: of two that hold the same packets, a later
    // one is hidden.
    std::stable_partition(
        directory_.streams.begin(), directory_.streams.end(),
        [&](const StreamFile& file) { return expected_.Of(file.name) != 0; });
    for (const StreamFile& file : directory_.streams) {
      absl::StatusOr<bool> stream_changed = FinishStream(file);
      if (absl::IsResourceExhausted(stream_changed.status())) {
        return stream_changed.status();
      }
      if (!stream_changed.ok()) Hide(file, stream_changed.status());
      changed = changed || !stream_changed.ok() || *stream_changed;
    }
    if (!description_.from_metadata) DescribeFound();
    for (std::string& message : MissingStreams(directory_, description_)) {
      result_.messages.push_back(std::move(message));
    }
    for (const std::string& name : directory_.strangers) {
      if (&name - directory_.strangers.data() == kMostNamed) {
        result_.messages.push_back(absl::StrFormat(
            "%d more files are not part of the trace",
            directory_.strangers.size() - std::size_t{kMostNamed}));
        break;
      }
      result_.messages.push_back(absl::StrFormat(
          "%s is not part of the trace, and babeltrace2 refuses the directory "
          "while it is there: move it away",
          name));
    }
    if (!description_.from_metadata) {
      changed = true;
      if (absl::Status s = WriteMetadata(); !s.ok()) return s;
    }
    if (result_.failed > kMostNamed) {
      result_.messages.push_back(
          absl::StrFormat("%d more stream files are not in the trace",
                          result_.failed - kMostNamed));
    }
    result_.already_finished = !changed && !directory_.incomplete;
    if (thread_ids_.unknown() != 0) {
      result_.messages.push_back(absl::StrFormat(
          "Threads of other pid namespaces whose numbers in the recorder's are "
          "not known have numbers from %d on: threads=%d",
          ThreadIds::kUnknownIds, thread_ids_.unknown()));
    }
    if (directory_.incomplete) {
      Remove(kThreadIdsFile);
      Remove(kHooksFile);
      Remove(kKernelHooksFile);
      Remove(kTriggersFile);
      Remove(kCpuEventsFile);
      Remove(kOwnersFile);
      Remove(kHostFile);
      Remove(kNotRecordedFile);
      Remove(kUnjoinedPipe);
      Remove(kComingSessionFile);
      Remove(kSessionFile);
      Remove(kIncompleteFile);
    }
    return std::move(result_);
  }

 private:
  // babeltrace2 would refuse the trace for it; its records may be of use. The
  // stream stays in the description: readers say that it is gone.
  void Hide(const StreamFile& file, const absl::Status& why) {
    const std::string hidden = std::string(kUnreadPrefix) + file.name;
    rename((directory_.path + "/" + file.name).c_str(),
           (directory_.path + "/" + hidden).c_str());
    // Thousands may fail for the same reason. The trace lists each.
    if (result_.failed < kMostNamed) {
      result_.messages.push_back(
          absl::StrFormat("%s is not in the trace, and is %s now: %s",
                          file.name, hidden, why.message()));
    }
    if (std::none_of(description_.streams.begin(), description_.streams.end(),
                     [&](const FinishedStream& stream) {
                       return stream.file == file.name;
                     })) {
      description_.streams.push_back({file.name, 0});
    }
    ++result_.failed;
  }

  // Its times would be wrong, and with them those of the whole trace.
  void HideOfOtherClock(const StreamFile& file, std::int32_t pid,
                        std::int64_t ahead_ns) {
    other_clocks_[pid] = ahead_ns;
    rename((directory_.path + "/" + file.name).c_str(),
           (directory_.path + "/" + kUnreadPrefix + file.name).c_str());
  }

  // What is missing, as only the streams show it.
  void DescribeFound() {
    for (const auto& [pid, ahead_ns] : other_clocks_) {
      std::string name = "?";
      for (const ProcessName& process : description_.info.processes) {
        if (process.pid == pid) name = base::EscapeName(process.comm);
      }
      AddFound(
          {kNotJoined, 1,
           absl::StrFormat(
               "The hooks of %s (pid %d) are not in the trace, and are "
               "%sthread-%d-... now: its clock is %s %s the recorder's. "
               "Is it linked to an older countrace::runtime, or without "
               "/proc in a time namespace?",
               name, pid, kUnreadPrefix, pid,
               base::FormatNanoseconds(std::abs(static_cast<double>(ahead_ns))),
               ahead_ns > 0 ? "ahead of" : "behind")});
    }
    if (cut_texts_ != 0) {
      AddFound({kCutTexts, cut_texts_,
                absl::StrFormat("Texts of hooks that are longer than %d bytes "
                                "are cut there, and end in \"%s\": texts=%d",
                                kMaxStringBytes - 1, kCutTextEnd, cut_texts_)});
    }
    description_.info.not_recorded =
        FitNotRecorded(std::move(description_.info.not_recorded));
    result_.not_recorded = description_.info.not_recorded;
  }

  void AddFound(NotRecorded what) {
    result_.messages.push_back(what.text);
    description_.info.not_recorded.push_back(what);
    result_.found.push_back(std::move(what));
  }

  void Remove(const std::string& name) {
    unlink((directory_.path + "/" + name).c_str());
  }

  absl::StatusOr<bool> FinishStream(const StreamFile& file) {
    absl::StatusOr<base::FileMapping> mapping =
        base::FileMapping::Open(directory_.path + "/" + file.name);
    if (!mapping.ok()) return mapping.status();
    // No thread has used it (runtime/inprocess/ring/spare_streams.h).
    if (mapping->IsOneHole() && !options_.processes_may_be_alive) {
      Remove(file.name);
      return true;
    }
    ScanOptions options;
    options.uuid = description_.info.uuid;
    options.stream_class = file.stream_class;
    options.begin_ns = description_.info.begin_ns;
    options.walk_closed = true;
    options.has_checksums = description_.has_checksums();
    options.expected_packets = expected_.Of(file.name);
    // Not if it is locked: by the caller.
    options.grows = directory_.copied;
    options.mapping = &*mapping;
    StreamScan scan = ScanStream(
        mapping->bytes(), tables_[static_cast<std::size_t>(file.stream_class)],
        options);
    if (absl::Status whole = mapping->CheckWhole(); !whole.ok()) return whole;
    if (const std::string copy = identities_.Add(file.name, scan);
        !copy.empty()) {
      return absl::AlreadyExistsError(copy);
    }
    if (const std::int64_t ahead_ns =
            ClockAheadNs(scan.packets, options_.clock);
        file.stream_class == StreamClass::kThread && ahead_ns != 0) {
      HideOfOtherClock(file, scan.packets.front().head.pid, ahead_ns);
      return true;
    }
    Report(file, scan);
    if (!description_.from_metadata) {
      description_.streams.push_back({file.name, PacketsWhenRepaired(scan)});
    }
    RepairTarget target;
    target.directory = directory_.path;
    target.file = file;
    target.bytes = mapping->bytes();
    target.has_checksums = HasChecksums(description_.info.format);
    target.file_bytes = mapping->bytes().size();
    target.data_bytes = mapping->DataEnd(target.file_bytes);
    target.uuid = description_.info.uuid;
    target.begin_ns = description_.info.begin_ns;
    target.keep_length = options_.processes_may_be_alive && !directory_.copied;
    absl::StatusOr<RepairResult> repair = RepairStream(target, scan);
    if (!repair.ok()) return repair.status();
    result_.cut_bytes += repair->cut_bytes;
    const bool other_namespace =
        std::any_of(scan.packets.begin(), scan.packets.end(),
                    [](const ScannedPacket& packet) {
                      return (packet.head.flags & kPacketOtherNamespace) != 0;
                    });
    if (!other_namespace) return repair->changed;
    absl::Status status =
        thread_ids_.TranslateStream(directory_.path + "/" + file.name);
    if (!status.ok()) return status;
    return true;
  }

  void Report(const StreamFile& file, const StreamScan& scan) {
    if (file.stream_class != StreamClass::kClock) {  // not asked for
      ++result_.streams;
      result_.packets += scan.packets.size();
      result_.records += scan.records;
    }
    result_.dropped_packets += scan.bad_regions;
    cut_texts_ += scan.cut_texts;
    const auto report = [&](const std::vector<ScanFinding>& findings) {
      for (const ScanFinding& finding : findings) {
        std::string message = absl::StrFormat("%s, offset %d: %s", file.name,
                                              finding.offset, finding.what);
        if (finding.missing_packets != 0) {
          absl::StrAppendFormat(&message, "; packets lost: %d",
                                finding.missing_packets);
        }
        result_.messages.push_back(std::move(message));
      }
    };
    std::uint64_t holes = 0;
    for (const ScannedPacket& packet : scan.packets) {
      if (packet.was_open) ++result_.closed_packets;
      holes += packet.holes;
      report(packet.findings);
    }
    report(scan.findings_at_end);
    if (holes != 0) {
      result_.messages.push_back(absl::StrFormat(
          "%s: %d records were begun and never committed: their thread died",
          file.name, holes));
    }
    if (scan.packets.empty()) return;
    const PacketHead& last = scan.packets.back().head;
    for (std::size_t i = 0; i < kDiscardCauses; ++i) {
      result_.discarded[i] += last.discarded_by_cause[i];
    }
  }

  absl::Status WriteMetadata() {
    const std::string temporary = directory_.path + "/" + kMetadataTemporary;
    const std::string text = MetadataText(description_);
    base::FileOutput out;
    absl::Status status = out.Create(temporary);
    if (status.ok()) {
      status = out.WriteAt(0, std::as_bytes(std::span<const char>(text)));
    }
    if (status.ok()) {
      status = out.RenameTo(directory_.path + "/" + kMetadataFile);
    }
    if (!status.ok()) unlink(temporary.c_str());
    return status;
  }

  TraceDirectory directory_;
  TraceDescription description_;
  const ExpectedPackets expected_;
  const FinishOptions options_;
  std::vector<EventClass> classes_;
  const RecordTable tables_[kStreamClasses];  // by stream class
  ThreadIds thread_ids_;
  StreamIdentities identities_;
  FinishResult result_;
  std::uint64_t cut_texts_ = 0;
  std::map<std::int32_t, std::int64_t> other_clocks_;  // by pid: ns ahead
};

}  // namespace

absl::StatusOr<FinishResult> FinishTrace(const std::string& path,
                                         const FinishOptions& options,
                                         bool force_locked) {
  absl::StatusOr<TraceDirectory> directory = ListTraceDirectory(path);
  if (!directory.ok()) return directory.status();
  FinishLock lock;
  if (!force_locked) {
    if (absl::Status s = lock.Take(*directory); !s.ok()) return s;
    // Another recover may have finished it during the wait.
    directory = ListTraceDirectory(path);
    if (!directory.ok()) return directory.status();
  }
  AdoptResult adopted;
  if (directory->incomplete && directory->has_session) {
    auto users = AdoptUserStreams(path, path, {.now_ns = options.now_ns});
    if (!users.ok()) return users.status();
    adopted = *std::move(users);
    directory = ListTraceDirectory(path);
    if (!directory.ok()) return directory.status();
  }
  absl::StatusOr<TraceDescription> description = DescribeTrace(*directory);
  if (!description.ok()) return description.status();
  auto result =
      Finisher(*std::move(directory), *std::move(description), options).Run();
  if (!result.ok()) return result;
  result->failed += adopted.refused;
  result->messages.insert(result->messages.end(), adopted.messages.begin(),
                          adopted.messages.end());
  return result;
}

}  // namespace countrace::logformat
