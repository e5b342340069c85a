// Writes a countrace trace record by record: the output of a conversion.
//
// In: records, in the order of time within each stream. Out: stream files and
// `metadata` in a new directory. Memory grows with the number of threads, not
// of records: a limited number of their files is open, and a thread
// that runs again after its file was closed gets another one. Thread: one.
#ifndef COUNTRACE_LOGFORMAT_IMPORT_TRACE_OUTPUT_H_
#define COUNTRACE_LOGFORMAT_IMPORT_TRACE_OUTPUT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/posix/scoped_fd.h"
#include "logformat/description/trace_description.h"
#include "logformat/write/packet_writer.h"

namespace countrace::importer {

struct TraceOutputOptions {
  std::string directory;  // exists and is empty
  logformat::Uuid uuid{};
  std::uint64_t max_bytes = ~std::uint64_t{0};
  // Makes a file of the directory, for a process that cannot; an error is in
  // errno. The file of the metadata is then kNewMetadataFile in the end.
  std::function<base::ScopedFd(const std::string& file)> create = {};
};
inline constexpr char kNewMetadataFile[] = ".metadata-new";

// One stream of the trace: of a CPU or of a thread.
struct OutputStream {
  logformat::StreamClass stream_class = logformat::StreamClass::kThread;
  std::int32_t cpu = -1, pid = -1, tid = -1;
  std::unique_ptr<logformat::PacketWriter> writer;  // null: not open
  std::string file;
  bool fixed_file = false;
  std::uint32_t files = 0;  // number so far
  std::uint64_t last_use = 0;
  std::uint64_t last_ns = 0;
};

class TraceOutput {
 public:
  explicit TraceOutput(TraceOutputOptions options);

  // Uses the description of another trace, including its uuid. Before the first
  // stream.
  void TakeDescription(logformat::TraceDescription description);
  // The trace's description; streams and hooks are filled in here.
  logformat::TraceDescription& description() { return description_; }
  const std::string& directory() const { return options_.directory; }
  // 256 if it is not called, never more than 16384.
  void LimitOpenStreams(std::size_t streams) {
    max_open_streams_ = std::min<std::size_t>(streams, 16384);
  }

  // Assigns the next id of its origin to `hook`; an id that is not 0 stays.
  // Returns 0 if no id is left.
  std::uint32_t AddHook(logformat::HookInfo hook);

  // References stay valid.
  OutputStream& Thread(std::int32_t pid, std::int32_t tid);
  OutputStream& Cpu(std::int32_t cpu);

  // `body` as in PacketWriter::Append(), without padding. After a failure
  // records are dropped and status() has the reason.
  void Append(OutputStream& stream, std::uint16_t event_id,
              std::uint64_t time_ns, std::span<const std::byte> body) {
    if (stream.writer == nullptr) [[unlikely]] {
      if (!Open(stream, time_ns)) return;
    }
    stream.last_use = ++uses_;
    stream.last_ns = time_ns;
    if (!stream.writer->Append(event_id, time_ns, body)) [[unlikely]] {
      NoteFailure(stream);
    }
  }
  // The stream that is written to this file; its other members are `like`'s.
  OutputStream& Named(const std::string& file, OutputStream like);
  // Opens the stream's file if it is not open. False: it cannot be opened.
  bool EnsureOpen(OutputStream& stream, std::uint64_t time_ns) {
    return stream.writer != nullptr || Open(stream, time_ns);
  }
  // Records that the stream's writer could not store something.
  void NoteFailure(const OutputStream& stream);

  // Counts records that the source lost in `stream` between the two times.
  // `records` 0: the number is not known, or `packets` packets were lost.
  void Lose(OutputStream& stream, logformat::DiscardCause cause,
            std::uint64_t records, std::uint64_t packets,
            std::uint64_t begin_ns, std::uint64_t end_ns);
  // OK while everything could be stored; RESOURCE_EXHAUSTED if not.
  const absl::Status& status() const { return status_; }
  // Bytes that are not in open packets; checked against max_bytes.
  std::uint64_t bytes() const;
  absl::Status CheckSize();

  // The final content of the streams: anything missing is lost.
  void Expect(const std::vector<logformat::FinishedStream>& streams) {
    expected_ = streams;
  }
  // Closes the streams and writes `metadata`.
  absl::Status Finish();

 private:
  bool Open(OutputStream& stream, std::uint64_t time_ns);
  void Close(OutputStream& stream);
  absl::Status WriteMetadata(const std::string& text) const;

  TraceOutputOptions options_;
  std::size_t max_open_streams_ = 256;
  logformat::TraceDescription description_;
  std::vector<logformat::FinishedStream> expected_;
  std::deque<OutputStream> streams_;
  absl::flat_hash_map<std::uint64_t, OutputStream*> by_key_;
  std::vector<OutputStream*> open_;
  std::uint32_t next_program_hook_ = logformat::kHookIdAutomaticMin;
  std::uint32_t next_early_hook_ = logformat::kHookIdMin;
  std::uint32_t next_kernel_hook_ = logformat::kHookIdKernelMin;
  std::uint64_t uses_ = 0, closed_bytes_ = 0;
  absl::Status status_;
};

}  // namespace countrace::importer

#endif  // COUNTRACE_LOGFORMAT_IMPORT_TRACE_OUTPUT_H_
